"""A program as a user would write it: `mypy --strict` and `pyright` find nothing wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import mainstay
from mainstay import ConicSVC, PenalizedClassifier, RobustCV, StableSVC, TableEncoder
from mainstay.threats import label_noise


class Named(PenalizedClassifier):
    """A subclass with a parameter of its own."""

    def __init__(self, name: str = "plain", alpha: float = 0.01) -> None:
        super().__init__(alpha=alpha)
        self.name = name


def fit(X: npt.NDArray[np.float64], y: npt.NDArray[Any]) -> ConicSVC:
    """Fit and look at what was found."""
    model = ConicSVC(kappa=0.1, tol=1e-5).fit(X, y)
    gap: float = model.dual_gap_
    weights: npt.NDArray[np.float64] = model.coef_
    labels: npt.NDArray[Any] = model.predict(X)
    print(gap, weights.shape, labels.shape, model.n_iter_ + 1, model.classes_.tolist())
    return model


def main(folder: Path) -> str:
    """Use the workbench."""
    X, y = mainstay.datasets.load_demo(return_X_y=True)
    model = fit(X, y)
    mainstay.save(model, folder / "model.json")
    again = mainstay.load(folder / "model.json")
    certificates = mainstay.certify(again, X)
    found: mainstay.ComparisonResult = mainstay.compare(X, y, repeats=2)
    table = mainstay.stress({"plain": Named()}, X, label_noise(y, 0.1), repeats=2)
    encoder = TableEncoder(impute="mean", standardize=True).fit(X, y)
    names: npt.NDArray[Any] = encoder.get_feature_names_out()
    search = RobustCV(StableSVC(k=0.5), {"C": [0.1, 1.0]}).fit(X, y)
    best: dict[str, Any] = search.best_params_
    print(certificates, table, names, best)
    with mainstay.config(checkpoint=folder / "fit.ckpt", curvature_rows=100):
        text: str = found.recommend()
    return text
