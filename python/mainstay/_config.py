"""Settings of long fits that are no parameter of a model."""

import contextlib
import contextvars
import operator
import os

# Part of the memory of all workers that rows may take to be kept there between passes.
_KEPT = 0.3
_CHECKPOINT = contextvars.ContextVar("mainstay_checkpoint", default=None)
_CURVATURE_ROWS = contextvars.ContextVar("mainstay_curvature_rows", default=None)
_KEEP = contextvars.ContextVar("mainstay_keep", default="auto")
_PROOF = contextvars.ContextVar("mainstay_proof", default=False)
_REMEDIES = contextvars.ContextVar("mainstay_remedies", default=True)


@contextlib.contextmanager
def config(*, checkpoint=None, curvature_rows=None, keep="auto", proof=False, remedies=True):
    """Change settings for the fits inside a ``with`` block.

    Settings that are not given have their defaults inside the block, also within another block.

    Parameters
    ----------
    checkpoint : str, path-like or None, default=None
        A file that a fit over partitions (see :doc:`/scale`) writes after each pass, completely or
        not at all, and removes when it is done. The same call goes on from it after a crash: it
        takes the first look again and loses at most one pass more. A checkpoint of other data or
        of another problem is refused. Fits in memory leave no checkpoint.
    curvature_rows : int or None, default=None
        How many rows per column tell the curvature in a fit over partitions, at least 20; None is
        all rows. They are chosen by their place. Values, slopes and the proof come from all rows
        all the same. With hundreds of columns a pass then costs about half, and a fit takes two or
        three passes more. Losses with a threshold (hinge, stable fits) always take all rows.
    keep : "auto" or bool, default="auto"
        Whether a fit of Dask data keeps the rows in the memory of the workers between passes, as
        numbers, or has them read anew in every pass; ``"auto"`` keeps them if they take less than a
        third of that memory. Kept rows make passes short; a worker that is lost then takes its rows
        along, and to read them again may take longer than two passes.
    proof : bool, default=False
        Whether fits in memory keep the dual point behind their certificate, for :func:`verify` and
        ``save(..., proof=True)``: a few numbers per row, and for `MissingFeatureSVC` as many as
        the rows have nonzeros.
    remedies : bool, default=True
        Whether a fit that calls all rows one class tries what helps (other class weights, another
        `k`, `kappa`, `budget`, ...) before its warning names it: up to six more fits to the same
        rows. Switch it off where many such fits are expected, as in a search over parameters; the
        warning then names what helps this method in general. It never changes a model. Like all of
        these settings it holds in the calling thread: a search that is to use it needs
        ``n_jobs=None``.

    Returns
    -------
    settings : context manager
        To be used in a ``with`` statement; fits after it have the settings they had before.

    Examples
    --------
    >>> import mainstay
    >>> with mainstay.config(checkpoint="fit.ckpt"):
    ...     pass  # model.fit(ddf, "label")
    """
    path = None if checkpoint is None else os.fspath(checkpoint)
    if curvature_rows is not None:
        curvature_rows = operator.index(curvature_rows)
        if curvature_rows < 20:
            raise ValueError(f"`curvature_rows` = {curvature_rows}: must be at least 20, or None")
    if keep not in ("auto", True, False):
        raise ValueError(f'`keep` = {keep!r}: must be "auto", True or False')
    settings = {
        _CHECKPOINT: path,
        _CURVATURE_ROWS: curvature_rows,
        _KEEP: keep,
        _PROOF: bool(proof),
        _REMEDIES: bool(remedies),
    }
    tokens = {variable: variable.set(value) for variable, value in settings.items()}
    try:
        yield
    finally:
        for variable, token in tokens.items():
            variable.reset(token)


def curvature_rows():
    """Tell what ``config(curvature_rows=...)`` says."""
    return _CURVATURE_ROWS.get()


def keeps(part):
    """Whether rows that take this part of the memory of all workers are kept there."""
    keep = _KEEP.get()
    return part <= _KEPT if keep == "auto" else keep


def wants_proof():
    """Whether ``config(proof=True)`` is in force."""
    return _PROOF.get()


def tries_remedies():
    """Whether ``config(remedies=True)``, the default, is in force."""
    return _REMEDIES.get()


class Checkpoint:
    """The file that ``config(checkpoint=...)`` names, if it names one."""

    def __init__(self):
        self.path = _CHECKPOINT.get()

    def read(self):
        """Bytes of an earlier fit, or None."""
        if self.path is None or not os.path.exists(self.path):
            return None
        with open(self.path, "rb") as file:
            return file.read()

    def write(self, content):
        """Replace the file, completely or not at all."""
        if self.path is None or content is None:
            return
        draft = f"{self.path}.{os.getpid()}.tmp"
        try:
            with open(draft, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(draft)
            raise

    def remove(self):
        """Forget a fit that is done."""
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path)
