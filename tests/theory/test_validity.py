from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.zoo import ZOO, plain_probability, random_chain, random_hmm, random_hqmm, words

from hqmm import HMM, HQMM, OOM, DataError, NegativeProbabilityError
from hqmm.datasets import hmm_6_6, hqmm_2_4, hqmm_2_6, probability_clock
from hqmm.linear import LinearForm
from hqmm.reduction import reduce
from hqmm.theory import certify, cones, find_negative_probability, minimize
from hqmm.theory.witnesses import exact_probabilities, is_genuine

seeds = st.integers(0, 10_000)


def disguised(model, seed=0):
    """The same process in a random basis of its smallest form, where nothing shows that it is valid."""
    form = reduce(model.linear)
    change = np.random.default_rng(seed).normal(size=(form.dimension, form.dimension))
    inverse = np.linalg.inv(change)
    return OOM(change @ form.operators @ inverse, change @ form.initial, form.evaluation @ inverse, check_length=0)


def perturbed(model, size, seed=1):
    """Normalised as before, but off by ``size``: what one symbol's operator gains, the other loses."""
    rng = np.random.default_rng(seed)
    operators = model.operators.copy()
    change = size * rng.normal(size=operators[0].shape)
    operators[0] += change
    operators[1] -= change
    return OOM(operators, model.initial, model.evaluation, check_length=0)


def late(steps, turn=np.pi / 12, excess=1.05):
    """A model whose only negative probabilities come after ``steps`` symbols 0 in a row.

    A unit vector turns under symbol 0; the chances of symbols 1 and 2 are ¼ (1 ± excess·u₁), and both reset. The
    vector starts so that u₁ first falls below −1/excess after ``steps`` turns.
    """
    start = np.pi - turn * (steps - 0.5 + np.arccos(1 / excess) / turn)
    initial = np.array([1, np.cos(start), np.sin(start)])
    c, s = np.cos(turn), np.sin(turn)
    rotate = 0.5 * np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    resets = [np.outer(initial, [0.25, sign * 0.25 * excess, 0]) for sign in (1, -1)]
    return OOM([rotate, *resets], initial, [1, 0, 0], check_length=0)


def random_signed(rng, n, s, size):
    """An HMM in disguise with a random perturbation: valid or not, as chance has it."""
    return perturbed(disguised(random_hmm(rng, n, s), int(rng.integers(1000))), size, int(rng.integers(1000)))


def most_negative(model, longest):
    """The lowest probability of a last symbol given those before, over all sequences by enumeration."""
    lowest, shortest = 0.0, None
    for word in words(model.n_symbols, longest):
        before, probability = plain_probability(model, word[:-1]), plain_probability(model, word)
        if probability < -1e-7 * abs(before):
            shortest = len(word) if shortest is None else shortest
            lowest = min(lowest, probability)
    return lowest, shortest


def with_a_hidden_rotation(model):
    """The same process in disguise, with three more dimensions that turn about an axis and that nothing depends on."""
    form = disguised(model).linear
    turn = np.array([[1, 0, 0], [0, np.cos(1), -np.sin(1)], [0, np.sin(1), np.cos(1)]])
    operators = np.pad(form.operators, ((0, 0), (0, 3), (0, 3)))
    operators[:, -3:, -3:] = turn
    initial, evaluation = np.append(form.initial, [1, 1, 0]), np.append(form.evaluation, [0, 0, 0])
    return OOM(operators, initial, evaluation, check_length=0)


def assert_proven(certificate):
    """Check the cone by linear programming, which shares nothing with the search that found it."""
    form, V = certificate.form, certificate.generators
    V = V / np.linalg.norm(V, axis=0)
    assert np.all(form.evaluation @ V >= -1e-11)
    for point in [form.initial, *np.concatenate(list(form.operators @ V), axis=1).T]:
        size = np.linalg.norm(point)
        if size > 1e-12:
            gap = np.concatenate([np.eye(len(V)), -np.eye(len(V))], axis=1)
            cost = np.concatenate([np.zeros(V.shape[1]), np.ones(2 * len(V))])
            solution = linprog(cost, A_eq=np.concatenate([V, gap], axis=1), b_eq=point / size)
            assert solution.fun < 1e-9


class TestSearch:
    @given(seed=seeds, n=st.integers(1, 3), s=st.integers(1, 3), size=st.sampled_from([0.0, 0.01, 0.1, 1.0]))
    def test_it_agrees_with_enumeration(self, seed, n, s, size):
        model = random_signed(np.random.default_rng(seed), n, max(s, 2), size)
        longest = 5
        _, shortest = most_negative(model, longest)
        search = find_negative_probability(model, longest)
        if shortest is not None and not search.found:
            raise AssertionError("a negative probability was missed")
        if search.found:
            assert plain_probability(model, search.sequence) < 0
            assert len(search.sequence) == (shortest if shortest is not None else len(search.sequence))
        else:
            assert search.closed or search.searched_length == longest

    @given(seed=seeds, kind=st.sampled_from(sorted(ZOO)), n=st.integers(1, 3), s=st.integers(1, 3))
    def test_it_finds_nothing_in_a_valid_model(self, seed, kind, n, s):
        model = disguised(ZOO[kind](np.random.default_rng(seed), n, s), seed)
        assert not find_negative_probability(model, 30, 60).found

    @pytest.mark.parametrize("steps", [1, 4, 6])
    def test_a_late_negative_probability_is_found_at_its_length(self, steps):
        search = find_negative_probability(late(steps))
        assert search.sequence == [0] * steps + [1]
        assert search.searched_length == steps
        assert search.probability == pytest.approx(plain_probability(late(steps), search.sequence))
        assert search.conditional == pytest.approx(search.probability / 0.5**steps)

    def test_a_sequence_too_long_to_enumerate_is_found_by_repetition(self):
        model = late(steps=150, turn=np.pi / 400, excess=1.0005)
        search = find_negative_probability(model, max_length=400, max_nodes=20)
        assert len(search.sequence) > 150
        assert search.searched_length < 150
        assert set(search.sequence[:-1]) == {0}
        assert exact_probabilities(model.linear, tuple(search.sequence))[1] < 0

    def test_a_probability_that_underflows_is_reported_by_its_conditional(self):
        # The same, with a symbol of chance 1e-10 in place of ½: the witness has probability about 1e-400.
        model = late(steps=40, turn=np.pi / 100, excess=1.01)
        rare = np.array([1e-10 * 2, 1, 1])[:, None, None] * model.operators
        rest = np.outer(model.initial, [0.5 - 1e-10, 0, 0])
        search = find_negative_probability(
            OOM([*rare, rest], model.initial, model.evaluation, check_length=0), max_length=200, max_nodes=20
        )
        assert search.found
        assert search.probability == 0
        assert str(search.probability) == "-0.0"
        assert -0.01 < search.conditional < -1e-6

    def test_a_cut_off_search_says_how_far_it_came(self):
        full = find_negative_probability(hmm_6_6().to_oom(), max_length=4)
        assert (full.searched_length, full.closed) == (4, False)
        cut = find_negative_probability(disguised(hmm_6_6()), max_length=50, max_nodes=10)
        assert cut.n_states == 10
        assert cut.searched_length < 5
        assert not cut.closed

    def test_a_search_that_runs_out_of_states_closes(self):
        search = find_negative_probability(HMM([[1.0]], [[0.3], [0.7]]))
        assert (search.found, search.closed, search.n_states) == (False, True, 1)

    def test_the_witness_is_the_sequence_that_evaluation_refuses(self):
        model = late(5).replace(alphabet="abc")
        search = find_negative_probability(model)
        assert search.sequence == list("aaaaab")
        with pytest.raises(NegativeProbabilityError) as caught:
            model.log_likelihood([search.sequence])
        assert caught.value.position == 5

    def test_a_one_dimensional_model_with_a_negative_operator_is_broken(self):
        search = find_negative_probability(OOM([[[1.5]], [[-0.5]]], [1.0], check_length=0))
        assert (search.sequence, search.probability, search.conditional) == ([1], -0.5, -0.5)

    @pytest.mark.parametrize("name", ["max_length", "max_nodes"])
    def test_senseless_limits_are_refused(self, name):
        with pytest.raises(DataError, match=name):
            find_negative_probability(hqmm_2_4(), **{name: 0})

    def test_rounding_is_not_a_witness(self):
        # In a random basis, probabilities that are exactly zero come out as ±1e-17.
        for seed in range(20):
            for model in (hqmm_2_6(), hqmm_2_4(), probability_clock()):
                search = find_negative_probability(disguised(model, seed), 100, 50)
                assert not search.found
                assert search.searched_length > 40

    def test_a_word_that_is_not_negative_in_exact_arithmetic_is_not_reported(self, monkeypatch):
        monkeypatch.setattr(cones, "explore", lambda *_: cones.Exploration((0, 1), 1, 1, False))
        search = find_negative_probability(hmm_6_6())
        assert (search.found, search.searched_length) == (False, 1)

    def test_what_cannot_be_observed_does_not_keep_the_search_open(self):
        search = find_negative_probability(with_a_hidden_rotation(hqmm_2_4()))
        assert search.closed


class TestCertify:
    @pytest.mark.parametrize("kind", ["hmm", "hqmm", "hybrid", "noom", "chain"])
    def test_models_that_cannot_go_wrong_are_valid_by_construction(self, kind):
        certificate = certify(ZOO[kind](np.random.default_rng(0), 2, 2))
        assert certificate.verdict == "valid"
        assert certificate.searched is None
        assert {"hmm": "HMM", "hqmm": "HQMM", "hybrid": "hybrid", "noom": "NOOM", "chain": "Markov"}[
            kind
        ] in certificate.reason

    def test_an_oom_without_negative_entries_is_valid(self):
        assert certify(hmm_6_6().to_oom()).reason == "no parameter is negative"
        assert certify(random_chain(np.random.default_rng(0)).to_oom()).verdict == "valid"

    @pytest.mark.parametrize("standard", [False, True])
    @pytest.mark.parametrize("form", ["real", "liouville"])
    @given(seed=seeds, n=st.integers(2, 3))
    def test_an_hqmm_is_recognised_in_both_bases(self, form, standard, seed, n):
        model = random_hqmm(np.random.default_rng(seed), n, 2, 2).to_oom(form)
        if standard:
            # The paper's similarity; a complex model becomes standard by another one.
            if form == "liouville":
                return
            model = model.standard()
        certificate = certify(model)
        assert certificate.verdict == "valid"
        assert "completely positive" in certificate.reason
        assert {"real": "Hermitian", "liouville": "Liouville"}[form] in certificate.reason

    def test_the_clock_is_recognised_as_oom_and_as_standard_oom(self):
        model = probability_clock().to_oom()
        assert "Liouville" in certify(model).reason
        assert "made the model standard" in certify(model.standard()).reason

    def test_the_clock_in_disguise_is_left_undecided_with_what_was_searched(self):
        certificate = certify(disguised(probability_clock()), max_nodes=100)
        assert certificate.verdict == "undecided"
        assert certificate.searched.searched_length > 20
        assert not certificate.searched.closed
        assert f"up to {certificate.searched.searched_length} symbols" in certificate.reason
        assert "undecidable" in certificate.reason
        assert certificate.generators is None

    def test_a_positive_map_that_is_not_completely_positive_is_not_called_an_hqmm(self):
        # Transposition keeps every density matrix positive, yet is no HQMM operator.
        flip = 0.5 * np.eye(4)[[0, 2, 1, 3]]
        certificate = certify(OOM([flip, 0.5 * np.eye(4)], [1, 0, 0, 0], [1, 0, 0, 1]))
        assert "completely positive" not in certificate.reason

    @pytest.mark.parametrize(
        ("rho", "effect"), [([1.2, 0, 0, -0.2], [1, 0, 0, 1]), ([0.5, 0, 0, 0.5], [3, 0, 0, -1])]
    )
    def test_completely_positive_operators_need_a_positive_state_and_functional(self, rho, effect):
        keep = np.array([np.diag([1.0, 0, 0, 0]), np.diag([0, 0, 0, 1.0])])  # K = |0⟩⟨0|, |1⟩⟨1|
        certificate = certify(OOM(keep, rho, effect, check_length=0))
        assert certificate.verdict == "invalid"
        assert certificate.witness == [1]

    @given(seed=seeds, n=st.integers(1, 4), s=st.integers(2, 3))
    def test_a_disguised_hmm_gets_a_cone_that_a_linear_program_confirms(self, seed, n, s):
        certificate = certify(disguised(random_hmm(np.random.default_rng(seed), n, s), seed), max_nodes=200)
        if certificate.verdict == "undecided":
            return  # allowed, but see the next test
        assert certificate.verdict == "valid"
        if certificate.generators is not None:
            assert_proven(certificate)

    def test_most_disguised_hmms_are_certified(self):
        rng = np.random.default_rng(3)
        verdicts = [certify(disguised(random_hmm(rng, 4, 2), i), max_nodes=300).verdict for i in range(10)]
        assert "invalid" not in verdicts
        assert verdicts.count("valid") >= 8

    @pytest.mark.parametrize("make", [hmm_6_6, hqmm_2_6, hqmm_2_4])
    def test_the_papers_models_are_certified_in_disguise(self, make):
        certificate = certify(disguised(make()))
        assert certificate.verdict == "valid"
        assert "cone" in certificate.reason
        assert_proven(certificate)

    @given(seed=seeds, n=st.integers(1, 3), size=st.sampled_from([0.003, 0.03, 0.3]))
    def test_no_broken_model_is_ever_certified(self, seed, n, size):
        model = random_signed(np.random.default_rng(seed), n, 2, size)
        _, shortest = most_negative(model, 6)
        certificate = certify(model, max_nodes=60)
        if shortest is not None:
            assert certificate.verdict == "invalid"
        if certificate.verdict == "invalid":
            assert plain_probability(model, certificate.witness) < 0
            assert certificate.probability == pytest.approx(
                plain_probability(model, certificate.witness), rel=1e-6
            )

    @pytest.mark.parametrize("size", [1e-1, 1e-2, 1e-3, 1e-5])
    def test_a_perturbed_clock_is_invalid(self, size):
        certificate = certify(perturbed(probability_clock().to_oom(), size), max_length=1000)
        assert certificate.verdict == "invalid"
        assert certificate.probability < 0
        assert "probability" in certificate.reason

    def test_a_broken_model_hidden_in_a_larger_one_is_found(self):
        rng = np.random.default_rng(0)
        form = late(3).linear
        operators = np.zeros((3, 5, 5))
        operators[:, :3, :3] = form.operators
        operators[:, 3:, :] = rng.normal(size=(3, 2, 5))  # never seen
        model = OOM(operators, [*form.initial, 1, 2], [*form.evaluation, 0, 0], check_length=0)
        assert certify(model).witness == [0, 0, 0, 1]

    def test_what_cannot_be_observed_does_not_stand_in_the_way_of_a_cone(self):
        certificate = certify(with_a_hidden_rotation(hqmm_2_4()))
        assert certificate.verdict == "valid"
        assert certificate.form.dimension == 3

    def test_a_cone_that_fails_the_conditions_proves_nothing(self, monkeypatch):
        monkeypatch.setattr(cones, "invariant_cone", lambda form, push, max_nodes: np.eye(form.dimension))
        assert certify(disguised(hmm_6_6()), max_nodes=20).verdict == "undecided"

    def test_a_cone_of_functionals_may_close_where_no_cone_of_states_does(self, monkeypatch):
        # Which search closes first depends on rounding, so that for states is made to find nothing.
        model = disguised(HMM([[0.1, 0.7, 0], [0.4, 0.3, 0], [0.5, 0, 1]], [[1, 0.9, 1], [0, 0.1, 0]], [1, 0, 0]))
        start, search = reduce(model.linear).initial, cones.invariant_cone

        def search_functionals(form, push, max_nodes):
            return None if np.array_equal(form.initial, start) else search(form, push, max_nodes)

        monkeypatch.setattr(cones, "invariant_cone", search_functionals)
        certificate = certify(model, max_nodes=120)
        assert certificate.verdict == "valid"
        assert "functionals" in certificate.reason
        assert_proven(certificate)

    def test_a_bad_part_that_is_never_reached_does_no_harm(self):
        # The second state would give negative probabilities, but nothing leads there.
        model = OOM([[[0.5, 0], [0, 2]], [[0.5, 0], [0, -1]]], [1, 0], check_length=0)
        assert certify(model).verdict == "valid"

    def test_the_smallest_form_of_a_mixture_is_certified_backwards_or_forwards(self):
        certificate = certify(minimize(HMM(np.eye(2), [[0.9, 0.1], [0.1, 0.9]], [0.5, 0.5])))
        assert certificate.verdict == "valid"


class TestCones:
    def test_the_residual_of_an_orthant_is_what_the_parameters_lack(self):
        form = random_hmm(np.random.default_rng(0), 3, 2).linear
        assert cones.residual(form, np.eye(3)) < 1e-15
        broken = form.operators.copy()
        broken[0, 0, 0] = -0.1
        norm = np.linalg.norm(broken[0], 2)
        assert cones.residual(LinearForm(broken, form.initial, form.evaluation), np.eye(3)) == pytest.approx(
            0.1 / norm
        )
        outside = LinearForm(form.operators, np.array([1.0, 0, -1]), form.evaluation)
        assert cones.residual(outside, np.eye(3)) == pytest.approx(np.sqrt(0.5))
        negative = LinearForm(form.operators, form.initial, np.array([1.0, 0, -1]))
        assert cones.residual(negative, np.eye(3)) == pytest.approx(np.sqrt(0.5))

    def test_only_extreme_rays_are_kept(self):
        rays = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0.2, 0.3, 0.5], [1, 0, 0]]).T
        kept = cones.extreme_rays(rays, 1e-12)
        assert kept.shape == (3, 3)
        np.testing.assert_allclose(kept.sum(axis=1), 1)

    def test_a_cone_whose_corner_is_only_reached_in_the_limit_closes_when_pushed(self):
        rng = np.random.default_rng(0)
        form = reduce(disguised(random_hmm(rng, 4, 3)).linear)
        assert cones.invariant_cone(form, 0.0, 100) is None
        cone = cones.invariant_cone(form, 0.1, 100)
        assert cones.residual(form, cone) < 1e-13

    def test_the_clock_has_no_polyhedral_cone(self):
        form = reduce(probability_clock().linear)
        assert all(cones.invariant_cone(form, push, 150) is None for push in (0.1, 0.01, 0.001, 0.0))

    def test_short_words_are_limited_in_number(self):
        assert cones.short_words(2, 2) == [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
        assert len(cones.short_words(20, 3)) == 20
        assert cones.short_words(1000, 3) == []


class TestWitnesses:
    @given(seed=seeds, kind=st.sampled_from(sorted(ZOO)), length=st.integers(1, 6))
    def test_exact_probabilities_agree_with_the_papers_formulas(self, seed, kind, length):
        model = ZOO[kind](np.random.default_rng(seed), 2, 2)
        word = tuple(np.random.default_rng(seed).integers(0, 2, length).tolist())
        before, probability = exact_probabilities(model.linear, word)
        assert float(before) == pytest.approx(plain_probability(model, word[:-1]), abs=1e-12)
        assert float(probability) == pytest.approx(plain_probability(model, word), abs=1e-12)

    def test_they_are_exact_where_floats_round(self):
        form = LinearForm(np.array([[[0.1]], [[0.9]]]), np.ones(1), np.ones(1))
        assert exact_probabilities(form, (0,) * 400)[1] == Fraction(0.1) ** 400

    def test_a_negative_probability_that_is_all_rounding_does_not_count(self):
        # 0.1 + 0.2 − 0.3 is not zero in floating point; in the exact values of these numbers it is 2.8e-17.
        form = LinearForm(
            np.array([[[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]]), np.array([0.3, 0.1, 0.2]), np.array([1, -1.0, -1])
        )
        exact = exact_probabilities(form, (0,))[1]
        assert -1e-16 < exact < 0
        assert not is_genuine(form, (0,), exact)

    def test_a_sign_that_rounding_could_change_does_not_count(self):
        # 3 × 0.1 − 0.3 is 2.8e-17 for these very numbers, but twice that in float64: it is all rounding.
        scale, subtract, flip = [[0.1, 0], [0, 0.3]], [[1, -1], [0, 0]], [[-0.5, 0], [0, 0]]
        form = LinearForm(np.array([scale, subtract, flip]), np.array([3.0, 1]), np.array([1.0, 0]))
        exact = exact_probabilities(form, (0, 1, 2))[1]
        assert -1e-16 < exact < 0
        assert not is_genuine(form, (0, 1, 2), exact)

    def test_a_long_negative_word_counts(self):
        form = LinearForm(np.array([[[1e-3]], [[-0.5]]]), np.ones(1), np.ones(1))
        word = (0,) * 300 + (1,)
        assert is_genuine(form, word, exact_probabilities(form, word)[1])
        assert not is_genuine(form, (0, 0), exact_probabilities(form, (0, 0))[1])


def test_an_hqmm_without_a_basis_for_its_dimension_is_searched():
    # Five dimensions are no square, so only a search can tell.
    model = disguised(HQMM(random_hqmm(np.random.default_rng(5), 2, 3, 1).kraus, [1, 0]))
    padded = OOM(
        np.pad(model.operators, ((0, 0), (0, 1), (0, 1))),
        np.append(model.initial, 0),
        np.append(model.evaluation, 0),
        check_length=0,
    )
    assert certify(padded, max_nodes=80).verdict in {"valid", "undecided"}
