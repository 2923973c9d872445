"""What every estimator inherits: input of any kind, labels of any kind, weights, copies, errors."""

# Longer than other files: a list of tests of one base class.

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mainstay
from mainstay import PenalizedClassifier, _core


def same_model(a, b):
    assert_array_equal(a.coef_, b.coef_)
    assert_array_equal(a.intercept_, b.intercept_)


# Features


LAYOUTS = {
    "F": np.asfortranarray,
    "row stride": lambda X: np.repeat(X, 2, axis=0)[::2],
    "column stride": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "negative stride": lambda X: X[::-1].copy()[::-1],
    "list": lambda X: X.tolist(),
    "big endian": lambda X: X.astype(">f8"),
    "object": lambda X: X.astype(object),
}
SPARSE = [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_memory_layout_of_x_does_not_matter(blobs, layout):
    X, y = blobs
    variant = LAYOUTS[layout](X)
    model, other = PenalizedClassifier().fit(X, y), PenalizedClassifier().fit(variant, y)
    same_model(model, other)
    assert_array_equal(model.decision_function(X), other.decision_function(variant))


@pytest.mark.parametrize("form", SPARSE)
def test_sparse_features_are_the_same_problem(blobs, form):
    X, y = blobs
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = PenalizedClassifier(tol=1e-10).fit(X, y)
    other = PenalizedClassifier(tol=1e-10).fit(form(X), y)
    # Sums run in another order; Newton's method ends at the same point to about 1e-8.
    assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(model.objective_, other.objective_, rtol=1e-9)
    assert_allclose(model.decision_function(X), model.decision_function(form(X)), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, np.float32, bool])
def test_every_dtype_is_its_float64_value(blobs, dtype):
    X, y = blobs
    X = (4 * X).clip(0, 100).astype(dtype)
    same_model(PenalizedClassifier().fit(X, y), PenalizedClassifier().fit(X.astype(float), y))


def test_read_only_input_stays_untouched(blobs):
    X, y = blobs
    before = X.copy()
    X.flags.writeable = y.flags.writeable = False
    weights = np.ones(len(y))
    weights.flags.writeable = False
    PenalizedClassifier().fit(X, y, sample_weight=weights).predict(X)
    assert_array_equal(X, before)


def test_sparse_duplicates_and_unsorted_indices_are_summed():
    data, indices, indptr = [1.0, 2.0, 3.0, 4.0, 1.0], [1, 0, 0, 1, 1], [0, 2, 3, 5]
    X = sparse.csr_matrix((data, indices, indptr), shape=(3, 2))
    y = [0, 1, 1]
    kept = X.indices.copy()
    summed = sparse.csr_matrix(X.toarray())
    same_model(PenalizedClassifier().fit(X, y), PenalizedClassifier().fit(summed, y))
    assert_array_equal(X.indices, kept)


def test_pandas_frames_give_feature_names():
    data = mainstay.datasets.load_demo(as_frame=True)
    model = PenalizedClassifier(normalize=True).fit(data.data, data.target)
    assert list(model.feature_names_in_) == data.feature_names
    assert isinstance(data.frame, pd.DataFrame)
    same_model(
        model, PenalizedClassifier(normalize=True).fit(data.data.to_numpy(), data.target.to_numpy())
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(data.data[data.feature_names[::-1]])


def test_polars_frames_give_feature_names(blobs):
    X, y = blobs
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d", "e"])
    if sklearn.__version__ < "1.6" and not hasattr(frame, "__dataframe__"):
        pytest.skip("this polars is too new for this scikit-learn to see its column names")
    model = PenalizedClassifier().fit(frame, pl.Series(y))
    assert list(model.feature_names_in_) == frame.columns
    same_model(model, PenalizedClassifier().fit(X, y))
    assert_array_equal(model.predict(frame), model.predict(frame))


# Labels


NAMES = {
    "text": np.array(["no", "yes", "zebra"]),
    "integers": np.array([-3, 5, 7]),
    "floats": np.array([-1.0, 1.0, 2.0]),
    "booleans": np.array([False, True]),
    "objects": np.array(["a", "b", "c"], dtype=object),
}


@pytest.mark.parametrize("kind", NAMES)
def test_labels_of_any_kind_come_back(blobs, kind):
    X, y = blobs
    names = NAMES[kind]
    if y.max() >= len(names):
        pytest.skip("true and false cannot name three classes")
    plain, named = PenalizedClassifier().fit(X, y), PenalizedClassifier().fit(X, names[y])
    same_model(plain, named)
    assert_array_equal(named.classes_, np.unique(names[y]))
    assert_array_equal(named.predict(X), named.classes_[plain.predict(X)])


# Results


def test_shapes_and_attributes(blobs):
    X, y = blobs
    K, rows = len(np.unique(y)), 1 if y.max() == 1 else y.max() + 1
    model = PenalizedClassifier().fit(X, y)
    assert model.coef_.shape == (rows, 5)
    assert model.intercept_.shape == (rows,)
    assert model.decision_function(X).shape == ((len(y),) if K == 2 else (len(y), K))
    assert np.shape(model.objective_) == (() if K == 2 else (K,))
    assert 0 <= model.dual_gap_ <= model.tol
    assert model.n_iter_ >= 1
    assert model.n_features_in_ == 5


def test_scores_are_those_of_the_public_coefficients(blobs):
    X, y = blobs
    model = PenalizedClassifier().fit(X, y)
    expected = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X).reshape(len(y), -1), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "modified_huber"])
def test_probabilities_sum_to_one_and_agree_with_predict(blobs, loss):
    X, y = blobs
    model = PenalizedClassifier(loss=loss, alpha=1e-4).fit(X, y)
    rows = np.vstack([X, 50 * X, 1e6 * X])
    P = model.predict_proba(rows)
    assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert ((P >= 0) & (P <= 1 + 1e-15)).all()
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(rows))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_losses_without_probabilities_have_no_predict_proba(loss):
    assert not hasattr(PenalizedClassifier(loss=loss), "predict_proba")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_no_worse_than_scikit_learn_and_within_the_gap(seed, alpha):
    X, y = make_classification(150, 8, flip_y=0.2, random_state=seed)
    ours = PenalizedClassifier(alpha=alpha).fit(X, y)
    theirs = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=10_000).fit(X, y)

    def objective(model):
        w, b = model.coef_[0], model.intercept_[0]
        margins = np.where(y == 1, 1, -1) * (X @ w + b)
        return np.logaddexp(0, -margins).mean() + alpha * (w @ w) / 2

    assert_allclose(objective(ours), ours.objective_, rtol=1e-12)
    bound = ours.dual_gap_ * max(1, ours.objective_) + 1e-12
    assert objective(ours) - objective(theirs) <= bound


def test_missing_the_tolerance_warns_and_leaves_a_model(blobs):
    X, y = blobs
    with pytest.warns(ConvergenceWarning, match="gap"):
        model = PenalizedClassifier(alpha=1e-6, max_iter=1, tol=1e-12).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.dual_gap_ > model.tol


# Weights


def test_a_weight_of_two_is_the_row_twice_and_zero_its_absence(blobs):
    X, y = blobs
    counts = np.random.default_rng(1).integers(4, size=len(y))
    weighted = PenalizedClassifier().fit(X, y, sample_weight=counts)
    repeated = PenalizedClassifier().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    same_model(weighted, repeated)


def test_class_weights_multiply_row_weights(blobs):
    X, y = blobs
    factors = {k: 0.5 + k for k in range(y.max() + 1)}
    by_class = PenalizedClassifier(class_weight=factors).fit(X, y)
    by_row = PenalizedClassifier().fit(X, y, sample_weight=[factors[k] for k in y])
    same_model(by_class, by_row)
    counts = np.bincount(y)
    balanced = {k: len(y) / (len(counts) * c) for k, c in enumerate(counts)}
    assert_allclose(
        PenalizedClassifier(class_weight="balanced").fit(X, y).coef_,
        PenalizedClassifier(class_weight=balanced).fit(X, y).coef_,
        rtol=1e-9,
    )


def test_class_weight_for_an_unknown_class_is_an_error(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="class_weight"):
        PenalizedClassifier(class_weight={"spam": 2.0}).fit(X, y)


def test_sample_weight_is_routed_as_metadata(blobs):
    X, y = blobs
    weights = np.random.default_rng(2).integers(1, 4, size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            PenalizedClassifier().set_fit_request(sample_weight=True),
        )
        pipeline.fit(X, y, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    same_model(pipeline[-1], PenalizedClassifier().fit(scaled, y, sample_weight=weights))


# Life among other estimators


def test_works_inside_pipelines_searches_and_calibration(blobs):
    X, y = blobs
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PenalizedClassifier()),
        {"penalizedclassifier__alpha": [1e-3, 1e-1]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.5
    calibrated = CalibratedClassifierCV(PenalizedClassifier(loss="squared_hinge"), cv=3).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_parallel_searches_in_processes_and_threads(backend):
    X, y = make_classification(200, 5, random_state=0)
    with joblib.parallel_backend(backend, n_jobs=2):
        search = GridSearchCV(PenalizedClassifier(), {"alpha": [1e-3, 1e-2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5


# What is done before a fork and again in both processes, on rows enough for several threads.
FORKED = {
    "fit and predict": """
        PenalizedClassifier(n_jobs=2).fit(X[:5000], y[:5000]).predict(X)""",
    "learn and encode a table": """
        encoder = mainstay.TableEncoder(standardize=True).fit(X)
        encoder.transform(X)""",
    "verify a standardised model": """
        small = make_pipeline(mainstay.TableEncoder(standardize=True), PenalizedClassifier())
        with mainstay.config(proof=True):
            small.fit(X, y)
        mainstay.verify(small, X, y)""",
    "fit over partitions": """
        mainstay.StableLogisticRegression().fit(array(X, 20_000), array(y, 20_000))""",
    "damage rows": """
        mainstay.threats.unlucky_split(X, y, level=0.3)""",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("work", FORKED.values(), ids=FORKED)
def test_a_forked_child_can_do_what_its_parent_did(work):
    if "array" in work:
        pytest.importorskip("dask.array", reason="dask is optional")
    code = """
    import os, numpy as np, mainstay, mainstay.threats
    from sklearn.pipeline import make_pipeline
    from mainstay import PenalizedClassifier
    def array(values, rows):
        import dask, dask.array
        dask.config.set(scheduler="synchronous")
        return dask.array.from_array(values, chunks=(rows, *values.shape[1:]))
    X = np.random.default_rng(0).normal(size=(60_000, 30))
    y = (X[:, 0] > 0).astype(int)
    def work():
        pass
    work()
    child = os.fork()
    work()
    if child:
        raise SystemExit(os.waitpid(child, 0)[1])
    """
    body = textwrap.indent(textwrap.dedent(work), "    ")
    code = textwrap.dedent(code).replace("    pass", body)
    # In a group of its own: a child that hangs is ended with its parent.
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        assert process.wait(timeout=60) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_clones_and_pickles_are_the_same_model(blobs):
    X, y = blobs
    model = PenalizedClassifier(loss="modified_huber", alpha=0.3).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))
    # The training rows are the caller's: a copy does without them.
    assert vars(copy).keys() == vars(model).keys() - {"_training"}
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert copy.dual_gap_ == model.dual_gap_


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_the_number_of_threads_does_not_change_a_bit(loss):
    X, y = make_classification(9000, 12, n_informative=6, n_classes=4, random_state=0)
    models = [PenalizedClassifier(loss=loss, n_jobs=n).fit(X, y) for n in (None, 1, 2, 3, -1)]
    for model in models[1:]:
        same_model(models[0], model)
        assert_array_equal(models[0].decision_function(X), model.decision_function(X))


# Bad input


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [np.nan]], [0, 1], "NaN"),
        ([[0.0], [np.inf]], [0, 1], "row 1, column 0: inf is not a finite"),
        ([[0.0], [1.0]], [1, 1], "one class"),
        ([[0.0], [1.0]], [0.1, 1.7], "Unknown label type"),
        ([[0.0], [1.0]], [0, np.nan], "y has a missing label at row 1"),
        ([[0.0], [1.0]], [0, 1, 1], "inconsistent"),
        (np.empty((0, 2)), [], "0 sample"),
        (np.empty((2, 0)), [0, 1], "0 feature"),
        ([0.0, 1.0], [0, 1], "1D"),
        (np.zeros((2, 2, 2)), [0, 1], "dim"),
        ([["a"], ["b"]], [0, 1], "convert"),
        (np.array([[1j], [2.0]]), [0, 1], "omplex"),
    ],
)
def test_bad_data_gives_a_value_error(X, y, message):
    with pytest.raises(ValueError, match=message):
        PenalizedClassifier().fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scale", [1e308, 1e150, 1e-150, 1e-308])
def test_extreme_scales_give_a_finite_model_or_a_value_error(blobs, scale):
    X, y = blobs
    X = (X / np.abs(X).max()) * scale
    try:
        model = PenalizedClassifier().fit(X, y)
    except ValueError:
        return
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, "`alpha` = 0: must be positive"),
        ({"alpha": -1}, "`alpha` = -1"),
        ({"alpha": np.inf}, "`alpha` = inf"),
        ({"alpha": np.nan}, "`alpha` = nan"),
        ({"alpha": "much"}, '`alpha` = "much"'),
        ({"alpha": object()}, "`alpha` = <object"),
        ({"loss": "zero_one"}, '`loss` = "zero_one".*logistic'),
        ({"penalty": "l3"}, '`penalty` = "l3".*elasticnet'),
        ({"l1_ratio": 1.5}, "`l1_ratio` = 1.5"),
        ({"tol": 0}, "`tol` = 0"),
        ({"max_iter": 0}, "`max_iter` = 0"),
        ({"max_iter": 10.5}, "`max_iter` = 10.5"),
        ({"max_iter": -1}, "`max_iter` = -1"),
        ({"max_iter": 10**30}, "`max_iter` = 1000"),
        ({"class_weight": "even"}, '`class_weight` = "even"'),
        ({"class_weight": {0: -1.0}}, "negative"),
        ({"n_jobs": 0}, "`n_jobs` = 0"),
    ],
    ids=str,
)
def test_bad_parameters_give_a_value_error_that_names_them(blobs, params, message):
    with pytest.raises(ValueError, match=message):
        PenalizedClassifier(**params).fit(*blobs)


@pytest.mark.parametrize("alpha", [np.float64(0.5), np.float32(0.5), np.array(0.5)])
def test_numpy_scalars_are_parameters(blobs, alpha):
    same_model(
        PenalizedClassifier(alpha=alpha).fit(*blobs), PenalizedClassifier(alpha=0.5).fit(*blobs)
    )


@pytest.mark.parametrize(
    "weights", [[-1.0] + [1.0] * 119, [np.nan] * 120, [1.0] * 119, np.zeros(120)]
)
def test_bad_weights_give_a_value_error(blobs, weights):
    with pytest.raises(ValueError, match=r"weight|NaN"):
        PenalizedClassifier().fit(*blobs, sample_weight=weights)


def test_asking_an_unfitted_model_or_with_other_features_is_an_error(blobs):
    X, y = blobs
    with pytest.raises(NotFittedError):
        PenalizedClassifier().predict(X)
    with pytest.raises(ValueError, match="features"):
        PenalizedClassifier().fit(X, y).predict(X[:, :3])


def test_the_compiled_module_checks_what_it_is_given():
    y = np.array([0, 1])
    with pytest.raises(ValueError, match="no method `l9`"):
        _core.fit("l9", {}, np.eye(2), y, 2)
    with pytest.raises(ValueError, match="`alpha_` is not a parameter of l2; nearest is `alpha`"):
        _core.fit("l2", {"alpha_": 1}, np.eye(2), y, 2)
    with pytest.raises(ValueError, match="2-D float64"):
        _core.fit("l2", {}, np.eye(2, dtype=np.float32), y, 2)
    with pytest.raises(ValueError, match="not be negative"):
        _core.fit("l2", {}, np.eye(2), -y, 2)
    with pytest.raises(ValueError, match="sparse matrix"):
        _core.fit("l2", {}, (np.array([0, 1, 9]), y, np.ones(2), 2), y, 2)
    with pytest.raises(ValueError, match="not a fitted model"):
        _core.Fitted.from_json("{}")


# Long work

LONG = """
import os, signal, threading, time
import numpy as np
from mainstay import PenalizedClassifier

rng = np.random.default_rng(0)
X, y = rng.normal(size=(3000, 800)), rng.integers(40, size=3000)

def work():
    PenalizedClassifier(alpha=1e-9, max_iter=10**6, tol=1e-15).fit(X, y)
    print("finished", flush=True)

def interrupt():
    global sent
    time.sleep(1.0)
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_stops_a_fit_within_a_second():
    code = """
try:
    work()
except KeyboardInterrupt:
    print(time.monotonic() - sent)
"""
    done = subprocess.run(
        [sys.executable, "-c", LONG + code], capture_output=True, text=True, timeout=60, check=True
    )
    assert float(done.stdout) < 1.0


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_process_that_fits_in_another_thread():
    code = "thread = threading.Thread(target=work); thread.start(); thread.join()"
    done = subprocess.run(
        [sys.executable, "-c", LONG + code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr
    assert "finished" not in done.stdout


def test_other_threads_run_during_a_fit():
    X, y = make_classification(4000, 200, n_informative=20, n_classes=10, random_state=0)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    PenalizedClassifier(alpha=1e-5).fit(X, y)
    elapsed = time.monotonic() - start
    stop.set()
    thread.join()
    # A lock held throughout would leave no tick at all.
    assert len(ticks) >= min(3, elapsed / 0.05)


def test_verbose_shows_progress_on_standard_error(capsys):
    X, y = make_classification(3000, 60, n_informative=20, n_classes=5, random_state=0)
    PenalizedClassifier(verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("\rPenalizedClassifier: ")
    assert "5/5 (100%)" in err
    assert "PenalizedClassifier: done, " in err
    assert "dual gap" in err
    PenalizedClassifier().fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_the_table_of_a_cross_validation_speaks_scikit_learns_words(blobs):
    X, y = blobs
    model = PenalizedClassifier(alpha="cv", alphas=[0.1, 0.001], normalize="auto").fit(X, y)
    results = model.cv_results_
    chosen = {"alpha": model.alpha_, "normalize": model.normalize_}
    assert results["params"][int(np.argmax(results["mean_test_score"]))] == chosen
    assert results["rank_test_score"].min() == 1
    splits = np.stack([results[f"split{s}_test_score"] for s in range(5)])
    np.testing.assert_allclose(splits.mean(axis=0), results["mean_test_score"])
    np.testing.assert_allclose(splits.std(axis=0), results["std_test_score"])
    # Every entry of params is accepted as parameters.
    assert PenalizedClassifier(**results["params"][0]).fit(X, y).dual_gap_ <= 1e-6


def test_verbose_names_the_stages_of_the_fit(blobs, capsys):
    PenalizedClassifier(loss="hinge", verbose=1).fit(*blobs)
    assert "(interior point)" in capsys.readouterr().err


def test_a_fit_leaves_nothing_of_the_one_before(blobs):
    """What another fit has proved, or its rows, would be taken for those of this one."""
    X, y = blobs
    model = PenalizedClassifier(alpha="cv", n_alphas=3).fit(X, y)
    assert not hasattr(model.set_params(alpha=0.1).fit(X, y), "cv_results_")
    robust = mainstay.RobustLogisticRegression(alpha=0.1).fit(X, y)
    assert robust.dual_gap_ <= robust.tol
    robust.set_params(correction="averaged", alpha="cv", n_alphas=3).fit(X, y)
    assert not hasattr(robust, "dual_gap_")
    assert not hasattr(robust, "objective_")
    conic = mainstay.ConicSVC().fit(X, y)
    assert not hasattr(conic.set_params(kernel="rbf").fit(X, y), "coef_")
    planes = mainstay.ReGEC().fit(X, y)
    assert len(planes.suspicious_labels()["row"]) == len(y)
    with pytest.raises(ValueError, match="no longer has its training rows"):
        planes.partial_fit(X, y).suspicious_labels()


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_label_is_named_by_its_row(gap):
    X = np.arange(40.0).reshape(20, 2)
    y = np.array(["a", "b"] * 10, dtype=object)
    y[3] = gap
    model = PenalizedClassifier()
    calls = [
        lambda: model.fit(X, y),
        lambda: model.fit(X, pd.Series(y)),
        lambda: mainstay.compare(X, y),
        lambda: mainstay.validate(model, X, y),
        lambda: mainstay.stress(model, X, y),
        lambda: mainstay.audit_labels(X, y),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="y has a missing label at row 3"):
            call()
    numbers = np.array([0.0, 1.0] * 10)
    numbers[3] = np.nan
    with pytest.raises(ValueError, match="y has a missing label at row 3"):
        model.fit(X, numbers)
