"""
Somebody mixed up the units: which rows are it?
===============================================

Two clinics send their tables. In one of them somebody typed a measurement in other units, a hundred times too large. A few such
values make the column useless for everybody, and nobody reads 500 rows by eye. ``DropFarRows`` leaves out rows that lie far from their class, and names the
row, the feature and the power of ten that would make it ordinary.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mainstay import DropFarRows, PenalizedClassifier
from mainstay.datasets import load_demo

bunch = load_demo()
columns = [1, 4, 7]  # mean texture, smoothness and concave points
X, y = bunch.data[:, columns], bunch.target
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=300, stratify=y, random_state=0
)
rng = np.random.default_rng(0)
wrong = np.sort(rng.choice(300, 15, replace=False))
features = rng.integers(0, 3, 15)
damaged = X_train.copy()
damaged[wrong, features] *= 100

plain = make_pipeline(StandardScaler(), PenalizedClassifier(alpha="cv"))
careful = DropFarRows(plain)
print(f"clean table            {plain.fit(X_train, y_train).score(X_test, y_test):.3f}")
print(f"15 values x 100        {plain.fit(damaged, y_train).score(X_test, y_test):.3f}")
print(f"without the far rows   {careful.fit(damaged, y_train).score(X_test, y_test):.3f}")
print(
    f"clean, far rows gone   {DropFarRows(plain).fit(X_train, y_train).score(X_test, y_test):.3f}"
)

# %%
# The list to send back to the clinic. ``unit`` is a guess, the power of ten that would make the value ordinary: 0.01 says that it is a
# hundred times too large.

far = careful.far_rows_
print(far.head(8))
named = set(zip(far["row"], far["feature"], strict=True))
right = sum(cell in named for cell in zip(wrong, features, strict=True))
guessed = (far["unit"].round(6) == 0.01).sum()
print(f"{right} of 15 wrong cells named, {guessed} with the right unit; {len(far)} rows left out")

# %%
# Distances of all rows, in units of the cut-off. Rows above 1 are left out.

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
honest = np.setdiff1d(np.arange(300), wrong)
ax.scatter(honest, careful.distances_[honest], s=9, color="0.6", label="as measured")
ax.scatter(wrong, careful.distances_[wrong], s=25, color="C3", label="one value x 100")
ax.axhline(1, color="k", lw=0.8)
ax.set(yscale="log", xlabel="training row", ylabel="distance / cut-off")
ax.legend(frameon=False, ncols=2)
