"""Fits to files that are read in passes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import mainstay


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=2000) > 0, "yes", "no")
    table = pd.DataFrame(X, columns=list("abcd"))
    table["kind"] = rng.choice(["u", "v", "w"], size=2000)
    table["weight"] = rng.integers(1, 4, size=2000)
    table["label"] = y
    return table


@pytest.fixture
def folder(tmp_path, frame):
    for part in range(4):
        rows = frame.iloc[part * 500 : (part + 1) * 500]
        rows.to_parquet(tmp_path / f"part-{part}.parquet", index=False)
    return tmp_path


def encoded(frame):
    """The features in the order in which a scan makes them."""
    kinds = pd.get_dummies(frame["kind"], prefix="kind", prefix_sep="=", dtype=float)
    return pd.concat([frame[list("abcd")], kinds], axis=1)


@pytest.mark.parametrize("pattern", ["", "*.parquet", "part-?.parquet"])
def test_a_fit_to_files_is_the_fit_to_their_rows(folder, frame, pattern):
    columns = [*"abcd", "kind"]
    rows = mainstay.scan(folder / pattern, columns=columns)
    model = mainstay.PenalizedClassifier(alpha=0.01).fit(rows, "label")
    X = encoded(frame)
    assert list(model.feature_names_in_) == list(X.columns)
    assert list(model.classes_) == ["no", "yes"]
    assert model.dual_gap_ <= 1e-6
    alone = mainstay.PenalizedClassifier(alpha=0.01).fit(X, frame["label"])
    # The objective is strongly convex with modulus alpha in the weights.
    gap = (model.dual_gap_ + alone.dual_gap_) * max(1.0, abs(alone.objective_))
    assert abs(model.objective_ - alone.objective_) <= gap
    radius = 2 * np.sqrt(2 * gap / 0.01)
    assert np.linalg.norm(model.coef_ - alone.coef_) <= radius
    agreement = (model.predict(X) == alone.predict(X)).mean()
    assert agreement > 0.999


@pytest.mark.parametrize(
    "model", [mainstay.MissingFeatureSVC(1, C=0.5), mainstay.EllipsoidSVC(0.1, C=0.01)], ids=str
)
def test_robust_fits_to_files_are_those_to_their_rows(folder, frame, model):
    rows = mainstay.scan(folder, columns=list("abcd"))
    found = model.fit(rows, "label")
    alone = type(model)(**model.get_params()).fit(frame[list("abcd")], frame["label"])
    assert found.dual_gap_ <= model.tol
    gap = (found.dual_gap_ + alone.dual_gap_) * max(1.0, abs(alone.objective_))
    assert abs(found.objective_ - alone.objective_) <= gap


def test_weights_are_a_column(folder, frame):
    rows = mainstay.scan(folder, columns=list("abcd"))
    model = mainstay.PenalizedClassifier(alpha=0.01).fit(rows, "label", sample_weight="weight")
    weight = frame["weight"].to_numpy(dtype=float)
    # scikit-learn's C multiplies the sum of the losses, alpha / 2 * w'w stands beside their mean.
    other = LogisticRegression(C=1 / (0.01 * weight.sum()), tol=1e-10, max_iter=1000)
    other.fit(frame[list("abcd")], frame["label"], sample_weight=weight)
    assert np.allclose(model.coef_, other.coef_, atol=2e-3)


def test_text_and_parquet_give_the_same_bits(tmp_path, frame):
    numbers = frame[[*"abcd", "label"]]
    numbers.to_csv(tmp_path / "rows.csv", index=False)
    numbers.to_parquet(tmp_path / "rows.parquet", index=False)
    fits = [
        mainstay.StableLogisticRegression(k=0.7).fit(mainstay.scan(tmp_path / name), "label")
        for name in ["rows.csv", "rows.parquet"]
    ]
    assert fits[0].dual_gap_ <= 1e-6
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    assert np.array_equal(fits[0].intercept_, fits[1].intercept_)


def test_a_saved_model_predicts_files_by_name(folder, frame, tmp_path):
    model = mainstay.PenalizedClassifier(alpha=0.1)
    model.fit(mainstay.scan(folder, columns=list("abcd")), "label")
    mainstay.save(model, tmp_path / "model.json")
    again = mainstay.load(tmp_path / "model.json")
    X = frame[list("abcd")]
    assert np.array_equal(again.predict(X), model.predict(X))


def test_methods_with_kernels_of_their_own_read_files_too(folder, frame):
    X = frame[list("abcd")]
    for model in (
        mainstay.ReGEC(class_weight="balanced"),
        mainstay.NormRobustReGEC(),
        mainstay.RobustReGEC(0.1, xi=0.0),
        mainstay.MissingFeaturePerceptron(shuffle=False),
        mainstay.ConicSVC(kappa=0.3),
    ):
        alone = clone(model).fit(X, frame["label"])
        model.fit(mainstay.scan(folder, columns=list("abcd")), "label")
        assert (model.predict(X) == alone.predict(X)).mean() >= 0.995
        if hasattr(alone, "dual_gap_"):
            gap = (model.dual_gap_ + alone.dual_gap_) * max(1.0, abs(alone.objective_))
            assert model.dual_gap_ <= 1e-6
            assert abs(model.objective_ - alone.objective_) <= gap


def test_mistakes_are_told(folder, frame):
    rows = mainstay.scan(folder)
    with pytest.raises(ValueError, match="names the column of classes"):
        mainstay.PenalizedClassifier().fit(rows, frame["label"])
    with pytest.raises(ValueError, match="did you mean `label`"):
        mainstay.PenalizedClassifier(alpha=0.1).fit(rows, "labels")
    with pytest.raises(ValueError, match="there is no column `e`"):
        mainstay.PenalizedClassifier(alpha=0.1).fit(mainstay.scan(folder, columns=["e"]), "label")
    with pytest.raises(ValueError, match="no file fits this pattern"):
        mainstay.PenalizedClassifier(alpha=0.1).fit(mainstay.scan(folder / "*.csv"), "label")
    with pytest.raises(ValueError, match="needs all rows in memory"):
        mainstay.RolinClassifier().fit(rows, "label")
    with pytest.raises(ValueError, match="a scan has no errors per row"):
        mainstay.EllipsoidSVC().fit(rows, "label", uncertainty="weight")
    errors = np.ones((len(frame), 4))
    for wrong in (errors, "weight"):
        with pytest.raises(ValueError, match="no fit over partitions; fit a sample"):
            mainstay.RobustLogisticRegression(alpha=0.1).fit(rows, "label", errors=wrong)
    model = mainstay.PenalizedClassifier(alpha=0.1).fit(rows, "label")
    with pytest.raises(ValueError, match="needs rows in memory here"):
        model.predict(rows)
    with pytest.raises(ValueError, match="memory"):
        mainstay.scan(folder, memory="much")
    with pytest.raises(ValueError, match="`paths` is empty"):
        mainstay.scan([])


def test_progress_says_pass_gap_and_rows(folder, capfd):
    mainstay.PenalizedClassifier(alpha=0.1, verbose=1).fit(mainstay.scan(folder), "label")
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("PenalizedClassifier: pass 1")
    assert any("dual gap" in line and "rows a second" in line for line in lines)
