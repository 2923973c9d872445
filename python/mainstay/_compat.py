"""scikit-learn 1.5 to today behind one set of names."""

import sklearn
from sklearn.utils.fixes import parse_version

from mainstay._tables import not_numbers

SKLEARN_HAS_TAG_OBJECTS = parse_version(sklearn.__version__) >= parse_version("1.6.dev0")

if SKLEARN_HAS_TAG_OBJECTS:
    from sklearn.utils.validation import validate_data as _validate
else:

    def _validate(estimator, X, y="no_validation", *, ensure_all_finite=True, **options):
        """Call the method that became this function in scikit-learn 1.6."""
        return estimator._validate_data(X, y, force_all_finite=ensure_all_finite, **options)


def validate_data(estimator, X, y="no_validation", **options):
    """Check rows; of a frame, say which column holds no numbers, and what makes features of it."""
    try:
        return _validate(estimator, X, y, **options)
    except (TypeError, ValueError) as error:
        problem = not_numbers(X)
        if problem is None:
            raise
        raise ValueError(problem) from error


__all__ = ["SKLEARN_HAS_TAG_OBJECTS", "validate_data"]
