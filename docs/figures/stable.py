"""Draw docs/methods/stable.svg: coefficients over k.

Run from the root of the repository, with the package and matplotlib installed::

    python docs/figures/stable.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.preprocessing import StandardScaler

from mainstay import StableLogisticRegression, StableSVC
from mainstay.datasets import load_demo

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402


def coefficients(estimator, X, y, ks, **params):
    """One row of coefficients for each of ``ks``."""
    return np.array([model.coef_[0] for model in estimator.path(X, y, ks, **params)])


def main():
    """Draw both panels."""
    X, y = load_demo(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ks = np.round(np.geomspace(1.0, 0.02, 60), 4).tolist()
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharex=True)
    panels = [
        ("StableSVC, C = 0.01", StableSVC, {"C": 0.01}),
        ("StableLogisticRegression, alpha = 0.01", StableLogisticRegression, {"alpha": 0.01}),
    ]
    for axis, (title, estimator, params) in zip(axes, panels, strict=True):
        found = coefficients(estimator, X, y, ks, **params)
        top = set(np.argsort(-np.abs(found[0]))[:6])
        for j in range(found.shape[1]):
            style = {"lw": 1.6} if j in top else {"lw": 0.6, "color": "0.8", "zorder": 0}
            axis.plot(ks, found[:, j], **style)
        axis.axhline(0, color="0.4", lw=0.5)
        axis.set_xscale("log")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("k, fraction of the rows")
    axes[0].set_ylabel("coefficient (standardised features)")
    figure.tight_layout()
    target = Path(__file__).parents[1] / "methods" / "stable.svg"
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
