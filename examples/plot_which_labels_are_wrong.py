"""
Which of my labels are wrong?
=============================

One label in ten of the breast cancer data is flipped on purpose. The conic-loss fit ranks all rows by how little it believes
their label. How far down the list must one read to find the mistakes, and is the list better than the plain one: rows sorted
by their loss in a logistic regression?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from mainstay import ConicSVCCV, PenalizedClassifier
from mainstay.datasets import load_demo
from mainstay.threats import label_noise

X, truth = load_demo(return_X_y=True)
X = StandardScaler().fit_transform(X)
y = label_noise(truth, 0.1, random_state=0)
wrong = y != truth
print(f"{wrong.sum()} of {len(y)} labels are wrong")

# %%
# A fit that rations its disbelief. ``kappa_`` is the share of disbelief that cross-validation chose; ``z_`` is how much of it each row got.

conic = ConicSVCCV(kappas=[0.02, 0.05, 0.1, 0.15, 0.2, 0.3]).fit(X, y)
print(f"kappa = {conic.kappa_:g}, proven gap {conic.dual_gap_:.1e}")
suspects = conic.suspicious_labels()
print(suspects.head(8).to_string())

# %%
# The rival: training loss of a plain, tuned logistic regression.

plain = PenalizedClassifier(alpha="cv").fit(X, y)
probability = plain.predict_proba(X)[np.arange(len(y)), np.searchsorted(plain.classes_, y)]


def found(order):
    """Share of the wrong labels among the first rows of a list."""
    return np.cumsum(wrong[order]) / wrong.sum()


margin = conic.decision_function(X) * np.where(y == conic.classes_[1], 1, -1)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
read = np.arange(1, len(y) + 1)
ax.plot(read, found(np.argsort(-conic.z_, kind="stable")), label="disbelief z_ of the conic fit")
ax.plot(read, found(np.argsort(margin, kind="stable")), label="margin of the conic fit")
ax.plot(
    read,
    found(np.argsort(probability, kind="stable")),
    "--",
    label="loss of plain logistic regression",
)
ax.plot(read, np.minimum(read / wrong.sum(), 1), color="0.7", lw=1, label="perfect")
ax.axvline(wrong.sum(), color="0.7", lw=1)
ax.set(xlim=(0, 200), ylim=(0, 1.02), xlabel="rows read", ylabel="share of the wrong labels found")
ax.legend(frameon=False)

# %%
# Read by margin, the list of the conic fit is nearly perfect, and so is the plain one. The raw disbelief ``z_`` is slower: it divides by
# how much pull a row has, so that a far row needs a larger mistake to stand out. What the conic fit adds to the list is a model
# that was not bent by the mistakes, and a proof that it is the best one for its ration of disbelief.

clean_conic, clean_plain = (m.score(X, truth) for m in (conic, plain))
print(f"accuracy against the true labels: conic {clean_conic:.3f}, plain {clean_plain:.3f}")
