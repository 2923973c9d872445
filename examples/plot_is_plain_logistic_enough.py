"""
Is plain logistic regression enough?
====================================

``compare`` damages the data in eight ways, fits ten methods to every version and answers in words. Here with a budget of twenty
seconds, which buys few repeats: the answer is careful accordingly.
"""

import matplotlib.pyplot as plt

import mainstay
from mainstay.datasets import load_demo

X, y = load_demo(return_X_y=True)
result = mainstay.compare(X, y, budget_seconds=20, random_state=0)
print(result.recommend())

# %%
# Two of the eight threats as pictures. Bands are 95 % confidence intervals; the thick lines are the baseline and the method that
# holds best.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, threat in zip(axes, ("outliers", "adversarial_deletion"), strict=True):
    result.plot(threat, ax=ax)

# %%
# The same as a page to keep or to mail: ``result.to_html("report.html")``.
