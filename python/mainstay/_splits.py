"""The splits of estimators that cross-validate."""

import numbers

import numpy as np
from sklearn.model_selection import check_cv


def split_pairs(cv, X, y):
    """All splits of ``cv`` as pairs of lists; a one-shot iterable is used up here, so keep them."""
    pairs = check_cv(cv, y, classifier=True).split(X, y)
    return [(np.asarray(train).tolist(), np.asarray(test).tolist()) for train, test in pairs]


class CrossValidated:
    """``cv`` is a number of folds, a splitter, or pairs of row positions."""

    def _before_fit(self, X, y):
        folds = isinstance(self.cv, numbers.Integral)
        self._splits = None if folds else split_pairs(self.cv, X, y)

    def _core_params(self):
        params = super()._core_params()
        if getattr(self, "_splits", None) is not None:
            params["cv"] = self._splits
        elif not isinstance(self.cv, numbers.Integral):
            del params["cv"]  # made from the rows, which are not there yet
        return params
