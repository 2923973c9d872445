"""
How many tests may go missing before this patient's prediction flips?
=====================================================================

``certify`` answers for every single row, exactly, for any linear model: the fewest features whose loss turns the answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import mainstay
from mainstay import MissingFeatureSVC
from mainstay.datasets import load_demo

data = load_demo()
train, test, y_train, y_test = train_test_split(
    data.data, data.target, random_state=0, test_size=0.4
)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)

models = {
    "logistic regression": LogisticRegression().fit(train, y_train),
    "prepared for 5 missing": MissingFeatureSVC(budget=5).fit(train, y_train),
}

# %%
# A missing test is filled with the mean, 0 after standardising. One patient in detail: the witness is the very row that flips.

plain = models["logistic regression"]
certificates = mainstay.certify(plain, test, witness="deletions")
patient = 3
row = certificates.iloc[patient]
flipped = row.filter(like="witness_").to_numpy(dtype=float)
gone = np.flatnonzero((flipped == 0) & (test[patient] != 0))
print(
    f"patient {patient}: predicted {plain.predict(test[[patient]])[0]}, flips without {int(row.deletions)} tests:"
)
print("  " + ", ".join(str(data.feature_names[j]) for j in gone))
print(f"  prediction without them: {plain.predict(flipped[None])[0]}")

# %%
# All patients: the share whose prediction is right and stays so, whichever tests are lost.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
lost = np.arange(0, 16)
for name, model in models.items():
    needed = mainstay.certify(model, test)["deletions"].to_numpy()
    good = model.predict(test) == y_test
    ax.step(lost, [(good & (needed > k)).mean() for k in lost], where="mid", marker="o", label=name)
ax.set(xlabel="tests lost, the worst ones", ylabel="patients proven right", ylim=(0, 1.02))
ax.legend(frameon=False)

# %%
# Preparation costs a little when nothing is missing and pays when much is. This is the worst case: an adversary picks the
# tests. If yours are lost at random, filling them from the others is the better protection.
