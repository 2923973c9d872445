"""Draw docs/methods/rolin.svg: what few rows tell, and what that is worth.

Run from the root of the repository, with matplotlib installed::

    python docs/figures/rolin.py
"""

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402

# Measured by `cargo xtask bench depth`.
MEASURED = Path(__file__).parents[2] / "benches" / "results" / "depth.json"
RIVALS = {"L2": "l2", "L1": "l1", "Top PCs": "top_pcs"}
ROWS = (15, 30, 50, 100, 200)


def subspaces(ax):
    """First principal component of a sample beside the population's."""
    rng = np.random.default_rng(5)
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    labels = np.sign(rng.normal(size=400))
    rows = (rng.normal(size=(400, 2)) * [3.0, 0.7] + labels[:, None] * [1.2, 0.5]) @ turn.T
    few = slice(0, 12)
    for sign, color in ((1, "tab:blue"), (-1, "tab:red")):
        chosen = labels == sign
        ax.scatter(*rows[chosen].T, s=4, color=color, alpha=0.25, lw=0)
        ax.scatter(*rows[few][chosen[few]].T, s=30, color=color, edgecolor="k", lw=0.6)
    for sample, style, name in ((rows, ":", "population"), (rows[few], "-", "12 rows")):
        directions = np.linalg.svd(sample)[2]
        for direction, length, shade, what in zip(
            directions, (7, 3), ("k", "0.5"), ("reliable", "unreliable"), strict=True
        ):
            ends = np.outer([-length, length], direction)
            ax.plot(*ends.T, style, color=shade, label=f"{what}, {name}")
    ax.set(title="Subspaces", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    ax.legend(fontsize=7, loc="lower right")


def losses(ax):
    """Median ratio of test losses against n."""
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    for name, key in RIVALS.items():
        ax.plot(ROWS, [found[f"few_rows_{key}_{n}"] for n in ROWS], "o-", label=name)
    ax.axhline(1.0, color="k", lw=1, label="extended ROLIN")
    ax.set(title="Test loss / ours (median over sets)", xlabel="training rows n", xscale="log")
    ax.set_xticks(ROWS, [str(n) for n in ROWS])
    ax.minorticks_off()
    ax.legend(fontsize=7)


def main():
    """Draw both panels."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
    subspaces(axes[0])
    losses(axes[1])
    target = Path(__file__).parents[1] / "methods" / "rolin.svg"
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
