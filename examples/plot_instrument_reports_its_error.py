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

centres = np.array([[-1.0, -0.6], [1.0, 0.6]])


def readings(n, rng):
    """What an instrument with known errors reports, the truth behind it, the errors, the classes."""
    y = rng.integers(0, 2, n)
    truth = centres[y] + 0.7 * rng.standard_normal((n, 2))
    errors = np.column_stack([rng.choice([0.15, 1.6], n), np.full(n, 0.15)])
    return truth + errors * rng.standard_normal((n, 2)), truth, errors, y


def shrink(rows, errors, like):
    """The expected true value of a reading, feature by feature, for normal errors."""
    mean, spread = like.mean(0), like.var(0)
    signal = np.maximum(spread - (errors**2).mean(0), 0.05)
    return mean + (rows - mean) * signal / (signal + errors**2)


def worst(model, truth, errors, y):
    """Share of true rows that no error of the stated size turns."""
    margin = model.decision_function(truth) * np.where(y == 1, 1, -1)
    return (margin > np.linalg.norm(errors * model.coef_, axis=1)).mean()


# %%
# Two kinds of new readings. *Random* errors come as they do from the instrument. The *worst* errors have the stated size and the
# most harmful direction: what a guarantee must survive. Means over ten training sets of 150 rows.

table = []
for seed in range(10):
    rng = np.random.default_rng(seed)
    X, _, errors, y = readings(150, rng)
    new, true, new_errors, labels = readings(4000, rng)
    plain = LogisticRegression().fit(X, y)
    kept = EllipsoidSVC(C=1.0).fit(X, y, uncertainty=errors)
    shrunk = LogisticRegression().fit(shrink(X, errors, X), y)
    random = plain.score(new, labels), kept.score(new, labels)
    cleaned = shrunk.score(shrink(new, new_errors, X), labels)
    table.append([*random, cleaned, *(worst(m, true, new_errors, labels) for m in (plain, kept))])
a, b, c, d, e = np.mean(table, axis=0)
print("                             random errors   worst errors")
print(f"ignoring the errors          {a:13.3f}   {d:12.3f}")
print(f"margin for whole ellipsoids  {b:13.3f}   {e:12.3f}")
print(f"readings shrunk first        {c:13.3f}")
print(f"proven gap of the last ellipsoid fit: {kept.dual_gap_:.0e}")

# %%
# The last training set:

fig, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
for label, colour in ((0, "tab:orange"), (1, "tab:green")):
    rows = y == label
    bars = {"fmt": "o", "ms": 4, "color": colour, "elinewidth": 0.5, "alpha": 0.6}
    ax.errorbar(*X[rows].T, xerr=errors[rows, 0], **bars)
span = np.array([-4.5, 4.5])
for model, colour, name in (
    (plain, "tab:red", "ignoring the errors"),
    (kept, "tab:blue", "whole ellipsoids"),
):
    (a, b), c = model.coef_[0], model.intercept_[0]
    ax.plot(span, -(a * span + c) / b, color=colour, lw=2, label=name)
ax.set(xlim=span, ylim=(-3.5, 3.5), ylabel="always measured well")
ax.set_xlabel("measured well or badly (bars: one standard error)")
ax.legend(frameon=False)

# %%
# The boundary that knows about the errors leans on the feature that is always measured well. It pays for that when errors are
# random: there, shrinking bad readings is hard to beat. Whole ellipsoids are for errors that may be used up in the worst way, and
# even then the gain is small here. Measure it on your data before you pay for it.
