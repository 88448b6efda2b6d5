"""What the paper proves of its models, as functions: validity, equivalence, spectra."""

from hqmm.theory.equivalence import (
    Equivalence,
    Estimate,
    divergence_rate,
    equivalent,
    liouville_distance,
    minimize,
)
from hqmm.theory.spectrum import has_oscillating_operator, peripheral_spectrum
from hqmm.theory.validity import Certificate, NegativeSearch, certify, find_negative_probability

__all__ = [
    "Certificate",
    "Equivalence",
    "Estimate",
    "NegativeSearch",
    "certify",
    "divergence_rate",
    "equivalent",
    "find_negative_probability",
    "has_oscillating_operator",
    "liouville_distance",
    "minimize",
    "peripheral_spectrum",
]
