"""Where plots are drawn, and what stands beside the axes."""

from mainstay import _core


def metric_title(name):
    """Name of a metric for people; scorers of scikit-learn have none of their own."""
    titles = {metric: title for metric, title, *_ in _core.metrics()}
    return titles.get(name, name.replace("_", " "))


def axes(ax, **figure):
    """``ax``, or the axes of a new figure with the given options.

    Raises
    ------
    ImportError
        If a figure is needed and matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install 'mainstay[plot]'") from error
    return plt.subplots(**figure)[1]
