"""Robust linear classifiers, each with a proof of how good its answer is.

Every estimator is a scikit-learn classifier; the numerics are compiled. See the class docstrings
for the problem each one solves, and ``objective_`` and ``dual_gap_`` of a fitted model for how
close to the optimum it provably is.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainstay import datasets, threats
    from mainstay._audit import LabelAudit, audit_labels
    from mainstay._certify import certify
    from mainstay._compare import compare
    from mainstay._comparison import ComparisonResult
    from mainstay._config import config
    from mainstay._conic import ConicSVC, ConicSVCCV
    from mainstay._drop_far import DropFarRows
    from mainstay._eigen import NormRobustReGEC, ReGEC, RobustReGEC
    from mainstay._ellipsoid import EllipsoidSVC, EllipsoidSVCCV
    from mainstay._encoder import TableEncoder
    from mainstay._files import load, save
    from mainstay._imputer import GaussianImputer
    from mainstay._missing import MissingFeatureCV, MissingFeaturePerceptron, MissingFeatureSVC
    from mainstay._onnx import to_onnx
    from mainstay._penalized import PenalizedClassifier
    from mainstay._robust import RobustLogisticRegression
    from mainstay._robust_cv import RobustCV
    from mainstay._rolin import RolinClassifier, TopPCsClassifier
    from mainstay._scan import scan
    from mainstay._stability import coefficient_stability
    from mainstay._stable import StableLogisticRegression, StableSVC
    from mainstay._stable_cv import StableLogisticRegressionCV, StableSVCCV
    from mainstay._stress import StressInterrupted, stress
    from mainstay._summary import ModelSummary
    from mainstay._told import ToldResult
    from mainstay._trust import trust
    from mainstay._uncertainty import GroupedUncertainty, ScaledUncertainty, scale_uncertainty
    from mainstay._validate import validate
    from mainstay._validation import ValidationResult
    from mainstay._verify import Verification, verify

# Where each public name lives. Modules load on first use, so importing the package costs nothing.
_HOMES = {
    "ComparisonResult": "_comparison",
    "ConicSVC": "_conic",
    "ConicSVCCV": "_conic",
    "DropFarRows": "_drop_far",
    "EllipsoidSVC": "_ellipsoid",
    "EllipsoidSVCCV": "_ellipsoid",
    "GaussianImputer": "_imputer",
    "GroupedUncertainty": "_uncertainty",
    "LabelAudit": "_audit",
    "MissingFeatureCV": "_missing",
    "MissingFeaturePerceptron": "_missing",
    "MissingFeatureSVC": "_missing",
    "ModelSummary": "_summary",
    "NormRobustReGEC": "_eigen",
    "PenalizedClassifier": "_penalized",
    "ReGEC": "_eigen",
    "RobustCV": "_robust_cv",
    "RobustLogisticRegression": "_robust",
    "RobustReGEC": "_eigen",
    "RolinClassifier": "_rolin",
    "ScaledUncertainty": "_uncertainty",
    "StableLogisticRegression": "_stable",
    "StableLogisticRegressionCV": "_stable_cv",
    "StableSVC": "_stable",
    "StableSVCCV": "_stable_cv",
    "StressInterrupted": "_stress",
    "TableEncoder": "_encoder",
    "ToldResult": "_told",
    "TopPCsClassifier": "_rolin",
    "ValidationResult": "_validation",
    "Verification": "_verify",
    "audit_labels": "_audit",
    "certify": "_certify",
    "coefficient_stability": "_stability",
    "compare": "_compare",
    "config": "_config",
    "load": "_files",
    "save": "_files",
    "scale_uncertainty": "_uncertainty",
    "scan": "_scan",
    "stress": "_stress",
    "to_onnx": "_onnx",
    "trust": "_trust",
    "validate": "_validate",
    "verify": "_verify",
}
_MODULES = ("datasets", "threats")

__all__ = [
    "ComparisonResult",
    "ConicSVC",
    "ConicSVCCV",
    "DropFarRows",
    "EllipsoidSVC",
    "EllipsoidSVCCV",
    "GaussianImputer",
    "GroupedUncertainty",
    "LabelAudit",
    "MissingFeatureCV",
    "MissingFeaturePerceptron",
    "MissingFeatureSVC",
    "ModelSummary",
    "NormRobustReGEC",
    "PenalizedClassifier",
    "ReGEC",
    "RobustCV",
    "RobustLogisticRegression",
    "RobustReGEC",
    "RolinClassifier",
    "ScaledUncertainty",
    "StableLogisticRegression",
    "StableLogisticRegressionCV",
    "StableSVC",
    "StableSVCCV",
    "StressInterrupted",
    "TableEncoder",
    "ToldResult",
    "TopPCsClassifier",
    "ValidationResult",
    "Verification",
    "audit_labels",
    "certify",
    "coefficient_stability",
    "compare",
    "config",
    "datasets",
    "load",
    "save",
    "scale_uncertainty",
    "scan",
    "stress",
    "threats",
    "to_onnx",
    "trust",
    "validate",
    "verify",
]


def __getattr__(name):
    if name in _HOMES:
        value = getattr(_import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = _import_module(f"{__name__}.{name}")
    elif name == "__version__":
        value = _import_module(f"{__name__}._core").__version__
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, "__version__"})
