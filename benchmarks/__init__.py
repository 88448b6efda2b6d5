"""Measurements: `python -m benchmarks [word …]` runs them (all, or those whose name holds a word).

Each prints a table and writes JSON to benchmarks/results/. Some machines export OPENBLAS_CORETYPE, which can halve
the rate of matrix products; it is removed here, before NumPy is imported, and the table says so. BLAS gets one
thread. Where NumPy is there already, as in the tests, it is too late for both, and processes started later should
compute what this one computes.
"""

import os
import sys

REMOVED = None
if "numpy" not in sys.modules:
    REMOVED = os.environ.pop("OPENBLAS_CORETYPE", None)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
