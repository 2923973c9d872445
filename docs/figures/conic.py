"""Draw docs/methods/conic.svg: the conic loss, and what it does to outliers.

Run from the root of the repository, with the package and matplotlib installed::

    python docs/figures/conic.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.svm import SVC

from mainstay import ConicSVC
from mainstay.datasets import make_outliers

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402


def conic(u, shape, price=1.0):
    """Proposition 1's loss at margin u."""
    a = np.maximum(1 - u, 0)
    rising = 2 * np.sqrt(price * shape) * a - shape * a**2
    return np.where(a <= np.sqrt(price / shape), rising, price)


def losses(ax):
    """Figure 1 in one picture."""
    u = np.linspace(-3, 2, 1001)
    ax.plot(u, np.where(u < 1, 1.0, 0.0), color="0.6", lw=3, label="0-1")
    ax.plot(u, np.maximum(1 - u, 0), color="tab:red", label="hinge")
    ax.plot(u, np.clip(1 - u, 0, 1), color="0.3", ls=":", label="ramp")
    ax.plot(u, np.where(u < 0, 1, np.maximum(0.5 * (1 - u), 0)), color="0.3", ls="--", label="psi")
    ax.plot(u, 0.5 * (1 - np.tanh(u)), color="0.3", ls="-.", label="sigmoid")
    for shape, alpha in ((1.0, 1.0), (0.3, 0.7), (0.08, 0.45)):
        label = rf"conic, $\gamma$ = {shape:g}"
        ax.plot(u, conic(u, shape), color="tab:blue", alpha=alpha, lw=2, label=label)
    ax.set(ylim=(-0.05, 2.2), xlabel=r"margin $y\,x^\top w$", ylabel="loss", title="Losses")
    ax.legend(frameon=False, fontsize=7)


def planes(ax):
    """One cluster of outliers, two machines."""
    X, y = make_outliers(120, 2, 0.2, "clustered", random_state=4)
    clean = np.linalg.norm(X, axis=1) < 3
    robust = ConicSVC(0.15).fit(X, y)
    hinge = SVC(kernel="linear", C=1.0).fit(X, y)
    size = 12 + 120 * robust.z_
    for label, colour in ((0, "tab:orange"), (1, "tab:green")):
        rows = y == label
        ax.scatter(*X[rows].T, s=size[rows], color=colour, alpha=0.6, lw=0, label=f"class {label}")
    span = np.array([X[:, 0].min() - 0.5, X[:, 0].max() + 0.5])
    for model, colour, name in ((robust, "tab:blue", "conic"), (hinge, "tab:red", "hinge")):
        (a, b), c = model.coef_[0], model.intercept_[0]
        right = model.score(X[clean], y[clean])
        label = f"{name}: {right:.0%} of the others right"
        ax.plot(span, -(a * span + c) / b, color=colour, lw=2, label=label)
    low, high = X[:, 1].min() - 0.5, X[:, 1].max() + 0.5
    ax.set(ylim=(low, high), xlim=span, title="10 % outliers; the larger, the more suspicious")
    ax.legend(frameon=False, fontsize=7)


def main():
    """Write the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    losses(left)
    planes(right)
    path = Path(__file__).parent.parent / "methods" / "conic.svg"
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
