"""Draw docs/methods/missing.svg: weights, and accuracy as features go missing.

Run from the root of the repository, with the package and matplotlib installed::

    python docs/figures/missing.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from mainstay import MissingFeatureSVC
from mainstay.datasets import load_demo

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "mainstay", "svg.fonttype": "path", "font.size": 9})
from matplotlib import pyplot as plt  # noqa: E402

BUDGETS = (1, 2, 4, 8)


def worst_case(weights, intercept, X, y, budget):
    """Accuracy of any linear model if the worst `budget` features of every row are deleted."""
    contributions = np.where(y == 1, 1, -1)[:, None] * X * weights
    lost = np.sort(np.maximum(contributions, 0), axis=1)[:, ::-1][:, :budget].sum(axis=1)
    margins = contributions.sum(axis=1) + np.where(y == 1, 1, -1) * intercept - lost
    return np.mean(np.where(y == 1, margins > 0, margins >= 0))


X, y = load_demo(return_X_y=True)
X = scale(X)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
plain = LinearSVC(C=1.0, max_iter=100_000).fit(train, y_train)
robust = {n: MissingFeatureSVC(n).fit(train, y_train) for n in BUDGETS}

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.1), layout="constrained")
position = np.arange(X.shape[1])
for model, shift, colour, name in (
    (plain, -0.2, "tab:red", "plain SVM"),
    (robust[4], 0.2, "tab:blue", "budget 4"),
):
    w = model.coef_[0] / np.abs(model.coef_[0]).max()
    left.bar(position + shift, w, width=0.4, color=colour, label=name)
left.axhline(0, color="0.6", lw=0.6)
left.set(xlabel="feature", ylabel="weight / largest", title="Weights")
left.legend(frameon=False)

deleted = np.arange(13)
scores = [worst_case(plain.coef_[0], plain.intercept_[0], test, y_test, k) for k in deleted]
right.plot(deleted, scores, color="tab:red", marker="o", ms=3, label="plain SVM")
for n, shade in zip(BUDGETS, np.linspace(0.35, 1, len(BUDGETS)), strict=True):
    model = robust[n]
    scores = [model.worst_case_score(test, y_test, budget=k) for k in deleted]
    label = f"budget {n}"
    right.plot(deleted, scores, color="tab:blue", alpha=shade, marker="o", ms=3, label=label)
right.set(xlabel="features deleted from every row (worst case)", ylabel="accuracy", ylim=(0, 1))
right.set_title("Accuracy on new rows")
right.legend(frameon=False)
figure.savefig(Path("docs/methods/missing.svg"), metadata={"Date": None})
