"""Which configurations are trained for how long: successive halving, Hyperband, and the paper's own schedule.

Everything is counted in whole numbers. The number of Hyperband's brackets is ⌊log_η R⌋ + 1, which floating point
gets wrong where it matters most: log(27)/log(3) is 3.0000000000000004 or 2.9999999999999996 by the library, and
rounded down the latter would lose a bracket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from hqmm.errors import DataError


@dataclass(frozen=True)
class Rung:
    """So many configurations, trained until each has had so much of the resource in total.

    Examples
    --------
    >>> from hqmm.tuning import Rung
    >>> Rung(configurations=9, resource=12)
    Rung(configurations=9, resource=12)
    """

    configurations: int
    resource: int


@dataclass(frozen=True)
class Schedule:
    """Brackets of rungs: in a bracket, the best of each rung go on to the next one, which trains them further.

    Examples
    --------
    >>> from hqmm.tuning import Schedule
    >>> for bracket in Schedule.hyperband(27).brackets:
    ...     print([(rung.configurations, rung.resource) for rung in bracket])
    [(27, 1), (9, 3), (3, 9), (1, 27)]
    [(12, 3), (4, 9), (1, 27)]
    [(6, 9), (2, 27)]
    [(4, 27)]
    """

    brackets: tuple[tuple[Rung, ...], ...]

    def __post_init__(self) -> None:
        if not self.brackets or not all(self.brackets):
            raise DataError("a schedule needs at least one bracket, and each bracket at least one rung")
        for bracket in self.brackets:
            for rung in bracket:
                _whole("configurations", rung.configurations)
                _whole("resource", rung.resource)
            for before, after in pairwise(bracket):
                if after.configurations > before.configurations:
                    raise DataError(f"{after} cannot follow {before}: no rung may have more configurations")
                if after.resource <= before.resource:
                    raise DataError(f"{after} cannot follow {before}: each rung must train further")

    @classmethod
    def hyperband(cls, max_resource: int, min_resource: int = 1, factor: int = 3) -> Schedule:
        """Return Hyperband's brackets (Li et al. 2018), from the most daring to the most patient.

        Parameters
        ----------
        max_resource : int
            R: what the last rung of every bracket has in total, such as epochs.
        min_resource : int
            The least that a configuration is judged by.
        factor : int
            η: one in so many goes on, and trains so many times longer.

        Examples
        --------
        >>> from hqmm.tuning import Schedule
        >>> [len(bracket) for bracket in Schedule.hyperband(81, min_resource=9).brackets]
        [3, 2, 1]
        """
        for name, value, least in (("max_resource", max_resource, 1), ("min_resource", min_resource, 1)):
            _whole(name, value, least)
        _whole("factor", factor, 2)
        if min_resource > max_resource:
            raise DataError(f"min_resource ({min_resource}) must not be above max_resource ({max_resource})")
        most = 0
        while min_resource * factor ** (most + 1) <= max_resource:
            most += 1
        return cls(tuple(_bracket(most, steps, max_resource, factor) for steps in range(most, -1, -1)))

    @classmethod
    def halving(
        cls, configurations: int, min_resource: int, max_resource: int | None = None, factor: int = 3
    ) -> Schedule:
        """Return successive halving: one bracket, where one in ``factor`` goes on, to train as often longer.

        Parameters
        ----------
        configurations : int
            How many begin.
        min_resource, max_resource : int
            What the first rung has, and what no rung exceeds.
        factor : int
            η.

        Examples
        --------
        >>> from hqmm.tuning import Schedule
        >>> [(rung.configurations, rung.resource) for rung in Schedule.halving(20, 2).brackets[0]]
        [(20, 2), (6, 6), (2, 18)]
        """
        _whole("configurations", configurations)
        _whole("min_resource", min_resource)
        _whole("factor", factor, 2)
        rungs = [Rung(configurations, min_resource)]
        while rungs[-1].configurations >= factor:
            resource = rungs[-1].resource * factor
            if max_resource is not None and resource > max_resource:
                break
            rungs.append(Rung(rungs[-1].configurations // factor, resource))
        return cls((tuple(rungs),))

    @classmethod
    def stages(cls, *stages: tuple[int, int]) -> Schedule:
        """Return one bracket from pairs (configurations, further resource), where training is continued.

        Examples
        --------
        >>> from hqmm.tuning import Schedule
        >>> [(rung.configurations, rung.resource) for rung in Schedule.stages((9, 3), (3, 9), (1, 27)).brackets[0]]
        [(9, 3), (3, 12), (1, 39)]
        """
        total, rungs = 0, []
        for configurations, further in stages:
            total += _whole("the further resource of a stage", further)
            rungs.append(Rung(configurations, total))
        return cls((tuple(rungs),))

    @property
    def n_configurations(self) -> int:
        """How many configurations are drawn."""
        return sum(bracket[0].configurations for bracket in self.brackets)

    @property
    def n_trials(self) -> int:
        """How many times a configuration is trained up to a rung."""
        return sum(rung.configurations for bracket in self.brackets for rung in bracket)

    @property
    def max_resource(self) -> int:
        """The most that any configuration has in total."""
        return max(rung.resource for bracket in self.brackets for rung in bracket)

    @property
    def cost(self) -> int:
        """The resource that all trials together use up, where training is continued from rung to rung."""
        return sum(
            rung.configurations * further
            for bracket in self.brackets
            for rung, further in zip(bracket, _steps(bracket), strict=True)
        )


def _bracket(most: int, steps: int, max_resource: int, factor: int) -> tuple[Rung, ...]:
    begin = -(-(most + 1) * factor**steps // (steps + 1))  # rounded up
    return tuple(
        Rung(begin // factor**step, max_resource // factor ** (steps - step)) for step in range(steps + 1)
    )


def _steps(bracket: tuple[Rung, ...]) -> Iterator[int]:
    reached = 0
    for rung in bracket:
        yield rung.resource - reached
        reached = rung.resource


def _whole(name: str, value: int, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} must be a whole number from {least} up, not {value!r}")
    return value


# Appendix D: 27 configurations for 3 epochs, the best 9 for 9 more, the best 3 for 9 more, the best for 27 more.
PAPER = Schedule.stages((27, 3), (9, 9), (3, 9), (1, 27))


def as_schedule(given: str | Schedule, max_resource: int, min_resource: int = 1, factor: int = 3) -> Schedule:
    """Return the schedule of a name; "halving" is Hyperband's first bracket, the most daring.

    Examples
    --------
    >>> from hqmm.tuning.schedules import as_schedule
    >>> as_schedule("halving", 9).n_configurations
    9
    """
    if isinstance(given, Schedule):
        return given
    if given == "paper":
        return PAPER
    if given in ("hyperband", "halving"):
        whole = Schedule.hyperband(max_resource, min_resource, factor)
        return whole if given == "hyperband" else Schedule(whole.brackets[:1])
    raise DataError(f"schedule must be 'hyperband', 'halving', 'paper' or a Schedule, not {given!r}")
