"""
Sixty patients: how good is the model really?
=============================================

Accuracy on the rows a model was fitted to flatters it, and one split of sixty rows into two says little. ``mainstay.validate`` refits the model
a few hundred times: bootstrap samples measure by how much it flatters itself, repeated cross-validation judges it on held-out rows, and
every figure comes with an interval.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

import mainstay
from mainstay import PenalizedClassifier
from mainstay.datasets import load_demo

X, y = load_demo(return_X_y=True)
few, rest, y_few, y_rest = train_test_split(X, y, train_size=60, stratify=y, random_state=3)
model = PenalizedClassifier(normalize=True, alpha=0.01)
result = mainstay.validate(model, few, y_few, random_state=0)
frame = result.to_frame().set_index("metric")
shown = ["apparent", "optimism", "corrected", "cross_validated"]
shown += ["cross_validated_low", "cross_validated_high"]
print(frame.loc[["auc", "accuracy", "log_loss"], shown].round(3).to_string())

# %%
# Here the truth can be looked up: 509 more patients.

from sklearn.metrics import log_loss, roc_auc_score  # noqa: E402

probability = model.fit(few, y_few).predict_proba(rest)
print(f"509 other patients: AUC {roc_auc_score(y_rest, probability[:, 1]):.3f}, ", end="")
print(f"log loss {log_loss(y_rest, probability):.3f}")

# %%
# The fit flatters itself, and the interval of the cross-validated figure, which is the one to report, holds the truth. In this draw the
# corrected figure is nearer to it; over many data sets it is the more flattering one (see :doc:`the guide </guide/validation>`).
#
# Calibration on held-out rows, how much each patient's probability moves from refit to refit, and what more rows
# would bring.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained")
result.plot_calibration(ax=axes[0])
result.plot_instability(ax=axes[1])
result.plot_learning_curve(ax=axes[2])
print(result.summary().splitlines()[0])
