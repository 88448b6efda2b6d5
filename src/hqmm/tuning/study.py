"""Trials in an Optuna study: what makes processes share the work, and what optuna-dashboard shows.

A trial of the study is one configuration at one rung. A process takes a job by adding a running trial for it;
where two took the same job at the same moment, the trial with the lower number counts, and the other is failed.
While it works, a process writes a rising number to its trials; one whose number stands still for a while, or whose
process is gone from this machine, is failed, and its job is free again.
"""

from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from hqmm.errors import DataError
from hqmm.tuning.spaces import Choice, Range, Uniform, Whole
from hqmm.tuning.trials import Job, Ledger, Outcome

INSTALL = "keeping trials in a study needs Optuna: pip install 'hqmm[tune]'"
ATTEMPTS = 4  # to open a storage
BEATS = 6  # signs of life in the time after which a silent process counts as dead


def import_optuna() -> Any:
    """Return Optuna, or say how to get it."""
    try:
        import optuna
    except ImportError:
        raise ImportError(INSTALL) from None
    return optuna


def sqlite_file(storage: str | Path) -> Path | None:
    """Return the file of a SQLite storage, given as a path or as a URL; None for other databases.

    Examples
    --------
    >>> from hqmm.tuning.study import sqlite_file
    >>> print(sqlite_file("sqlite:///trials.db"), sqlite_file("postgresql://server/trials"))
    trials.db None
    """
    text = str(storage)
    if "://" not in text:
        return Path(storage)
    prefix = "sqlite:///"
    return Path(text.removeprefix(prefix)) if text.startswith(prefix) else None


class StudyLedger(Ledger):
    """A ledger in an Optuna study."""

    def __init__(self, optuna: Any, study: Any, seed: int, space: Mapping[str, Range], grace: float) -> None:
        self._optuna, self._study, self.seed, self._grace = optuna, study, seed, grace
        self._distributions = {name: _distribution(optuna, name, given) for name, given in space.items()}
        self._mine: dict[Job, Any] = {}  # running trials of this process
        self._seen: dict[int, tuple[int, float]] = {}  # last sign of life of others' trials, and when it was new
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._heart = threading.Thread(target=self._beat, name="hqmm-tuning-heartbeat", daemon=True)
        self._heart.start()

    @classmethod
    def open(
        cls,
        storage: str | Path,
        name: str,
        seed: int | None,
        plan: dict[str, Any],
        space: Mapping[str, Range],
        grace: float,
    ) -> StudyLedger:
        """Return the ledger of a study, which is made if it is not there; then its seed is 0 unless one is given.

        A study that is there keeps its seed, and must have been made with the same plan.
        """
        if not grace > 0:
            raise DataError(f"grace must be above 0, but is {grace}")
        optuna = import_optuna()
        with _quiet(optuna):
            study = optuna.create_study(
                storage=_connect(optuna, storage),
                sampler=optuna.samplers.RandomSampler(seed=0),
                study_name=name,
                direction="maximize",
                load_if_exists=True,
            )
        where = f"the study {name!r} in {without_password(storage)}"
        text = json.dumps(plan, sort_keys=True)
        # in this order: another process that begins the same study writes its plan before its first trial
        has_trials = bool(study.get_trials(deepcopy=False))
        if "plan" not in study.user_attrs:
            if has_trials:
                raise DataError(f"{where} was not made by hqmm; give study_name another name")
            study.set_user_attr("seed", seed or 0)
            study.set_user_attr("plan", text)
        if study.user_attrs["plan"] != text:
            raise DataError(
                f"{where} was made with another space, schedule or data; "
                "give study_name another name, or go on with the settings it was made with"
            )
        kept = int(study.user_attrs["seed"])
        if seed is not None and kept != seed:
            raise DataError(
                f"{where} was made with random_state={kept}, not {seed}; "
                "leave random_state out to go on with it, or give study_name another name"
            )
        return cls(optuna, study, kept, space, grace)

    def outcomes(self) -> dict[Job, Outcome]:
        """Return what is finished, by whomever."""
        states = self._optuna.trial.TrialState
        found: dict[Job, Outcome] = {}
        for trial in self._trials():
            attributes = trial.user_attrs
            job = _job(attributes)
            if job is None or job in found or not trial.state.is_finished():
                continue
            if trial.state == states.COMPLETE:
                details = {
                    key.removeprefix("detail "): value
                    for key, value in attributes.items()
                    if key.startswith("detail ")
                }
                found[job] = Outcome(trial.value, attributes["seconds"], details)
            elif "error" in attributes:
                found[job] = Outcome(-float("inf"), attributes["seconds"], error=attributes["error"])
        return found

    def claim(self, jobs: Iterable[Job], parameters: Mapping[Job, Mapping[str, Any]]) -> Job | None:
        """Take the first job that nobody works on."""
        self._bury()
        return next((job for job in _free(jobs, self._trials()) if self._take(job, parameters[job])), None)

    def _take(self, job: Job, parameters: Mapping[str, Any]) -> bool:
        shown = {name: _shown(value) for name, value in parameters.items()}
        token = uuid.uuid4().hex
        new = self._optuna.trial.create_trial(
            state=self._optuna.trial.TrialState.RUNNING,
            params=shown,
            distributions={name: self._distributions[name] for name in shown},
            user_attrs={
                **vars(job),
                "token": token,
                "beat": 0,
                "host": socket.gethostname(),
                "process": os.getpid(),
            },
        )
        self._study.add_trial(new)
        rivals = [trial for trial in self._trials() if _job(trial.user_attrs) == job and _counts(trial)]
        mine = next(trial for trial in rivals if trial.user_attrs["token"] == token)
        if mine.number > min(trial.number for trial in rivals):
            self._fail(mine)
            return False
        with self._lock:
            self._mine[job] = self._optuna.trial.Trial(self._study, mine._trial_id)
        return True

    def finish(self, job: Job, outcome: Outcome) -> None:
        """Enter what came of a job, unless it was given to another process for want of a sign of life."""
        with self._lock:
            trial = self._mine.pop(job)
        with suppress(self._optuna.exceptions.UpdateFinishedTrialError):
            trial.set_user_attr("seconds", outcome.seconds)
            for name, value in outcome.details.items():
                trial.set_user_attr(f"detail {name}", value)
            if outcome.error is not None:
                trial.set_user_attr("error", outcome.error)
                self._fail(trial)
                return
            trial.report(outcome.score, job.resource)
            self._study.tell(trial.number, outcome.score, skip_if_finished=True)

    def abandon(self, job: Job) -> None:
        """Give a job back."""
        with self._lock:
            trial = self._mine.pop(job, None)
        if trial is not None:
            self._fail(trial)

    def close(self) -> None:
        """Stop giving signs of life."""
        self._stop.set()
        self._heart.join()

    def _trials(self) -> list[Any]:
        return self._study.get_trials(deepcopy=False)

    def _fail(self, trial: Any) -> None:
        """Mark a trial as failed, unless another process was quicker."""
        with suppress(self._optuna.exceptions.UpdateFinishedTrialError):
            self._study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL, skip_if_finished=True)

    def _beat(self) -> None:
        """Give signs of life, until the ledger is closed."""
        number = 0
        while not self._stop.wait(self._grace / BEATS):
            number += 1
            with self._lock:
                trials = list(self._mine.values())
            for trial in trials:
                # finished meanwhile, or the storage is slow: the next beat will do
                with suppress(Exception):
                    trial.set_user_attr("beat", number)

    def _bury(self) -> None:
        """Fail the running trials of processes that are gone."""
        now = time.monotonic()
        with self._lock:
            mine = {trial.number for trial in self._mine.values()}
        for trial in self._trials():
            if trial.state.name != "RUNNING" or trial.number in mine or _job(trial.user_attrs) is None:
                continue
            beat = trial.user_attrs["beat"]
            if self._seen.get(trial.number, (None, now))[0] != beat:
                self._seen[trial.number] = beat, now
            silent = now - self._seen[trial.number][1]
            if silent > self._grace or _is_gone(trial.user_attrs):
                self._fail(trial)


def _free(jobs: Iterable[Job], trials: Iterable[Any]) -> list[Job]:
    taken = {_job(trial.user_attrs) for trial in trials if _counts(trial)}
    return [job for job in jobs if job not in taken]


def _counts(trial: Any) -> bool:
    """Whether a trial keeps its job from others: it runs, is finished, or ended with an error of its own."""
    return trial.state.name != "FAIL" or "error" in trial.user_attrs


def _job(attributes: Mapping[str, Any]) -> Job | None:
    """Return the job of a trial; None for trials that somebody else put into the study."""
    names = [item.name for item in fields(Job)]
    return Job(*(attributes[name] for name in names)) if all(name in attributes for name in names) else None


def _is_gone(attributes: Mapping[str, Any]) -> bool:
    """Whether a process of this machine has ended; one whose number is in use again is left to its silence."""
    if attributes["host"] != socket.gethostname():
        return False
    if attributes["process"] == os.getpid():
        return False
    try:
        os.kill(attributes["process"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _shown(value: Any) -> Any:
    """Return a value as Optuna can keep it: trials only show it, what is trained is drawn from the seed."""
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _distribution(optuna: Any, name: str, given: Range) -> Any:
    kinds = optuna.distributions
    if isinstance(given, Uniform):
        return kinds.FloatDistribution(given.low, given.high, log=given.log)
    if isinstance(given, Whole):
        return kinds.IntDistribution(given.low, given.high, log=given.log)
    if isinstance(given, Choice):
        return kinds.CategoricalDistribution(tuple(dict.fromkeys(_shown(option) for option in given.options)))
    support = getattr(getattr(given, "distribution", None), "support", None)
    low, high = (-np.inf, np.inf) if support is None else (float(end) for end in support())
    if not np.isfinite([low, high]).all():
        raise DataError(
            f"{name}: a study keeps ranges with two ends; give Uniform, Whole or a list of options, not {given!r}"
        )
    return kinds.FloatDistribution(low, high)


def without_password(storage: str | Path) -> str:
    """Return a storage as it may be shown.

    Examples
    --------
    >>> from hqmm.tuning.study import without_password
    >>> without_password("postgresql://me:secret@server/trials")
    'postgresql://me:***@server/trials'
    """
    return re.sub(r"(//[^:/@]*):[^@]*@", r"\1:***@", str(storage))


def _connect(optuna: Any, storage: str | Path) -> Any:
    file = sqlite_file(storage)
    url = str(storage) if file is None else f"sqlite:///{file}"
    # processes that write at the same moment wait for each other
    options = {"connect_args": {"timeout": 60}} if file is not None else {"pool_pre_ping": True}
    for attempt in range(ATTEMPTS):
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            return optuna.storages.RDBStorage(url, engine_kwargs=options)
        except ImportError as error:
            raise ImportError(
                f"storage: {without_password(storage)} needs a database driver ({error.__cause__ or error}); "
                "for PostgreSQL: pip install 'psycopg[binary]'"
            ) from None
        except Exception as error:
            # two processes that make the same tables at the same moment: one of them finds them made
            if attempt + 1 == ATTEMPTS:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise DataError(f"storage: {without_password(storage)} cannot be opened: {reason}") from None
            time.sleep(0.2 * (attempt + 1))


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from announcing what it does on standard error."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(before, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
