import numpy as np
import pytest
from scipy.optimize import minimize

from hqmm import HMM, DataError, HQMMEstimator, HybridHQMM, MarkovChain, Sequences
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.learning import auto, fit_auto
from hqmm.learning.auto import mixture_weights

QUICK = {"max_dimension": 8, "average": 2, "random_state": 0, "threads": 1}


@pytest.fixture(scope="module")
def data():
    return hmm_6_6().sample(120, 40, random_state=0)


@pytest.fixture(scope="module")
def result(data):
    return fit_auto(data, **QUICK)


def test_it_finds_a_model_better_than_counting(data, result):
    test = hmm_6_6().sample(100, 40, random_state=1)
    shares = np.bincount(data.codes, minlength=6) / data.n_symbols
    assert isinstance(result.model, HybridHQMM)
    assert result.model.log_likelihood(test).sum() > test.n_symbols * (shares @ np.log(shares)) + 40


def test_history_has_a_row_for_each_model_tried_and_one_for_the_result(result):
    history = result.history
    assert len(history["iteration"]) == len(result.restarts) + 1
    assert np.all(np.diff(history["passes"]) > 0)
    assert np.all(np.diff(history["seconds"]) >= 0)
    # a mixture is taken only where it is better on the held-out data than the best of its models
    assert history["validation"][-1] >= history["validation"][:-1].max() - 1e-12
    assert result.score == history["validation"][-1]


def test_the_same_seed_gives_the_same_model(data, result):
    again = fit_auto(data, **QUICK)
    np.testing.assert_array_equal(again.model.kraus, result.model.kraus)


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"n_blocks": 1}, (1, None, None)),
        ({"n_blocks": 2, "n_states": 2}, (2, 2, None)),
        ({"n_states": 2, "kraus_rank": 1, "average": 1}, (None, 2, 1)),
        ({"n_blocks": 3, "n_states": 1, "kraus_rank": 2}, (3, 1, 2)),
    ],
)
def test_sizes_that_are_given_are_kept(data, given, sizes):
    model = fit_auto(data[:25], **{**QUICK, **given}).model
    for wanted, found in zip(sizes, (model.n_blocks, model.n_states, model.kraus_rank), strict=True):
        assert wanted in (None, found)


def first_tried(process, count, **given):
    """What came out of the first few models, and their sizes q and w."""
    rows = []
    result = fit_auto(
        process.sample(60, 30, random_state=0),
        callbacks=[lambda row, model: rows.append(row) or len(rows) == count],
        **{**QUICK, **given},
    )
    return result.model, [(one.model.n_states, one.model.kraus_rank) for one in result.restarts]


def test_kraus_operators_are_added_where_a_label_needs_them():
    two_moods = HMM([[0.9, 0.1], [0.1, 0.9]], [[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]])
    model, tried = first_tried(two_moods, 3, n_blocks=1, n_states=2)
    assert tried == [(2, 1), (2, 2), (2, 4)]
    assert model.kraus_rank > 1


def test_dimensions_are_added_where_a_label_needs_them():
    turn = 0.9 * np.roll(np.eye(4), 1, axis=0) + 0.025
    ring = HMM(turn, [[0.9, 0.1, 0.1, 0.1], [0.1, 0.9, 0.9, 0.1], [0, 0, 0, 0.8]])
    model, tried = first_tried(ring, 2, n_blocks=1, kraus_rank=1, max_dimension=9)
    assert tried == [(2, 1), (3, 1)]
    assert model.n_states == 3


def test_one_dimension_needs_one_kraus_operator():
    assert [[vars(size) for size in ladder.sizes] for ladder in auto._ladders(3, "auto", "auto", 8)] == [
        [{"n_blocks": 3, "n_states": 1, "kraus_rank": 1}]
    ]


def test_no_model_is_begun_after_the_time_limit_or_when_a_callback_says_so(data):
    assert len(fit_auto(data, time_limit=0.0, **QUICK).restarts) == 1
    rows = []
    stopped = fit_auto(data, callbacks=[lambda row, model: rows.append(row) or len(rows) == 2], **QUICK)
    assert len(stopped.restarts) == 2
    assert stopped.reason == "interrupted"


def test_data_that_say_little_give_a_sensible_model():
    same = fit_auto([[0, 1, 1]] * 30, **QUICK).model
    assert same.probability([[0, 1, 1]])[0] > 0.8
    one = fit_auto(Sequences([[0] * 5] * 30), **QUICK).model
    assert one.probability([[0, 0]])[0] == pytest.approx(1.0)


def test_one_long_sequence_is_cut_to_hold_some_of_it_out():
    sequence = hqmm_2_6().sample(1, 1500, random_state=0)
    result = fit_auto(sequence, burn_in=2, **QUICK)
    assert result.score > -np.log(6) + 0.02


def test_sizes_that_make_no_sense_are_refused(data):
    for wrong in (0, -1, "many", 1.5):
        with pytest.raises(DataError, match="n_blocks must be"):
            fit_auto(data, n_blocks=wrong)
    for name, wrong in {
        "max_dimension": 0,
        "average": 0,
        "prior": -1,
        "time_limit": "soon",
        "burn_in": -1,
    }.items():
        with pytest.raises(DataError, match=name):
            fit_auto(data, **{name: wrong})


def test_mixture_weights_maximise_the_likelihood():
    rng = np.random.default_rng(0)
    logs, counts = np.log(rng.dirichlet(np.ones(50), size=3)), rng.integers(0, 4, 50).astype(float)
    found = mixture_weights(logs, counts, iterations=2000)

    def loss(free):
        weights = np.exp(np.append(free, 0.0))
        return -counts @ np.log(weights / weights.sum() @ np.exp(logs))

    best = minimize(loss, np.zeros(2), tol=1e-10)
    np.testing.assert_allclose(-counts @ np.log(found @ np.exp(logs)), best.fun, rtol=1e-6)
    impossible = np.array([[-np.inf, -1.0], [-np.inf, -2.0]])
    assert mixture_weights(impossible, np.ones(2), 1000)[0] > 0.99


def test_no_model_is_larger_than_asked_for(data):
    tried = fit_auto(data, max_dimension=4, average=1, random_state=0, time_limit=2.0).restarts
    assert max(one.model.n_blocks * one.model.n_states**2 for one in tried) == 4
    given = fit_auto(data, n_states=3, kraus_rank=1, max_dimension=4, average=1, random_state=0, time_limit=1.0)
    assert given.model.n_states == 3  # what is given counts for more


@pytest.mark.parametrize(("pays", "largest"), [(True, 8), (False, 4)])
def test_beyond_the_cheap_dimensions_it_grows_only_where_that_gains_more_than_chance(monkeypatch, pays, largest):
    monkeypatch.setattr(auto, "FIRST_DIMENSION", 2)
    monkeypatch.setattr(auto, "EASY_DIMENSION", 4)
    noise = np.random.default_rng(0).integers(0, 6, (60, 40))
    words = ["abc", "abca", "bcd", "dda", "ab", "cba"]  # a letter depends on where in which word it stands
    text = ["".join(np.random.default_rng(seed).choice(words, 12)) for seed in range(100)]
    tried = fit_auto(text if pays else noise, n_states=1, max_dimension=8, average=1, random_state=0).restarts
    assert max(one.model.n_blocks for one in tried) == largest


def test_many_symbols_do_not_make_a_large_markov_chain(monkeypatch):
    def refuse(self):
        raise AssertionError("the chain has more contexts than any model may have labels")

    monkeypatch.setattr(MarkovChain, "to_hybrid", refuse)
    data = np.random.default_rng(0).integers(0, 70, (40, 10))
    fit_auto(data, time_limit=0.1, random_state=0)


@pytest.mark.filterwarnings("ignore:HQMMEstimator has not converged")  # the time ran out, as told
def test_repeated_strings_are_held_out_one_by_one():
    estimator = HQMMEstimator("auto", n_blocks="auto", kraus_rank="auto", end=True, random_state=0, time_limit=1)
    estimator.fit(["abc", "abd", "acd"] * 100)
    truth = -np.log(3) / 4  # three strings of four symbols, the end included
    assert estimator.score(["abc", "abd", "acd"]) > truth - 0.02
