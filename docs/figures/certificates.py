"""Draw docs/figures/certificates.svg: objective and proven bound close in on the optimum as a solver goes on.

Run from the root of the repository, with the package and matplotlib installed::

    python docs/figures/certificates.py
"""

import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.preprocessing import StandardScaler

from mainstay import ConicSVC
from mainstay.datasets import load_demo

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402


def stopped(X, y, most):
    """(objective, proven bound, gap) of fits that were stopped after 1, 2, ... iterations."""
    found = []
    for limit in range(1, most):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ConicSVC(kappa=0.1, max_iter=limit, tol=1e-9).fit(X, y)
        width = model.dual_gap_ * max(1.0, abs(model.objective_))
        found.append((model.objective_, model.objective_ - width, model.dual_gap_))
        if model.n_iter_ < limit:
            break
    return np.array(found)


def main():
    """Draw both panels."""
    X, y = load_demo(return_X_y=True)
    found = stopped(StandardScaler().fit_transform(X)[:200], y[:200], 60)
    steps = np.arange(1, len(found) + 1)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharex=True)
    axes[0].fill_between(steps, found[:, 1], found[:, 0], color="C0", alpha=0.2, lw=0)
    axes[0].plot(steps, found[:, 0], color="C0", label="objective_ of the weights")
    axes[0].plot(steps, found[:, 1], color="C1", label="proven lower bound")
    axes[0].set(xlabel="iterations", ylabel="objective")
    axes[0].legend(frameon=False)
    axes[1].semilogy(steps, found[:, 2], color="C0")
    axes[1].set(xlabel="iterations", ylabel="dual_gap_")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("certificates.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
