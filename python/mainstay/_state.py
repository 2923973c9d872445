"""Compiled objects and frames as plain data in the state of an estimator.

`pickle`, `joblib`, `copy.deepcopy`, skops and MLflow then store nothing but numbers, text, arrays
and lists; a skops file needs no trust in anything but the class itself.
"""

from mainstay import _core

# What has a text that gives it back bit for bit.
_COMPILED = ("Encoder", "FeatureModel", "Fitted", "Moments")


def _is_pandas_frame(kind):
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] == "pandas"


class PlainState:
    """An estimator whose compiled parts and frames leave as plain data and come back from it."""

    def __getstate__(self):
        state = dict(super().__getstate__())
        compiled, frames = {}, {}
        for name, value in list(state.items()):
            kind = type(value)
            if kind.__module__ == _core.__name__ and kind.__name__ in _COMPILED:
                compiled[name] = [kind.__name__, value.to_json()]
            elif name.endswith("_") and _is_pandas_frame(kind):
                columns = {str(column): value[column].to_numpy() for column in value}
                frames[name] = [columns, value.index.to_numpy()]
            else:
                continue
            del state[name]
        if compiled:
            state["_compiled"] = compiled
        if frames:
            state["_frames"] = frames
        return state

    def __setstate__(self, state):
        state = dict(state)
        for name, (kind, text) in state.pop("_compiled", {}).items():
            if kind not in _COMPILED:
                raise ValueError(f"the state of {type(self).__name__} names an unknown {kind!r}")
            state[name] = getattr(_core, kind).from_json(text)
        for name, (columns, index) in state.pop("_frames", {}).items():
            import pandas as pd

            state[name] = pd.DataFrame(columns, index=index)
        super().__setstate__(state)
