"""scikit-learn 1.5 to today behind one set of names."""

import sklearn
from sklearn.utils.fixes import parse_version

SKLEARN_HAS_TAG_OBJECTS = parse_version(sklearn.__version__) >= parse_version("1.6.dev0")

if SKLEARN_HAS_TAG_OBJECTS:
    from sklearn.utils.validation import validate_data
else:

    def validate_data(estimator, X, y="no_validation", *, ensure_all_finite=True, **options):
        """Call the method that became this function in scikit-learn 1.6."""
        return estimator._validate_data(X, y, force_all_finite=ensure_all_finite, **options)


__all__ = ["SKLEARN_HAS_TAG_OBJECTS", "validate_data"]
