"""Draw `ellipsoids.svg`: a plane that takes readings at face value, and one that keeps whole ellipses.

    python docs/figures/ellipsoids.py

The same input gives the same file, byte for byte.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from mainstay import EllipsoidSVC

COLOURS = ("#d1702c", "#2a78b5")


def rows():
    """Twelve readings per class: the first feature is measured well or badly, the second always well."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 12)
    centres = np.array([[-1.3, -0.7], [1.3, 0.7]])
    X = centres[y] + rng.normal(scale=[0.5, 0.35], size=(24, 2))
    errors = np.column_stack([np.where(np.arange(24) % 3 == 0, 1.6, 0.2), np.full(24, 0.2)])
    return X, y, errors


def draw(ax, title, model, X, y, errors):
    """Readings with their ellipses and the plane; the ellipses that it cuts are marked."""
    margin = model.decision_function(X) * np.where(y == 1, 1, -1)
    cut = margin < np.linalg.norm(errors * model.coef_, axis=1)
    for point, label, axes, hit in zip(X, y, errors, cut, strict=True):
        edge = {"edgecolor": "#b3261e", "lw": 1.4} if hit else {"lw": 0}
        shape = {"facecolor": (*mpl.colors.to_rgb(COLOURS[label]), 0.2), **edge}
        ax.add_patch(Ellipse(point, *(2 * axes), **shape))
        ax.plot(*point, "o", color=COLOURS[label], ms=3)
    (a, b), c = model.coef_[0], model.intercept_[0]
    span = np.array([-4.0, 4.0])
    ax.plot(span, -(a * span + c) / b, color="k", lw=1.4)
    ax.set(xlim=(-4, 4), ylim=(-2.2, 2.2), xlabel="measured well or badly")
    ax.set_title(f"{title}: {cut.sum()} of {len(y)} ellipses are cut", size=9)


def main():
    """Write the figure next to this file."""
    mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "none", "font.size": 9})
    X, y, errors = rows()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    plain = EllipsoidSVC(C=1.0).fit(X, y, uncertainty=np.zeros_like(errors))
    draw(left, "At face value", plain, X, y, errors)
    draw(
        right,
        "Whole ellipses",
        EllipsoidSVC(C=1.0).fit(X, y, uncertainty=errors),
        X,
        y,
        errors,
    )
    left.set_ylabel("always measured well")
    figure.savefig(Path(__file__).with_name("ellipsoids.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
