"""
My instrument reports its error: should the model know?
=======================================================

Each reading comes with a standard error, and some readings are ten times worse than others. One way to use that is to keep
the margin for the whole ellipsoid of possible values; another is to ignore it. A third, simple one shrinks each bad reading towards the mean.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from mainstay import EllipsoidSVC

rng = np.random.default_rng(0)
centres = np.array([[-1.0, -0.6], [1.0, 0.6]])


def readings(n):
    """True rows, and what an instrument with known errors reports about them."""
    y = rng.integers(0, 2, n)
    truth = centres[y] + 0.7 * rng.standard_normal((n, 2))
    errors = np.column_stack([rng.choice([0.15, 1.6], n), np.full(n, 0.15)])
    return truth + errors * rng.standard_normal((n, 2)), errors, y


X, errors, y = readings(150)
new, new_errors, labels = readings(4000)


def shrink(rows, errors):
    """The expected true value of a reading, feature by feature, for normal errors."""
    mean = X.mean(0)
    signal = np.maximum(X.var(0) - (errors**2).mean(0), 0.05)
    return mean + (rows - mean) * signal / (signal + errors**2)


plain = LogisticRegression().fit(X, y)
kept = EllipsoidSVC(C=1.0).fit(X, y, uncertainty=errors)
shrunk = LogisticRegression().fit(shrink(X, errors), y)

# %%
# Accuracy on new readings with the same kind of errors. The last line needs the errors of the new rows as well.

print(f"ignoring the errors          {plain.score(new, labels):.3f}")
print(f"margin for whole ellipsoids  {kept.score(new, labels):.3f}  (proven gap {kept.dual_gap_:.0e})")
print(f"readings shrunk first        {shrunk.score(shrink(new, new_errors), labels):.3f}")

fig, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
for label, colour in ((0, "tab:orange"), (1, "tab:green")):
    rows = y == label
    ax.errorbar(*X[rows].T, xerr=errors[rows, 0], fmt="o", ms=4, color=colour, ecolor=colour, elinewidth=0.5, alpha=0.6)
span = np.array([-4.5, 4.5])
for model, colour, name in ((plain, "tab:red", "ignoring the errors"), (kept, "tab:blue", "whole ellipsoids")):
    (a, b), c = model.coef_[0], model.intercept_[0]
    ax.plot(span, -(a * span + c) / b, color=colour, lw=2, label=name)
ax.set(xlim=span, ylim=(-3.5, 3.5), xlabel="measured well or badly (bars: one standard error)", ylabel="always measured well")
ax.legend(frameon=False)

# %%
# The boundary that knows about the errors leans on the feature that is always measured well. For random errors, shrinking
# bad readings is hard to beat; whole ellipsoids are for errors that are bounds.
