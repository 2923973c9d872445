"""
How far is each prediction from flipping?
=========================================

Two models with the same accuracy can differ in how easily they are talked out of their answers. ``certify`` computes, per row, the
smallest change that flips the prediction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import mainstay
from mainstay import PenalizedClassifier
from mainstay.datasets import load_demo

X, y = load_demo(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)
models = {
    "logistic, weak penalty": LogisticRegression(C=1000, max_iter=5000),
    "logistic, C = 0.1": LogisticRegression(C=0.1),
    "linear SVM": LinearSVC(C=0.01),
    "few features (L1)": PenalizedClassifier(penalty="l1", alpha=0.05),
}

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for name, model in models.items():
    model.fit(train, y_train)
    found = mainstay.certify(model, test)
    right = model.predict(test) == y_test
    print(
        f"{name:24} accuracy {right.mean():.3f}, median radius {np.median(found['radius_l2']):.2f}"
    )
    for ax, column in zip(axes, ("radius_l2", "radius_linf"), strict=True):
        radius = np.sort(np.where(right, found[column], 0))
        ax.plot(radius, 1 - np.arange(len(radius)) / len(radius), label=name)
axes[0].set(
    xlabel="change of the whole row (standard deviations)",
    ylabel="share still right, proven",
    xlim=(0, 4),
)
axes[1].set(xlabel="change of every feature at once", xlim=(0, 1))
axes[0].legend(frameon=False)

# %%
# Read it like a survival curve. The accuracies at the left edge are close together; what follows is not. The weak penalty falls first on
# either side. The model that leans on few features falls faster than the other two when the whole row may move, and slower when every
# feature may move a little.
