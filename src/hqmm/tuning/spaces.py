"""Where configurations are drawn from: one range for each name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from hqmm.errors import DataError


class Range(Protocol):
    """What a value can be drawn from."""

    def draw(self, generator: np.random.Generator) -> Any:
        """Return a value."""


@dataclass(frozen=True)
class Uniform:
    """Real numbers from ``low`` to ``high``, evenly, or with ``log`` evenly in the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.tuning import Uniform
    >>> 0.55 <= Uniform(0.55, 0.95).draw(np.random.default_rng(0)) <= 0.95
    True
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _ordered(self)

    def draw(self, generator: np.random.Generator) -> float:
        """Return a value."""
        if not self.log:
            return float(generator.uniform(self.low, self.high))
        drawn = math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        return min(max(drawn, self.low), self.high)


@dataclass(frozen=True)
class Whole:
    """Whole numbers from ``low`` to ``high``, both included, or with ``log`` evenly in the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.tuning import Whole
    >>> sorted({Whole(1, 3).draw(np.random.default_rng(seed)) for seed in range(20)})
    [1, 2, 3]
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _ordered(self)

    def draw(self, generator: np.random.Generator) -> int:
        """Return a value."""
        if not self.log:
            return int(generator.integers(self.low, self.high + 1))
        drawn = math.exp(generator.uniform(math.log(self.low), math.log(self.high + 1)))
        return min(max(int(drawn), self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """One of some values, each as likely.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.tuning import Choice
    >>> Choice(("wen-yin", "qr")).draw(np.random.default_rng(0))
    'qr'
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.options:
            raise DataError("a choice needs at least one option")

    def draw(self, generator: np.random.Generator) -> Any:
        """Return a value."""
        return self.options[int(generator.integers(len(self.options)))]


@dataclass(frozen=True)
class Distribution:
    """A distribution of SciPy's, or whatever else has ``rvs``."""

    distribution: Any

    def draw(self, generator: np.random.Generator) -> Any:
        """Return a value."""
        drawn = self.distribution.rvs(random_state=generator)
        return drawn.item() if isinstance(drawn, np.generic) else drawn

    def __repr__(self) -> str:
        inner = getattr(self.distribution, "dist", None)
        if inner is None:
            return repr(self.distribution)
        return f"{inner.name}{self.distribution.args}{self.distribution.kwds}"


Space: TypeAlias = Mapping[str, Any]


def as_space(space: Space) -> dict[str, Range]:
    """Return a range for each name: a list means a choice; a distribution of SciPy's is taken as it is.

    Examples
    --------
    >>> from hqmm.tuning import Uniform
    >>> from hqmm.tuning.spaces import as_space
    >>> as_space({"step": Uniform(0.5, 1), "kraus_rank": [1, 2]})
    {'step': Uniform(low=0.5, high=1, log=False), 'kraus_rank': Choice(options=(1, 2))}
    """
    if not isinstance(space, Mapping) or not space:
        raise DataError("the space must be a mapping from names to ranges, with at least one name")
    return {name: _as_range(name, value) for name, value in space.items()}


def draw(space: Mapping[str, Range], generator: np.random.Generator) -> dict[str, Any]:
    """Return a configuration: one value for each name, whatever the order of the names.

    Examples
    --------
    >>> import numpy as np
    >>> from hqmm.tuning.spaces import Choice, draw
    >>> draw({"kraus_rank": Choice((2,))}, np.random.default_rng(0))
    {'kraus_rank': 2}
    """
    return {name: space[name].draw(generator) for name in sorted(space)}


def parse_range(text: str) -> Range:
    """Return the range that a text stands for, as typed at a command line.

    Two numbers with a colon are a range, of whole numbers if both are whole; ``:log`` makes it logarithmic. Commas
    part the options of a choice.

    Examples
    --------
    >>> from hqmm.tuning import parse_range
    >>> for text in ("0.55:0.95", "1:8", "1e-3:1:log", "1,2,4", "wen-yin,qr", "0.8"):
    ...     print(parse_range(text))
    Uniform(low=0.55, high=0.95, log=False)
    Whole(low=1, high=8, log=False)
    Uniform(low=0.001, high=1, log=True)
    Choice(options=(1, 2, 4))
    Choice(options=('wen-yin', 'qr'))
    Choice(options=(0.8,))
    """
    parts = [part.strip() for part in text.split(":")]
    if len(parts) == 1:
        return Choice(tuple(_value(option.strip()) for option in text.split(",")))
    ends = [_value(part) for part in parts[:2]]
    wrong = len(parts) > 3 or (len(parts) == 3 and parts[2] != "log")
    if wrong or any(isinstance(end, str | bool) for end in ends):
        raise DataError(f"{text!r} is not a range; write low:high, low:high:log, or options with commas")
    kind = Whole if all(isinstance(end, int) for end in ends) else Uniform
    return kind(ends[0], ends[1], log=len(parts) == 3)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def _as_range(name: str, value: Any) -> Range:
    if hasattr(value, "draw"):
        return value
    if hasattr(value, "rvs"):
        return Distribution(value)
    if isinstance(value, list | tuple | np.ndarray | range):
        return Choice(tuple(one.item() if isinstance(one, np.generic) else one for one in value))
    raise DataError(f"{name}: {value!r} is not a range; give Uniform, Whole, a list of options or a distribution")


def _ordered(given: Uniform | Whole) -> None:
    if not given.low <= given.high:
        raise DataError(f"{given}: low must not be above high")
    if given.log and not given.low > 0:
        raise DataError(f"{given}: a logarithmic range must be above 0")
