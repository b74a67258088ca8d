"""Fit a logistic regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STEPS = 60  # of Newton's method, far more than it needs to converge

Floats = NDArray[np.float64]


def fit_logistic(x: Floats, y: Floats, weight: Floats, ridge: Floats) -> Floats:
    """The coefficients that minimise the weighted log loss plus the ridge penalty, by Newton's method.

    `x` is (rows, columns), `y` 0 or 1 a row, `weight` one number a row, `ridge` one penalty a column.
    """
    coefficients = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ coefficients))
        gradient = x.T @ (weight * (p - y)) + ridge * coefficients
        hessian = (x * (weight * p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        coefficients -= np.linalg.solve(hessian, gradient)
    return coefficients
