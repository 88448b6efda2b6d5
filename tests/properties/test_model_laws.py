"""Laws that hold for every model."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.zoo import ZOO, plain_probability, words

from hqmm import HMM, OOM, Alphabet, DataError, ModelError, Sequences, load, save

sizes = st.tuples(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 3))


def make(kind, size):
    seed, n, s = size
    return ZOO[kind](np.random.default_rng(seed), n, s)


every_model = pytest.mark.parametrize("kind", ZOO)


@every_model
@given(size=sizes)
def test_probabilities_are_those_of_the_papers_equations(kind, size):
    model = make(kind, size)
    data = words(model.n_symbols, 4)
    expected = [plain_probability(model, word) for word in data]
    np.testing.assert_allclose(model.probability(data), expected, rtol=1e-9, atol=1e-14)


@every_model
@given(size=sizes)
def test_probabilities_of_one_length_sum_to_one(kind, size):
    model = make(kind, size)
    for length in (1, 3):
        assert model.probability(words(model.n_symbols, length, length)).sum() == pytest.approx(1, abs=1e-9)


@every_model
@given(size=sizes, prefix=st.lists(st.integers(0, 2), max_size=4))
def test_the_prediction_is_a_ratio_of_probabilities(kind, size, prefix):
    model = make(kind, size)
    prefix = [y % model.n_symbols for y in prefix]
    before = plain_probability(model, prefix)
    if before < 1e-9:
        return
    ratio = [plain_probability(model, [*prefix, y]) / before for y in range(model.n_symbols)]
    np.testing.assert_allclose(model.predict(prefix), ratio, atol=1e-8)
    np.testing.assert_allclose(model.predict(prefix, along=True)[-1], ratio, atol=1e-8)
    assert len(model.predict(prefix, along=True)) == len(prefix) + 1
    assert len(model.filter(prefix)) == len(prefix)


@every_model
@given(size=sizes)
def test_a_forecast_is_the_marginal_over_what_comes_between(kind, size):
    model = make(kind, size)
    s = model.n_symbols
    start = int(np.argmax(model.predict()))
    forecast = model.forecast([start], horizon=3)
    joint = np.array([plain_probability(model, [start, *w]) for w in words(s, 3, 3)]).reshape(s, s, s)
    joint /= joint.sum()
    expected = [joint.sum(axis=(1, 2)), joint.sum(axis=(0, 2)), joint.sum(axis=(0, 1))]
    np.testing.assert_allclose(forecast, expected, atol=1e-9)


@every_model
@given(size=sizes)
def test_a_missing_symbol_is_summed_over(kind, size):
    model = make(kind, size)
    s = model.n_symbols
    whole = sum(plain_probability(model, [a, b, 0]) for a in range(s) for b in range(s))
    np.testing.assert_allclose(model.probability([[None, None, 0]])[0], whole, atol=1e-12)


@every_model
@given(size=sizes, burn_in=st.integers(0, 4))
def test_burn_in_conditions_on_the_first_symbols(kind, size, burn_in):
    model = make(kind, size)
    word = list(model.sample(1, 4, random_state=0)[0])
    expected = np.log(plain_probability(model, word)) - np.log(plain_probability(model, word[:burn_in]))
    np.testing.assert_allclose(model.log_likelihood([word], burn_in)[0], expected, rtol=1e-8, atol=1e-8)


@every_model
@given(size=sizes)
def test_a_model_survives_its_file_and_pickle(kind, size, tmp_path_factory):
    model = make(kind, size)
    path = save(model, tmp_path_factory.mktemp("models") / "a.hqmm")
    assert load(path) == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert hash(load(path)) == hash(model)


@every_model
@given(size=sizes)
def test_samples_reproduce_and_are_possible(kind, size):
    model = make(kind, size)
    sample = model.sample(5, 6, random_state=size[0])
    assert sample == model.sample(5, 6, random_state=np.random.default_rng(size[0]))
    assert np.all(model.log_likelihood(sample) > -np.inf)
    assert list(sample.lengths) == [6] * 5


@every_model
def test_samples_follow_the_distribution_also_after_a_prefix(kind):
    model = make(kind, (3, 2, 2))
    prefix = [int(np.argmax(model.predict()))]
    sample = model.sample(20_000, 2, prefix=prefix, random_state=1)
    pairs = sample.codes.reshape(-1, 2).astype(int) @ [2, 1]
    observed = np.bincount(pairs, minlength=4) / 20_000
    expected = np.array([plain_probability(model, [*prefix, *w]) for w in words(2, 2, 2)])
    np.testing.assert_allclose(observed, expected / expected.sum(), atol=0.015)


@every_model
def test_the_stationary_state_is_the_average_of_the_states(kind):
    model = make(kind, (5, 3, 2))
    form = model.linear
    transfer = form.operators.sum(axis=0)
    state, total = form.initial, np.zeros(form.dimension)
    for _ in range(4000):
        state = transfer @ state
        total += state / 4000
    np.testing.assert_allclose(model.stationary_state(), model._native(total[None])[0], atol=2e-3)


@every_model
def test_a_long_sequence_does_not_underflow(kind):
    model = make(kind, (7, 2, 3))
    data = Sequences(np.tile(model.sample(1, 500, random_state=0)[0], 20)[None], alphabet=3)
    assert np.isfinite(model.log_likelihood(data))[0]


@every_model
def test_models_cannot_be_changed(kind):
    model = make(kind, (1, 2, 2))
    name = model._parameters[0]
    with pytest.raises(AttributeError, match=rf"replace\({name}=…\)"):
        setattr(model, name, 0)
    with pytest.raises(AttributeError, match=rf"replace\({name}=…\)"):
        delattr(model, name)
    assert name in model.parameters
    with pytest.raises(ValueError, match="read-only"):
        model.parameters[name][(0,) * model.parameters[name].ndim] = 0


@every_model
def test_equality_is_by_class_parameters_and_alphabet(kind):
    model = make(kind, (1, 2, 2))
    assert model == model.replace()
    assert model != model.replace(alphabet=Alphabet("ab"))
    assert model != make(kind, (2, 2, 2))
    assert model != "model"


def test_equal_models_have_one_hash():
    flip = HMM([[0, 1], [1, 0]], np.eye(2))
    quantum = flip.to_hqmm()
    general = make("oom", (1, 2, 2))
    for model, same in (
        (flip, HMM([[-0.0, 1], [1, -0.0]], np.eye(2))),
        (quantum, quantum.replace(kraus=quantum.kraus.conj())),  # every imaginary part is −0
        (general, general.replace(operators=general.operators.astype(complex))),
    ):
        assert same == model
        assert hash(same) == hash(model)
    assert hash(flip) != hash(flip.replace(initial=[1, 0])) != hash(flip.to_oom())


@every_model
def test_raw_data_is_read_with_the_models_alphabet(kind):
    model = make(kind, (1, 2, 2)).replace(alphabet=Alphabet("ba"))
    np.testing.assert_array_equal(
        model.log_likelihood(["ab", "b"]),
        model.log_likelihood(Sequences(["ab", "b"])),  # where a learned alphabet has a before b
    )
    assert model.sample(2, 3, random_state=0).alphabet == Alphabet("ba")


@every_model
def test_a_model_with_an_end_symbol_appends_it_and_stops_sampling_at_it(kind):
    model = make(kind, (2, 2, 2)).replace(alphabet=Alphabet("a", end=True))
    np.testing.assert_allclose(model.probability(["aa"])[0], plain_probability(model, [0, 0, 1]))
    sample = model.sample(50, random_state=0)
    ends = sample.codes[sample.offsets[1:] - 1]
    assert np.all(ends == 1)
    assert np.count_nonzero(sample.codes == 1) == 50


@every_model
def test_prefixes_of_strings_are_told_from_whole_strings(kind):
    """Whatever form the data has, a sequence is open only under an alphabet that could have closed it."""
    model = make(kind, (2, 2, 2)).replace(alphabet=Alphabet("a", end=True))
    whole, prefix = plain_probability(model, [0, 0, 1]), plain_probability(model, [0, 0])
    for data in (["aa"], [["a", "a", "<end>"]], Sequences(["aa"]), Sequences(["aa"], end=True)):
        np.testing.assert_allclose(model.probability(data)[0], whole)
    np.testing.assert_allclose(model.probability(Sequences(["aa"], alphabet=model.alphabet))[0], prefix)
    empty = Sequences([[]], alphabet=model.alphabet, allow_empty=True)
    np.testing.assert_allclose(model.probability(empty)[0], 1)


@every_model
def test_nothing_is_sampled_after_the_end(kind):
    model = make(kind, (2, 2, 2)).replace(alphabet=Alphabet("a", end=True))
    assert model.sample(3, prefix="a", random_state=0).n_symbols >= 3
    for prefix in (["a", "<end>"], Sequences(["a"], end=True)):
        with pytest.raises(DataError, match="nothing follows it") as error:
            model.sample(3, prefix=prefix)
        assert (error.value.sequence, error.value.position) == (0, 1)


def test_a_sample_that_never_ends_is_an_error(monkeypatch):
    monkeypatch.setattr("hqmm.models.base.LONGEST_SAMPLE", 10)
    model = OOM([[[1.0]], [[0.0]]], [1.0], alphabet=Alphabet("a", end=True))
    with pytest.raises(ModelError, match="has not ended after 10 symbols; pass length="):
        model.sample()
    assert model.sample(2, 12, random_state=0).lengths.tolist() == [12, 12]


ONE_SEQUENCE = {
    "filter": lambda model, sequence: model.filter(sequence),
    "predict": lambda model, sequence: model.predict(sequence),
    "predict along": lambda model, sequence: model.predict(sequence, along=True),
    "forecast": lambda model, sequence: model.forecast(sequence, 3),
    "sample": lambda model, sequence: model.sample(50, 3, prefix=sequence, random_state=0).codes,
    "smooth": lambda model, sequence: _numbers(model.smooth(sequence)),
    "decode": lambda model, sequence: model.decode(sequence),
    "label_probabilities": lambda model, sequence: model.label_probabilities(sequence),
    "conditional_states": lambda model, sequence: model.conditional_states(sequence),
}


def _numbers(smoothed):
    return smoothed if isinstance(smoothed, np.ndarray) else np.stack([smoothed.states, smoothed.effects])


TAKERS = [(kind, name) for kind in ZOO for name in ONE_SEQUENCE if hasattr(make(kind, (4, 2, 2)), name.split()[0])]


@pytest.mark.parametrize(("kind", "method"), TAKERS)
def test_one_row_of_sequences_is_one_sequence_wherever_a_model_takes_one(kind, method):
    """Its codes are not the model's (a is 0 there, and 1 here): only its symbols count."""
    model = make(kind, (4, 2, 2)).replace(alphabet=Alphabet("ba"))
    call = ONE_SEQUENCE[method]
    data = Sequences(["b", "abaaa", "ab"])
    assert data.alphabet != model.alphabet
    given = call(model, data[1:2])
    np.testing.assert_array_equal(given, call(model, "abaaa"))
    assert not np.array_equal(given, call(model, "babbb"))
    for rows in (data, data[:0]):
        with pytest.raises(DataError, match=rf"expected one sequence, not Sequences with {len(rows)}"):
            call(model, rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.log_likelihood([[0]], burn_in=1.5), "burn_in must be a whole number, not 1.5"),
        (lambda m: m.log_likelihood([[0]], burn_in=-1), "burn_in must not be negative, but is -1"),
        (lambda m: m.forecast([0], "3"), "horizon must be a whole number, not '3'"),
        (lambda m: m.forecast([0], 0), "horizon must be at least 1, but is 0"),
        (lambda m: m.sample(True, 3), "n_sequences must be a whole number, not True"),
        (lambda m: m.sample(0, 3), "n_sequences must be at least 1, but is 0"),
        (lambda m: m.sample(3, 0), "length must be at least 1, but is 0"),
        (lambda m: m.sample(3), "no end symbol; say how long"),
    ],
)
@every_model
def test_wrong_arguments_are_named(kind, call, message):
    with pytest.raises(DataError, match=message):
        call(make(kind, (1, 2, 2)))
