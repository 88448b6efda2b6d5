"""Names for the array types that signatures speak of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.signedinteger[Any]]
AnyArray = NDArray[Any]
