"""The package as a whole: names, documentation, import, demo data."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer

import mainstay
from mainstay import _core

ROOT = Path(__file__).parents[2]
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


@pytest.fixture(scope="module")
def readme():
    """The tool that runs and rewrites the README; it is not part of an installed package."""
    tools = ROOT / "docs" / "_tools"
    if not tools.exists():
        pytest.skip("the repository is not there")
    spec = importlib.util.spec_from_file_location("readme", tools / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_shows_what_its_program_prints(readme):
    code, shown = readme.PYTHON.search(readme.README.read_text(encoding="utf-8")).groups()
    assert readme.printed("-c", code) == shown


def test_the_readme_shows_the_comparison_that_it_names(readme):
    # `readme.py --run` runs it, which takes half a minute. Other splits would be another run's.
    command, shown = readme.COMMAND.search(readme.README.read_text(encoding="utf-8")).groups()
    assert f", {command.split()[-1]} splits)" in shown


def test_the_readme_of_the_package_index_is_up_to_date(readme):
    text = readme.README.read_text(encoding="utf-8")
    assert readme.INDEX.read_text(encoding="utf-8") == readme.for_index(text)
    for path in re.findall(r"\]\((?!https?:|#)([^)]+)\)", text):
        assert (ROOT / path).exists(), path


def test_the_readme_states_the_versions_that_are_promised():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    python = re.search(r'requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    rust = re.search(r'rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"))
    assert f"Python {python[1]}+ · Rust {rust[1]}+ · MIT licence" in text
