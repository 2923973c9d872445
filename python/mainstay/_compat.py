"""scikit-learn 1.5 to today behind one set of names."""

import sklearn
from sklearn.utils import check_array
from sklearn.utils.fixes import parse_version

from mainstay._tables import is_frame, not_finite, not_numbers

SKLEARN_HAS_TAG_OBJECTS = parse_version(sklearn.__version__) >= parse_version("1.6.dev0")

if SKLEARN_HAS_TAG_OBJECTS:
    from sklearn.utils.validation import validate_data as _validate

    _ANY_NUMBER = {"ensure_all_finite": False}
else:
    _ANY_NUMBER = {"force_all_finite": False}

    def _validate(estimator, X, y="no_validation", *, ensure_all_finite=True, **options):
        """Call the method that became this function in scikit-learn 1.6."""
        return estimator._validate_data(X, y, force_all_finite=ensure_all_finite, **options)


def validate_data(estimator, X, y="no_validation", **options):
    """Check rows; of a frame, say which column or cell is no number, and what helps."""
    try:
        return _validate(estimator, X, y, **options)
    except (TypeError, ValueError) as error:
        problem = _in_cells(X, error) if is_frame(X) else None
        if problem is None:
            raise
        raise ValueError(problem) from error


def _in_cells(X, error):
    """Name the column or cell of a frame behind an error; None where the cause is another."""
    try:
        values = check_array(
            X, dtype="float64", ensure_min_samples=0, ensure_min_features=0, **_ANY_NUMBER
        )
    except (TypeError, ValueError) as alone:
        # Names, labels and shapes have errors of their own.
        return not_numbers(X) if str(alone) == str(error) else None
    if not str(error).startswith("Input X contains"):
        return None
    return not_finite(X, values, allow_nan="infinity" in str(error))


__all__ = ["SKLEARN_HAS_TAG_OBJECTS", "validate_data"]
