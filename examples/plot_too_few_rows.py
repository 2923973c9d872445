"""
Twenty rows and thirty features: is it foolhardy?
=================================================

Draw small training sets again and again from the breast cancer data and look at the whole distribution of what comes out, not
only at its mean: with few rows the bad draws are the story.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mainstay import RolinClassifier
from mainstay.datasets import load_demo

warnings.filterwarnings("ignore")  # scikit-learn announces new defaults on every fit
X, y = load_demo(return_X_y=True)
fits = {
    "tuned L2": lambda: make_pipeline(
        StandardScaler(), LogisticRegressionCV(Cs=8, cv=4, scoring="neg_log_loss")
    ),
    "ROLIN": lambda: RolinClassifier(),
}
sizes = [20, 30, 60, 120]
losses = {name: [] for name in fits}
for size in sizes:
    draws = StratifiedShuffleSplit(12, train_size=size, random_state=size)
    values = {name: [] for name in fits}
    for train, test in draws.split(X, y):
        for name, make in fits.items():
            model = make().fit(X[train], y[train])
            values[name].append(
                log_loss(y[test], model.predict_proba(X[test]), labels=np.unique(y))
            )
    for name in fits:
        losses[name].append(values[name])

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for shift, (name, values) in zip((-0.18, 0.18), losses.items(), strict=True):
    places = np.arange(len(sizes)) + shift
    box = ax.boxplot(values, positions=places, widths=0.3, patch_artist=True, whis=(0, 100))
    colour = "tab:blue" if name == "ROLIN" else "tab:orange"
    for patch in box["boxes"]:
        patch.set(facecolor=colour, alpha=0.6)
    ax.plot([], [], color=colour, lw=6, alpha=0.6, label=name)
ax.set_xticks(range(len(sizes)), sizes)
ax.set(xlabel="training rows", ylabel="log loss on all other rows", ylim=(0, None))
ax.legend(frameon=False)

# %%
# Boxes hold half of the draws, whiskers all of them. Twenty rows are enough here for a model that is worth having (the loss of a coin is
# 0.69), but a tuned penalty has draws that are several times worse than its usual one: choosing by cross-validation among so few
# rows is a lottery. ROLIN averages instead of choosing, and its worst draw is far less bad. With 120 rows there is little between them.

for i, size in enumerate(sizes):
    line = ", ".join(
        f"{name} mean {np.mean(v[i]):.3f} worst {np.max(v[i]):.3f}" for name, v in losses.items()
    )
    print(f"{size:4} rows: {line}")
