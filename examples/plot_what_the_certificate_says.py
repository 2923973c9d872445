"""
When has a fit converged?
=========================

scikit-learn stops when steps become small. We stop when a proof says that nothing better exists. Tighten scikit-learn's
tolerance and measure, with our certificate's lower bound, how far from the optimum it stops.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mainstay import PenalizedClassifier
from mainstay.datasets import load_demo

warnings.filterwarnings("ignore")  # the largest tolerances announce that they were not reached
X, y = load_demo(return_X_y=True)
X = StandardScaler().fit_transform(X)
n = len(y)
ours = PenalizedClassifier(alpha=0.1 / n, tol=1e-9).fit(X, y)
bound = ours.objective_ - ours.dual_gap_ * max(1, abs(ours.objective_))
sign = np.where(y == ours.classes_[1], 1, -1)
print(f"objective {ours.objective_:.12f}\nbound     {bound:.12f}")


def objective(model):
    """Our objective at another program's weights."""
    margins = sign * model.decision_function(X)
    return np.logaddexp(0, -margins).mean() + 0.1 / n * (model.coef_**2).sum() / 2


tolerances = 10.0 ** -np.arange(1, 9)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for solver in ("lbfgs", "newton-cholesky", "saga"):
    limit = 20_000 if solver == "saga" else 5_000
    fits = [
        LogisticRegression(C=10, tol=t, solver=solver, max_iter=limit).fit(X, y) for t in tolerances
    ]
    ax.loglog(
        tolerances, [max(objective(f) - bound, 1e-16) for f in fits], marker="o", label=solver
    )
ax.axhline(max(ours.dual_gap_, 1e-16), color="k", ls=":", label="our certificate")
ax.set(xlabel="tol given to scikit-learn", ylabel="proven distance to the optimum")
ax.invert_xaxis()
ax.legend(frameon=False)

# %%
# The same ``tol`` means something else for every solver. ``dual_gap_`` means the same for every fit. Nothing can be measured below the
# dotted line: there the bound itself ends.
