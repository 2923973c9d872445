"""Classifiers around a classifier: what is asked of the outer one, the inner one answers."""

from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if

from mainstay._compat import SKLEARN_HAS_TAG_OBJECTS

# What the inner classifier takes, the outer one takes.
_INPUTS = ("allow_nan", "pairwise", "sparse")


def _inner_has(name):
    return lambda self: hasattr(self._inner(), name)


class Forwarding(MetaEstimatorMixin, ClassifierMixin):
    """Prediction and input tags of a classifier inside.

    Needs ``_inner()``, the classifier, fitted once the outer one is, and ``_rows(X)``, the rows as
    it takes them, which also checks that there was a fit.
    """

    # Tags taken over; the others are the outer classifier's own.
    _forwarded_tags = _INPUTS

    def predict(self, X):
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = self._rows(X)
        return self._inner().predict(X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X):
        """Score rows as the classifier inside does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X = self._rows(X)
        return self._inner().decision_function(X)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X):
        """Probability of every class, as the classifier inside gives it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        X = self._rows(X)
        return self._inner().predict_proba(X)

    def _inner_tags(self):
        if SKLEARN_HAS_TAG_OBJECTS:
            from sklearn.utils import get_tags

            tags = get_tags(self._inner()).input_tags
            return {name: getattr(tags, name) for name in self._forwarded_tags}
        tags = self._inner()._get_tags()
        return {name: tags[name] for name in self._forwarded_tags if name in tags}

    if SKLEARN_HAS_TAG_OBJECTS:

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            for name, value in self._inner_tags().items():
                setattr(tags.input_tags, name, value)
            return tags

    else:

        def _more_tags(self):
            return self._inner_tags()
