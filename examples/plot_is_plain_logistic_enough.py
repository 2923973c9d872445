"""
Is plain logistic regression enough?
====================================

``compare`` damages the data in eight ways, fits twelve methods to every version and answers in words. Here on five splits of at most 80
training rows, to be quick; on your own data leave both settings out and give it a minute.
"""

import matplotlib.pyplot as plt

import mainstay
from mainstay.datasets import load_demo

X, y = load_demo(return_X_y=True)
result = mainstay.compare(X, y, repeats=5, max_rows=80, random_state=0)
print(result.recommend())

# %%
# Two of the eight threats as pictures. The band is the 95 % confidence interval of plain logistic regression, dashed lines are the
# baselines.

fig, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained", sharey=True)
for ax, threat in zip(axes, ("outliers", "adversarial_deletion"), strict=True):
    result.plot(threat, ax=ax)
axes[0].get_legend().remove()

# %%
# The same as a page to keep or to mail: ``result.to_html("report.html")``.
