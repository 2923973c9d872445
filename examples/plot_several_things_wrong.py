"""
Several things are wrong at once. Can I say so?
===============================================

A registry: some deaths were never reported (labels wrong on one side), the assay is imprecise, and tests are missing. Each of these has a
method of its own; ``RobustLogisticRegression`` takes all of them at once. Here the statement "one event in four is not
reported" changes the probabilities, which is what a registry is used for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mainstay import PenalizedClassifier, RobustLogisticRegression

rng = np.random.default_rng(4)
n, p = 4000, 8
common = rng.normal(size=(n, 2)) @ rng.normal(size=(2, p))
truth = common + 0.7 * rng.normal(size=(n, p))
risk = 1 / (1 + np.exp(1.0 - truth @ np.array([1.0, -0.8, 0.5, 0, 0, 0, 0.4, 0])))
event = (rng.random(n) < risk).astype(int)
reported = np.where(rng.random(n) < 0.25, 0, event)  # one event in four is not reported
measured = truth + rng.normal(scale=0.5, size=(n, p))
measured[rng.random((n, p)) < 0.2] = np.nan
train, test = np.arange(2000), np.arange(2000, n)

# What is stated: errors of 0.5 in the units of the data, and who is mislabelled. NaN needs no statement.
told = RobustLogisticRegression(wrong_labels=(0.0, 0.25)).fit(
    measured[train], reported[train], errors=np.full((2000, p), 0.5)
)
told_risk = told.predict_proba(measured[test], errors=np.full((2000, p), 0.5))[:, 1]

filled = np.where(np.isnan(measured), np.nanmean(measured[train], axis=0), measured)
plain = make_pipeline(StandardScaler(), PenalizedClassifier(alpha="cv"))
plain_risk = plain.fit(filled[train], reported[train]).predict_proba(filled[test])[:, 1]

# %%
# Ten groups of equal size by predicted risk: what was predicted, and how many had the event in truth.

fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name, predicted in [("plain", plain_risk), ("told", told_risk)]:
    groups = np.array_split(np.argsort(predicted), 10)
    x = [predicted[g].mean() for g in groups]
    ax.plot(x, [event[test][g].mean() for g in groups], marker="o", label=name)
ax.plot([0, 1], [0, 1], color="0.6", lw=0.8, label="ideal")
ax.set(
    xlabel="predicted risk", ylabel="share with the event, in truth", xlim=(0, 0.7), ylim=(0, 0.7)
)
ax.legend(frameon=False)

# %%
# The plain fit learns reporting, not dying: it predicts too little in every group. The fit that was told is near the truth. If the statement is wrong, so are the
# probabilities of the fit that was told. Correcting for wrong labels in the likelihood is not convex and has no proof;
# ``correction="after"`` fits the labels as they are, with a proof, and corrects the probabilities afterwards.

for name, predicted in [("plain", plain_risk), ("told", told_risk)]:
    print(
        f"{name:6} mean predicted risk {predicted.mean():.3f}   true share {event[test].mean():.3f}"
    )
proved = RobustLogisticRegression(wrong_labels=(0.0, 0.25), correction="after")
proved.fit(measured[train], reported[train], errors=np.full((2000, p), 0.5))
print(f"corrected afterwards: proven gap {proved.dual_gap_:.1e}")
