"""Draw docs/figures/baselines.svg: weights and held-out loss against the strength of the penalty.

Run from the root of the repository, with the package and matplotlib installed::

    python docs/figures/baselines.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mainstay import PenalizedClassifier
from mainstay.datasets import load_demo

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402


def main():
    """Draw both panels."""
    X, y = load_demo(return_X_y=True)
    train, test, y_train, y_test = train_test_split(
        X, y, train_size=100, stratify=y, random_state=1
    )
    scaler = StandardScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    alphas = np.geomspace(1e-5, 1, 40)
    fits = [PenalizedClassifier(alpha=alpha).fit(train, y_train) for alpha in alphas]
    chosen = PenalizedClassifier(alpha="cv").fit(train, y_train).alpha_
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharex=True)
    axes[0].plot(alphas, [fit.coef_[0] for fit in fits], color="C0", lw=0.7, alpha=0.7)
    axes[0].set(xscale="log", xlabel="alpha", ylabel="weights (standardised features)")
    sides = [("the 100 training rows", train, y_train, "C1"), ("469 new rows", test, y_test, "C0")]
    for name, rows, labels, colour in sides:
        losses = [log_loss(labels, fit.predict_proba(rows)) for fit in fits]
        axes[1].plot(alphas, losses, color=colour, label=name)
    axes[1].set(xlabel="alpha", ylabel="log loss", ylim=(0, 0.5))
    for axis in axes:
        axis.axvline(chosen, color="0.4", lw=0.9, ls="--")
    axes[1].text(chosen / 1.15, 0.46, 'alpha="cv"', color="0.3", fontsize=8, ha="right")
    axes[1].legend(frameon=False, loc="upper right")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("baselines.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
