"""Settings of long fits that are no parameter of a model."""

import contextlib
import contextvars
import os

_CHECKPOINT = contextvars.ContextVar("mainstay_checkpoint", default=None)
_PROOF = contextvars.ContextVar("mainstay_proof", default=False)


@contextlib.contextmanager
def config(*, checkpoint=None, proof=False):
    """Change settings for the fits inside a ``with`` block.

    Parameters
    ----------
    checkpoint : str, path-like or None, default=None
        A file that a fit over partitions (see :doc:`/scale`) writes after each pass, completely or
        not at all, and removes when it is done. The same call goes on from it after a crash: it
        takes the first look again and loses at most one pass more. A checkpoint of other data or
        of another problem is refused. Fits in memory leave no checkpoint.
    proof : bool, default=False
        Whether fits in memory keep the dual point behind their certificate, for :func:`verify` and
        ``save(..., proof=True)``: a few numbers per row, and for `MissingFeatureSVC` as many as
        the rows have nonzeros.

    Examples
    --------
    >>> import mainstay
    >>> with mainstay.config(checkpoint="fit.ckpt"):
    ...     pass  # model.fit(ddf, "label")
    """
    path = None if checkpoint is None else os.fspath(checkpoint)
    tokens = _CHECKPOINT.set(path), _PROOF.set(bool(proof))
    try:
        yield
    finally:
        _CHECKPOINT.reset(tokens[0])
        _PROOF.reset(tokens[1])


def wants_proof():
    """Whether ``config(proof=True)`` is in force."""
    return _PROOF.get()


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
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)

    def remove(self):
        """Forget a fit that is done."""
        if self.path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.path)
