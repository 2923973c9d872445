"""Draw docs/figures/several-threats.svg: what a statement about wrong labels gains and costs.

Run from the root of the repository, with the package and matplotlib installed::

    python docs/figures/several_threats.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from mainstay import RobustLogisticRegression

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402

ROWS, FEATURES, STATED = 3000, 6, 0.25


def draw(rng):
    """Rows with a fifth of the cells missing, and who had the event in truth."""
    X = rng.normal(size=(2 * ROWS, 2)) @ rng.normal(size=(2, FEATURES))
    X += 0.7 * rng.normal(size=X.shape)
    risk = 1 / (1 + np.exp(0.5 - X @ np.array([1.0, -0.8, 0.5, 0, 0, 0.4])))
    event = (rng.random(len(X)) < risk).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, event


def predicted(X, reported, share):
    """Risk of the second half of the rows by a fit to the first, told a share of events that is not reported."""
    model = RobustLogisticRegression(wrong_labels=(0.0, share))
    return model.fit(X[:ROWS], reported[:ROWS]).predict_proba(X[ROWS:])[:, 1]


def calibration(axis, risk, event, **style):
    """Ten groups by risk: what was predicted and what happened."""
    groups = np.array_split(np.argsort(risk), 10)
    axis.plot([risk[g].mean() for g in groups], [event[g].mean() for g in groups], **style)


def main():
    """Draw both panels."""
    rng = np.random.default_rng(2)
    X, event = draw(rng)
    lost = rng.random(len(event)) < STATED
    panels = [
        ("one event in four is not reported", np.where(lost, 0, event)),
        ("every event is reported", event),
    ]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, sharey=True)
    for axis, (title, reported) in zip(axes, panels, strict=True):
        plain, told = (predicted(X, reported, share) for share in (0.0, STATED))
        axis.plot([0, 1], [0, 1], color="0.7", lw=0.8)
        calibration(axis, plain, event[ROWS:], marker="o", ms=4, color="C1", label="not told")
        name = "told: one in four"
        calibration(axis, told, event[ROWS:], marker="s", ms=4, color="C0", label=name)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("predicted risk")
    axes[0].set_ylabel("share with the event, in truth")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("several-threats.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
