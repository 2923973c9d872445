"""Data that many tests use."""

import numpy as np
import pytest


@pytest.fixture(params=[2, 3], ids=["binary", "three classes"])
def blobs(request):
    """Overlapping Gaussian classes."""
    rng = np.random.default_rng(0)
    classes = request.param
    y = rng.integers(classes, size=120)
    X = rng.normal(size=(120, 5))
    X[:, 0] += 1.5 * y
    X[:, 1] -= 1.0 * (y == 1)
    return X, y
