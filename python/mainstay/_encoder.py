"""Raw tables as features: the encoder of the command line as a scikit-learn transformer."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mainstay import _core
from mainstay._compat import SKLEARN_HAS_TAG_OBJECTS
from mainstay._state import PlainState
from mainstay._tables import as_array, frame_names, is_frame, table_of

RULES = ("keep", "mean", "median", "most-frequent")


class TableEncoder(PlainState, TransformerMixin, BaseEstimator):
    r"""Turn a raw table into features, by the rules of the command line.

    Columns of numbers stay as they are, also where they are stored as text; words and booleans
    become one 0/1 feature for every category, called ``column=category``; dates become days since
    the first one; columns that number or name the rows are left out with a warning. What was
    learned is applied to new rows, whose columns are found by name, in any order; a category not
    seen before has all its indicators 0, with a warning. ``docs/tables.md`` has all rules.

    As the first step of a pipeline it makes a classifier take raw frames, and `mainstay.save`
    writes the file that ``mainstay fit`` would::

        make_pipeline(TableEncoder(standardize=True), ConicSVC())

    The command line standardises features unless ``--raw`` is given; Python does not unless
    ``standardize=True`` is given. A standardised feature is :math:`(x - \mu) / \sigma` with mean
    and standard deviation of the rows learned from; where most entries are 0 and many features are
    stored sparsely, it is :math:`x / \sigma`.

    Parameters
    ----------
    impute : {"keep", "mean", "median", "most-frequent"} or None, default=None
        What to do about cells without a value. None refuses them and names the first;
        ``"keep"`` leaves NaN to the classifier (a missing category has all indicators 0); the
        others fill numbers so and categories with the most frequent one.
    standardize : bool, default=False
        Whether features are centred and divided by their standard deviation.
    categorical : sequence of str, default=()
        Columns that hold categories even if these are numbers or dates. Columns of a categorical
        type (pandas, polars, Arrow dictionaries) do in any case.
    keep_features : sequence of str, default=()
        Columns that become features although they look like identifiers.
    drop : sequence of str, default=()
        Columns that are left out.
    ids : str or sequence of str, default=()
        Columns that name rows: never features, but listed by `certify` beside every row.
    min_count : int, default=1
        Categories of fewer rows share one indicator, ``column=(rare)``.
    reference : dict or None, default=None
        For a column the category without an indicator, ``{"stage": "I"}``.
    drop_first : bool, default=False
        Whether the first category of every other column has no indicator.
    na : sequence of str or None, default=None
        More words for "no value", beside the usual ones (``NA``, ``n/a``, ``?``, ``-``, ...). The
        empty cell, None and NaN always are.
    keep_default_na : bool, default=True
        Whether the usual words stand for "no value" too.
    sparse_output : bool or "auto", default=False
        Whether ``transform`` gives a scipy CSR matrix: never, or where most entries are 0
        (``"auto"``, as the command line does; True forces it).

    Attributes
    ----------
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Columns of the table, where it had names.
    n_features_in_ : int
        Number of columns of the table.
    columns_ : dict
        What every column became that has features: ``"number"``, ``"date"`` or ``"categories"``.
    left_out_ : dict
        Why columns did not become features, by name.
    notes_ : list of str
        What the owner of the table should know.
    mean_ : ndarray of shape (n_features_out,) or None
        What is subtracted, with ``standardize=True``.
    scale_ : ndarray of shape (n_features_out,) or None
        What is divided by, with ``standardize=True``.
    target_name_ : str or None
        Name of ``y``, where it had one.

    See Also
    --------
    save : Write a pipeline to a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from mainstay import TableEncoder
    >>> table = pd.DataFrame({"age": [31, 45, None], "sex": ["f", "m", "f"]})
    >>> encoder = TableEncoder(impute="mean").fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'sex=f', 'sex=m']
    >>> encoder.transform(table).tolist()
    [[31.0, 1.0, 0.0], [45.0, 0.0, 1.0], [38.0, 1.0, 0.0]]
    """

    def __init__(
        self,
        *,
        impute=None,
        standardize=False,
        categorical=(),
        keep_features=(),
        drop=(),
        ids=(),
        min_count=1,
        reference=None,
        drop_first=False,
        na=None,
        keep_default_na=True,
        sparse_output=False,
    ):
        self.impute = impute
        self.standardize = standardize
        self.categorical = categorical
        self.keep_features = keep_features
        self.drop = drop
        self.ids = ids
        self.min_count = min_count
        self.reference = reference
        self.drop_first = drop_first
        self.na = na
        self.keep_default_na = keep_default_na
        self.sparse_output = sparse_output

    def fit(self, X, y=None, sample_weight=None):
        """Learn what every column holds.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_columns)
            The table: pandas, polars, pyarrow or anything else with Arrow's C stream interface. The
            columns of an array are called ``x0``, ``x1``, ...; none is taken for an identifier.
        y : array-like of shape (n_samples,), default=None
            Not used, but its name, where it has one, is kept for model files.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row in means and standard deviations.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        self._encode(self._learn(X, y, sample_weight))  # refuses what cannot be encoded now
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Learn what every column holds and encode the same rows.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_columns)
            The table.
        y : array-like of shape (n_samples,), default=None
            Not used, but its name, where it has one, is kept for model files.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of every row in means and standard deviations.

        Returns
        -------
        features : ndarray or CSR matrix of shape (n_samples, n_features_out)
        """
        return self._encode(self._learn(X, y, sample_weight))

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_columns)
            Rows with the columns learned from, by name in any order; others are ignored. The
            columns of an array are told by their order.

        Returns
        -------
        features : ndarray or CSR matrix of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        return self._encode(self._table(X))

    def get_feature_names_out(self, input_features=None):
        """Names of the features.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Must be the columns learned from, where given.

        Returns
        -------
        names : ndarray of str
            ``column``, or ``column=category``.
        """
        check_is_fitted(self)
        if input_features is not None:
            given = [str(name) for name in input_features]
            if len(given) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}"
                )
            if hasattr(self, "feature_names_in_") and given != list(self.feature_names_in_):
                raise ValueError("input_features is not equal to feature_names_in_")
        return np.array(self._encoder.feature_names, dtype=object)

    def row_ids(self, X):
        """Cells of the columns that name rows.

        Parameters
        ----------
        X : frame
            Rows.

        Returns
        -------
        ids : dict of ndarray of shape (n_samples,)
            Text by column of ``ids``; None where a cell has no value.
        """
        names = _list("ids", self.ids)
        if not names:
            return {}
        table = table_of(X)
        return {name: np.array(table.texts(name), dtype=object) for name in names}

    def _learn(self, X, y, sample_weight):
        named = is_frame(X)
        table = table_of(X)
        self.n_features_in_ = len(table.names)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if named:
            self.feature_names_in_ = np.array(frame_names(X), dtype=object)
        ids, drop = _list("ids", self.ids), _list("drop", self.drop)
        aside = list(dict.fromkeys([*ids, *drop]))
        categorical = [*_list("categorical", self.categorical), *table.categorical]
        kept = _list("keep_features", self.keep_features) if named else table.names
        self._encoder = _core.Encoder.learn(
            table,
            missing=self._rule(),
            aside=aside,
            gaps=None if self.na is None else _list("na", self.na),
            usual_gaps=bool(self.keep_default_na),
            categorical=[name for name in dict.fromkeys(categorical) if name not in aside],
            keep=[name for name in kept if name not in aside],
            min_count=self.min_count,
            reference=[(str(k), str(v)) for k, v in (self.reference or {}).items()],
            drop_first=bool(self.drop_first),
        )
        self._describe(table.nrows)
        self.target_name_ = None if getattr(y, "name", None) is None else str(y.name)
        self.mean_ = self.scale_ = None
        if sample_weight is not None:
            rows = np.empty((table.nrows, 1))
            sample_weight = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        if self.standardize:
            self.mean_, self.scale_ = self._encoder.scaling(table, sample_weight)
        for gone, text in self._encoder.notes(table.nrows):
            if gone:
                warnings.warn(text, UserWarning, stacklevel=3)
        return table

    def _describe(self, nrows):
        self.columns_ = dict(self._encoder.columns)
        self.left_out_ = dict(self._encoder.left_out)
        self.notes_ = [text for _, text in self._encoder.notes(nrows)]

    def _rule(self):
        if self.impute is None:
            return "refuse"
        if self.impute not in RULES:
            words = ", ".join(f'"{rule}"' for rule in RULES)
            remedy = (
                'GaussianImputer() as the next step fills the cells that impute="keep" leaves'
                if self.impute == "gaussian"
                else "Rows cannot be left out inside a pipeline: drop them from X and y before"
            )
            raise ValueError(f"`impute` = {self.impute!r}: must be None, {words}. {remedy}")
        return self.impute

    def _table(self, X):
        if is_frame(X):
            return table_of(X)
        X = X if sparse.issparse(X) else as_array(X)
        table = table_of(X, list(self.feature_names_in_) if self._fits_by_order(X) else None)
        if len(table.names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(table.names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return table

    def _fits_by_order(self, X):
        shape = np.shape(X)
        named = hasattr(self, "feature_names_in_")
        return named and len(shape) == 2 and shape[1] == self.n_features_in_

    def _encode(self, table):
        scaling = None if self.scale_ is None else (self.mean_, self.scale_)
        dense = self.sparse_output is False
        features, unseen = self._encoder.encode(table, scaling=scaling, dense=dense)
        for column, count in unseen:
            warnings.warn(
                f"column `{column}`: {count} cells hold a category not seen when fitting; all its "
                "indicators are 0",
                UserWarning,
                stacklevel=3,
            )
        if isinstance(features, tuple):
            indptr, indices, data, width = features
            return sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, width))
        return sparse.csr_matrix(features) if self.sparse_output is True else features

    @property
    def _n_features_out(self):
        return len(self._encoder.feature_names)

    @classmethod
    def _restore(cls, encoder, target):
        """Rebuild the encoder of a model file."""
        rule = encoder.missing
        known = {"refuse": None, "drop": None}
        model = cls(
            impute=known.get(rule, rule), na=encoder.gaps, keep_default_na=encoder.gaps is None
        )
        model._encoder = encoder
        columns = [name for name, _ in encoder.columns]
        model.feature_names_in_ = np.array(columns, dtype=object)
        model.n_features_in_ = len(columns)
        model.mean_ = model.scale_ = None
        model.target_name_ = target
        model._describe(0)
        return model

    if SKLEARN_HAS_TAG_OBJECTS:

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.input_tags.allow_nan = self.impute is not None
            tags.input_tags.string = True
            tags.input_tags.categorical = True
            return tags

    else:

        def _more_tags(self):
            return {"allow_nan": self.impute is not None, "X_types": ["2darray", "string"]}


def _list(name, value):
    if isinstance(value, str):
        return [value]
    words = list(value)
    if not all(isinstance(word, str) for word in words):
        raise ValueError(f"`{name}` = {value!r}: must hold names as text")
    return words
