"""Partitions of Parquet files are read as arrays, and are what Dask's frames would give."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask", reason="dask is optional")
dd = pytest.importorskip("dask.dataframe", reason="dask is optional")
pa = pytest.importorskip("pyarrow", reason="pyarrow is optional")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is optional")

from mainstay import PenalizedClassifier, _dask, _dask_parquet  # noqa: E402
from mainstay._dask_parquet import ParquetRows  # noqa: E402
from mainstay._dask_recipes import Recipe  # noqa: E402

ROWS = 900


def table(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=ROWS)
    label = np.where(a + rng.normal(size=ROWS) > 0, "yes", "no")
    return pd.DataFrame(
        {
            "a": a,
            "b": rng.normal(size=ROWS).astype(np.float32),
            "c": rng.integers(-5, 200, size=ROWS),
            "d": rng.random(ROWS) < 0.3,
            "w": rng.integers(1, 4, size=ROWS).astype(np.uint8),
            "radius": rng.random(ROWS),
            "code": (label == "yes").astype(np.int16),
            "flag": label == "yes",
            "label": label,
        }
    )


@pytest.fixture
def folder(tmp_path):
    for i in range(6):
        pq.write_table(
            pa.Table.from_pandas(table(i), preserve_index=False),
            tmp_path / f"{i}.parquet",
            row_group_size=400,
        )
    return tmp_path


def parts(frame, y, sample_weight=None, uncertainty=None):
    return _dask._frame(frame, y, sample_weight, uncertainty)[0]


def assert_same(recipe):
    """What is read without a frame is what Dask's task makes."""
    quick, frame = recipe.quick(), recipe.task()
    for ours, theirs in zip(quick, frame, strict=True):
        if theirs is None:
            assert ours is None
            continue
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


NUMBERS = ["a", "b", "c", "d"]


@pytest.mark.parametrize("label", ["label", "code", "flag", "a"])
@pytest.mark.parametrize("options", [{}, {"split_row_groups": True}, {"blocksize": "1kB"}], ids=str)
def test_arrays_are_those_of_the_frames(folder, label, options):
    frame = dd.read_parquet(folder, **options)
    columns = [name for name in NUMBERS if name != label]
    # Few of the columns: Dask joins files. All of them: it does not.
    for some in (frame[[*columns, label]], frame[[*columns, "w", "radius", label]]):
        found = parts(some, label)
        assert sum(len(recipe()[0]) for recipe in found) == 6 * ROWS
        for recipe in found:
            assert_same(recipe)


def test_weights_errors_and_series_come_along(folder):
    frame = dd.read_parquet(folder)
    named = parts(frame[[*NUMBERS, "w", "radius", "label"]], "label", "w", "radius")
    joined = parts(frame[[*NUMBERS, "radius"]], frame.label, frame.w, ["radius"])
    for recipe in [*named, *joined]:
        assert_same(recipe)
        assert recipe.quick()[2] is not None


def test_gaps_and_other_types_are_left_to_dask(tmp_path):
    data = table(0).drop(columns="label").assign(day=pd.Timestamp("2020-01-01"))
    data.loc[7, "a"] = np.nan
    holes = pa.Table.from_pandas(data, preserve_index=False)
    pq.write_table(holes, tmp_path / "holes.parquet")
    frame = dd.read_parquet(tmp_path)
    [recipe] = parts(frame[["a", "b", "code"]], "code")
    # A gap of pandas is a null in the file.
    assert recipe.quick() is None
    assert np.isnan(recipe()[0][7, 0])
    with pytest.raises(ValueError, match=r"partition 0, row 7, column 0: NaN"):
        PenalizedClassifier().fit(frame[["a", "b", "code"]], "code")
    [recipe] = parts(frame[["b", "c", "day"]], "day")
    assert recipe.quick() is None
    assert recipe()[0].shape == (ROWS, 2)


def test_a_file_that_is_gone_is_told_by_dask(folder):
    frame = dd.read_parquet(folder)[[*NUMBERS, "code"]]
    found = parts(frame, "code")
    (folder / "0.parquet").unlink()
    assert found[0].quick() is None
    with pytest.raises(RuntimeError, match=r"partition 0: FileNotFoundError"):
        PenalizedClassifier().fit(frame, "code")


def test_only_columns_of_files_are_read_so(folder, tmp_path_factory):
    frame = dd.read_parquet(folder)[[*NUMBERS, "code"]]
    others = [
        frame[frame.a > 0],
        frame.assign(a=frame.a * 2),
        frame.map_partitions(lambda part: part),
        dd.read_parquet(folder, filters=[("c", ">", 0)])[[*NUMBERS, "code"]],
        dd.from_pandas(table(0)[[*NUMBERS, "code"]], npartitions=2),
    ]
    sets = tmp_path_factory.mktemp("sets")
    table(0).assign(half=np.arange(ROWS) % 2).to_parquet(sets, partition_cols=["half"])
    others.append(dd.read_parquet(sets)[["a", "b", "code"]])
    for other in others:
        assert all(not isinstance(p, Recipe) or p.quick is None for p in parts(other, "code"))
    # And what they hold is fitted all the same.
    some = frame[frame.a > 0]
    memory = some.compute()
    model = PenalizedClassifier(alpha=1e-2).fit(some, "code")
    again = PenalizedClassifier(alpha=1e-2).fit(memory[NUMBERS].astype(float), memory.code)
    assert model.objective_ == pytest.approx(again.objective_, rel=1e-5)


def test_columns_under_another_index_are_put_together_by_dask(tmp_path):
    """Dask aligns them by that index, which is not the order of the file."""
    rows = table(0)
    rows["id"] = np.random.default_rng(1).permutation(ROWS)
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    X = dd.read_parquet(tmp_path, index="id")[["a", "b"]]
    y = dd.read_parquet(tmp_path, index=False).code
    by_index = X.assign(code=y).compute()
    model = PenalizedClassifier(alpha=1e-2).fit(X, y)
    other = PenalizedClassifier(alpha=1e-2).fit(by_index[["a", "b"]].astype(float), by_index.code)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-3, atol=1e-6)
    apart = PenalizedClassifier(alpha=1e-2).fit(rows[["a", "b"]].astype(float), rows.code)
    assert not np.allclose(model.coef_, apart.coef_, rtol=0.1)


def test_files_of_other_types_are_left_to_dask(tmp_path):
    numbers, flags = tmp_path / "0.parquet", tmp_path / "1.parquet"
    table(0)[["a", "code"]].to_parquet(numbers)
    table(1)[["a", "flag"]].rename(columns={"flag": "code"}).to_parquet(flags)
    for second, whole in ((numbers, True), (flags, False)):
        pieces = ((str(numbers), None, ()), (str(second), None, ()))
        found = ParquetRows(pieces, (["a"], "code", None, None))()
        assert (found is not None) == whole


def test_batches_are_joined_where_a_group_has_many_rows(folder, monkeypatch):
    monkeypatch.setattr(_dask_parquet, "_BATCH", 64)
    for recipe in parts(dd.read_parquet(folder)[[*NUMBERS, "label"]], "label"):
        assert_same(recipe)


CLUSTER = """
def frames():
    import sys
    heavy = "pandas", "dask.dataframe", "sklearn", "scipy"
    return [name for name in heavy if name in sys.modules]

# Workers import this file: what the client needs is not for them.
if __name__ == "__main__":
    import sys
    import dask.dataframe as dd
    from distributed import Client, LocalCluster
    from mainstay import PenalizedClassifier

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as made, Client(made) as client:
        frame = dd.read_parquet(sys.argv[1])[["a", "b", "c", "d", "label"]]
        model = PenalizedClassifier(alpha=1e-2).fit(frame, "label")
        print(*client.run(frames).values(), model.coef_.tobytes().hex())
"""


def test_workers_import_no_frames(folder, tmp_path_factory):
    pytest.importorskip("distributed", reason="distributed is optional")
    script = tmp_path_factory.mktemp("script") / "fit.py"
    script.write_text(CLUSTER)
    done = subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, check=True
    )
    frame = dd.read_parquet(folder)[[*NUMBERS, "label"]]
    model = PenalizedClassifier(alpha=1e-2).fit(frame, "label")
    assert done.stdout.split() == ["[]", model.coef_.tobytes().hex()]
