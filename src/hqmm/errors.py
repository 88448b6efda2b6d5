"""The errors hqmm raises, each one saying what was wrong, where, and what to do."""

from __future__ import annotations


class HqmmError(Exception):
    """Base class of every error that hqmm raises on purpose.

    Examples
    --------
    >>> from hqmm import HqmmError, Sequences
    >>> try:
    ...     Sequences([[0, 1.5]])
    ... except HqmmError as error:
    ...     print(error)
    sequence 0, position 1: 1.5 is not a whole number; symbols are strings or whole numbers
    """


class DataError(HqmmError, ValueError):
    """The data cannot be used; the message names the sequence and the position.

    Examples
    --------
    >>> from hqmm import Alphabet, DataError, Sequences
    >>> try:
    ...     Sequences(["ACGT", "ACX"], alphabet=Alphabet("ACGT"))
    ... except DataError as error:
    ...     (error.sequence, error.position)
    (1, 2)
    """

    def __init__(self, message: str, sequence: int | None = None, position: int | None = None) -> None:
        self.sequence = sequence
        self.position = position
        place = [
            f"{name} {value}"
            for name, value in (("sequence", sequence), ("position", position))
            if value is not None
        ]
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


class ModelError(HqmmError, ValueError):
    """Parameters do not satisfy the definition of the model; the message says which condition fails.

    Examples
    --------
    >>> from hqmm import HMM, ModelError
    >>> try:
    ...     HMM([[0.9, 0.5], [0.2, 0.5]], [[1, 0], [0, 1]])
    ... except ModelError as error:
    ...     print(error)
    HMM condition (iii): transition must be column-stochastic, but column 0 sums to 1.1 (off by 0.1)
    """


class NegativeProbabilityError(ModelError):
    """A model assigned a negative probability: it is not a valid observable operator model.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm import OOM, NegativeProbabilityError
    >>> broken = OOM([[[1.5]], [[-0.5]]], [1.0], check_length=0)
    >>> try:
    ...     broken.log_likelihood([[0, 0, 1]])
    ... except NegativeProbabilityError as error:
    ...     (error.sequence, error.position)
    (0, 2)
    """

    def __init__(self, sequence: int, position: int, probability: float) -> None:
        self.sequence = sequence
        self.position = position
        self.probability = probability
        super().__init__(
            f"sequence {sequence}, position {position}: the model gives this symbol the conditional "
            f"probability {probability:.3g}; it is not a valid model (see hqmm.certify)"
        )


class FileFormatError(HqmmError, ValueError):
    """A file is not a model file of ours, is damaged, or holds something that is not a model.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from hqmm import FileFormatError, load
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.hqmm"
    >>> _ = path.write_bytes(b"not a model")
    >>> try:
    ...     load(path)
    ... except FileFormatError as error:
    ...     print(str(error).startswith(str(path)))
    True
    """
