"""Every conversion keeps the probability of every sequence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import ZOO, assert_same_process

from hqmm import HQMM, OOM, mixture
from hqmm.channels import random_unitary


def _through_choi(model):
    return HQMM.from_choi(model.choi(), model.initial)


CONVERSIONS = {
    "hmm to oom": ("hmm", lambda m: m.to_oom()),
    "hmm to hqmm": ("hmm", lambda m: m.to_hqmm()),
    "hmm to hqmm by circuit": ("hmm", lambda m: m.to_hqmm("circuit")),
    "noom to oom": ("noom", lambda m: m.to_oom()),
    "noom to hqmm": ("noom", lambda m: m.to_hqmm()),
    "hqmm to real oom": ("hqmm", lambda m: m.to_oom()),
    "hqmm to liouville oom": ("hqmm", lambda m: m.to_oom("liouville")),
    "hqmm through liouville": ("hqmm", lambda m: HQMM.from_liouville(m.liouville(), m.initial)),
    "hqmm through vec": ("hqmm", lambda m: HQMM.from_liouville(m.liouville(), m.initial.T.ravel())),
    "hqmm through choi": ("hqmm", _through_choi),
    "hqmm canonical": ("hqmm", lambda m: m.canonical()),
    "hqmm compressed to full rank": ("hqmm", lambda m: m.compress(m.n_states**2)),
    "hmm to hybrid": ("hmm", lambda m: m.to_hybrid()),
    "noom to hybrid": ("noom", lambda m: m.to_hybrid()),
    "hqmm to hybrid": ("hqmm", lambda m: m.to_hybrid()),
    "chain to hybrid": ("chain", lambda m: m.to_hybrid()),
    "hybrid to oom": ("hybrid", lambda m: m.to_oom()),
    "hybrid to hqmm": ("hybrid", lambda m: m.to_hqmm()),
    "hybrid to hqmm by blocks": ("hybrid", lambda m: m.to_hqmm("blocks")),
    "hybrid canonical": ("hybrid", lambda m: m.canonical()),
    "hybrid with nothing to prune": ("hybrid", lambda m: m.prune(0)),
    "hybrid mixed with itself": ("hybrid", lambda m: mixture([m, m.canonical()], [0.3, 0.7])),
    "oom to standard": ("oom", lambda m: m.standard()),
    "complex oom to standard": ("complex oom", lambda m: m.standard()),
    "chain to oom": ("chain", lambda m: m.to_oom()),
    "chain to hmm": ("chain", lambda m: m.to_oom().to_hmm()),
    # chains of conversions that come round again
    "hmm → oom → hmm": ("hmm", lambda m: m.to_oom().to_hmm()),
    "hmm → hqmm → decohered → hmm": ("hmm", lambda m: m.to_hqmm().decohere().to_hmm()),
    "hmm → hqmm → choi → hqmm → oom": (
        "hmm",
        lambda m: HQMM.from_choi(m.to_hqmm().choi(), np.diag(m.initial)).to_oom(),
    ),
    "hmm → hybrid → decohered → hmm": ("hmm", lambda m: m.to_hybrid().decohere().to_hmm()),
    "hqmm → hybrid → hqmm": ("hqmm", lambda m: m.to_hybrid().to_hqmm()),
    "hybrid → hqmm → hybrid → oom": ("hybrid", lambda m: m.to_hqmm().to_hybrid().to_oom()),
    "noom → hqmm → oom → standard": ("noom", lambda m: m.to_hqmm().to_oom().standard()),
    "noom → oom → standard": ("noom", lambda m: m.to_oom().standard()),
}


@pytest.mark.parametrize("conversion", CONVERSIONS)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 3), s=st.integers(1, 3))
def test_a_conversion_keeps_every_probability(conversion, seed, n, s):
    kind, convert = CONVERSIONS[conversion]
    model = ZOO[kind](np.random.default_rng(seed), n, s)
    converted = convert(model)
    assert converted.alphabet == model.alphabet
    assert_same_process(model, converted)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 3), w=st.integers(1, 3))
def test_canonical_operators_do_not_depend_on_the_kraus_operators_chosen(seed, n, w):
    rng = np.random.default_rng(seed)
    model = ZOO["hqmm"](rng, n, 2, w)
    mixed = np.stack([np.einsum("vw,wij->vij", random_unitary(w, random_state=rng), K) for K in model.kraus])
    np.testing.assert_allclose(HQMM(mixed).choi(), model.choi(), atol=1e-10)
    # where the Choi spectrum has gaps, the canonical operators themselves agree
    spectra = np.linalg.eigvalsh(model.choi())
    if np.all(np.diff(np.sort(spectra[:, -min(w, n * n) :], axis=1), axis=1) > 1e-3):
        np.testing.assert_allclose(HQMM(mixed).canonical().kraus, model.canonical().kraus, atol=1e-7)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 3))
def test_a_standard_oom_exists_even_where_the_papers_similarity_is_singular(seed, n):
    """σᵀ1 = 0 makes S = I + (1/n)·1(σᵀ − 1ᵀ) singular."""
    rng = np.random.default_rng(seed)
    model = ZOO["oom"](rng, n + 1, 2)
    sigma = model.evaluation
    target = rng.normal(size=n + 1)
    target -= target.mean()
    # a change of basis R with σᵀR⁻¹ = targetᵀ
    householder = np.eye(n + 1) + np.outer(target, (sigma - target)) / (target @ target)
    if np.linalg.cond(householder) > 1e4:
        return
    inverse = np.linalg.inv(householder)
    turned = OOM(
        householder @ model.operators @ inverse, householder @ model.initial, sigma @ inverse, check_length=0
    )
    assert abs(turned.evaluation.sum()) < 1e-6
    standard = turned.standard()
    assert standard.is_standard
    assert_same_process(model, standard, longest=4, atol=1e-8)
