"""Settings of long fits that are no parameter of a model."""

import contextlib
import contextvars
import operator
import os

_CHECKPOINT = contextvars.ContextVar("mainstay_checkpoint", default=None)
_CURVATURE_ROWS = contextvars.ContextVar("mainstay_curvature_rows", default=None)


@contextlib.contextmanager
def config(*, checkpoint=None, curvature_rows=None):
    """Change settings for the fits inside a ``with`` block.

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
    tokens = _CHECKPOINT.set(path), _CURVATURE_ROWS.set(curvature_rows)
    try:
        yield
    finally:
        _CHECKPOINT.reset(tokens[0])
        _CURVATURE_ROWS.reset(tokens[1])


def curvature_rows():
    """Tell what ``config(curvature_rows=...)`` says."""
    return _CURVATURE_ROWS.get()


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
