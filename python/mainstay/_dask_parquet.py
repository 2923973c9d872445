"""Partitions that Dask reads from Parquet files, as arrays without a frame in between.

To make a frame of pandas a worker imports pandas and dask.dataframe: 0.6 s of processor time and
130 MB for each worker, which is more than many fits take. Where a partition is nothing but columns
of local files, pyarrow fills our arrays, as it would fill the frame. All else is left to Dask:
other tasks, other file systems, and columns that are not plain numbers in every row.
"""

import contextlib
import operator

import numpy as np

# Rows of a file that are held as pyarrow reads them.
_BATCH = 16_384


class ParquetRows:
    """Columns of Parquet files as arrays: numbers, labels, weights and errors."""

    def __init__(self, pieces, names):
        """``pieces`` are files with their row groups, or None for all of a file, and their index.

        ``names`` are columns of features, of the label, of weights and of errors, as
        `_dask._arrays` takes them.
        """
        self.pieces, self.names = pieces, names

    def __call__(self):
        """Read the arrays; None where Dask must make a frame."""
        try:
            return self._arrays()
        except Exception:
            # Whatever is wrong with a file, Dask's own task tells it in Dask's words.
            return None

    def _arrays(self):
        import pyarrow.parquet as pq

        with contextlib.ExitStack() as stack:
            files = []
            for path, groups, _ in self.pieces:
                file = stack.enter_context(pq.ParquetFile(path))
                chosen = range(file.num_row_groups) if groups is None else groups
                files.append((file, list(chosen)))
                if self._types(file) != self._types(files[0][0]):
                    raise TypeError(f"{path}: other types than in the first file")
            return self._filled(files)

    def _types(self, file):
        return [file.schema_arrow.field(name).type for name in _wanted(self.names)]

    def _filled(self, files):
        """Arrays of the row groups of files, of which some rows are held at a time."""
        columns, label, weight, errors = self.names
        wanted = _wanted(self.names)
        rows = sum(file.metadata.row_group(i).num_rows for file, groups in files for i in groups)
        X = np.empty((rows, len(columns)))
        weights = None if weight is None else np.empty((rows, 1))
        spread = None if errors is None else np.empty((rows, len(errors)))
        labels, at = [], 0
        for file, groups in files:
            options = {"batch_size": _BATCH, "row_groups": groups, "columns": wanted}
            for batch in file.iter_batches(**options, use_threads=False):
                part = slice(at, at + len(batch))
                for out, names in ((X, columns), (weights, [weight]), (spread, errors)):
                    if out is not None:
                        _fill(out[part], batch, names)
                labels.append(_labels(batch.column(label)))
                at = part.stop
        y = np.concatenate(labels) if labels else np.zeros(0, dtype=np.int64)
        return X, y, None if weights is None else weights.ravel(), spread


def _wanted(names):
    """List all columns that are read."""
    columns, label, weight, errors = names
    return [*columns, label, *([] if weight is None else [weight]), *(errors or [])]


def _fill(out, batch, names):
    """Write columns of a batch of rows into those of an array."""
    np.stack([_plain(batch.column(name)) for name in names], axis=1, out=out)


def _plain(column):
    """Take the numbers of a column that has one in every row.

    Its own conversion to numpy would import pandas.
    """
    import pyarrow as pa

    kind, rows = column.type, slice(column.offset, column.offset + len(column))
    numbers = pa.types.is_integer(kind) or kind in (pa.bool_(), pa.float32(), pa.float64())
    if column.null_count or not numbers:
        raise TypeError(f"{kind} with {column.null_count} gaps")
    dtype, values = np.dtype(kind.to_pandas_dtype()), column.buffers()[1]
    if kind == pa.bool_():
        bits = np.unpackbits(np.frombuffer(values, dtype=np.uint8), bitorder="little")
        return bits[rows].astype(bool)
    return np.frombuffer(values, dtype=dtype)[rows]


def _labels(column):
    """Labels of a column: numbers or text."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return _plain(column)
    coded = column.dictionary_encode()
    words = np.array(coded.dictionary.to_pylist(), dtype=object)
    return words[_plain(coded.indices)]


# Functions of Dask that add columns to a frame, by its version.
_ASSIGN = ("dask.dataframe.dask_expr._expr.assign", "dask.dataframe.methods.assign")


class _OtherError(Exception):
    """A task does something else than to take columns of local files."""


def parquet_rows(task, arrays, names):
    """Recognise a task that applies ``arrays`` to columns of local Parquet files; None for others.

    ``names`` are the columns that ``arrays`` is given. A frame is followed as the files that each
    of its columns comes from, and its name there.
    """
    try:
        tasks, last = task.args[0], task.args[0][task.args[1]]
        if last.func is not arrays:
            return None
        frame = _followed(tasks, last.args[0])
        return _found(frame, names)
    except (_OtherError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        # The insides of Dask may change: what looks otherwise is none of ours.
        return None


def _found(frame, names):
    columns, label, weight, errors = names
    pieces = frame[label][0]
    if any(frame[name][0] != pieces for name in _wanted(names)):
        return None
    inside = [frame[name][1] for name in columns]
    others = [None if name is None else frame[name][1] for name in (label, weight)]
    spread = None if errors is None else [frame[name][1] for name in errors]
    return ParquetRows(pieces, (inside, *others, spread))


def _followed(tasks, given):
    """Where the columns of a frame come from: a dict of pairs, and one pair for a series."""
    task = tasks[given.key] if hasattr(given, "key") and given.key in tasks else given
    what, args = _name(task.func), task.args
    if task.kwargs:
        raise _OtherError
    if _name(type(task.func)) == "dask.dataframe.io.parquet.core.ParquetFunctionWrapper":
        return _read(task.func, *args)
    if what == "dask.dataframe.dispatch.concat" and len(args) == 1:
        return _joined([_followed({}, part) for part in args[0].args])
    if task.func is operator.getitem:
        frame, chosen = _followed(tasks, args[0]), args[1]
        return {name: frame[name] for name in chosen} if isinstance(chosen, list) else frame[chosen]
    if what in _ASSIGN:
        frame = dict(_followed(tasks, args[0]))
        for name, series in zip(args[1::2], args[2::2], strict=True):
            frame[name] = _followed(tasks, series)
            if not isinstance(frame[name], tuple):
                raise _OtherError
        return frame
    raise _OtherError


def _name(thing):
    return f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else ""


def _joined(frames):
    """Rows of frames one after the other."""
    if any(frame.keys() != frames[0].keys() for frame in frames):
        raise _OtherError
    return {name: _chained([frame[name] for frame in frames]) for name in frames[0]}


def _chained(columns):
    if any(inside != columns[0][1] for _, inside in columns):
        raise _OtherError
    return tuple(piece for pieces, _ in columns for piece in pieces), columns[0][1]


# What Dask may tell its reader without a change of the rows or of the type of plain columns.
_HARMLESS = {"schema", "convert_string"}
_NOTHING = {
    "partitions": ([], None),
    "categories": ([], {}, None),
    "filters": (None,),
    "dtype_backend": (None,),
    "read": ({}, {"open_file_options": {}}),
}
_DATASET = {"partitioning", "format"}


def _read(reader, part):
    """Columns of the files that Dask's reader would read."""
    given = dict(reader.common_kwargs)
    dataset = given.pop("dataset", {})
    known = all(name in _HARMLESS or given[name] in _NOTHING.get(name, ()) for name in given)
    local = _name(type(reader.fs)) == "fsspec.implementations.local.LocalFileSystem"
    arrow = _name(reader.engine) == "dask.dataframe.io.parquet.arrow.ArrowDatasetEngine"
    hive = dataset.get("partitioning") in (None, "hive") and dataset.keys() <= _DATASET
    if not (known and local and arrow and hive and reader.dtype_backend is None):
        raise _OtherError
    # Columns of the same file under another index are put together by that index, not by place.
    index = tuple(reader.index or ())
    parts = part if isinstance(part, list) else [part]
    pieces = tuple((*_piece(**some), index) for some in parts)
    return {name: (pieces, name) for name in reader.columns}


def _piece(piece):
    """Tell file and row groups of a piece; folders of a partitioned set are Dask's."""
    path, groups, keys = piece
    if keys:
        raise _OtherError
    return path, None if groups is None or groups == [None] else tuple(groups)
