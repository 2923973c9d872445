"""Faults that were found by attack: each test says what it taught."""

import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest

import mainstay
from mainstay import (
    ConicSVC,
    EllipsoidSVC,
    MissingFeatureSVC,
    PenalizedClassifier,
    RobustCV,
    StableLogisticRegression,
)


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(40, 3))
    return X, (X[:, 0] > 0).astype(int)


def test_labels_that_would_merge_are_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"2\*\*53"):
        PenalizedClassifier().fit(X, [2**53 + 1 if v else 2.0**53 for v in y])
    with pytest.raises(ValueError, match=r"2\*\*53"):
        PenalizedClassifier().fit(X, np.where(y, 2.0**60, 1.0))
    model = PenalizedClassifier().fit(X, [2**53 + int(v) for v in y])
    assert model.classes_.tolist() == [2**53, 2**53 + 1]


@pytest.mark.parametrize("dtype", [None, object])
def test_labels_of_bytes_are_refused(rows, dtype):
    X, y = rows
    with pytest.raises(ValueError, match="bytes"):
        PenalizedClassifier().fit(X, np.array([b"a" if v else b"b" for v in y], dtype=dtype))


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_dates_as_labels_are_not_saved_as_numbers(rows, tmp_path, unit):
    X, y = rows
    days = np.where(y, np.datetime64("2020-01-01", unit), np.datetime64("2021-01-01", unit))
    with pytest.raises(ValueError, match=r"dates or times.*astype\(str\)"):
        mainstay.save(PenalizedClassifier().fit(X, days), tmp_path / "model.json")
    large = np.array([2**63 + int(v) for v in y], dtype=np.uint64)
    with pytest.raises(ValueError, match=r"2\*\*63"):
        mainstay.save(PenalizedClassifier().fit(X, large), tmp_path / "model.json")


@pytest.mark.parametrize("n_jobs", ["2", 2**70, -(2**70), 1.5])
def test_n_jobs_that_is_no_number_of_threads_is_named(rows, n_jobs):
    with pytest.raises(ValueError, match="`n_jobs` = "):
        PenalizedClassifier(n_jobs=n_jobs).fit(*rows)


@pytest.mark.parametrize("factor", [10**400, None, "much", 1j])
def test_a_class_weight_that_is_no_number_is_named(rows, factor):
    with pytest.raises(ValueError, match="`class_weight` of class 0"):
        ConicSVC(class_weight={0: factor}).fit(*rows)


def test_cv_that_is_no_list_of_splits_is_named(rows):
    with pytest.raises(ValueError, match="`cv`: a list must hold pairs"):
        RobustCV(PenalizedClassifier(), {"alpha": [1.0]}, cv=[1]).fit(*rows)


def ended(code):
    """What a program ended with, run in an interpreter of its own since it may not survive."""
    setup = "import numpy as np, mainstay\nX = np.eye(20)[:, :3]; y = np.arange(20) % 2\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + code], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stderr.strip().splitlines()[-1:]


@pytest.mark.parametrize("inner", ["a.append(a)", "a.append({'a': a})"])
def test_a_parameter_that_holds_itself_is_refused(inner):
    code, last = ended(f"a = []; {inner}\nmainstay.PenalizedClassifier(alpha=a).fit(X, y)")
    assert code == 1
    assert last[0].startswith("ValueError: `a")
    assert "holds itself" in last[0]


@pytest.mark.parametrize("name", ["make_outliers", "make_label_noise", "make_ndc"])
@pytest.mark.parametrize("rows", ["2**62", "10**13"])
def test_more_rows_than_fit_into_memory_are_a_memory_error(name, rows):
    code, last = ended(f"mainstay.datasets.{name}({rows}, 10)")
    assert code == 1
    assert last[0].startswith("MemoryError: there is no memory for ")


def test_a_fit_that_needs_more_memory_than_there_is_is_a_memory_error():
    wide = (
        "from scipy import sparse\n"
        "X = sparse.csr_array(([1.0] * 20, (range(20), range(20))), shape=(20, 4 * 10**9))\n"
    )
    for code in [
        "mainstay.RolinClassifier(n_repeats=10**9).fit(X, y)",
        "X = np.zeros((200_000, 1)); y = np.arange(200_000) % 2\n"
        "mainstay.ConicSVC(kernel='rbf').fit(X, y)",
        wide + "mainstay.PenalizedClassifier().fit(X, y)",
    ]:
        ending, last = ended(code)
        assert ending == 1
        assert last[0].startswith("MemoryError: ")
        assert "GB of memory" in last[0]


def test_a_certificate_from_a_file_is_a_claim(rows, tmp_path):
    model = PenalizedClassifier().fit(*rows)
    assert model.certificate_claimed_ is False
    mainstay.save(model, tmp_path / "model.json")
    loaded = mainstay.load(tmp_path / "model.json")
    assert loaded.certificate_claimed_ is True
    assert loaded.fit(*rows).certificate_claimed_ is False


def forged(path, old, new):
    """Change the text of a model file and mend its checksum."""
    content, _ = path.read_bytes().rsplit(b',"checksum"', 1)
    assert old in content
    content = content.replace(old, new)
    path.write_bytes(content + b',"checksum":"crc32:%08x"}\n' % zlib.crc32(content))


def test_a_model_file_cannot_set_attributes_of_its_own(rows, tmp_path):
    path = tmp_path / "model.json"
    mainstay.save(ConicSVC().fit(*rows), path)
    forged(path, b'"z":{', b'"__dict_":{')
    with pytest.raises(ValueError, match="`__dict_` is not a result of any method"):
        mainstay.load(path)


def test_a_model_file_cannot_hold_a_negative_gamma(rows, tmp_path):
    path = tmp_path / "model.json"
    mainstay.save(ConicSVC(kernel="rbf", gamma=0.5).fit(*rows), path)
    forged(path, b'"function":"rbf","gamma":0.5', b'"function":"rbf","gamma":-5.0')
    with pytest.raises(ValueError, match="gamma is negative"):
        mainstay.load(path)


@pytest.mark.parametrize("count", [b"4611686018427387904", b"1000000000"])
def test_a_model_file_cannot_ask_for_more_features_than_memory_holds(rows, tmp_path, count):
    X, y = rows
    path = tmp_path / "model.json"
    mainstay.save(ConicSVC(kernel="precomputed").fit(X @ X.T, y), path)
    forged(path, b'"n_features":40', b'"n_features":' + count)
    with pytest.raises(ValueError, match="feature"):
        mainstay.load(path)


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (ConicSVC(kappa=1.0), "`kappa`"),
        (StableLogisticRegression(), "`k`"),
        (MissingFeatureSVC(), "`budget`"),
        (PenalizedClassifier(alpha=1e6), 'class_weight` = "balanced"'),
        (EllipsoidSVC(uncertainty=50.0), "`uncertainty`"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_constant_model_warns_once_and_names_the_remedy(rows, model, remedy):
    X, _ = rows
    y = np.arange(40) % 7 == 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert len(set(model.predict(X))) == 1
    texts = [str(w.message) for w in caught if w.category is UserWarning]
    assert len(texts) == 1
    assert remedy in texts[0]


def test_nothing_missing_has_a_value_of_plain_zero(rows):
    X, y = rows
    report = MissingFeatureSVC().fit(X, y).missing_report(X)
    assert not np.signbit(np.asarray(report["missing_value"])).any()
