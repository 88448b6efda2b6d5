"""What a file of classes says about labelled or unlabelled sequences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import DataError

if TYPE_CHECKING:
    from hqmm.models.classes import Classes
    from hqmm.readers import Contents
    from hqmm.sequences import Symbol


@dataclass(frozen=True, eq=False)
class Classified:
    """Sequences and what their classes are taken to be."""

    classes: Classes
    contents: Contents

    @property
    def labels(self) -> list[Symbol]:
        """The classes, in the order of the columns of ``posterior``."""
        return list(self.classes.models)

    @cached_property
    def log_posterior(self) -> FloatArray:
        """Log p(c|x), one row for each sequence; what no class can explain leaves the prior."""
        from hqmm.learning import log_posterior

        prior, burn_in = self.classes.prior, self.classes.burn_in
        found = log_posterior(self.classes.models, self.contents.sequences, prior=prior, burn_in=burn_in)
        with np.errstate(divide="ignore"):
            return np.where(np.isnan(found), np.log(prior), found)

    def guesses(self) -> list[Symbol]:
        """Return the most probable class of each sequence."""
        return [self.labels[place] for place in np.argmax(self.log_posterior, axis=1)]

    def truth(self) -> list[Symbol]:
        """Return the class of each sequence that the file tells."""
        told = self.contents.labels
        if told is None:
            raise DataError("the data have no labels; name their column with --label")
        by_text = {str(label): label for label in self.labels}
        for number, label in enumerate(told):
            if str(label) not in by_text:
                raise DataError(f"the label {label!r} is none of the classes {self.labels}", sequence=number)
        return [by_text[str(label)] for label in told]


def classified(path: str, data: str, reading: dict[str, Any], label: str | int | None) -> Classified:
    """Read classes and data."""
    from hqmm.cli.options import read_data
    from hqmm.models.classes import Classes

    classes = Classes.load(path)
    alphabet = next(iter(classes.models.values())).alphabet
    contents = read_data(data, reading, label=label, alphabet=alphabet, end=alphabet.end is not None)
    return Classified(classes, contents)
