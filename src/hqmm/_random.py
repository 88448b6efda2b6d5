"""The one meaning of ``random_state``."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from hqmm.errors import ModelError

RandomState: TypeAlias = int | np.random.Generator | None

_LARGEST_SEED = 2**64


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that ``random_state`` stands for; a Generator is used as it is and moves on.

    Parameters
    ----------
    random_state : None, int or numpy.random.Generator
        None draws a fresh seed; a number always gives the same stream.

    Examples
    --------
    >>> from hqmm._random import as_generator
    >>> as_generator(7).integers(10, size=3).tolist() == as_generator(7).integers(10, size=3).tolist()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    is_seed = isinstance(random_state, (int, np.integer)) and random_state >= 0
    if random_state is not None and not is_seed:
        raise ModelError(
            "random_state must be None, a whole number from 0 up or a numpy.random.Generator, "
            f"not {random_state!r}"
        )
    return np.random.default_rng(random_state)


def seed_of(generator: np.random.Generator) -> int | None:
    """Return the number that a generator was made from; None where the system gave one, which has 128 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm._random import as_generator, seed_of
    >>> seed_of(as_generator(7)), seed_of(as_generator(np.int64(7))), seed_of(as_generator(None))
    (7, 7, None)
    """
    entropy = getattr(generator.bit_generator.seed_seq, "entropy", None)
    return int(entropy) if isinstance(entropy, int | np.integer) and entropy < _LARGEST_SEED else None
