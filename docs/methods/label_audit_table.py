"""Precision at k of rankings of labels, ours beside cleanlab's, with flips planted in real data.

    python docs/methods/label_audit_table.py DATASETS [SEEDS]

DATASETS is a folder of NAME.csv.gz with a column ``target``. The ranking was chosen on seven other
sets (decision 0064); k is the number of planted flips. cleanlab has the held-out probabilities of
scikit-learn's logistic regression, and those of our tuned one, which are better. Prints figures by
set, writes what was found to benches/results/labels.json and puts it into the pages that show it.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mainstay

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benches" / "results" / "labels.json"
sys.path.insert(0, str(ROOT / "docs" / "_tools"))

import numbers_in_pages  # noqa: E402

#: What the pages call each ranking, and noise.
KEYS = {
    "`audit_labels`": "audit",
    "`suspicious_labels` of plain L2": "suspicious",
    "in-sample loss of plain L2": "loss",
    "cleanlab, `find_label_issues`": "issues",
    "cleanlab, self-confidence": "confidence",
    "cleanlab, `find_label_issues`, tuned L2": "issues_tuned",
    "cleanlab, self-confidence, tuned L2": "confidence_tuned",
    "conic `z_`": "conic",
}
NOISE_KEYS = {"10 %": "10", "20 %": "20", "20 % of one class": "one"}
SETS = [
    "pima",
    "parkinsons",
    "qsar_biodeg",
    "breast_cancer_ljubljana",
    "spambase",
    "banknote",
    "ilpd",
    "musk1",
]
NOISES = {"10 %": 0.1, "20 %": 0.2, "20 % of one class": 0.2}


def load(folder, name, rng, most=700):
    """Standardised features and 0/1 labels of at most `most` rows."""
    table = pd.read_csv(Path(folder) / f"{name}.csv.gz")
    y = pd.factorize(table.pop("target"), sort=True)[0]
    numeric = table.select_dtypes("number").columns
    table[numeric] = table[numeric].fillna(table[numeric].median())
    X = pd.get_dummies(table).to_numpy(float)
    rows = rng.permutation(len(y))[:most]
    X, y = X[rows], y[rows]
    return StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]), y


def of_cleanlab(model, X, y, seed):
    """Give its two rankings, from held-out probabilities of the model."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    p = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    confidence = -get_label_quality_scores(y, p)
    found = find_label_issues(y, p, return_indices_ranked_by="self_confidence")
    first = confidence.copy()
    first[found] += 2
    return confidence, first


def rankings(X, y, seed):
    """Name and suspicion of every row."""
    theirs = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    confidence, first = of_cleanlab(theirs, X, y, seed)
    tuned = mainstay.PenalizedClassifier(alpha="cv")
    better_confidence, better_first = of_cleanlab(tuned, X, y, seed)
    audit = mainstay.audit_labels(X, y, random_state=seed, planted=5)
    ours = np.empty(len(y))
    ours[audit.table["row"]] = audit.table["wrong"]
    plain = mainstay.PenalizedClassifier(alpha="cv").fit(X, y)
    quick = np.empty(len(y))
    suspects = plain.suspicious_labels()
    quick[suspects["row"]] = suspects["score"]
    conic = mainstay.ConicSVC(0.1).fit(X, y)
    by_name = {
        "`audit_labels`": ours,
        "`suspicious_labels` of plain L2": quick,
        "in-sample loss of plain L2": 1 - plain.predict_proba(X)[np.arange(len(y)), y],
        "cleanlab, `find_label_issues`": first,
        "cleanlab, self-confidence": confidence,
        "cleanlab, `find_label_issues`, tuned L2": better_first,
        "cleanlab, self-confidence, tuned L2": better_confidence,
        "conic `z_`": conic.z_,
    }
    return by_name, audit


def main(folder, seeds):
    """Print precision at k by noise and by set, and how many wrong labels were counted."""
    warnings.simplefilter("ignore")
    rows, counts = [], []
    for name in SETS:
        for noise, rate in NOISES.items():
            for seed in range(seeds):
                rng = np.random.default_rng(1000 + seed)
                X, y = load(folder, name, rng)
                wrong = rng.random(len(y)) < rate
                if "one" in noise:
                    wrong &= y == rng.integers(2)
                by_name, audit = rankings(X, np.where(wrong, 1 - y, y), seed)
                k = wrong.sum()
                for ranking, score in by_name.items():
                    hits = wrong[np.argsort(-score, kind="stable")[:k]].mean()
                    rows.append((name, noise, seed, ranking, hits))
                counts.append(
                    (
                        name,
                        noise,
                        k,
                        audit.count,
                        *audit.interval,
                        audit.n_flagged,
                        wrong[audit.flagged()["row"]].mean() if audit.n_flagged else np.nan,
                    )
                )
        print(name, file=sys.stderr, flush=True)
    table = pd.DataFrame(rows, columns=["set", "noise", "seed", "ranking", "precision"])
    print(
        table.pivot_table(index="set", columns="ranking", values="precision").round(3).to_string()
    )
    names = ["set", "noise", "planted", "count", "low", "high", "flagged", "precision"]
    counts = pd.DataFrame(counts, columns=names)
    print(counts.groupby(["set", "noise"]).mean(numeric_only=True).round(2).to_string())
    inside = (counts.low <= counts.planted) & (counts.planted <= counts.high)
    print("planted inside the interval:", inside.mean().round(2))
    flagged = counts.groupby(["set", "noise"])["precision"].mean()
    found = figures(table) | {
        "ranked_flagged_low": flagged.min(),
        "ranked_flagged_high": flagged.max(),
        "ranked_sets": len(SETS),
        "ranked_seeds": seeds,
        "ranked_table": lines(table),
    }
    RESULTS.write_text(json.dumps(found, indent=1, default=float) + "\n")
    numbers_in_pages.fill(numbers_in_pages.measured())


def lines(table):
    """Precision by ranking and noise, in Markdown."""
    shown = table.pivot_table(index="ranking", columns="noise", values="precision")[list(NOISES)]
    shown = shown.assign(mean=shown.mean(axis=1)).sort_values("mean", ascending=False)
    head = "| ranking | " + " | ".join(shown.columns) + " |"
    rows = [
        f"| {name} | " + " | ".join(f"{v:.3f}".lstrip("0") for v in row) + " |"
        for name, row in shown.iterrows()
    ]
    return "\n".join(["", head, "|---" * (len(shown.columns) + 1) + "|", *rows, ""])


def figures(table):
    """Precision of every ranking, and the lead of the audit with its standard error, by noise."""
    by_set = table.pivot_table(index="set", columns=["noise", "ranking"], values="precision")
    found = {}
    for ranking, key in KEYS.items():
        means = {noise: by_set[noise][ranking].mean() for noise in NOISES}
        found[f"ranked_{key}_mean"] = np.mean(list(means.values()))
        for noise, mean in means.items():
            short = f"ranked_{key}_{NOISE_KEYS[noise]}"
            lead = by_set[noise]["`audit_labels`"] - by_set[noise][ranking]
            found[short] = mean
            found[f"{short}_lead"] = lead.mean()
            found[f"{short}_lead_se"] = lead.std() / np.sqrt(len(lead))
        of_one = by_set.xs(ranking, axis=1, level="ranking").mean(axis=1)
        found[f"ranked_{key}_ljubljana"] = of_one["breast_cancer_ljubljana"]
    return found


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2)
