"""
Which rows decide?
==================

A stable fit minimises the loss of the worst share of the rows. As the share shrinks, fewer rows carry the fit, down to a point
where no weights at all are worth having.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from mainstay import StableLogisticRegression
from mainstay.datasets import load_demo

warnings.filterwarnings("ignore", message=".*k.*")
X, y = load_demo(return_X_y=True)
plane = PCA(2).fit_transform(StandardScaler().fit_transform(X))
shares = [1.0, 0.25, 0.15, 0.1]
fits = [StableLogisticRegression(k=k, alpha=0.001).fit(plane, y) for k in shares]

fig, axes = plt.subplots(2, 2, figsize=(8, 7), layout="constrained", sharex=True, sharey=True)
for ax, share, fit in zip(axes.flat, shares, fits, strict=True):
    margin = fit.decision_function(plane) * np.where(y == fit.classes_[1], 1, -1)
    worst = np.argsort(margin, kind="stable")[: round(share * len(y))]
    ax.scatter(*plane.T, s=6, c="0.8", lw=0)
    (a, b), c = fit.coef_[0], fit.intercept_[0]
    if abs(b) > 1e-6:  # otherwise there is no plane, and all rows have the same loss
        colours = np.where(y[worst] == fit.classes_[1], "tab:green", "tab:orange")
        ax.scatter(*plane[worst].T, s=8, c=colours, lw=0)
        span = np.array([-6.0, 17.0])
        ax.plot(span, -(a * span + c) / b, color="tab:blue")
    ax.set(
        title=f"worst {100 * share:.0f} %" + ("" if fit.coef_.any() else ": no weights"),
        ylim=(-8, 13),
        xlim=(-6, 17),
    )
fig.supxlabel("first component")
fig.supylabel("second component")

# %%
# Coloured: the rows with the largest losses, which are all that the fit looks at. Among the worst tenth the two classes cannot be told
# apart: zero weights are the best answer. The fit warns about that and names the smallest share that works.

for share, fit in zip(shares, fits, strict=True):
    print(
        f"k = {share:4}: weights {np.round(fit.coef_[0], 2)}, gap {fit.dual_gap_:.0e}, accuracy {fit.score(plane, y):.3f}"
    )
