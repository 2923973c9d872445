"""Draw docs/figures/trust.svg: where predictions stand, and what `trust` says of three new rows.

Run from the root of the repository, with the package and matplotlib installed::

    python docs/figures/trust.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import mainstay
from mainstay import PenalizedClassifier
from mainstay.datasets import load_demo

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import ListedColormap  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

VERDICTS = ["stands", "close call", "unlike the training data"]
TINTS = ["#d7e8f5", "#fde3c8", "#dddddd"]
COLOURS = ["#1f6fb2", "#c7580c", "#4d4d4d"]
#: Three tumours: their mean radius and mean texture.
ROWS = {"A": (11.5, 16.0), "B": (15.3, 19.3), "C": (13.0, 46.0)}


def judged(found):
    """The number of each row's verdict."""
    return np.array([VERDICTS.index(verdict) for verdict in found["verdict"]])


def plane(axis, trust, X, y):
    """The verdict everywhere, the training rows and the new ones."""
    across, up = np.linspace(5, 30, 120), np.linspace(5, 52, 120)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    verdicts = judged(trust(grid)).reshape(len(up), len(across))
    axis.pcolormesh(
        across, up, verdicts, cmap=ListedColormap(TINTS), vmin=0, vmax=2, rasterized=True
    )
    for kind, marker in ((0, "o"), (1, "^")):
        rows = y == kind
        axis.scatter(*X[rows].T, s=7, marker=marker, color="0.45", lw=0, alpha=0.6)
    for (name, row), verdict in zip(
        ROWS.items(), judged(trust(np.array(list(ROWS.values())))), strict=True
    ):
        axis.scatter(*row, s=150, color=COLOURS[verdict], edgecolor="white", zorder=3)
        axis.text(
            *row, name, color="white", ha="center", va="center_baseline", weight="bold", zorder=4
        )
    axis.set(xlabel="mean radius", ylabel="mean texture", xlim=(5, 30), ylim=(5, 52))
    axis.legend(
        handles=[
            Patch(color=tint, label=verdict) for tint, verdict in zip(TINTS, VERDICTS, strict=True)
        ],
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        frameon=False,
        handlelength=1.2,
        columnspacing=1.2,
    )


def answers(axis, found):
    """A line for each new row: probability over refits, and what is said."""
    axis.axvspan(0.4, 0.6, color=TINTS[1], lw=0)
    axis.axvline(0.5, color="0.6", lw=0.8)
    for place, (name, (_, row), verdict) in enumerate(
        zip(ROWS, found.iterrows(), judged(found), strict=True)
    ):
        sure = row["predicted"] == "malignant"
        low, at, high = (row[f"probability{end}"] for end in ("_low", "", "_high"))
        low, at, high = (low, at, high) if sure else (1 - high, 1 - at, 1 - low)
        axis.plot([low, high], [place, place], color=COLOURS[verdict], lw=4, solid_capstyle="round")
        axis.scatter(at, place, s=150, color=COLOURS[verdict], edgecolor="white", zorder=3)
        axis.text(
            at,
            place,
            name,
            color="white",
            ha="center",
            va="center_baseline",
            weight="bold",
            zorder=4,
        )
        said = f"{row['predicted']}: {row['verdict']}"
        axis.text(0.0, place - 0.2, said, color=COLOURS[verdict], weight="bold")
        why = f"a change of {row['flip_sd']:.1f} sd flips it; {100 * row['nearer']:.0f} % of the training rows lie nearer"
        axis.text(0.0, place + 0.32, why, color="0.2", fontsize=8)
    axis.set(
        xlim=(-0.05, 1.05),
        ylim=(2.55, -0.45),
        xlabel="probability of a malignant tumour, with 90 % of the refits",
    )
    axis.set_yticks([])
    axis.spines[["top", "left", "right"]].set_visible(False)


def main():
    """Draw both panels."""
    bunch = load_demo()
    X, y = bunch.data[:, :2], bunch.target
    names = np.where(np.asarray(bunch.target_names)[y] == "M", "malignant", "benign")
    model = PenalizedClassifier(normalize=True).fit(X, names)

    def trust(rows):
        return mainstay.trust(model, rows, X_train=X, y_train=names, random_state=0)

    figure, axes = plt.subplots(
        1, 2, figsize=(8.6, 3.9), layout="constrained", width_ratios=[1, 1.15]
    )
    plane(axes[0], trust, X, y)
    answers(axes[1], trust(np.array(list(ROWS.values()))))
    figure.savefig(Path(__file__).with_name("trust.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
