"""Dask frames and arrays: the same answers and the same bits, wherever they are looked at."""

# Longer than other files: a list of tests, which share their frames and arrays.

import os
import signal
import subprocess
import sys
import threading

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mainstay
from mainstay import (
    ConicSVC,
    ConicSVCCV,
    EllipsoidSVC,
    MissingFeaturePerceptron,
    MissingFeatureSVC,
    NormRobustReGEC,
    PenalizedClassifier,
    ReGEC,
    RobustLogisticRegression,
    RobustReGEC,
    RolinClassifier,
    StableLogisticRegression,
    StableSVC,
    StableSVCCV,
    _dask,
    _dask_engine,
    _dask_recipes,
    _partitioned,
)

dask = pytest.importorskip("dask", reason="dask is optional")
da = pytest.importorskip("dask.array", reason="dask is optional")
dd = pytest.importorskip("dask.dataframe", reason="dask is optional")
distributed = pytest.importorskip("distributed", reason="distributed is optional")

NAMES = ["a", "b", "c", "d"]


def rows(n=3000, seed=0, classes=2):
    """Rows of four features, a tenth of the labels by chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 0.01, 30.0, 1.0] + [0.0, 1.0, 5.0, 0.0]
    score = X[:, 0] - 50 * (X[:, 1] - 1) + 0.5 * rng.normal(size=n)
    y = np.digitize(score, [0.0] if classes == 2 else [-0.5, 0.5])
    chance = rng.random(n) < 0.1
    y[chance] = rng.integers(classes, size=chance.sum())
    return X, y


def frame(n=3000, seed=0, classes=2):
    X, y = rows(n, seed, classes)
    names = np.array(["no", "yes", "so"], dtype=object)
    return pd.DataFrame(X, columns=NAMES).assign(label=names[y])


def agree(model, other):
    """Objectives lie above the optimum by less than the gaps."""
    a, b = np.atleast_1d(model.objective_), np.atleast_1d(other.objective_)
    room = (model.dual_gap_ + other.dual_gap_ + 1e-12) * np.maximum(1, np.abs(a))
    assert model.dual_gap_ <= model.tol
    assert (np.abs(a - b) <= room).all()


ESTIMATORS = [
    PenalizedClassifier(alpha=1e-3),
    PenalizedClassifier("hinge", alpha=1e-2, normalize=True, class_weight="balanced"),
    PenalizedClassifier(penalty="l1", alpha=1e-2, class_weight={"no": 2.0}),
    StableSVC(k=0.7, C=1e-2),
    StableLogisticRegression(k=0.7, alpha=1e-3),
    MissingFeatureSVC(1, C=0.1, class_weight={"no": 2.0}),
    EllipsoidSVC([0.1, 0.001, 3.0, 0.1], C=1e-2),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_a_frame_is_fitted_as_in_memory(model):
    data = frame()
    ddf = dd.from_pandas(data, npartitions=5)
    fitted = model.fit(ddf, "label")
    again = type(model)(**model.get_params()).fit(data[NAMES], data.label)
    agree(fitted, again)
    assert fitted.classes_.tolist() == again.classes_.tolist() == ["no", "yes"]
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.n_features_in_ == 4
    joined = type(model)(**model.get_params()).fit(ddf[NAMES], ddf.label)
    assert (joined.coef_ == fitted.coef_).all()


def test_predictions_of_dask_data_are_lazy_and_the_same():
    data = frame(classes=3)
    ddf = dd.from_pandas(data, npartitions=4)
    model = PenalizedClassifier(alpha=1e-2).fit(ddf, "label")
    memory = data[NAMES]
    labels = model.predict(ddf)
    assert isinstance(labels, dd.Series)
    assert (labels.compute() == model.predict(memory)).all()
    assert (labels.compute().index == data.index).all()
    proba = model.predict_proba(ddf[NAMES])
    assert proba.columns.tolist() == ["no", "so", "yes"]
    assert (proba.compute().to_numpy() == model.predict_proba(memory)).all()
    scores = model.decision_function(ddf[NAMES])
    assert (scores.compute().to_numpy() == model.decision_function(memory)).all()
    robust = RobustLogisticRegression(alpha=1e-2).fit(ddf, "label")
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(robust, method)(ddf).compute().to_numpy()
        assert (found == getattr(robust, method)(memory)).all()
    X = da.from_array(memory.to_numpy(), chunks=(700, 2))
    plain = PenalizedClassifier(alpha=1e-2).fit(memory.to_numpy(), data.label)
    assert (plain.predict(X).compute() == plain.predict(memory.to_numpy())).all()
    assert plain.predict_proba(X).shape == (3000, 3)
    assert (plain.predict_proba(X).compute() == plain.predict_proba(memory.to_numpy())).all()


def test_arrays_are_fitted_and_unequal_blocks_are_refused():
    X, y = rows()
    model = StableSVC(k=0.6, C=1e-2).fit(
        da.from_array(X, chunks=(800, 3)), da.from_array(y, chunks=800)
    )
    agree(model, StableSVC(k=0.6, C=1e-2).fit(X, y))
    assert model.classes_.dtype == y.dtype
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="rechunk"):
        model.fit(da.from_array(X, chunks=(800, 4)), da.from_array(y, chunks=700))
    with pytest.raises(TypeError, match="Dask array"):
        model.fit(da.from_array(X, chunks=(800, 4)), y)


def test_lost_blocks_are_told():
    X, y = rows()
    X, y = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    graph = {key: node for key, node in dict(y.dask).items() if key[1] != 1}
    lost = da.Array(graph, y.name, y.chunks, y.dtype)
    with pytest.raises(ValueError, match=r"Dask has lost blocks of `y`.*fit the frame itself"):
        PenalizedClassifier(alpha=0.1).fit(X, lost)


def test_arrays_that_lie_with_the_workers_are_fitted():
    X, y = rows()
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        blocks = da.from_array(X, chunks=(1000, -1)).persist()
        labels = da.from_array(y, chunks=1000)
        models = [
            PenalizedClassifier(alpha=1e-2).fit(blocks, some) for some in (labels, labels.persist())
        ]
    plain = PenalizedClassifier(alpha=1e-2).fit(X, y)
    for model in models:
        agree(model, plain)


def test_weights_and_unknown_lengths():
    data = frame().assign(w=lambda d: np.arange(len(d)) % 3)
    ddf = dd.from_pandas(data, npartitions=6)
    ddf = ddf[ddf.a > -5]
    model = PenalizedClassifier(alpha=1e-2).fit(ddf, "label", sample_weight="w")
    kept = data[data.a > -5]
    memory = PenalizedClassifier(alpha=1e-2).fit(kept[NAMES], kept.label, sample_weight=kept.w)
    agree(model, memory)
    arrays = PenalizedClassifier(alpha=1e-2).fit(
        ddf[NAMES].to_dask_array(), ddf.label.to_dask_array(), ddf.w.to_dask_array()
    )
    agree(arrays, memory)


def test_empty_and_one_class_partitions_are_partitions():
    data = frame().sort_values("label", ignore_index=True)
    ddf = dd.from_pandas(data, npartitions=8)
    ddf = dd.concat([ddf[ddf.a > 1e9], ddf])
    model = StableLogisticRegression(k=0.7).fit(ddf, "label")
    agree(model, StableLogisticRegression(k=0.7).fit(data[NAMES], data.label))


def test_the_number_of_workers_changes_no_bit():
    data = frame(6000)
    ddf = dd.from_pandas(data, npartitions=20)
    found = [StableSVC(k=0.7, C=1e-2).fit(ddf, "label")]
    for workers in (1, 2, 4):
        with (
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
        ):
            found.append(StableSVC(k=0.7, C=1e-2).fit(ddf, "label"))
    for model in found[1:]:
        assert (model.coef_ == found[0].coef_).all()
        assert model.intercept_ == found[0].intercept_
        assert model.dual_gap_ == found[0].dual_gap_
        assert not [name for name, value in vars(model).items() if "lient" in type(value).__name__]


def test_bad_cells_and_labels_are_named_by_partition_and_row():
    data = frame(900)
    data.loc[612, "c"] = np.nan
    with pytest.raises(ValueError, match=r"partition 2, row 12, column 2: NaN"):
        PenalizedClassifier().fit(dd.from_pandas(data, npartitions=3), "label")
    data = frame(900).astype({"label": object})
    data.loc[310, "label"] = None
    with pytest.raises(ValueError, match=r"partition 1, row 10: the label is missing"):
        PenalizedClassifier().fit(dd.from_pandas(data, npartitions=3), "label")
    with pytest.raises(ValueError, match="column 'a' is of type"):
        PenalizedClassifier().fit(
            dd.from_pandas(frame().astype({"a": "str"}), npartitions=2), "label"
        )
    with pytest.raises(ValueError, match="no column 'lable'"):
        PenalizedClassifier().fit(dd.from_pandas(frame(), npartitions=2), "lable")


def test_a_partition_that_raises_ends_the_fit():
    def broken(part):
        if len(part) and part.index[0] > 0:
            raise RuntimeError("part 1 cannot be read")
        return part

    data = frame(900)
    ddf = dd.from_pandas(data, npartitions=3).map_partitions(broken, meta=data.iloc[:0])
    with pytest.raises(RuntimeError, match=r"^partition 1: RuntimeError: part 1 cannot be read"):
        PenalizedClassifier().fit(ddf, "label")


def test_estimators_without_a_partitioned_fit_name_an_alternative():
    ddf = dd.from_pandas(frame(), npartitions=2)
    for model, word in [
        (RolinClassifier(), "PenalizedClassifier"),
        (ConicSVCCV(), "ConicSVC"),
        (StableSVCCV(), "StableSVC"),
        (StableSVC(), "StableLogisticRegression"),
    ]:
        data = (
            dd.from_pandas(frame(classes=3), npartitions=2) if isinstance(model, StableSVC) else ddf
        )
        with pytest.raises((ValueError, TypeError), match=word):
            model.fit(data, "label")


def test_a_checkpoint_is_resumed_and_another_is_refused(tmp_path):
    path = tmp_path / "fit.ckpt"
    ddf = dd.from_pandas(frame(60_000), npartitions=4)
    whole = StableSVC(k=0.7, C=1e-3).fit(ddf, "label")
    left = _stop_after(3, StableSVC(k=0.7, C=1e-3), ddf, path)
    assert 0 < len(left) <= 50 * 4 + 2000
    with mainstay.config(checkpoint=path):
        with pytest.raises(ValueError, match="other parameters"):
            StableSVC(k=0.6, C=1e-3).fit(ddf, "label")
        with pytest.raises(ValueError, match="other data"):
            StableSVC(k=0.7, C=1e-3).fit(
                dd.from_pandas(frame(60_000, seed=1), npartitions=4), "label"
            )
        again = StableSVC(k=0.7, C=1e-3).fit(ddf, "label")
    agree(again, whole)
    assert again.n_iter_ + 3 <= whole.n_iter_ + 2
    assert not path.exists()


def _stop_after(passes, model, ddf, path):
    """Fit until the given pass and break off there; the checkpoint that is left."""

    class StopError(Exception):
        pass

    run, count = _dask.Engine.run, [0]

    def counted(self, ask, classes):
        count[0] += 1
        if count[0] > passes:
            raise StopError
        return run(self, ask, classes)

    _dask.Engine.run = counted
    try:
        with mainstay.config(checkpoint=path), pytest.raises(StopError):
            model.fit(ddf, "label")
    finally:
        _dask.Engine.run = run
    return path.read_bytes()


def test_a_thousand_small_partitions():
    data = frame(4000)
    ddf = dd.from_pandas(data, npartitions=1000)
    model = PenalizedClassifier(alpha=1e-2).fit(ddf, "label")
    agree(model, PenalizedClassifier(alpha=1e-2).fit(data[NAMES], data.label))


def test_certificates_of_dask_data_are_lazy_and_the_same():
    data = frame().assign(who=lambda d: d.index + 7)
    model = PenalizedClassifier(alpha=1e-2).fit(data[NAMES], data.label)
    ddf = dd.from_pandas(data, npartitions=3)
    ddf = dd.concat([ddf[ddf.a > 1e9], ddf])
    found = mainstay.certify(model, ddf, ids="who", uncertainty=[1.0, 0.1, 2.0, 1.0], witness="l2")
    assert isinstance(found, dd.DataFrame)
    shared = (np.zeros(len(data), int), [[1.0, 0.1, 2.0, 1.0]])
    known = mainstay.certify(model, data[NAMES], uncertainty=shared, witness="l2")
    assert found.columns.tolist() == ["who", *known.columns]
    done = found.compute()
    pd.testing.assert_frame_equal(done[known.columns], known)
    assert (done.who == data.who).all()
    plain = PenalizedClassifier(alpha=1e-2).fit(data[NAMES].to_numpy(), data.label)
    X = da.from_array(data[NAMES].to_numpy(), chunks=(900, 2))
    pd.testing.assert_frame_equal(
        mainstay.certify(plain, X).compute(), mainstay.certify(plain, data[NAMES].to_numpy())
    )
    with pytest.raises(ValueError, match="names of columns"):
        mainstay.certify(model, ddf, ids="whom")
    with pytest.raises(ValueError, match="one uncertainty for all rows"):
        mainstay.certify(model, ddf, uncertainty=shared)


def test_curvature_of_some_rows_proves_the_same():
    data = frame(30_000)
    ddf = dd.from_pandas(data, npartitions=5)
    whole = PenalizedClassifier(alpha=1e-3).fit(ddf, "label")
    with mainstay.config(curvature_rows=100):
        some = PenalizedClassifier(alpha=1e-3).fit(ddf, "label")
    agree(some, whole)
    assert (some.coef_ != whole.coef_).any()
    assert some.n_iter_ <= whole.n_iter_ + 3
    with pytest.raises(ValueError, match="at least 20"), mainstay.config(curvature_rows=3):
        pass


def _tree(leaves):
    """Merge eight neighbours at a time until one is left."""
    while len(leaves) > 1:
        groups = [leaves[i : i + 8] for i in range(0, len(leaves), 8)]
        leaves = [some[0] if len(some) == 1 else tuple(some) for some in groups]
    return leaves[0]


def _show_trees(monkeypatch):
    """Let the answer to an ask be the tree by which it was merged."""

    def look(ask, blocks, names, size):
        leaves = [index for index, _ in blocks]
        return [_tree(leaves[i : i + size]) for i in range(0, len(leaves), size)]

    monkeypatch.setattr(_partitioned, "look", look)
    monkeypatch.setattr(_partitioned, "merge", _tree)
    monkeypatch.setattr(_partitioned, "in_sequence", lambda ask: False)


@pytest.mark.parametrize("many", [1, 7, 8, 9, 40, 129, 1000, 5000])
@pytest.mark.parametrize("tasks", [2, 4, 16])
@pytest.mark.parametrize("gathered", [0, np.inf], ids=["workers", "client"])
def test_partitions_are_shared_out_in_one_tree(many, tasks, gathered, monkeypatch):
    """However many partitions a task takes, the tree of merges is that of one for each."""
    _show_trees(monkeypatch)
    monkeypatch.setattr(_dask_engine, "_GATHERED", gathered)
    size, depth = _dask_engine._bundle(many, tasks, 0)
    assert -(-many // size) <= tasks
    engine = _dask.Engine([None] * many, 1)
    engine.kept, engine.depth = True, depth
    blocks = [(i, None) for i in range(many)]
    parts = [blocks[j : j + size] for j in range(0, many, size)]
    engine.units = [(some[0][0], len(some), some) for some in parts]
    with dask.config.set(scheduler="synchronous"):
        assert engine.run(b"", None) == _tree(list(range(many)))
    # Rows that are too many for a task are not put into one.
    assert _dask_engine._bundle(many, tasks, many * 256e6) == (1, 0)


@pytest.mark.parametrize("many", [40, 200, 5000, 9000])
@pytest.mark.parametrize("threads", [1, 4, 8, 16])
def test_partitions_that_are_read_first_are_leaves_of_the_same_tree(many, threads, monkeypatch):
    """Some partitions are read to find out how many rows there are, fewer for each task."""
    _show_trees(monkeypatch)
    monkeypatch.setattr(_dask_engine, "_client", lambda: None)
    monkeypatch.setattr(_dask_engine, "_threads", lambda client: threads)
    blocks = lambda first, parts: [(first + i, None) for i in range(len(parts))]  # noqa: E731
    monkeypatch.setattr(_dask_engine, "_blocks", blocks)
    monkeypatch.setattr(_dask_engine, "_count", len)
    engine = _dask.Engine([None] * many, 1)
    with dask.config.set(scheduler="synchronous"), mainstay.config(keep=False):
        engine.open()
        assert engine.run(b"", None) == _tree(list(range(many)))


def test_a_frame_is_read_once_where_its_rows_are_kept(tmp_path):
    log = tmp_path / "reads"

    def part(seed):
        with log.open("a") as file:
            file.write("x")
        return frame(400, seed)

    # Fewer partitions than are looked at for a guess, and more than get a task each.
    for parts in (1, 3, 9, 150):
        ddf = dd.from_map(part, range(parts), meta=frame(3).iloc[:0])
        found = []
        for keep in (True, False):
            log.write_text("")
            with mainstay.config(keep=keep), dask.config.set(scheduler="synchronous"):
                model = PenalizedClassifier(alpha=1e-2).fit(ddf, "label")
            reads = len(log.read_text())
            # Those that tell how large partitions are come again if they are not kept.
            assert reads == parts if keep else reads >= parts * model.n_iter_
            found.append(model)
        assert (found[0].coef_ == found[1].coef_).all()
    with pytest.raises(ValueError, match="keep"), mainstay.config(keep="sometimes"):
        pass


def test_blocks_that_belong_together_are_made_in_one_task():
    X, y = rows(3000)
    lengths = (700, 700, 700, 900)

    def block(values, block_info=None):
        first, last = block_info[None]["array-location"][0]
        return values[first:last]

    options = {"chunks": (lengths, (4,)), "dtype": float}
    made = da.map_blocks(block, X, **options), da.map_blocks(block, y, chunks=(lengths,), dtype=int)
    alone = _dask._array(*made, None, None)[0]
    assert all(isinstance(part, _dask_recipes.Recipe) for part in alone)
    for part, first in zip(alone, np.cumsum((0, *lengths)), strict=False):
        numbers, labels, *rest = part()
        assert np.array_equal(numbers, X[first : first + len(numbers)])
        assert np.array_equal(labels, y[first : first + len(numbers)])
        assert rest == [None, None]
    # What needs other tasks is left to Dask.
    shifted = made[0] - made[0].mean(axis=0)
    joint = _dask._array(shifted, made[1], None, None)[0]
    assert not any(isinstance(part, _dask_recipes.Recipe) for part in joint)
    model = PenalizedClassifier(alpha=1e-2).fit(shifted, made[1])
    agree(model, PenalizedClassifier(alpha=1e-2).fit(X - X.mean(axis=0), y))


def test_partitions_of_unequal_size_are_counted_again():
    """The first partitions are large, so that far too many rows are expected and few are drawn."""
    X, y = rows(60_000)
    lengths = (30_000, 29_000, *[10] * 100)
    blocks = da.from_array(X, chunks=(lengths, 4)), da.from_array(y, chunks=(lengths,))
    known = PenalizedClassifier(alpha=1e-3).fit(*blocks)
    names = [f"x{j}" for j in range(4)]
    cuts = np.cumsum((0, *lengths))

    def part(i):
        some = slice(cuts[i], cuts[i + 1])
        return pd.DataFrame(X[some], columns=names).assign(label=y[some])

    ddf = dd.from_map(part, range(len(lengths)), meta=part(0).iloc[:0])
    found = PenalizedClassifier(alpha=1e-3).fit(ddf, "label")
    assert (found.coef_ == known.coef_).all()
    assert (found.intercept_ == known.intercept_).all()


def test_verbose_tells_every_pass(capsys):
    model = PenalizedClassifier(verbose=1).fit(dd.from_pandas(frame(), npartitions=2), "label")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == model.n_iter_
    assert "pass 2, dual gap" in lines[1]
    assert "rows a second" in lines[1]


def test_a_fitted_model_is_an_ordinary_one(tmp_path):
    data = frame()
    model = StableSVC(k=0.7, C=1e-2).fit(dd.from_pandas(data, npartitions=3), "label")
    mainstay.save(model, tmp_path / "model.json")
    copy = mainstay.load(tmp_path / "model.json")
    assert copy.threshold_ == model.threshold_
    assert (copy.predict(data[NAMES]) == model.predict(data[NAMES])).all()


def test_dask_is_imported_only_when_its_data_arrive():
    code = (
        "import sys, numpy as np, mainstay; "
        "mainstay.PenalizedClassifier().fit(np.eye(4), [0, 1, 0, 1]).predict(np.eye(4)); "
        "assert 'dask' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def _unaligned(values):
    """The same numbers, from an odd byte on."""
    room = np.zeros(values.nbytes + 1, dtype=np.uint8)
    room[1:] = np.frombuffer(values.tobytes(), dtype=np.uint8)
    copy = room[1:].view(values.dtype).reshape(values.shape)
    assert not copy.flags.aligned
    return copy


def test_arrays_may_begin_at_any_byte():
    X, y = rows()
    model = PenalizedClassifier(alpha=1e-2).fit(_unaligned(X), y)
    assert (model.predict(_unaligned(X)) == model.predict(X)).all()
    parts = [dask.delayed(_unaligned)(part) for part in np.split(X, 3)]
    array = da.concatenate([da.from_delayed(p, (1000, 4), dtype=float) for p in parts])
    found = PenalizedClassifier(alpha=1e-2).fit(array, da.from_array(y, chunks=1000))
    agree(found, model)


def test_regec_needs_sums_alone():
    data = frame(classes=3)
    ddf = dd.from_pandas(data, npartitions=7)
    for model in (ReGEC(rule="plane"), NormRobustReGEC(0.1, rule="plane", class_weight="balanced")):
        memory = clone(model).fit(data[NAMES], data.label)
        model.fit(ddf, "label")
        same = {"rtol": 1e-6, "atol": 1e-9}
        np.testing.assert_allclose(np.abs(model.planes_), np.abs(memory.planes_), **same)
        assert (model.predict(ddf).compute() == memory.predict(data[NAMES])).mean() > 0.999
        assert model.n_iter_ == 2
    with pytest.raises(ValueError, match="plane"):
        ReGEC().fit(ddf, "label")


def test_errors_of_rows_travel_with_their_blocks():
    X, y = rows(1200)
    errors = np.abs(np.random.default_rng(3).normal(size=X.shape)) * [0.1, 0.001, 3.0, 0.1]
    axes = [f"{name}_error" for name in NAMES]
    data = pd.DataFrame(X, columns=NAMES).assign(label=y, **dict(zip(axes, errors.T, strict=True)))
    data["radius"] = errors[:, 1]
    ddf = dd.from_pandas(data, npartitions=3)
    for names, given in ((axes, errors), ("radius", errors[:, 1])):
        left = [name for name in [*axes, "radius"] if name not in names]
        model = EllipsoidSVC(C=1e-2).fit(ddf.drop(columns=left), "label", uncertainty=names)
        assert model.feature_names_in_.tolist() == NAMES
        agree(model, EllipsoidSVC(C=1e-2).fit(X, y, uncertainty=given))
        blocks = {"chunks": (400, *given.shape[1:])}
        array = EllipsoidSVC(C=1e-2).fit(
            da.from_array(X, chunks=(400, 4)),
            da.from_array(y, chunks=400),
            uncertainty=da.from_array(given, **blocks),
        )
        assert (array.coef_ == model.coef_).all()
    with pytest.raises(ValueError, match="2 columns for 7 features"):
        EllipsoidSVC().fit(ddf, "label", uncertainty=axes[:2])
    with pytest.raises(ValueError, match="no column 'sigma'"):
        EllipsoidSVC().fit(ddf, "label", uncertainty="sigma")
    with pytest.raises(TypeError, match="names columns of X"):
        EllipsoidSVC().fit(ddf, "label", uncertainty=errors)
    data["radius"] = -1.0
    small = dd.from_pandas(data[[*NAMES, "label", "radius"]], npartitions=2)
    with pytest.raises(ValueError, match=r"partition [01]: uncertainty: row 0"):
        EllipsoidSVC().fit(small, "label", uncertainty="radius")


@pytest.fixture(scope="module")
def processes():
    """Two worker processes."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _made_on_workers(parts, rows):
    """Partitions that workers make themselves: their recipe outlives the worker."""

    def part(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, 4))
        y = (X[:, 0] + 0.5 * rng.normal(size=rows) > 0).astype(int)
        return pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(label=y)

    return dd.from_map(part, range(parts), meta=part(0).iloc[:0])


def test_a_killed_worker_changes_no_bit(processes, monkeypatch):
    ddf = _made_on_workers(6, 20_000)
    undisturbed = StableSVC(k=0.7, C=1e-4).fit(ddf, "label")
    run, passes = _dask.Engine.run, []

    def disturbed(self, *args):
        passes.append(len(passes))
        if len(passes) == 3:
            victim = min(processes.run(os.getpid).values())
            threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()
        return run(self, *args)

    monkeypatch.setattr(_dask.Engine, "run", disturbed)
    again = StableSVC(k=0.7, C=1e-4).fit(ddf, "label")
    assert len(passes) >= 3
    assert again.n_iter_ == undisturbed.n_iter_
    assert (again.coef_ == undisturbed.coef_).all()
    assert again.dual_gap_ == undisturbed.dual_gap_


def test_stress_on_a_cluster_gives_the_same_table(processes):
    X, y = rows(300)
    ask = {"threats": ["label_noise"], "levels": {"label_noise": [0.1]}, "repeats": 2}
    models = {"l2": PenalizedClassifier(), "stable": StableSVC(k=0.7)}
    here = mainstay.stress(models, X, y, random_state=0, **ask)
    with joblib.parallel_config(backend="dask"):
        there = mainstay.stress(models, X, y, random_state=0, n_jobs=2, **ask)
    pd.testing.assert_frame_equal(here, there)


def test_robust_regec_descends_one_step_a_pass():
    data = frame()
    model = RobustReGEC(0.1, xi=0.0).fit(dd.from_pandas(data, npartitions=5), "label")
    memory = RobustReGEC(0.1, xi=0.0).fit(data[NAMES], data.label)
    np.testing.assert_allclose(model.worst_case_ratio_, memory.worst_case_ratio_, rtol=1e-5)
    with pytest.raises(ValueError, match="monotone"):
        RobustReGEC(solver="paper").fit(dd.from_pandas(data, npartitions=2), "label")


def test_a_perceptron_takes_one_partition_after_the_other():
    data = frame()
    model = MissingFeaturePerceptron(shuffle=False, n_passes=2)
    ddf = dd.from_pandas(data, npartitions=140)  # several partitions share a task
    model.fit(ddf, "label")
    memory = clone(model).fit(data[NAMES], data.label)
    np.testing.assert_array_equal(model.coef_, memory.coef_)
    again = model.partial_fit(data[NAMES], data.label)  # a stream may go on
    assert again is model


def test_a_conic_svm_proves_its_gap():
    data = frame()
    ddf = dd.from_pandas(data, npartitions=4)
    for params in ({"kappa": 0.2}, {"C": 0.05}):
        model = ConicSVC(**params).fit(ddf, "label")
        agree(model, ConicSVC(**params).fit(data[NAMES], data.label))
    with pytest.raises(ValueError, match="linear"):
        ConicSVC(kernel="rbf").fit(ddf, "label")
