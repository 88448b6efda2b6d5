"""Estimators that run a learner: what they pass on, what they keep, and what they warn of."""

from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hqmm import (
    COSM,
    HMM,
    HQMM,
    NOOM,
    BaumWelch,
    DataError,
    HMMEstimator,
    HQMMEstimator,
    HybridHQMM,
    ModelError,
    NOOMEstimator,
    Polar,
    Sequences,
    fit,
)
from hqmm.datasets import hmm_6_6, hqmm_2_6
from hqmm.estimators.noom import _as_noom
from hqmm.estimators.reading import canonical
from hqmm.learning import Fit, fit_auto, random_hmm, random_hqmm, random_hybrid, random_noom
from hqmm.learning.driver import COLUMNS, split_validation

DATA = hqmm_2_6().sample(40, 30, random_state=0)
QUICK = {"tol": 1e-3, "random_state": 0}
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize(
    ("estimator", "learner", "start"),
    [
        (HQMMEstimator(2, kraus_rank=2, **QUICK), Polar(tol=1e-3), random_hqmm(2, 6, 2)),
        (HMMEstimator(3, **QUICK), BaumWelch(tol=1e-3), random_hmm(3, 6)),
    ],
    ids=["hqmm", "hmm"],
)
def test_an_estimator_learns_what_the_driver_does(estimator, learner, start):
    estimator.fit(DATA)
    expected = fit(learner, start, canonical(DATA), random_state=0)
    assert estimator.model_ == expected.model
    np.testing.assert_array_equal(estimator.history_["train"], expected.history["train"])
    assert (estimator.n_iter_, estimator.converged_) == (expected.n_iter, True)


def there(model):
    """Tell which operators of which symbol are not zero."""
    return model.kraus.any(axis=(2, 3)).tolist()


@quiet
@pytest.mark.parametrize("as_given", [list, tuple, np.array])
def test_symbols_have_kraus_ranks_of_their_own(as_given):
    ranks = [1, 2, 1, 2, 1, 1]
    estimator = clone(HQMMEstimator(2, kraus_rank=as_given(ranks), max_iter=2, random_state=0))
    expected = fit(Polar(), random_hqmm(2, 6, ranks), canonical(DATA), max_iter=2, random_state=0)
    assert estimator.fit(DATA).model_ == expected.model
    assert there(estimator.model_) == [[True, rank == 2] for rank in ranks]
    streamed = clone(estimator).set_params(alphabet=6).partial_fit(DATA[:10]).partial_fit(DATA[10:20])
    assert there(streamed.model_) == there(estimator.model_)


@quiet
def test_one_kraus_operator_for_each_symbol_starts_where_one_for_all_does():
    one, each = (HQMMEstimator(2, kraus_rank=w, max_iter=2, random_state=0).fit(DATA) for w in (1, [1] * 6))
    assert one.model_ == each.model_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kraus_rank": [1, 1]}, "kraus_rank must be one number, or one for each of the 6 symbols, but has 2"),
        ({"kraus_rank": [1] * 5 + [0]}, r"kraus_rank\[5\] must be a whole number from 1 up, but is 0"),
        ({"kraus_rank": [2] * 6, "n_blocks": 2}, r"kraus_rank must be a whole number from 1 up, but is \[2, 2"),
        ({"kraus_rank": np.full(6, 2), "n_states": "auto"}, 'kraus_rank must be "auto" or a whole number'),
    ],
)
def test_ranks_that_fit_no_model_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        HQMMEstimator(**settings).fit(DATA)


@quiet
def test_classes_and_sizes_are_those_asked_for():
    models = [
        HQMMEstimator(3, kraus_rank=2, max_iter=1).fit(DATA).model_,
        HQMMEstimator(2, n_blocks=3, max_iter=1).fit(DATA).model_,
        HMMEstimator(4, max_iter=1).fit(DATA).model_,
        NOOMEstimator(3, max_iter=1).fit(DATA).model_,
    ]
    assert [type(model) for model in models] == [HQMM, HybridHQMM, HMM, NOOM]
    assert (models[0].n_states, models[0].kraus_rank) == (3, 2)
    assert (models[1].n_blocks, models[1].n_states) == (3, 2)
    assert (models[2].n_states, models[3].n_states) == (4, 3)


@quiet
@pytest.mark.parametrize("learner", ["polar", "cosm", "lbfgs", "adam", "givens"])
def test_learners_go_by_name(learner):
    estimator = HQMMEstimator(2, learner=learner, max_iter=2, random_state=0).fit(DATA)
    assert estimator.n_iter_ <= 2
    assert set(estimator.history_) == set(COLUMNS)


@quiet
def test_a_learner_object_brings_its_own_settings():
    estimator = HQMMEstimator(2, learner=COSM(step=0.5, decay=0.9), max_iter=3, random_state=0).fit(DATA)
    np.testing.assert_allclose(estimator.history_["step"], [0.5, 0.45, 0.405, 0.3645])
    assert estimator.get_params()["learner"] == COSM(step=0.5, decay=0.9)


def test_a_setting_the_learner_has_not_is_refused():
    with pytest.raises(ValueError, match=r"COSM has no tol; its settings are .*step"):
        HQMMEstimator(learner="cosm", tol=1e-3).fit(DATA)
    with pytest.raises(ValueError, match=r"learner must be 'polar' or .* not 'baum-welch'"):
        HQMMEstimator(learner="baum-welch").fit(DATA)


# --- convergence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "reason", "advice"),
    [
        ({"max_iter": 2}, "max_iter", "raise max_iter"),
        ({"time_limit": 0.0}, "time", "raise time_limit"),
        ({"validation": 0.5, "patience": 1, "tol": 0.0, "max_iter": 500}, "no_progress", "raise patience"),
    ],
)
def test_a_fit_that_has_not_converged_says_so_and_advises(settings, reason, advice):
    with pytest.warns(ConvergenceWarning, match=f"has not converged after .* iterations: .*{advice}"):
        estimator = HMMEstimator(3, random_state=0).set_params(**settings).fit(DATA)
    assert not estimator.converged_
    assert estimator.result_.reason == reason


def test_the_warning_points_to_the_line_that_fits():
    with pytest.warns(ConvergenceWarning) as caught:
        HMMEstimator(2, max_iter=1, random_state=0).fit(DATA)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("share", [0, 1.0, 5, -0.5])
def test_a_share_to_set_aside_is_between_0_and_1(share):
    with pytest.raises(ValueError, match="validation must be a share between 0 and 1, or data"):
        HMMEstimator(2, validation=share).fit(DATA)


def test_a_fit_that_has_converged_says_nothing():
    assert HMMEstimator(3, **QUICK).fit(DATA).converged_  # warnings are errors here


# --- validation, restarts, starts -----------------------------------------------------------------------------


@quiet
def test_validation_keeps_the_iterate_that_scores_best_on_held_out_data():
    held_out = DATA[:10]
    for validation in (0.25, held_out, list(held_out)):
        estimator = HMMEstimator(4, validation=validation, max_iter=80, tol=0.0, random_state=0).fit(DATA[10:])
        column = estimator.history_["validation"]
        assert estimator.result_.best_iteration == np.argmax(column)
    assert estimator.score(held_out) == pytest.approx(column.max())
    with pytest.raises(DataError, match=r"setting 0.01 of 40 sequences aside leaves one part empty"):
        HMMEstimator(validation=0.01).fit(DATA)


@quiet
def test_the_best_of_several_restarts_is_kept_whatever_the_number_of_jobs():
    estimator = HQMMEstimator(2, n_init=3, max_iter=4, learner=Polar(sweeps=1), random_state=0).fit(DATA)
    scores = [one.score for one in estimator.result_.restarts]
    assert len(scores) == 3
    assert estimator.result_.score == max(scores) > min(scores)
    assert estimator.set_params(n_jobs=2).fit(DATA).result_.score == max(scores)


@quiet
def test_seeds_reproduce_and_differ():
    one, same, other = (HQMMEstimator(2, max_iter=3, random_state=seed).fit(DATA).model_ for seed in (1, 1, 2))
    assert one == same != other
    generators = [np.random.default_rng(5) for _ in range(2)]
    models = [HQMMEstimator(2, max_iter=3, random_state=generator).fit(DATA).model_ for generator in generators]
    assert models[0] == models[1]


@quiet
def test_a_start_is_improved():
    start = HQMMEstimator(2, max_iter=2, learner=Polar(sweeps=0), random_state=0).fit(DATA)
    better = HQMMEstimator(2, start=start.model_, max_iter=3, learner=Polar(sweeps=0)).fit(DATA)
    assert better.history_["train"][0] == pytest.approx(start.score(DATA))
    assert better.score(DATA) > start.score(DATA)
    with pytest.raises(ModelError, match="HMMEstimator starts from a model of class HMM, not from HQMM"):
        HMMEstimator(start=start.model_).fit(DATA)


@quiet
@pytest.mark.parametrize("estimator", [HQMMEstimator(2), HQMMEstimator(2, n_blocks=2), HMMEstimator(2)])
def test_an_initial_state_is_learned_or_kept_as_told(estimator):
    estimator.set_params(max_iter=2, random_state=0)
    fitted = {how: estimator.set_params(initial_state=how).fit(DATA).model_ for how in ("auto", "learn", "mixed")}
    assert fitted["auto"] == fitted["learn"]
    mixed = fitted["mixed"].initial
    given = estimator.set_params(initial_state=fitted["auto"].initial).fit(DATA).model_
    np.testing.assert_allclose(given.initial, fitted["auto"].initial, atol=1e-14)
    if mixed.ndim == 1:
        np.testing.assert_array_equal(mixed, [0.5, 0.5])
    else:
        blocks = mixed.reshape(-1, 2, 2)
        np.testing.assert_allclose(blocks, np.broadcast_to(np.eye(2) / (2 * len(blocks)), blocks.shape))
    learns = estimator.set_params(initial_state="auto", burn_in=3).fit(DATA).model_
    stays = estimator.set_params(initial_state="learn").fit(DATA).model_
    if isinstance(learns, HMM):
        return  # EM scores whole sequences
    assert not np.allclose(learns.initial, stays.initial)


def test_an_initial_state_that_means_nothing_is_refused():
    with pytest.raises(ValueError, match="initial_state must be 'auto', 'learn', 'mixed' or the state itself"):
        HQMMEstimator(initial_state="zero").fit(DATA)
    with pytest.raises(ModelError, match="no state of a NOOM"):
        NOOMEstimator(initial_state="mixed").fit(DATA)


# --- sizes that are chosen -------------------------------------------------------------------------------------


@pytest.mark.parametrize("validation", [None, 0.25])
def test_sizes_that_are_auto_are_chosen_by_the_automatic_mode(validation):
    settings = {"n_states": 2, "n_blocks": "auto", "kraus_rank": 1}
    estimator = HQMMEstimator(**settings, time_limit=0.0, validation=validation, burn_in=1, random_state=3)
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):  # one model is always tried, here no other
        estimator.fit(DATA)
    generator = np.random.default_rng(3)
    train, held_out = (DATA, None) if validation is None else split_validation(DATA, validation, generator)
    expected = fit_auto(
        canonical(train), **settings, validation=held_out, time_limit=0.0, burn_in=1, random_state=generator
    )
    assert estimator.model_ == expected.model
    assert estimator.result_.reason == "time"
    assert not estimator.converged_


def test_the_automatic_mode_keeps_within_the_largest_dimension():
    settings = {"n_states": 1, "n_blocks": "auto", "kraus_rank": 1, "max_dimension": 4}
    estimator = HQMMEstimator(**settings, random_state=3).fit(DATA)
    tried = [one.model.linear.dimension for one in estimator.result_.restarts]
    assert max(tried) == 4
    assert estimator.model_ == fit_auto(canonical(DATA), **settings, random_state=3).model
    with pytest.raises(DataError, match="max_dimension must be a whole number from 1 up, but is 0"):
        estimator.set_params(max_dimension=0).fit(DATA)


@quiet
def test_sizes_that_are_named_need_no_largest_dimension():
    one, other = (HQMMEstimator(2, max_dimension=m, max_iter=1, random_state=0).fit(DATA) for m in (1, 256))
    assert one.model_ == other.model_


def test_the_largest_dimension_is_that_of_fit_auto_unless_told():
    assert HQMMEstimator().max_dimension == signature(fit_auto).parameters["max_dimension"].default


def test_an_automatic_search_that_gains_no_more_has_converged(monkeypatch):
    hybrid = random_hybrid(1, 2, 6)(np.random.default_rng(0))
    history = {name: np.zeros(2) for name in COLUMNS}
    found = Fit(hybrid, "no_progress", history, 1, 0.0, 0)
    monkeypatch.setattr("hqmm.learning.auto.fit_auto", lambda data, **settings: found)
    estimator = HQMMEstimator("auto").fit(DATA)  # without a warning
    assert estimator.converged_
    assert estimator.model_ == hybrid.to_hqmm()  # one label is none


@pytest.mark.parametrize(
    "settings", [{"learner": "cosm"}, {"n_init": 2}, {"max_iter": 3}, {"initial_state": "mixed"}, {"tol": 1.0}]
)
def test_settings_of_learners_have_no_meaning_where_sizes_are_auto(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} has no meaning where sizes are 'auto'"):
        HQMMEstimator("auto", **settings).fit(DATA)
    with pytest.raises(ValueError, match="chosen by fit: call it before partial_fit"):
        HQMMEstimator("auto").partial_fit(DATA)


# --- NOOMs ----------------------------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize("learner", ["polar", "cosm", "lbfgs", "adam", "givens"])
def test_a_noom_is_learned_with_real_operators_and_a_pure_state(learner):
    data = random_noom(2, 4)(np.random.default_rng(7)).sample(60, 30, random_state=0)
    estimator = NOOMEstimator(2, learner=learner, max_iter=10, random_state=0).fit(data)
    assert isinstance(estimator.model_, NOOM)
    score = estimator.score(data)
    assert score > estimator.history_["train"][0]
    if learner in ("lbfgs", "givens"):  # the others' last row is an average over batches
        assert score == pytest.approx(estimator.result_.score, abs=1e-9)


def test_what_a_learner_makes_that_is_no_noom_is_refused():
    for wrong in (random_hqmm(2, 3), random_hqmm(2, 3, real=True)):
        with pytest.raises(ModelError, match=r"the learner has left the class of NOOMs, with HQMM"):
            _as_noom(wrong(np.random.default_rng(0)))


# --- weights --------------------------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize(
    "estimator",
    [
        HQMMEstimator(2, max_iter=20, random_state=0),
        HQMMEstimator(2, learner="cosm", max_iter=3, random_state=0),
        HMMEstimator(2, max_iter=20, random_state=0),
    ],
)
def test_a_weight_is_as_good_as_copies_and_order_means_nothing(estimator):
    """What scikit-learn's check_sample_weight_equivalence asks, with rows that are sequences of symbols."""
    rng = np.random.default_rng(42)
    X, counts = rng.integers(0, 3, (15, 6)), rng.integers(0, 5, 15)
    assert (counts == 0).any()
    assert (counts > 1).any()
    repeated = estimator.fit(X.repeat(counts, axis=0)).model_
    order = rng.permutation(15)
    assert estimator.fit(X[order], sample_weight=counts[order]).model_ == repeated
    assert estimator.fit(Sequences(X, weights=counts)).model_ == repeated
    assert estimator.fit(X).model_ != repeated


def test_weights_that_mean_nothing_are_refused():
    for weights, message in (
        (np.zeros(40), "Sample weights must contain at least one non-zero number"),
        (np.ones(39), r"sample_weight must have one number per sequence: sample_weight.shape == \(40,\)"),
        (-np.ones(40), "the weight -1.0 is not a non-negative number"),
    ):
        with pytest.raises(DataError, match=message):
            HMMEstimator().fit(DATA, sample_weight=weights)


@quiet
def test_a_checkpoint_continues_a_fit(tmp_path):
    path = tmp_path / "fit.checkpoint"
    settings = {"learner": Polar(sweeps=3, max_iter=8), "random_state": 0}
    whole = HQMMEstimator(2, **settings).fit(DATA)
    calls = []

    def interrupt(row, model):
        calls.append(row)
        return len(calls) == 4

    fit(
        settings["learner"],
        random_hqmm(2, 6),
        canonical(DATA),
        checkpoint=path,
        callbacks=[interrupt],
        random_state=0,
    )
    again = HQMMEstimator(2, checkpoint=path, **settings).fit(DATA)
    assert again.n_iter_ == 8
    assert again.model_ == whole.model_


def test_with_one_kraus_operator_it_starts_near_what_counting_leads_to():
    data = hmm_6_6().sample(60, 300, random_state=0)
    one, two = (HQMMEstimator(4, kraus_rank=w, max_iter=0, random_state=0) for w in (1, 2))
    with pytest.warns(ConvergenceWarning):
        starts = [one.fit(data).score(data), two.fit(data).score(data)]
    assert starts[0] > starts[1] + 0.05  # a random one knows nothing
    given = random_hqmm(4, 6)(np.random.default_rng(0))
    with pytest.warns(ConvergenceWarning):
        kept = HQMMEstimator(4, start=given, max_iter=0).fit(data).model_
    np.testing.assert_allclose(kept.kraus, given.kraus, atol=1e-12)
    short = HQMMEstimator(3, random_state=0).fit([[0, 1], [1, 1], [0]])  # which have no words to count
    assert np.isfinite(short.score([[0, 1]]))
