"""
My table is half empty: what do I lose?
=======================================

Tests that were not ordered, sensors that were off: cells are missing when the model is trained and when it predicts. The usual
answer puts the mean of the column there. Features that are related say more than that: here the share of missing cells grows, and
three ways of filling them are compared on patients that no fit has seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mainstay import GaussianImputer, PenalizedClassifier, RobustLogisticRegression
from mainstay.datasets import load_demo

X, y = load_demo(return_X_y=True)
shares = np.array([0.0, 0.1, 0.3, 0.5, 0.7])
fits = {
    "mean of the column": make_pipeline(
        StandardScaler(), SimpleImputer(), PenalizedClassifier(alpha="cv")
    ),
    "GaussianImputer": make_pipeline(
        StandardScaler(), GaussianImputer(), PenalizedClassifier(alpha="cv")
    ),
    "RobustLogisticRegression": make_pipeline(StandardScaler(), RobustLogisticRegression()),
}
cost = {name: np.zeros((len(shares), 3)) for name in fits}
for i, share in enumerate(shares):
    for repeat in range(3):
        rng = np.random.default_rng(repeat)
        holes = np.where(rng.random(X.shape) < share, np.nan, X)
        X_train, X_test, y_train, y_test = train_test_split(
            holes, y, train_size=200, stratify=y, random_state=repeat
        )
        for name, fit in fits.items():
            probabilities = fit.fit(X_train, y_train).predict_proba(X_test)
            cost[name][i, repeat] = log_loss(y_test, probabilities, labels=fit.classes_)

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, values in cost.items():
    ax.plot(100 * shares, values.mean(1), marker="o", label=name)
    ax.fill_between(100 * shares, values.min(1), values.max(1), alpha=0.15)
ax.set(xlabel="% of the cells missing", ylabel="log loss on new patients", ylim=(0, None))
ax.legend(frameon=False)

# %%
# Bands show the best and the worst of three splits. Means waste what the measured features say about the missing ones.
# ``RobustLogisticRegression`` also averages its probabilities over what it does not know, so that a patient with few measured values gets
# a cautious answer instead of a confident one; where most of the cells are missing that is too cautious here, and the imputer alone is
# ahead. Where features are unrelated all three are the same.

for name, values in cost.items():
    print(f"{name:26} log loss with half of the cells {values[3].mean():.3f}")
