"""
Which of these predictions can I act on?
========================================

A model answers every row it is given: one that lies between the classes, and one unlike anything it has seen. ``mainstay.trust`` says
for each row whether the prediction *stands*, is a *close call*, or is about a row *unlike the training data*, and why.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import mainstay
from mainstay import PenalizedClassifier
from mainstay.datasets import load_demo

bunch = load_demo()
columns = [0, 1]  # mean radius and mean texture, so that the rows can be drawn
X_train, X_test, y_train, y_test = train_test_split(
    bunch.data[:, columns], bunch.target, train_size=300, stratify=bunch.target, random_state=0
)
# Three rows from another instrument.
X_test[:3] *= [1.0, 2.5]
model = PenalizedClassifier(normalize=True).fit(X_train, y_train)
found = mainstay.trust(model, X_test, X_train=X_train, y_train=y_train, y=y_test, random_state=0)
columns = ["predicted", "verdict", "probability", "agreement", "flip_sd"]
print(found[columns].head(6).to_string())
for row, reason in found["reasons"].head(6).items():
    print(row, reason)

# %%
# What speaks against a prediction is drawn here; the rule is written down in ``found.attrs["rule"]``.

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
colours = {"stands": "0.7", "close call": "C1", "unlike the training data": "C3"}
for verdict, colour in colours.items():
    rows = (found["verdict"] == verdict).to_numpy()
    ax.scatter(*X_test[rows].T, s=18, color=colour, label=f"{verdict} ({rows.sum()})")
radius = np.linspace(*ax.get_xlim(), 2)
(weights,), (intercept,) = model.coef_, model.intercept_
ax.plot(radius, -(weights[0] * radius + intercept) / weights[1], "k", lw=0.8)
ax.set(xlabel="mean radius", ylabel="mean texture", ylim=(5, 70))
ax.legend(frameon=False)

# %%
# Leaving the others to somebody else pays: the accuracy of what stands against that of all rows.

right = (found["predicted"] == y_test).mean()
print(f"all rows: {right:.3f}; the {100 * found.attrs['coverage']:.0f} % that stand: ", end="")
print(f"{found.attrs['accuracy']:.3f}")
