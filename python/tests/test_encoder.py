"""Raw tables as features: every kind of frame, the same answer."""

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mainstay
from mainstay import ConicSVC, PenalizedClassifier, TableEncoder


def patients(n=60):
    """Numbers, words, booleans, dates and gaps, and a class that depends on them."""
    rng = np.random.default_rng(3)
    age = rng.integers(20, 80, n).astype(float)
    stage = rng.choice(["I", "II", "III"], n)
    frame = pd.DataFrame(
        {
            "age": age,
            "stage": stage,
            "smoker": rng.random(n) < 0.4,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "pressure": rng.normal(120, 15, n).round(1),
        },
        index=[f"P-{i:03}" for i in range(n)],
    )
    y = pd.Series(np.where(age + 15 * (stage == "III") > 55, "ill", "well"), name="outcome")
    return frame, y


def expected(frame):
    """The same features by pandas alone."""
    stages = pd.get_dummies(frame["stage"], dtype=float)
    truths = pd.get_dummies(frame["smoker"], dtype=float)
    days = (frame["seen"] - frame["seen"].min()).dt.days
    columns = [frame["age"], *stages.to_numpy().T, *truths.to_numpy().T, days, frame["pressure"]]
    return np.column_stack(columns).astype(float)


NAMES = ["age", "stage=I", "stage=II", "stage=III", "smoker=False", "smoker=True", "seen"]
KINDS = {
    "pandas": lambda frame: frame,
    "pandas with Arrow types": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda frame: pl.from_pandas(frame.reset_index(drop=True)),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "record batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "object array": lambda frame: frame.astype(object).to_numpy(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_gives_the_features_pandas_would(kind):
    frame, _ = patients()
    X = KINDS[kind](frame)
    encoder = TableEncoder().fit(X)
    assert_array_equal(encoder.transform(X), expected(frame))
    if kind.startswith("pandas"):
        assert encoder.get_feature_names_out().tolist() == [*NAMES, "pressure"]
    assert encoder.n_features_in_ == 5


def test_a_model_of_one_kind_of_frame_predicts_the_others():
    frame, y = patients()
    model = make_pipeline(TableEncoder(), PenalizedClassifier(normalize=True)).fit(frame, y)
    scores = model.decision_function(frame)
    for name, kind in KINDS.items():
        assert_array_equal(model.decision_function(kind(frame)), scores, err_msg=name)


def test_columns_are_found_by_name_in_any_order_and_others_are_ignored():
    frame, _ = patients()
    encoder = TableEncoder().fit(frame)
    other = frame[frame.columns[::-1]].assign(more="x")
    assert_array_equal(encoder.transform(other), encoder.transform(frame))
    with pytest.raises(ValueError, match=r"a column the model was fitted on is missing.*`stage`"):
        encoder.transform(frame.drop(columns="stage"))


def test_standardised_features_are_those_of_scikit_learn():
    frame, _ = patients()
    ours = TableEncoder(standardize=True).fit(frame)
    assert_allclose(
        ours.transform(frame), StandardScaler().fit_transform(expected(frame)), atol=1e-12
    )
    weight = np.arange(1.0, len(frame) + 1)
    ours = TableEncoder(standardize=True).fit(frame, sample_weight=weight)
    theirs = StandardScaler().fit(expected(frame), sample_weight=weight)
    assert_allclose(ours.mean_, theirs.mean_)
    assert_allclose(ours.scale_, theirs.scale_)


@pytest.mark.parametrize("rule", ["mean", "median", "most-frequent"])
def test_gaps_are_filled_as_by_simple_imputer(rule):
    from sklearn.impute import SimpleImputer

    frame, _ = patients()
    frame.iloc[3, 0] = frame.iloc[9, 0] = np.nan
    encoder = TableEncoder(impute=rule).fit(frame[["age"]])
    theirs = SimpleImputer(strategy=rule.replace("-", "_")).fit_transform(frame[["age"]])
    assert_allclose(encoder.transform(frame), theirs)


def test_a_gap_is_refused_by_row_and_column_with_the_parameter_that_helps():
    frame, _ = patients()
    frame.iloc[7, 4] = np.nan
    with pytest.raises(ValueError, match=r"row 7.*`pressure`.*TableEncoder\(impute=") as error:
        TableEncoder().fit_transform(frame)
    assert "--" not in str(error.value)
    kept = TableEncoder(impute="keep").fit_transform(frame)
    assert np.argwhere(np.isnan(kept)).tolist() == [[7, 7]]


def test_more_words_for_no_value_stand_beside_the_usual_ones_or_alone(tmp_path):
    dose = [str(i % 9) for i in range(30)] + ["k.A."]
    frame = pd.DataFrame({"dose": dose, "ward": ["A", "B", "n/a"] * 10 + ["A"]})
    encoder = TableEncoder(na=["k.A."], impute="mean").fit(frame)
    assert list(encoder.get_feature_names_out()) == ["dose", "ward=A", "ward=B"]
    alone = TableEncoder(na=["k.A."], keep_default_na=False, impute="mean").fit(frame)
    assert "ward=n/a" in alone.get_feature_names_out()
    y = np.arange(31) % 2
    for learned in (encoder, alone):
        pipe = make_pipeline(clone(learned), PenalizedClassifier()).fit(frame, y)
        mainstay.save(pipe, tmp_path / "m.json")
        again = mainstay.load(tmp_path / "m.json")
        assert np.array_equal(again.predict_proba(frame), pipe.predict_proba(frame))
        # A copy that is fitted again reads the table as the first did.
        names = clone(again[0]).fit(frame).get_feature_names_out()
        assert list(names) == list(learned.get_feature_names_out())


def test_messages_name_parameters_and_no_flags():
    frame = pd.DataFrame({"dose": ["1"] * 30 + ["x"], "b": np.arange(31) / 7})
    with pytest.raises(ValueError, match=r'TableEncoder\(na=\["x"\]\)') as error:
        TableEncoder().fit(frame)
    assert 'TableEncoder(categorical=["dose"])' in str(error.value)
    assert "--" not in str(error.value)
    assert TableEncoder(na=["x"], impute="mean").fit_transform(frame)[30, 0] == 1.0
    ids = pd.DataFrame({"code": [f"c{i}" for i in range(30)], "v": np.arange(30) / 7})
    with pytest.warns(UserWarning, match=r'`code`.*TableEncoder\(keep_features=\["code"\]\)'):
        encoder = TableEncoder().fit(ids)
    assert list(encoder.left_out_) == ["code"]
    assert TableEncoder(keep_features=["code"]).fit(ids).transform(ids).shape == (30, 31)


def test_columns_can_be_dropped_named_ids_or_made_categories():
    frame, _ = patients()
    frame["ward"] = np.arange(len(frame)) % 3
    encoder = TableEncoder(drop=["seen", "pressure"], ids="smoker", categorical=["ward"]).fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["age", "stage=I", "stage=II", "stage=III", "ward=0", "ward=1", "ward=2"]
    assert encoder.row_ids(frame)["smoker"].tolist() == [str(s) for s in frame["smoker"]]
    with pytest.raises(ValueError, match="no column `wards`; did you mean `ward`"):
        TableEncoder(categorical=["wards"]).fit(frame)


def test_categorical_types_are_categories_even_if_they_are_numbers():
    codes = [1, 2, 3] * 10
    frame = pd.DataFrame({"code": pd.Categorical(codes), "v": np.arange(30) / 7})
    polars = pl.DataFrame({"code": pl.Series([str(c) for c in codes], dtype=pl.Categorical)})
    for X in (frame, polars):
        names = TableEncoder().fit(X).get_feature_names_out().tolist()
        assert names[:3] == ["code=1", "code=2", "code=3"]


def test_references_and_rare_categories():
    frame = pd.DataFrame({"stage": ["I"] * 20 + ["II"] * 10 + ["III"], "v": np.arange(31) / 7})
    grouped = TableEncoder(min_count=2, reference={"stage": "I"}).fit(frame)
    assert grouped.get_feature_names_out().tolist() == ["stage=II", "stage=(rare)", "v"]
    first = TableEncoder(drop_first=True).fit(frame)
    assert first.get_feature_names_out().tolist() == ["stage=II", "stage=III", "v"]


def test_an_unseen_category_has_no_indicator_and_a_warning():
    frame, _ = patients()
    encoder = TableEncoder().fit(frame)
    new = frame.iloc[:2].assign(stage=["IV", "I"])
    with pytest.warns(UserWarning, match="`stage`: 1 cells hold a category not seen"):
        rows = encoder.transform(new)
    assert rows[0, 1:4].tolist() == [0, 0, 0]


def test_booleans_are_recognised_in_any_spelling():
    frame = pd.DataFrame({"b": [True, False, True], "v": [1.0, 2.0, 4.0]})
    encoder = TableEncoder().fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spelt = encoder.transform(frame.assign(b=["true", "FALSE", "True"]))
    assert_array_equal(spelt, encoder.transform(frame))


def test_dates_of_every_kind_are_days():
    days = [datetime.date(2024, 1, d) for d in (3, 1, 31)]
    kinds = {
        "dates": days,
        "text": [d.isoformat() for d in days],
        "times": pd.to_datetime(days),
        "zoned": pd.to_datetime(days).tz_localize("UTC"),
    }
    for name, cells in kinds.items():
        frame = pd.DataFrame({"d": cells, "v": [0.5, 0.25, 0.5]})
        assert TableEncoder().fit_transform(frame)[:, 0].tolist() == [2, 0, 30], name


def test_set_output_gives_frames_with_names_and_index():
    frame, y = patients()
    out = TableEncoder().set_output(transform="pandas").fit_transform(frame, y)
    assert list(out.columns) == [*NAMES, "pressure"]
    assert out.index.equals(frame.index)
    polars = TableEncoder().set_output(transform="polars").fit_transform(frame)
    assert polars.columns == [*NAMES, "pressure"]


def test_wide_tables_may_be_sparse():
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(60)])
    frame = pd.DataFrame({"word": rng.choice(words, 400), "v": rng.normal(size=400)})
    dense = TableEncoder().fit_transform(frame)
    thin = TableEncoder(sparse_output="auto").fit_transform(frame)
    assert sparse.issparse(thin)
    assert_array_equal(thin.toarray(), dense)
    scaled = TableEncoder(sparse_output="auto", standardize=True).fit_transform(frame)
    assert_allclose(scaled.toarray(), dense / dense.std(axis=0), rtol=1e-12)


def test_a_pipeline_fits_a_raw_frame_as_scikit_learns_own_parts_do():
    frame, y = patients()
    ours = make_pipeline(TableEncoder(drop=["seen"]), ConicSVC()).fit(frame, y)
    selected = make_column_transformer(
        ("passthrough", ["age"]),
        (OneHotEncoder(sparse_output=False), ["stage"]),
        (OneHotEncoder(sparse_output=False), ["smoker"]),
        ("passthrough", ["pressure"]),
    )
    theirs = make_pipeline(selected, ConicSVC()).fit(frame, y)
    assert_array_equal(ours.predict(frame), theirs.predict(frame))
    assert_allclose(ours[-1].coef_, theirs[-1].coef_)
    assert cross_val_score(ours, frame, y, cv=3).mean() > 0.6


def test_encoders_are_cloned_copied_and_pickled():
    frame, _ = patients()
    encoder = TableEncoder(standardize=True, drop=["age"]).fit(frame)
    again = pickle.loads(pickle.dumps(encoder))
    assert_array_equal(again.transform(frame), encoder.transform(frame))
    assert clone(encoder).get_params() == encoder.get_params()
    with pytest.raises(NotFittedError):
        clone(encoder).transform(frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [[1], [2]]}), "`a` holds a list"),
        (pd.DataFrame({"a": [b"x", b"y"]}), "`a` holds bytes"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2], "s")}), "`a` has type timedelta64"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called `a`"),
        (pa.table({"a": [[1], [2]]}), "column `a` has type List"),
        (pd.DataFrame(), "no columns"),
    ],
)
def test_what_cannot_be_encoded_is_named(frame, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(frame)


def test_rules_and_lists_are_checked():
    frame, _ = patients()
    with pytest.raises(ValueError, match="Rows cannot be left out inside a pipeline"):
        TableEncoder(impute="drop").fit(frame)
    with pytest.raises(ValueError, match=r"GaussianImputer\(\) as the next step"):
        TableEncoder(impute="gaussian").fit(frame)
    with pytest.raises(ValueError, match=r"`drop`.*must hold names"):
        TableEncoder(drop=[3]).fit(frame)


# Columns are found by name, in any order, as a model file does: reordered frames are no error.
BY_NAME = {"check_dataframe_column_names_consistency": "columns are found by name, in any order"}


@parametrize_with_checks(
    [TableEncoder(), TableEncoder(impute="mean", standardize=True)],
    expected_failed_checks=lambda _: BY_NAME,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_compare_stress_and_certify_take_raw_frames():
    frame, y = patients(120)
    frame.iloc[5, 0] = np.nan
    with pytest.warns(UserWarning, match="1 cells in 1 columns have no value"):
        found = mainstay.compare(frame, y, repeats=2, without=["rolin"])
    assert found.details["data"]["features"] == [*NAMES, "pressure"]
    listed = [*found.details["suspects"], *found.details["worst_rows"]]
    assert listed
    assert all(row["id"] == frame.index[row["row"] - 1] for row in listed)
    model = PenalizedClassifier(normalize=True)
    with pytest.warns(UserWarning, match="1 cells"):
        table = mainstay.stress(
            {"plain": model}, frame, y, threats="label_noise", levels=[0.1], repeats=2
        )
    assert table["value"].notna().all()
    pipe = make_pipeline(TableEncoder(impute="mean", ids=["stage"]), model).fit(frame, y)
    certificates = mainstay.certify(pipe, frame, ids=np.arange(len(frame)))
    assert certificates.index.equals(frame.index)
    assert certificates["stage"].tolist() == frame["stage"].tolist()
    assert certificates["id"].tolist() == list(range(len(frame)))
    margins = pipe.decision_function(frame)
    assert_allclose(np.abs(certificates["margin"]), np.abs(margins))


def test_ids_of_a_comparison_are_columns_or_entries():
    frame, y = patients(90)
    frame = frame.reset_index(names="code").drop(columns="seen")
    found = mainstay.compare(pl.from_pandas(frame), y, repeats=2, ids="code", without=["rolin"])
    assert "code" not in str(found.details["data"]["features"])
    rows = found.details["worst_rows"]
    assert [row["id"] for row in rows] == [frame["code"][row["row"] - 1] for row in rows]
    with pytest.raises(ValueError, match="`ids` = 'cod'"):
        mainstay.compare(frame, y, ids="cod")


def test_lists_of_rows_keep_the_index_of_a_frame():
    frame, y = patients()
    numbers = frame[["age", "pressure"]]
    model = ConicSVC().fit(numbers, y)
    found = model.suspicious_labels()
    assert found.index.tolist() == frame.index[found["row"]].tolist()
    far = numbers.copy()
    far.iloc[4, 1] = 1e6
    dropped = mainstay.DropFarRows(PenalizedClassifier()).fit(far, y).far_rows_
    assert dropped.index[0] == "P-004"
