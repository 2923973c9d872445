"""Linear models and their pipelines as ONNX graphs."""

import json

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mainstay._files import _labels, _parts

# What every runtime of the last years knows.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
USUAL_GAPS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "?", ".", "-")


def to_onnx(model):
    r"""Express a fitted linear model as an ONNX graph.

    The graph computes in 64 bits: scores :math:`s = W x + b`, the class with the largest (two
    classes: by the sign), and probabilities where the model defines them.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear classifier of this package, or a pipeline of a `TableEncoder`, a
        ``StandardScaler`` (each may be absent) and such a classifier; also what `load` returns.

    Returns
    -------
    graph : onnx.ModelProto
        Write it with ``onnx.save(graph, path)``. Inputs: ``X`` of shape (n, p), or with an encoder
        one input of shape (n, 1) for every raw column: numbers as float64 (NaN has no value),
        categories as text (the empty one has no value), dates as days since 1970-01-01. Outputs:
        ``label`` (n,), ``scores`` (n, 1) or (n, K), and ``probabilities`` (n, K) where there are
        any.

    Notes
    -----
    Needs the package ``onnx`` (``pip install 'mainstay[onnx]'``). Kernel models, planes (ReGEC) and
    models of inexact features are not linear and are refused. A graph cannot refuse a row: where
    the encoder would, a missing number makes scores NaN.

    Examples
    --------
    >>> import mainstay
    >>> X, y = mainstay.datasets.load_demo(return_X_y=True)
    >>> model = mainstay.PenalizedClassifier(normalize=True).fit(X, y)
    >>> graph = mainstay.to_onnx(model)  # doctest: +SKIP
    >>> [output.name for output in graph.graph.output]  # doctest: +SKIP
    ['label', 'scores', 'probabilities']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install 'mainstay[onnx]'") from error
    encoder, scaling, last = _parts(model)
    check_is_fitted(last)
    scaling, linear = _linear(last, scaling)
    graph = _Graph(onnx)
    if encoder is None:
        rows = graph.input("X", "double", len(linear["coef"][0]))
    else:
        rows = _encoded(graph, json.loads(encoder._encoder.to_json()))
    if last._allows_nan:
        rows = graph.filled(rows, 0.0)
    if scaling is not None:
        centred = graph.node("Sub", rows, graph.doubles([scaling[0]]))
        rows = graph.node("Div", centred, graph.doubles([scaling[1]]))
    weights = graph.doubles(np.array(linear["coef"]).T)
    scores = graph.node("MatMul", rows, weights)
    scores = graph.node("Add", scores, graph.doubles([linear["intercept"]]), output="scores")
    return _finish(graph, scores, linear, _labels(last.classes_))


def _linear(model, scaling):
    """Scaling and weights of the model that reads the features."""
    inner = json.loads(model._model.to_json())["model"]
    if inner["kind"] == "standardized" and scaling is None:
        scaling, inner = (inner["means"], inner["scales"]), inner["model"]
    if inner["kind"] != "linear":
        raise ValueError(
            f"{type(model).__name__} is a model of kind {inner['kind']!r} here: only linear ones "
            "can be expressed in ONNX"
        )
    return scaling, inner


def _encoded(graph, encoder):
    """Features from one input for every raw column, side by side."""
    parts = []
    for rule in encoder["columns"]:
        name = rule["column"]
        if "categorical" in rule:
            parts.append(_indicators(graph, name, rule["categorical"], encoder.get("gaps")))
            continue
        kind = rule.get("numeric") or rule["date"]
        cells = graph.input(name, "double", 1)
        if "origin" in kind:
            cells = graph.node("Sub", cells, graph.doubles([[kind["origin"]]]))
        parts.append(cells if kind["fill"] is None else graph.filled(cells, kind["fill"]))
    return graph.node("Concat", *parts, axis=1)


def _indicators(graph, name, rule, gaps):
    """One column for every category but the reference; rare ones share the last."""
    categories, rare = rule["categories"], rule.get("rare", [])
    places, width = {}, 0
    for k, category in enumerate(categories):
        if k == rule.get("reference"):
            places[category] = -1
        else:
            places[category], width = width, width + 1
    if rare:
        places.update(dict.fromkeys(rare, width))
        width += 1
    levels = [*categories, *rare[:1]]
    gone = -1 if rule["fill"] is None else places[levels[rule["fill"]]]
    for word in ("", *(USUAL_GAPS if gaps is None else gaps)):
        places.setdefault(word, gone)
    codes = graph.node(
        "LabelEncoder",
        graph.input(name, "text", 1),
        domain="ai.onnx.ml",
        keys_strings=list(places),
        values_int64s=list(places.values()),
        default_int64=-1,
    )
    equal = graph.node("Equal", codes, graph.integers([list(range(width))]))
    return graph.node("Cast", equal, to=graph.types["double"])


def _finish(graph, scores, linear, classes):
    """Classes and probabilities behind the scores."""
    two = len(linear["coef"]) == 1
    if two:
        positive = graph.node("Greater", scores, graph.doubles([[0.0]]))
        codes = graph.node("Cast", positive, to=graph.types["integer"])
        codes = graph.node("Squeeze", codes, graph.integers([1]))
    else:
        codes = graph.node("ArgMax", scores, axis=1, keepdims=0)
    text = isinstance(classes[0], str)
    kind = "text" if text else "double" if isinstance(classes[0], float) else "integer"
    names = graph.constant([str(c).encode() for c in classes] if text else classes, kind, 1)
    graph.node("Gather", names, codes, axis=0, output="label")
    graph.output("label", kind, None)
    graph.output("scores", "double", 1 if two else len(classes))
    link = linear.get("link", "none")
    if link != "none":
        _probabilities(graph, scores, link, two, len(classes))
        graph.output("probabilities", "double", len(classes))
    return graph.model()


def _probabilities(graph, scores, link, two, classes):
    if link == "softmax" and not two:
        graph.node("Softmax", scores, axis=1, output="probabilities")
        return
    if link == "clip":
        low, high = graph.constant(-1.0, "double", 0), graph.constant(1.0, "double", 0)
        shifted = graph.node("Add", graph.node("Clip", scores, low, high), graph.doubles([[1.0]]))
        own = graph.node("Mul", shifted, graph.doubles([[0.5]]))
    else:
        own = graph.node("Sigmoid", scores)
    if two:
        other = graph.node("Sub", graph.doubles([[1.0]]), own)
        graph.node("Concat", other, own, axis=1, output="probabilities")
        return
    total = graph.node("ReduceSum", own, graph.integers([1]), keepdims=1)
    share = graph.node("Div", own, total)
    some = graph.node("Greater", total, graph.doubles([[0.0]]))
    equal = graph.doubles([[1.0 / classes] * classes])
    graph.node("Where", some, share, equal, output="probabilities")


class _Graph:
    """Nodes, inputs and constants as they come."""

    def __init__(self, onnx):
        self.onnx, self.count = onnx, 0
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []
        kinds = onnx.TensorProto
        self.types = {"double": kinds.DOUBLE, "integer": kinds.INT64, "text": kinds.STRING}

    def _new(self):
        self.count += 1
        return f"v{self.count}"

    def node(self, kind, *inputs, output=None, domain="", **attributes):
        output = output or self._new()
        made = self.onnx.helper.make_node(kind, list(inputs), [output], domain=domain, **attributes)
        self.nodes.append(made)
        return output

    def constant(self, values, kind, dimensions):
        name = self._new()
        shape = np.shape(values) if dimensions else ()
        flat = np.ravel(values).tolist() if kind != "text" else list(values)
        tensor = self.onnx.helper.make_tensor(name, self.types[kind], shape, flat)
        self.constants.append(tensor)
        return name

    def doubles(self, values):
        return self.constant(np.asarray(values, dtype=np.float64), "double", 2)

    def integers(self, values):
        return self.constant(np.asarray(values, dtype=np.int64), "integer", 1)

    def input(self, name, kind, width):
        info = self.onnx.helper.make_tensor_value_info(name, self.types[kind], ["n", width])
        self.inputs.append(info)
        return name

    def output(self, name, kind, width):
        shape = ["n"] if width is None else ["n", width]
        info = self.onnx.helper.make_tensor_value_info(name, self.types[kind], shape)
        self.outputs.append(info)

    def filled(self, cells, value):
        gone = self.node("IsNaN", cells)
        return self.node("Where", gone, self.doubles([[value]]), cells)

    def model(self):
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "mainstay", self.inputs, self.outputs, self.constants)
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=versions, producer_name="mainstay")
        model.ir_version = IR_VERSION
        self.onnx.checker.check_model(model, full_check=True)
        return model
