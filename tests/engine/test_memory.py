"""Peak memory, measured in processes of their own."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from hqmm import Alphabet, Sequences
from hqmm.engine import gradient
from hqmm.linear import LinearForm

method, count, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
operators = rng.random((2, 20, 20))
form = LinearForm(operators / operators.sum(axis=(0, 1)), np.full(20, 1 / 20), np.ones(20))

def peak(count, length):
    codes = rng.integers(0, 2, count * length).astype(np.int8)
    data = Sequences.from_arrays(codes, np.arange(count + 1) * length, Alphabet(2))
    gradient(form, data, method=method, threads=1)
    status = open("/proc/self/status").read().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024

small = peak(count // 8 or 1, length if count > 1 else length // 8)
print(peak(count, length) - small)
"""


def growth(method, count, length):
    """Megabytes by which a process grows when the data grow eight times."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, method, str(count), str(length)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("method", ["single", "batched", "pairs", "prefixes"])
def test_memory_does_not_grow_with_the_number_of_sequences(method):
    # The states of all symbols would take 230 MB, and of all pairs 115 MB.
    assert growth(method, 2400, 500) < 40


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_length_of_a_sequence():
    # 4 bytes for each symbol's code, where a state takes 192.
    assert growth("single", 1, 1_200_000) < 20
