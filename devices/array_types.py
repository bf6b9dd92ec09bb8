"""Types of numpy arrays that devices and curators share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.floating]
DoubleArray = NDArray[np.float64]
Words = NDArray[np.uint32]
