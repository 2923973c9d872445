"""
Which of my labels are wrong?
=============================

One label in ten of the breast cancer data is flipped on purpose. ``audit_labels`` estimates how many labels are wrong, ranks all rows and
says where to stop reading. How far down the list must one read to find the mistakes, and is the list better than simpler ones?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from mainstay import ConicSVCCV, PenalizedClassifier, audit_labels
from mainstay.datasets import load_demo
from mainstay.threats import label_noise

X, truth = load_demo(return_X_y=True)
X = StandardScaler().fit_transform(X)
y = label_noise(truth, 0.1, random_state=0)
wrong = y != truth
print(f"{wrong.sum()} of {len(y)} labels are wrong")

# %%
# The audit knows nothing of that number.

audit = audit_labels(X, y)
print(audit.summary())
print(audit.flagged().head(8).to_string())

# %%
# Rivals: the rows sorted by their loss in a plain, tuned logistic regression, and by how little a conic-loss fit, which rations its disbelief,
# believes their label.

plain = PenalizedClassifier(alpha="cv").fit(X, y)
probability = plain.predict_proba(X)[np.arange(len(y)), np.searchsorted(plain.classes_, y)]
conic = ConicSVCCV(kappas=[0.02, 0.05, 0.1, 0.15, 0.2, 0.3]).fit(X, y)
lists = {
    "audit_labels": np.asarray(audit.table["row"]),
    "loss of plain logistic regression": np.argsort(probability, kind="stable"),
    "disbelief z_ of the conic fit": np.argsort(-conic.z_, kind="stable"),
}

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
read = np.arange(1, len(y) + 1)
for (name, order), style in zip(lists.items(), ("-", "--", ":"), strict=True):
    ax.plot(read, np.cumsum(wrong[order]) / wrong.sum(), style, label=name)
ax.plot(read, np.minimum(read / wrong.sum(), 1), color="0.7", lw=1, label="perfect")
ax.axvline(audit.n_flagged, color="C0", lw=1, label=f"the audit stops here: {audit.n_flagged} rows")
ax.set(xlim=(0, 200), ylim=(0, 1.02), xlabel="rows read", ylabel="share of the wrong labels found")
ax.legend(frameon=False)

# %%
# On this easy table the plain list is nearly as good as the audit's; what the audit adds is the count, a probability for every row and the
# place to stop. The raw disbelief ``z_`` is slower: it divides by how much pull a row has, so that a far row needs a larger mistake to stand
# out. What the conic fit is for is a model that was not bent by the mistakes:

for name, model in {"conic": conic, "plain": plain}.items():
    print(f"{name}: accuracy against the true labels {model.score(X, truth):.3f}")
