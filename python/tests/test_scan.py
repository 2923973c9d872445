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
    with pytest.raises(TypeError, match="names columns of it"):
        mainstay.EllipsoidSVC().fit(rows, "label", uncertainty=np.ones(len(frame)))
    with pytest.raises(ValueError, match="`sigma`"):
        mainstay.EllipsoidSVC().fit(rows, "label", uncertainty="sigma")
    numbers = mainstay.scan(folder, columns=[*"abcd", "kind"])
    with pytest.raises(ValueError, match="2 columns of errors for 5 features"):
        mainstay.EllipsoidSVC(C=0.1).fit(numbers, "label", uncertainty=["c", "d"])
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


def test_too_little_memory_is_told_in_numbers_and_names_of_python(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 400)))
    table.columns = [f"x{i}" for i in range(400)]
    table.assign(label=["a", "b"] * 20).to_parquet(tmp_path / "wide.parquet", index=False)
    # Half of the memory is for the sums of a pass: 16 bytes for two features and a class.
    rows = mainstay.scan(tmp_path / "wide.parquet", memory="10M")
    with pytest.raises(ValueError, match=r"need 11 MB for the sums of a pass: give more `memory`"):
        mainstay.PenalizedClassifier(alpha=0.1).fit(rows, "label")


@pytest.mark.parametrize("memory", ["100K", "1G"])
def test_a_file_that_changes_during_a_fit_ends_it(tmp_path, frame, memory, monkeypatch):
    path = tmp_path / "rows.csv"
    frame[[*"abcd", "label"]].to_csv(path, index=False)
    scan = mainstay.scan(path, memory=memory)
    read = mainstay._scan._read

    def and_append(*args, **options):
        found = read(*args, **options)
        with path.open("a") as file:
            file.write("1,2,3,4,no\n")
        return found

    monkeypatch.setattr(mainstay._scan, "_read", and_append)
    with pytest.raises(ValueError, match=r"rows\.csv: the file has changed"):
        mainstay.PenalizedClassifier(alpha=0.1).fit(scan, "label")


def test_a_traceback_does_not_hold_on_to_the_rows(folder, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(mainstay._scan, "_tell", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        mainstay.PenalizedClassifier(alpha=0.1).fit(mainstay.scan(folder), "label")
    frames = [entry.frame.f_locals for entry in caught.traceback]
    kept = [value for names in frames for value in names.values()]
    assert not any(isinstance(value, mainstay._core.ScanRows) for value in kept)


def test_progress_says_pass_gap_and_rows(folder, capfd):
    mainstay.PenalizedClassifier(alpha=0.1, verbose=1).fit(mainstay.scan(folder), "label")
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("PenalizedClassifier: pass 1")
    assert any("dual gap" in line and "rows a second" in line for line in lines)


def test_columns_of_a_scan_are_errors_of_its_rows(tmp_path, frame):
    """Rows without a label are left out: errors stay with their rows."""
    rng = np.random.default_rng(1)
    errors = np.abs(rng.normal(size=(2000, 4))) * [0.3, 0.1, 0.01, 0.2]
    names = [f"{name}_error" for name in "abcd"]
    table = frame[[*"abcd", "label"]].assign(**dict(zip(names, errors.T, strict=True)))
    table["radius"] = errors[:, 1]
    table.iloc[:700].to_parquet(tmp_path / "0.parquet", index=False)
    table.iloc[700:].to_parquet(tmp_path / "1.parquet", index=False)
    X, y = table[list("abcd")], table["label"]
    for named, given in (("radius", errors[:, 1]), (names, errors)):
        rows = mainstay.scan(tmp_path, columns=list("abcd"))
        model = mainstay.EllipsoidSVC(C=0.01).fit(rows, "label", uncertainty=named)
        alone = mainstay.EllipsoidSVC(C=0.01).fit(X, y, uncertainty=given)
        assert list(model.feature_names_in_) == list("abcd")
        gap = (model.dual_gap_ + alone.dual_gap_) * max(1.0, abs(alone.objective_))
        assert model.dual_gap_ <= 1e-6
        assert abs(model.objective_ - alone.objective_) <= gap
    table.loc[5, "radius"] = np.nan
    table.to_csv(tmp_path / "rows.csv", index=False)
    rows = mainstay.scan(tmp_path / "rows.csv", columns=list("abcd"))
    with pytest.raises(ValueError, match=r"uncertainty: row 5, column 0"):
        mainstay.EllipsoidSVC(C=0.01).fit(rows, "label", uncertainty="radius")


BLOCK = 16_384


@pytest.fixture(scope="module")
def many():
    """Rows enough for passes in memory, the last block smaller than the others."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60_000, 5)) * [1.0, 0.01, 30.0, 1.0, 2.0] + [0.0, 1.0, 5.0, 0.0, -9.0]
    score = X[:, 0] - 50 * (X[:, 1] - 1) + 0.5 * rng.normal(size=len(X))
    chance, classes = rng.random(len(X)) < 0.05, rng.integers(3, size=len(X))
    return X, np.where(chance, classes, np.digitize(score, [-1, 1]))


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (mainstay.PenalizedClassifier(alpha=1e-3), 2),
        (mainstay.PenalizedClassifier("hinge", alpha=1e-3), 2),
        (mainstay.PenalizedClassifier(penalty="l1", alpha=1e-2, normalize=True), 2),
        (mainstay.StableSVC(k=0.7, C=1e-3), 2),
        (mainstay.StableLogisticRegression(k=0.7, alpha=1e-3), 2),
        (mainstay.PenalizedClassifier(alpha=1e-3), 3),
    ],
    ids=str,
)
def test_memory_file_and_dask_give_the_same_bits(model, classes, many, tmp_path):
    da, dd = (
        pytest.importorskip("dask.array", reason="dask is optional"),
        pytest.importorskip("dask.dataframe", reason="dask is optional"),
    )
    X, y = many[0], np.minimum(many[1], classes - 1)
    table = pd.DataFrame(X, columns=list("abcde")).assign(label=y)
    table.to_parquet(tmp_path / "rows.parquet", index=False, row_group_size=BLOCK)
    table.to_csv(tmp_path / "rows.csv", index=False)

    def part(i):
        return table.iloc[BLOCK * i : BLOCK * (i + 1)]

    ddf = dd.from_map(part, range(4), meta=table.iloc[:0])
    arrays = da.from_array(X, chunks=(BLOCK, 5)), da.from_array(y, chunks=BLOCK)
    found = set()
    for rows, target in [
        (X, y),
        (mainstay.scan(tmp_path / "rows.parquet"), "label"),
        (mainstay.scan(tmp_path / "rows.csv"), "label"),
        # Four blocks that are read in every pass: half of the memory would not hold them.
        (mainstay.scan(tmp_path / "rows.csv", memory="6M"), "label"),
        (mainstay.scan(tmp_path / "rows.parquet", memory="6M"), "label"),
        (ddf, "label"),
        arrays,
    ]:
        done = clone(model).fit(rows, target)
        assert done.dual_gap_ <= 1e-6
        found.add(done.coef_.tobytes() + done.intercept_.tobytes())
    done = clone(model).set_params(n_jobs=2).fit(X, y)
    found.add(done.coef_.tobytes() + done.intercept_.tobytes())
    assert len(found) == 1


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (mainstay.PenalizedClassifier(alpha=1e-3), 3),
        (mainstay.PenalizedClassifier("hinge", alpha=1e-3, class_weight="balanced"), 2),
        (mainstay.StableSVC(k=0.7, C=1e-3), 2),
    ],
    ids=str,
)
def test_one_pass_proves_both_bounds_again(model, classes, many, tmp_path):
    dd = pytest.importorskip("dask.dataframe", reason="dask is optional")
    X, y = many[0][:30_000], np.minimum(many[1][:30_000], classes - 1)
    table = pd.DataFrame(X, columns=list("abcde")).assign(label=y)
    table.to_parquet(tmp_path / "rows.parquet", index=False)
    for rows in (mainstay.scan(tmp_path), dd.from_pandas(table, npartitions=3)):
        with mainstay.config(proof=True):
            done = clone(model).fit(rows, "label")
        found = mainstay.verify(done, rows, "label")
        assert found.proved
        assert found.objectives_as_claimed
        assert found.gap == pytest.approx(done.dual_gap_, rel=1e-6, abs=1e-12)
        assert len(found.problems) == (1 if classes == 2 else 3)
        if not isinstance(rows, mainstay._scan.Scan):
            # The bounds are those of these rows: labels in another order prove nothing.
            mixed = table.assign(label=np.random.default_rng(0).permutation(table.label))
            other = dd.from_pandas(mixed, npartitions=3)
            assert not mainstay.verify(done, other, "label").proved
        done.fit(X, y)
        with pytest.raises(ValueError, match="keeps no proof"):
            mainstay.verify(done, rows, "label")
