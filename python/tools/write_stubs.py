"""Types of the public names, written from their signatures and numpydoc sections.

``python python/tools/write_stubs.py`` writes ``python/mainstay/__init__.pyi`` and those of the
public modules; a test fails where they are not what this would write. The documentation stays the
one place that says what a parameter may be.
"""

import functools
import inspect
import re
import subprocess
import sys
from pathlib import Path

import mainstay

HOME = Path(__file__).parents[1] / "mainstay"
SETTINGS = Path(__file__).parents[2] / "pyproject.toml"
HEAD = '''"""Types of the public names, written by `python python/tools/write_stubs.py`."""

# ruff: noqa
{imports}
_Floats = npt.NDArray[np.float64]
_Labels = npt.NDArray[Any]
_Rows = Any  # array-like, scipy sparse matrix, or a pandas, polars or pyarrow frame
'''
IMPORTS = """import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from typing_extensions import Self
"""
WORDS = [
    (r"^(ndarray|array) of (bool|boolean)", "npt.NDArray[np.bool_]"),
    (r"^(ndarray|array) of (int|str|object)", "npt.NDArray[Any]"),
    (r"^ndarray or CSR", "Any"),
    (r"^(ndarray|array)\b", "_Floats"),
    (r"^list of (str|strings)", "list[str]"),
    (r"^list of float", "list[float]"),
    (r"^list of int", "list[int]"),
    (r"^list of ndarray", "list[_Floats]"),
    (r"^list\b", "list[Any]"),
    (r"^sequence of str", "Sequence[str]"),
    (r"^array-like", "npt.ArrayLike"),
    (r"^floats?\b", "float"),
    (r"^(int|integer)\b", "int"),
    (r"^bool", "bool"),
    (r"^str\b", "str"),
    (r"^path", "os.PathLike[str]"),
    (r"^None\b", "None"),
    (r"^RandomState", "np.random.RandomState"),
    (r"^dict of dict", "dict[str, dict[str, float]]"),
    (r"^dict", "dict[str, Any]"),
    (r"^callable", "Callable[..., Any]"),
    (r"^ComparisonResult", "ComparisonResult"),
    (r"^GroupedUncertainty", "GroupedUncertainty"),
    (r"^TableEncoder", "TableEncoder"),
    (r"^tuple", "tuple[Any, ...]"),
    (r"^context manager", "AbstractContextManager[None]"),
]
ROWS = {"X": "_Rows", "y": "npt.ArrayLike", "sample_weight": "npt.ArrayLike | None"}


# Words cannot tell these from arrays of numbers, or their keys from names.
FIXED = {
    "class_weight": 'Literal["balanced"] | Mapping[Any, float] | None',
    "classes_": "_Labels",
    "feature_names_in_": "_Labels",
    "support_": "npt.NDArray[np.int64]",
}
# What every fitted classifier of ours has, documented or not.
COMMON = {"classes_": "ndarray", "n_features_in_": "int", "n_iter_": "int"}


def accepted(kind):
    """The type of a parameter, which takes more than it is documented to hold."""
    kind = kind.replace("_Floats", "npt.ArrayLike").replace("list[", "Sequence[")
    return kind.replace("dict[str, Any]", "Mapping[str, Any]")


def type_of(text, default=inspect.Parameter.empty):
    """The type behind the words of a docstring."""
    text = re.sub(r",? ?default=.*$", "", text).strip()
    kinds = []
    literals = re.findall(r'"([^"]+)"', text)
    if literals:
        kinds.append("Literal[" + ", ".join(f'"{word}"' for word in dict.fromkeys(literals)) + "]")
    rest = re.sub(r"\{[^}]*\}", "", re.sub(r'"[^"]*"', "", text))
    for part in re.split(r",? or |, ", re.sub(r"of shape \(.*", "", rest)):
        part = part.strip()
        if not part or part.startswith(("of shape", "(")):
            continue
        found = next((kind for pattern, kind in WORDS if re.match(pattern, part)), "Any")
        kinds.append(found)
    if default is None:
        kinds.append("None")
    kinds = list(dict.fromkeys(kinds)) or ["Any"]
    return "Any" if "Any" in kinds else " | ".join(kinds)


@functools.cache
def section(doc, name):
    """``name : type`` lines of a numpydoc section."""
    found = re.search(rf"^{name}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", doc, re.MULTILINE | re.DOTALL)
    if not found:
        return {}
    lines = re.findall(r"^(\*{0,2}\w+(?:, \w+)*) : (.*)$", found[1], re.MULTILINE)
    return {word.strip("*"): kind for names, kind in lines for word in names.split(", ")}


def signature(function, known, *, method):
    """Parameters with types; ``known`` are those of the docstring."""
    parts, keyword = ["self"] if method else [], False
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if name == "self":
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            parts.append(f"**{name}: Any")
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            parts.append(f"*{name}: Any")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            keyword = True
            parts.append("*")
        text = known.get(name)
        kind = ROWS.get(name) or FIXED.get(name)
        if kind is None:
            kind = "Any" if text is None else accepted(type_of(text, parameter.default))
        if parameter.default is not parameter.empty and name in ROWS and "None" not in kind:
            kind += " | None"
        default = "" if parameter.default is parameter.empty else " = ..."
        parts.append(f"{name}: {kind}{default}")
    return ", ".join(parts)


def returned(doc):
    """The type that the section Returns names."""
    found = section(doc, "Returns")
    if not found:
        return "None"
    kinds = []
    for name, text in found.items():
        if name == "self":
            return "Self"
        labels = name in ("labels", "y", "names")
        kinds.append("_Labels" if labels and "ndarray" in text else type_of(text))
    if "estimator" in next(iter(found.values())) or "classifier" in next(iter(found.values())):
        return "Any"
    return kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def function_stub(name, function, indent="", *, method=False):
    """One function or method."""
    doc = inspect.getdoc(function) or ""
    types = section(doc, "Parameters")
    result = returned(doc)
    return f"{indent}def {name}({signature(function, types, method=method)}) -> {result}: ..."


def members(cls):
    """Public methods and properties that this package defines for a class."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("mainstay"):
            found.update({n: v for n, v in vars(base).items() if not n.startswith("_")})
    return dict(sorted(found.items()))


def bases(cls):
    """What scikit-learn says it is."""
    names = [b.__name__ for b in cls.__mro__ if b.__module__ == "sklearn.base"]
    known = [n for n in ("ClassifierMixin", "TransformerMixin", "BaseEstimator") if n in names]
    if issubclass(cls, KeyboardInterrupt):
        known = ["KeyboardInterrupt"]
    return f"({', '.join(known)})" if known else ""


def class_stub(cls):
    """One class: parameters, fitted attributes, methods."""
    doc = inspect.getdoc(cls) or ""
    parameters, attributes = section(doc, "Parameters"), section(doc, "Attributes")
    lines = [f"class {cls.__name__}{bases(cls)}:"]
    properties = {n for n, v in members(cls).items() if isinstance(v, property)}
    common = COMMON if hasattr(cls, "_restore") and hasattr(cls, "predict") else {}
    own = {**parameters, **attributes, **{n: k for n, k in common.items() if n not in attributes}}
    signed = {p.name: p for p in inspect.signature(cls).parameters.values()}
    for name, text in own.items():
        if name in properties or (name in parameters and name not in signed):
            continue
        default = signed[name].default if name in signed else inspect.Parameter.empty
        kind = FIXED.get(name) or type_of(text, default)
        kind = accepted(kind) if name in parameters else kind
        lines.append(f"    {name}: {kind}")
    start = cls.__init__ if "__init__" in {n for b in cls.__mro__ for n in vars(b)} else None
    if start is not None and cls.__name__ != "ComparisonResult":
        lines.append(f"    def __init__({signature(start, parameters, method=True)}) -> None: ...")
    for name, value in members(cls).items():
        if isinstance(value, property):
            kind = type_of(own[name]) if name in own else "Any"
            lines.append(f"    @property\n    def {name}(self) -> {kind}: ...")
            continue
        if isinstance(value, (classmethod, staticmethod)):
            continue
        function = getattr(value, "fn", value)  # methods behind a condition
        if callable(function):
            lines.append(function_stub(name, function, "    ", method=True))
    if cls.__name__ == "GroupedUncertainty":
        lines.append("    def __len__(self) -> int: ...")
        lines.append("    def __getitem__(self, rows: Any) -> GroupedUncertainty: ...")
    return "\n".join(lines if len(lines) > 1 else [*lines, "    ..."])


def package():
    """The stub of the package."""
    modules = [name for name in mainstay.__all__ if inspect.ismodule(getattr(mainstay, name))]
    imports = IMPORTS + "\nfrom mainstay import " + ", ".join(f"{m} as {m}" for m in modules) + "\n"
    parts = [HEAD.format(imports=imports), "__version__: str"]
    names = [n for n in mainstay.__all__ if n not in modules]
    for name in names:
        value = getattr(mainstay, name)
        parts.append(class_stub(value) if inspect.isclass(value) else function_stub(name, value))
    every = ", ".join(f'"{name}"' for name in mainstay.__all__)
    return "\n\n".join([*parts, f"__all__ = [{every}]"]) + "\n"


def module(name):
    """The stub of a public module."""
    inside = getattr(mainstay, name)
    own = {n: v for n, v in vars(inside).items() if getattr(v, "__module__", "") == inside.__name__}
    names = getattr(inside, "__all__", None) or [n for n in own if n[0] != "_"]
    parts = [HEAD.format(imports=IMPORTS)]
    parts += [function_stub(n, getattr(inside, n)) for n in sorted(names)]
    return "\n\n".join(parts) + "\n"


def stubs():
    """Every stub by path."""
    files = {HOME / "__init__.pyi": package()}
    for name in mainstay.__all__:
        if inspect.ismodule(getattr(mainstay, name)):
            files[HOME / f"{name}.pyi"] = module(name)
    return {path: formatted(text) for path, text in files.items()}


def formatted(text):
    """Format as the rest of the package is."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--config",
        str(SETTINGS),
        "--stdin-filename",
        "x.pyi",
        "-",
    ]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=True, cwd=HOME.parent
    )
    return done.stdout


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
