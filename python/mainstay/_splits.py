"""The splits of estimators that cross-validate."""

import numbers

import numpy as np
from sklearn.model_selection import check_cv


class CrossValidated:
    """``cv`` is a number of folds, a splitter, or pairs of row positions."""

    def _fit(self, X, y, sample_weight=None, **extra):
        self._splits = None
        if not isinstance(self.cv, numbers.Integral):
            # A one-shot iterable would be used up here, so its splits are kept.
            pairs = check_cv(self.cv, y, classifier=True).split(X, y)
            self._splits = [
                (np.asarray(train).tolist(), np.asarray(test).tolist()) for train, test in pairs
            ]
        return super()._fit(X, y, sample_weight, **extra)

    def _core_params(self):
        params = super()._core_params()
        if getattr(self, "_splits", None) is not None:
            params["cv"] = self._splits
        return params
