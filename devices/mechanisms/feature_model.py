"""A public model of a person's own features, in whole numbers: the score that they give to each class.

It is linear. A person has the features x_k, m are the means and A the weights:

    e_c = m_c + sum over k of A_kc x_k,                            features that are numbers,
    e_c = m_c + (sum over k of A_kc x_k) / sqrt(sum over k of x_k),    words: x_k is 1 or 0.

So rows of words count at length 1. A number is the whole number nearest to levels (x - low) / (high - low), where low
and high are the public range. Every number is whole, so the result is the same on every machine. A score is a whole
number of *units*, 2**-16 nats each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.mechanisms.base64_text import as_text, from_text

UNIT_BITS = 16  # a unit of a score is 2**-16 nats
UNIT = 1 << UNIT_BITS
MOST_LEVELS = 255
LARGEST = (1 << 31) - 1
_ROOT_BITS = 8  # a root of words in 2^-16 is in 2^-8


def whole_features(features: FloatArray, levels: int, low: float, high: float) -> IntArray:
    """Return features as whole numbers 0 .. ``levels``, int64 of the same shape; a word is an entry above 0.

    >>> whole_features(np.array([0.0, 0.4, 2.0]), 1, 0.0, 1.0).tolist()
    [0, 1, 1]
    >>> whole_features(np.array([0.0, 0.4, 2.0]), 10, 0.0, 1.0).tolist()
    [0, 4, 10]
    """
    if levels == 1:
        return (features > 0).astype(np.int64)
    share = (np.nan_to_num(np.asarray(features, np.float64), nan=low) - low) / (high - low)
    return np.rint(levels * np.clip(share, 0.0, 1.0)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FeatureModel:
    """A model.

    Args:
        weights: int64 (columns, classes): A, in units, 32 bits each.
        means: int64 (classes,): m.
    """

    weights: IntArray = field(repr=False)
    means: IntArray = field(repr=False)

    def scores(self, levels: IntArray, *, words: bool) -> IntArray:
        """int64 (rows, classes): e, in units, of features int64 (rows, columns). The time does not depend on them."""
        sums = levels @ self.weights
        if words:
            roots = np.sqrt((levels.sum(axis=1) << 2 * _ROOT_BITS).astype(np.float64)).astype(np.int64)
            sums = (sums << _ROOT_BITS) // np.maximum(roots, 1)[:, None]
        return np.asarray(np.clip(self.means + sums, -LARGEST, LARGEST))

    def as_text(self) -> str:
        """Return the model as text; :meth:`read` reads it back.

        Raises:
            ValueError: for a number that 32 bits do not hold.
        """
        rows = np.vstack([self.weights, self.means])
        if np.abs(rows).max() > LARGEST:
            raise ValueError("a model holds a number beyond 32 bits")
        return as_text(rows.astype("<i4").view(np.uint8))

    @staticmethod
    def read(text: object, columns: int, classes: int) -> FeatureModel:
        """Read :meth:`as_text` back; ValueError for any other text. Without columns there is no model, and no text."""
        data = from_text(text)
        if len(data) != 4 * (columns + 1) * classes * (columns > 0) or (columns <= 0 and text != ""):
            raise ValueError(f"a text is no model of {columns} features and {classes} classes")
        rows = np.zeros((1, classes), np.int64) if columns <= 0 else data.view("<i4").reshape(-1, classes)
        return FeatureModel(rows[:-1].astype(np.int64), rows[-1].astype(np.int64))
