"""
How much should I shrink?
=========================

The strength of the penalty is the one number every regularised fit needs. ``alpha="cv"`` chooses it among thirty along a warm-started path;
``cv_results_`` holds what it saw, in the words of scikit-learn, so that the choice can be looked at.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from mainstay import PenalizedClassifier
from mainstay.datasets import load_demo

bunch = load_demo()
X, y = StandardScaler().fit_transform(bunch.data)[:150], bunch.target[:150]
fit = PenalizedClassifier(penalty="l1", alpha="cv", n_folds=5).fit(X, y)
results = fit.cv_results_
alphas = np.asarray(results["param_alpha"], dtype=float)
order = np.argsort(alphas)
mean = np.asarray(results["mean_test_score"])[order]
error = np.asarray(results["std_test_score"])[order] / np.sqrt(5)
alphas = alphas[order]

# %%
# Held-out score (minus the log loss) against the strength, with a standard error, and how many features remain.

warnings.filterwarnings("ignore", "the model predicts one class")  # the strongest keep no feature
kept = [
    np.count_nonzero(PenalizedClassifier(penalty="l1", alpha=a).fit(X, y).coef_) for a in alphas
]
fig, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
above.errorbar(alphas, mean, yerr=error, marker="o", ms=4, capsize=2)
best = int(np.argmax(mean))
simplest = alphas[mean >= mean[best] - error[best]].max()
for ax in (above, below):
    ax.axvline(fit.alpha_, color="C3", lw=1, label=f"chosen: {fit.alpha_:.2g}")
    ax.axvline(
        simplest, color="C2", lw=1, ls="--", label=f"simplest within one error: {simplest:.2g}"
    )
above.set(ylabel="held-out score", xscale="log")
below.step(alphas, kept, where="mid")
below.set(xlabel="alpha", ylabel="features with a weight", yticks=range(0, 16, 5))
below.legend(frameon=False, loc="lower left")

# %%
# Within one standard error of the best, the data do not tell the candidates apart: the strongest of those gives the shortest list of
# features to report.

print(
    f"chosen alpha {fit.alpha_:.3g}: {np.count_nonzero(fit.coef_)} features; gap {fit.dual_gap_:.1e}"
)
print(
    f"simplest within one standard error {simplest:.3g}: {kept[int(np.flatnonzero(alphas == simplest)[0])]} features"
)
