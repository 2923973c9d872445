"""scikit-learn's own checks: all of them, none excused."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from mainstay import (
    ConicSVC,
    ConicSVCCV,
    DropFarRows,
    EllipsoidSVC,
    EllipsoidSVCCV,
    GaussianImputer,
    MissingFeatureCV,
    MissingFeaturePerceptron,
    MissingFeatureSVC,
    NormRobustReGEC,
    PenalizedClassifier,
    ReGEC,
    RobustCV,
    RobustLogisticRegression,
    RobustReGEC,
    RolinClassifier,
    StableLogisticRegression,
    StableLogisticRegressionCV,
    StableSVC,
    StableSVCCV,
    TopPCsClassifier,
)

LOSSES = ("logistic", "hinge", "squared_hinge", "modified_huber")

# Every estimator in every setting that takes another path through the code. Four kinds of setting
# cannot pass, ours or scikit-learn's own:
# - without an intercept a plane cannot leave 87 % of rows centred at the origin on one side
#   (check_class_weight_classifiers; LogisticRegression and LinearSVC fail it too);
# - a precomputed kernel with predict_proba is handed 80 x 2 features, as SVC(probability=True) is
#   (check_decision_proba_consistency);
# - ConicSVC with a precomputed kernel is handed a matrix with eigenvalues from -1467 to 2067
#   (check_positive_only_tag_during_fit): its problem is convex only without negative ones;
# - with class weights of 1000 and 0.0001 (check_class_weight_classifiers) no row of one class is
#   left to be mislabelled, and the backward-corrected loss has no minimum: refused as it should be.
ESTIMATORS = [
    *(
        PenalizedClassifier(loss=loss, penalty=penalty)
        for loss, penalty in itertools.product(LOSSES, ("l2", "l1", "elasticnet"))
    ),
    PenalizedClassifier(alpha="cv", normalize="auto"),
    ConicSVC(),
    ConicSVC(C=1.0),
    ConicSVC(kernel="rbf"),
    ConicSVC(kernel="poly", coef0=1.0),
    ConicSVCCV(kappas=10, cv=3),
    StableSVC(),
    StableSVC(loss="squared_hinge"),
    StableSVC(k=1.0),
    StableSVC(solver="cutting-plane"),
    StableSVCCV(ks=[0.5, 1.0], Cs=[0.1, 1.0], cv=3),
    StableLogisticRegression(),
    StableLogisticRegression(multi_class="joint"),
    StableLogisticRegression(k=1.0, multi_class="joint"),
    StableLogisticRegression(k=0.2),
    StableLogisticRegression(solver="cutting-plane"),
    StableLogisticRegressionCV(ks=[0.5, 1.0], alphas=[0.01, 0.1], cv=3),
    *(RolinClassifier(loss=loss) for loss in LOSSES),
    *(RolinClassifier(loss=loss, variant="paper", n_repeats=1) for loss in LOSSES),
    RolinClassifier(kernel="rbf"),
    RolinClassifier(loss="hinge", kernel="precomputed"),
    RolinClassifier(variant="paper", cv="one_sd", scoring="zero_one", kernel="poly", n_repeats=1),
    RobustCV(PenalizedClassifier(), {"alpha": [0.01, 0.1]}, cv="1x3"),
    TopPCsClassifier(n_repeats=1),
    MissingFeatureSVC(),
    MissingFeatureSVC(budget=0.0),
    MissingFeatureSVC(values="mutual_info"),
    MissingFeaturePerceptron(),
    MissingFeatureCV(Cs=[1.0, 10.0], cv=3),
    *(ReGEC(regularization=kind) for kind in ("cross", "tikhonov", "none")),
    ReGEC(rule="plane"),
    NormRobustReGEC(),
    RobustReGEC(),
    RobustReGEC(xi=0.0, regularization="tikhonov", rule="points"),
    RobustReGEC(xi="cv", uncertainty=0.3),
    RobustReGEC(solver="paper", xi=0.5),
    EllipsoidSVC(),
    EllipsoidSVC(0.0, C=10.0, class_weight="balanced"),
    EllipsoidSVCCV(scales=[0.0, 0.5], Cs=[0.1, 1.0], cv=3),
    RobustLogisticRegression(),
    RobustLogisticRegression(alpha=0.01, missing=0.2, errors=0.3),
    RobustLogisticRegression(alpha=0.01, wrong_labels=0.1),
    RobustLogisticRegression(alpha=0.01, protect="worst", missing=0.2, errors=0.1),
    RobustLogisticRegression(alpha=0.01, wrong_labels=0.05, correction="forward"),
    RobustLogisticRegression(wrong_labels=0.1, correction="averaged", n_alphas=8),
    GaussianImputer(),
    DropFarRows(PenalizedClassifier()),
    DropFarRows(PenalizedClassifier(), share=0.05),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# Without an intercept every check holds that a hyperplane through the origin can pass at all.
HOMOGENEOUS = [StableSVC(fit_intercept=False), StableLogisticRegression(fit_intercept=False)]


@parametrize_with_checks(HOMOGENEOUS)
def test_scikit_learn_check_without_intercept(estimator, check):
    if check.func.__name__ == "check_class_weight_classifiers":
        share = most_on_one_side()
        assert share < 0.87, "the check can be passed: do not replace it"
        test_extreme_class_weights_without_intercept(estimator)
    else:
        check(estimator)


def most_on_one_side():
    """The largest share of the rows of the class weight check on one side of a line through 0."""
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    holdout = train_test_split(X, y, test_size=0.5, random_state=0)[1]
    angles = np.arctan2(holdout[:, 1], holdout[:, 0])[:, None] + np.array([-1e-9, 1e-9])
    normals = np.c_[-np.sin(angles.ravel()), np.cos(angles.ravel())]
    below = np.mean(holdout @ normals.T <= 0, axis=0)
    return max(below.max(), 1 - below.min())


@pytest.mark.parametrize("estimator", HOMOGENEOUS, ids=repr)
def test_extreme_class_weights_without_intercept(estimator):
    """With a constant feature in the intercept's place the weights show as they should."""
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    X = np.c_[X, np.full(len(X), 1e3)]
    train, holdout, y_train, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    weighted = clone(estimator).set_params(class_weight={0: 1000, 1: 0.0001})
    assert np.mean(weighted.fit(train, y_train).predict(holdout) == 0) > 0.87


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *HOMOGENEOUS], ids=repr)
def test_no_check_is_switched_off_by_a_tag(estimator):
    try:
        from sklearn.utils import get_tags
    except ImportError:  # scikit-learn 1.5
        tags = estimator._get_tags()
        off = ("_skip_test", "no_validation", "non_deterministic", "poor_score", "_xfail_checks")
        assert not any(tags[name] for name in off)
    else:
        tags = get_tags(estimator)
        assert not tags._skip_test
        assert not tags.no_validation
        assert not tags.non_deterministic
        assert tags.classifier_tags is None or not tags.classifier_tags.poor_score
