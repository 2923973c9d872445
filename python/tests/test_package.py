"""The package as a whole: names, documentation, import, demo data."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer

import mainstay
from mainstay import _core

MODULES = ["mainstay"] + [
    f"mainstay.{m.name}" for m in pkgutil.iter_modules(mainstay.__path__) if m.name != "_core"
]
CLASSES = [
    value
    for name in mainstay.__all__
    if inspect.isclass(value := getattr(mainstay, name)) and issubclass(value, BaseEstimator)
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_every_public_name_exists():
    for name in mainstay.__all__:
        assert getattr(mainstay, name) is not None
        assert name in dir(mainstay)
    with pytest.raises(AttributeError, match="nonsense"):
        mainstay.nonsense  # noqa: B018


def test_the_version_is_that_of_the_compiled_module():
    assert mainstay.__version__ == _core.__version__


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_parameter_is_documented_with_its_default(cls):
    text = inspect.getdoc(cls)
    for name, parameter in inspect.signature(cls).parameters.items():
        if parameter.default is parameter.empty:
            assert re.search(rf"^{name} : ", text, re.MULTILINE)
            continue
        found = re.search(rf"^{name} : .*default=(.*)$", text, re.MULTILINE)
        assert found, f"{cls.__name__}: `{name}` is not documented with its default"
        assert ast.literal_eval(found[1]) == parameter.default
    assert "Examples" in text


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_the_compiled_table_knows_every_class(cls):
    # Searches and wrappers of other classifiers have no method of their own.
    assert cls.__name__ in {row[1] for row in _core.methods()} or not getattr(cls, "_method", None)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, mainstay; assert not {'numpy', 'sklearn', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    # Nor do the estimators load more than scikit-learn itself does.
    code = (
        "import sys, sklearn.base; before = set(sys.modules); import mainstay._base;"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "assert not {'pandas', 'polars', 'matplotlib', 'pyarrow'} & new, new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_demo_data_are_those_of_scikit_learn():
    ours, theirs = mainstay.datasets.load_demo(), load_breast_cancer()
    np.testing.assert_array_equal(ours.data, theirs.data)
    # Theirs: 1 is benign. Ours: the disease is the positive class.
    np.testing.assert_array_equal(ours.target, 1 - theirs.target)
    assert list(ours.target_names) == ["B", "M"]
    assert len(ours.feature_names) == 30


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_the_compiled_defaults_are_those_of_the_signature(cls):
    """Parameters that stay in Python (`n_jobs`, `verbose`) are the only difference."""
    python = {n: p.default for n, p in inspect.signature(cls).parameters.items()}
    for name in {row[0] for row in _core.methods() if row[1] == cls.__name__}:
        compiled = _core.defaults(name)
        assert compiled.keys() == python.keys() - {"n_jobs", "verbose"}
        chosen = {"penalty"}  # by the method's name
        for key, value in compiled.items():
            default = list(python[key]) if isinstance(python[key], tuple) else python[key]
            assert key in chosen or value == default, f"{name}: {key}"
