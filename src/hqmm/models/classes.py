"""Models of classes in one file: what a classifier needs, p(c|x) ∝ π_c P_c(x)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hqmm._typing import FloatArray
from hqmm.errors import FileFormatError, ModelError
from hqmm.models.base import Model
from hqmm.models.files import header_of, model_from
from hqmm.sequences import Symbol
from hqmm.storage import read_bundle, write_bundle

KIND = "classes"


@dataclass(frozen=True, eq=False)
class Classes:
    """One model for each class, over one alphabet.

    Attributes
    ----------
    models : dict of label to Model
    prior : array
        π_c, in the order of the models.
    burn_in : int
        Symbols at the start of each sequence that are not scored.

    Examples
    --------
    >>> import tempfile
    >>> from hqmm import HMM
    >>> from hqmm.models.classes import Classes
    >>> fair, biased = HMM([[1.0]], [[0.5], [0.5]]), HMM([[1.0]], [[0.9], [0.1]])
    >>> path = Classes({"fair": fair, "biased": biased}, [0.8, 0.2]).save(tempfile.mkdtemp() + "/coins.hqmm")
    >>> Classes.load(path).models["biased"] == biased
    True
    """

    models: Mapping[Symbol, Model]
    prior: Any
    burn_in: int = 0

    def __post_init__(self) -> None:
        alphabets = {model.alphabet for model in self.models.values()}
        prior: FloatArray = np.array(self.prior, dtype=np.float64)
        if len(alphabets) != 1:
            raise ModelError(f"classes need models over one alphabet, not over {len(alphabets)}")
        if prior.shape != (len(self.models),) or not np.all(np.isfinite(prior) & (prior >= 0)) or not prior.any():
            raise ModelError(
                f"prior must have one probability for each of {len(self.models)} classes, not {prior}"
            )
        object.__setattr__(self, "prior", prior / prior.sum())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all models to one file."""
        arrays = {
            f"{number}.{name}": array
            for number, model in enumerate(self.models.values())
            for name, array in model.parameters.items()
        }
        headers = [header_of(model) for model in self.models.values()]
        header = {"class": KIND, "labels": list(self.models), "models": headers, "burn_in": self.burn_in}
        return write_bundle(Path(path), {**arrays, "prior": self.prior}, header)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Classes:
        """Read what `save` wrote, checking everything."""
        path = Path(path)
        arrays, header = read_bundle(path)
        if header.get("class") != KIND:
            raise FileFormatError(f"{path} holds no classes but a {header.get('class')!r}")
        try:
            labels, headers, burn_in = header["labels"], header["models"], header["burn_in"]
            prior = arrays.pop("prior")
            models = {
                _label(label): model_from(path, _part(arrays, number), headers[number])
                for number, label in enumerate(labels)
            }
            if len(models) != len(headers) or arrays or not isinstance(burn_in, int) or burn_in < 0:
                raise ValueError("its parts do not fit together")
            return cls(models, prior, burn_in)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(f"{path} is damaged: {error}") from None


def _part(arrays: dict[str, Any], number: int) -> dict[str, Any]:
    """Take the arrays of one model out."""
    prefix = f"{number}."
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _label(label: Any) -> Symbol:
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise TypeError(f"{label!r} is not a label")
    return label
