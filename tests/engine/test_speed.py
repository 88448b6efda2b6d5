import subprocess
import sys

import pytest

from hqmm import HqmmError
from hqmm.engine import speed
from hqmm.engine.speed import Size, Speed, measure

SIZE = Size(n_states=6, method="batched", seconds=0.006, rate=80e9)


@pytest.fixture
def rates(monkeypatch):
    """Let BLAS run at half speed wherever the variable is set, and note the environments it ran in."""
    seen = []

    def product(environment, seconds):
        seen.append(environment)
        return 60e9 if speed.VARIABLE in environment else 120e9

    monkeypatch.setattr(speed, "_product", product)
    return seen


def test_a_core_type_that_halves_blas_is_told(rates, monkeypatch):
    monkeypatch.setenv(speed.VARIABLE, "Haswell")
    found = measure(sizes=(2,), seconds=0)
    assert (found.product, found.product_without, found.best_product) == (60e9, 120e9, 120e9)
    assert "OPENBLAS_CORETYPE=Haswell slows BLAS down to 50%" in found.advice
    assert "60 of 120 GF/s" in found.advice
    assert "unset OPENBLAS_CORETYPE" in found.advice
    assert "60 GF/s (120 without OPENBLAS_CORETYPE=Haswell)" in str(found)
    assert len(rates) == 2


def test_an_environment_without_the_variable_is_fine(rates, monkeypatch):
    monkeypatch.delenv(speed.VARIABLE, raising=False)
    found = measure(sizes=(2,), seconds=0)
    assert found.advice is None
    assert found.product == 120e9
    assert len(rates) == 1, "nothing to compare with"


@pytest.mark.parametrize(("share", "told"), [(0.5, True), (0.75, True), (0.85, False), (1.02, False)])
def test_a_core_type_that_does_no_harm_is_left_alone(share, told):
    found = Speed((SIZE,), share * 100e9, "Zen", 100e9)
    assert (found.advice is not None) == told


def test_rates_count_the_operations_of_the_plain_form(rates):
    (size,) = measure(sizes=(3,), seconds=0).gradients
    assert size.rate * size.seconds == pytest.approx(60_000 * 6 * 9**2)
    assert size.method in ("single", "batched", "pairs", "triples")
    assert f"{size.rate / 1e9:.0f} GF/s" in str(Speed((size,), 1e11))


def test_blas_really_runs_in_the_environment_given():
    assert 1e7 < speed._product({}, 0.0) < 1e13


def test_a_measurement_that_fails_is_an_error_of_ours(monkeypatch):
    monkeypatch.setattr(speed, "_PRODUCT", "raise OSError('no BLAS here')")
    with pytest.raises(HqmmError, match="no BLAS here"):
        speed._product({}, 0.0)


def test_it_is_light_to_import():
    code = "import sys, hqmm.engine.speed; print({'numba', 'pyarrow', 'distributed'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        == "set()\n"
    )
