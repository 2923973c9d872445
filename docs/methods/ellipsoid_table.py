"""Print the table of `measurement-error.md`: how large the ellipsoids of random errors should be.

    python docs/methods/ellipsoid_table.py DATASETS [--half report] [--repeats 2] [--rows 150]

Test rows get normal errors of the stated size in every standardised feature; training rows are
clean. Sets and splits are those of `robust_logistic_table.py`.
"""

import argparse
import warnings

import numpy as np
from robust_logistic_table import HALVES, load, split
from scipy.stats import chi2

from mainstay import EllipsoidSVC, EllipsoidSVCCV, PenalizedClassifier


def methods(size, p):
    """Yield (name, estimator) told errors of this size."""
    yield "L2, told nothing", PenalizedClassifier(alpha="cv")
    radius = size * np.sqrt(chi2.ppf(0.95, p))
    yield "EllipsoidSVC, 95 % of the errors (chi-square)", EllipsoidSVC(radius)
    yield "EllipsoidSVC, one standard deviation", EllipsoidSVC(size)
    yield "EllipsoidSVC, a tenth of it", EllipsoidSVC(0.1 * size)
    yield "EllipsoidSVCCV", EllipsoidSVCCV(size, tol=1e-4)
    yield "EllipsoidSVCCV, one_se", EllipsoidSVCCV(size, tol=1e-4, rule="one_se")


def main():
    """Run and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets")
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rows", type=int, default=150)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in HALVES[args.half]:
        X, y = load(args.datasets, name)
        for seed in range(args.repeats):
            A, a, T, t, rng = split(X, y, args.rows, seed)
            for size in (0.5, 1.0):
                noisy = T + size * rng.normal(size=T.shape)
                base = None
                for method, estimator in methods(size, A.shape[1]):
                    predicted = estimator.fit(A, a).predict(noisy)
                    accuracy = np.mean(predicted == t)
                    base = accuracy if base is None else base
                    row = (accuracy - base, len(np.unique(predicted)) == 1)
                    results.setdefault((size, method), {}).setdefault(name, []).append(row)
        print(f"{name} done", flush=True)
    print("\n| error, sd | method | accuracy over L2 | constant |\n|---|---|---|---|")
    for (size, method), sets in results.items():
        means = np.array([np.mean(rows, 0) for rows in sets.values()])
        error = means[:, 0].std(ddof=1) / np.sqrt(len(means))
        gain = f"{means[:, 0].mean():+.3f} ± {error:.3f}"
        print(f"| {size} | {method} | {gain} | {means[:, 1].mean():.2f} |")


if __name__ == "__main__":
    main()
