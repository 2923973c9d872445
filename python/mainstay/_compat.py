"""scikit-learn 1.5 to today behind one set of names."""

import numpy as np
import sklearn
from sklearn.utils.fixes import parse_version

from mainstay._tables import frame_names, is_frame

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
        problem = _not_numbers(X)
        if problem is None:
            raise
        raise ValueError(problem) from error


def _not_numbers(X):
    """Name the first column of a frame that holds something else than numbers."""
    if not is_frame(X) or len(getattr(X, "shape", ())) != 2:
        return None
    names = frame_names(X)
    if len(set(names)) < len(names):
        return None
    for j, name in enumerate(names):
        values = np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[name])
        if values.dtype.kind in "iufb":
            continue
        strange = next((cell for cell in values if not _is_number(cell)), None)
        if strange is not None:
            return (
                f"column {name!r} holds {str(strange)!r}, which is not a number: "
                "mainstay.TableEncoder() as the first step of a pipeline makes features of words, "
                "dates and categories"
            )
    return None


def _is_number(cell):
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return False
    try:
        float(cell)
    except (TypeError, ValueError):
        # What pandas puts into an empty cell is neither a number nor a word.
        return cell is None or str(cell) == "<NA>"
    return True


__all__ = ["SKLEARN_HAS_TAG_OBJECTS", "validate_data"]
