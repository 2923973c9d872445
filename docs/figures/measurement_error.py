"""Draw `measurement-error.svg`: the case study of section 4.1, nominal and robust planes.

    python docs/figures/measurement_error.py

The same input gives the same file, byte for byte.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from mainstay import ReGEC, RobustReGEC

A = np.array([[5.00, 7.11], [4.00, 5.36], [4.63, 4.42]])
B = np.array([[2.82, 1.44], [2.00, 1.72], [1.00, -0.68]])
COLOURS = ("#c1553b", "#2b6a99")


def draw(axis, axes):
    """Points, ellipses with semi-axes `axes`, nominal (solid) and robust (dashed) planes."""
    X, y = np.vstack([A, B]), np.repeat([0, 1], 3)
    nominal = ReGEC().fit(X, y)
    robust = RobustReGEC(axes, xi=0.0).fit(X, y)
    for point, label in zip(X, y, strict=True):
        shape = Ellipse(point, 2 * axes[0], 2 * axes[1], alpha=0.18, color=COLOURS[label], lw=0)
        axis.add_patch(shape)
        axis.plot(*point, "o", color=COLOURS[label], ms=4)
    for k in range(2):
        for model, style in ((nominal, "-"), (robust, "--")):
            w, gamma = model.planes_[k], model.offsets_[k]
            along = np.array([-w[1], w[0]])
            line = gamma * w + np.outer([-20, 20], along)
            axis.plot(line[:, 0], line[:, 1], style, color=COLOURS[k], lw=1.4)
    ratio = [
        f"{nominal_ratio(nominal, X, y, axes, k):.2f} → {robust.worst_case_ratio_[k]:.2f}"
        for k in (0, 1)
    ]
    axis.set_title(
        f"semi-axes {axes[0]}, {axes[1]}\nworst-case ratio {ratio[0]} and {ratio[1]}", size=9
    )
    axis.set(xlim=(-1, 7.5), ylim=(-3, 9.5), aspect="equal", xticks=[], yticks=[])


def nominal_ratio(model, X, y, axes, k):
    """Give the worst-case ratio of a plane that ignores the ellipses."""
    w = model.planes_[k]
    distance = np.abs(X @ w - model.offsets_[k])
    rho = np.sqrt(((np.array(axes) * w) ** 2).sum())
    top = ((distance + rho)[y == k] ** 2).sum()
    return top / max((np.maximum(distance - rho, 0)[y != k] ** 2).sum(), 1e-12)


def main():
    """Write the figure next to this file."""
    mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "none", "font.size": 9})
    figure, panels = plt.subplots(1, 3, figsize=(9, 4.6), layout="constrained")
    for panel, axes in zip(panels, ([0.3, 0.3], [1.0, 0.3], [0.3, 1.2]), strict=True):
        draw(panel, axes)
    out = Path(__file__).with_name("measurement-error.svg")
    figure.savefig(out, metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
