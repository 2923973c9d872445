"""
Would another sample give me the same coefficients?
===================================================

Coefficients are read as findings. Drawn again, half of the patients may tell another story, most of all where features are nearly the same
measurement. Here three fits are made to the same twenty halves of the data: a plain logistic regression with a weak penalty, with a
strong one, and a stable logistic regression.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from mainstay import PenalizedClassifier, StableLogisticRegression, coefficient_stability
from mainstay.datasets import load_demo

bunch = load_demo()
X = StandardScaler().fit_transform(bunch.data)
fits = {
    "plain, alpha 0.001": PenalizedClassifier(alpha=1e-3),
    "plain, alpha 0.1": PenalizedClassifier(alpha=0.1),
    "stable, k = 0.7": StableLogisticRegression(k=0.7, alpha=1e-3),
}
moved = {
    name: coefficient_stability(fit, X, bunch.target, n_resamples=20, random_state=0)
    for name, fit in fits.items()
}

# %%
# The ten largest coefficients of the fit with a weak penalty: dots are the twenty fits, the bar is their mean.

plain = moved["plain, alpha 0.001"].coefficients[:, 0]
top = np.argsort(-np.abs(plain.mean(0)))[:10]
fig, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained", sharey=True, sharex=True)
for ax, (name, stability) in zip(axes, moved.items(), strict=True):
    values = stability.coefficients[:, 0][:, top]
    ax.barh(np.arange(10), values.mean(0), color="0.85")
    for row in values:
        ax.plot(row, np.arange(10), ".", ms=4, color="C0", alpha=0.5)
    ax.axvline(0, color="k", lw=0.8)
    ax.set(title=f"{name}\nrelative spread {stability.relative:.2f}", xlabel="coefficient per sd")
axes[0].set_yticks(np.arange(10), np.asarray(bunch.feature_names)[top])
axes[0].invert_yaxis()

# %%
# A sign that changes from half to half is no finding. A stronger penalty helps against that, at the price of smaller coefficients; the
# stable fit does little, as it asks for a plane that serves every large subset, which is another question.

for name, stability in moved.items():
    signs = np.sign(stability.coefficients[:, 0])
    share = np.maximum((signs > 0).mean(0), (signs < 0).mean(0))
    print(
        f"{name:20} coefficients with the same sign in at least 19 of 20 fits: {(share >= 0.95).sum()} of 30"
    )
