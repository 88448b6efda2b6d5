"""What is drawn is what the model says; each picture was looked at too."""

import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix

from hqmm import HMM, HQMM, DataError, HMMEstimator, HQMMEstimator, MarkovChain, ModelError, description_accuracies
from hqmm.datasets import hmm_6_6, hqmm_2_6, probability_clock
from hqmm.learning import COSM, BaumWelch, fit, random_hmm, random_hqmm, random_hybrid
from hqmm.plots import (
    BlochDisplay,
    ChoiSpectrumDisplay,
    ConfusionDisplay,
    Curve,
    GraphDisplay,
    HistoryDisplay,
    LabelDisplay,
    OperatorDisplay,
    PredictionDisplay,
    SizeDisplay,
    StateDisplay,
    bloch_vectors,
)

DATA = hmm_6_6().sample(6, 40, random_state=0)
SEQUENCE = DATA.decode()[0]
SPIN = random_hqmm(2, 6, kraus_rank=2)(np.random.default_rng(0))
HYBRID = random_hybrid(3, 2, 6)(np.random.default_rng(0))
OF_A_MODEL = {
    "prediction": lambda model, **axes: PredictionDisplay.from_model(model, SEQUENCE, **axes),
    "states": lambda model, **axes: StateDisplay.from_model(model, SEQUENCE, **axes),
    "operators": OperatorDisplay.from_model,
}


@pytest.fixture(autouse=True)
def nobody_is_shown_anything(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a display called show"))
    yield
    plt.close("all")


def image_of(display):
    (image,) = display.ax_.images
    return np.asarray(image.get_array())


@pytest.mark.parametrize("kind", OF_A_MODEL)
@pytest.mark.parametrize(
    "model",
    [
        hmm_6_6(),
        SPIN,
        HYBRID,
        SPIN.to_oom(),
        SPIN.to_oom("liouville"),
        MarkovChain.from_sequences(DATA),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_class_of_models_is_drawn_on_given_axes_and_to_a_file(kind, model, tmp_path):
    figure, axes = plt.subplots()
    display = OF_A_MODEL[kind](model, ax=axes)
    assert display.ax_ is axes
    assert display.figure_ is figure
    figure.savefig(tmp_path / "picture.png", dpi=30)
    alone = OF_A_MODEL[kind](model)
    assert alone.ax_ is not axes
    alone.figure_.savefig(tmp_path / "picture.svg")


def test_predictions_are_those_before_each_symbol():
    display = PredictionDisplay.from_model(SPIN, [0, None, 3])
    np.testing.assert_allclose(image_of(display)[:, 0], SPIN.predict())
    np.testing.assert_allclose(image_of(display)[:, 2], SPIN.predict([0, None]))
    (dots,) = display.ax_.lines
    assert dots.get_xydata().tolist() == [[0, 0], [2, 3]]


def test_states_of_an_hmm_and_the_diagonal_and_purity_of_a_density_matrix():
    np.testing.assert_allclose(
        image_of(StateDisplay.from_model(hmm_6_6(), SEQUENCE)).T, hmm_6_6().filter(SEQUENCE)
    )
    display = StateDisplay.from_model(SPIN, SEQUENCE)
    states = SPIN.filter(SEQUENCE)
    np.testing.assert_allclose(image_of(display).T, [np.diag(state).real for state in states])
    np.testing.assert_allclose(display.purity, [np.trace(state @ state).real for state in states])
    above = next(axes for axes in display.figure_.axes if axes.get_ylabel() == "purity")
    np.testing.assert_allclose(above.lines[0].get_ydata(), display.purity)


def test_states_of_a_hybrid_by_label_and_its_labels_alone():
    labels, conditional = HYBRID.label_probabilities(SEQUENCE), HYBRID.conditional_states(SEQUENCE)
    display = StateDisplay.from_model(HYBRID, SEQUENCE)
    joint = labels[:, :, None] * np.einsum("tkii->tki", conditional).real
    np.testing.assert_allclose(image_of(display).T, joint.reshape(len(labels), -1), atol=1e-12)
    assert display.rows[3] == "label 1, state 1"
    alone = LabelDisplay.from_model(HYBRID, SEQUENCE)
    np.testing.assert_allclose(alone.probabilities, labels)
    assert len(alone.ax_.collections) == 3
    np.testing.assert_allclose(
        LabelDisplay.from_model(hmm_6_6(), SEQUENCE).probabilities, hmm_6_6().filter(SEQUENCE)
    )
    with pytest.raises(ModelError, match="no classical labels"):
        LabelDisplay.from_model(SPIN, SEQUENCE)


def test_long_names_are_turned_and_do_not_overlap():
    events = random_hqmm(2, ["view_product", "payment_failed", "a" * 60])(np.random.default_rng(0))
    pictures = [
        OperatorDisplay.from_model(events),
        PredictionDisplay.from_model(events, ["payment_failed", None] * 4),
        StateDisplay.from_model(events, ["payment_failed", "view_product"] * 8),
        ConfusionDisplay.from_predictions(["a rather long class", "b"], ["b", "a rather long class"]),
    ]
    for display in pictures:
        display.figure_.canvas.draw()
        boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
        assert not any(one.overlaps(other) for one, other in pairwise(boxes))
        assert min(box.y0 for box in boxes) > 0, "cut off"
    assert "…" in pictures[0].ax_.get_xticklabels()[2].get_text()
    short = OperatorDisplay.from_model(SPIN)
    assert {label.get_rotation() for label in short.ax_.get_xticklabels()} == {0}


def test_the_states_of_an_hmm_are_not_called_labels():
    for model, title in ((hmm_6_6(), "state"), (HYBRID, "label")):
        assert LabelDisplay.from_model(model, SEQUENCE).ax_.get_legend().get_title().get_text() == title


def test_nothing_cannot_be_drawn_along():
    for display in (PredictionDisplay, StateDisplay, LabelDisplay, BlochDisplay):
        with pytest.raises(DataError, match="the sequence is empty"):
            display.from_model(hqmm_2_6() if display is BlochDisplay else hmm_6_6(), [])


def test_bloch_vectors_are_the_expectations_of_the_pauli_matrices():
    paulis = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
    display = BlochDisplay.from_model(SPIN, SEQUENCE)
    states = [SPIN.initial, *SPIN.filter(SEQUENCE)]
    np.testing.assert_allclose(
        display.vectors, [[np.trace(p @ rho).real for p in paulis] for rho in states], atol=1e-12
    )
    np.testing.assert_allclose(bloch_vectors(np.array(states)), display.vectors)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["start", *(f"after {code}" for code in sorted(set(SEQUENCE)))]


def test_a_sphere_is_for_two_dimensions_and_on_axes_with_three():
    with pytest.raises(ModelError, match="only an HQMM or NOOM of two states lives in the Bloch sphere"):
        BlochDisplay.from_model(hmm_6_6(), SEQUENCE)
    with pytest.raises(ModelError, match="three-dimensional axes"):
        BlochDisplay.from_model(SPIN, SEQUENCE, ax=plt.subplots()[1])
    axes = plt.figure().add_subplot(projection="3d")
    assert BlochDisplay.from_model(SPIN, SEQUENCE, ax=axes).ax_ is axes


@pytest.mark.parametrize(
    ("size", "sequence", "labels"),
    [
        (2, [0, 1, None, 1], ["start", "after 0", "after 1", "after a gap"]),
        (20, [19, 11, 3], ["start", "after 3", "after 11", "after 19"]),
        (20, [*range(9), None], ["start", "after a symbol", "after a gap"]),
    ],
)
def test_the_sphere_tells_symbols_apart_while_there_are_markers(size, sequence, labels):
    display = BlochDisplay.from_model(random_hqmm(2, size)(np.random.default_rng(0)), sequence)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == labels
    groups = list(display._groups())
    assert len({marker for marker, _, _ in groups}) == len(groups)
    assert sorted(row for _, _, rows in groups for row in rows) == list(range(1, len(sequence) + 1))


def test_the_clock_turns_and_is_reset(tmp_path):
    sequence = [0, 0, 0, 1]
    display = BlochDisplay.from_model(probability_clock(), sequence)
    chances = [float(probability_clock().predict(sequence[:t])[1]) for t in range(5)]
    np.testing.assert_allclose(display.probabilities[:, 1], chances)
    np.testing.assert_allclose(display.vectors[[0, -1]], [[0, 0, 1], [0, 0, 1]], atol=1e-12)
    animation = BlochDisplay.animate(probability_clock(), sequence)
    animation.save(tmp_path / "clock.gif", writer="pillow", dpi=30)
    from PIL import Image

    with Image.open(tmp_path / "clock.gif") as picture:
        assert picture.n_frames == 5
    with pytest.raises(DataError, match="'tick' is not in"):
        BlochDisplay.animate(probability_clock(), sequence, symbol="tick")


def test_operators_are_squares_of_their_magnitude_in_the_colour_of_their_phase():
    model = HQMM(np.array([[[[0.6, 0], [0, -0.6]]], [[[0, 0.8j], [0.8, 0]]]]))
    display = OperatorDisplay.from_model(model)
    first, second = display.ax_.collections
    sides = [path.get_extents().width for path in (*first.get_paths(), *second.get_paths())]
    np.testing.assert_allclose(np.square(sides), 0.94**2 * np.array([0.75, 0.75, 1, 1]))
    colours = [tuple(colour) for colour in (*first.get_facecolors(), *second.get_facecolors())]
    assert colours[0] == colours[3]  # both positive
    assert len(set(colours)) == 3


def test_a_hybrid_shows_its_blocks_side_by_side():
    display = OperatorDisplay.from_model(HYBRID)
    assert display.operators.shape == (6, 1, 6, 6)
    np.testing.assert_array_equal(display.operators[2, 0, 2:4, 4:6], HYBRID.kraus[2, 0, 1, 2])
    assert len(display.ax_.lines) == 6 * 2 * 2


@pytest.mark.parametrize(
    "model", [SPIN, hmm_6_6(), HYBRID, probability_clock()], ids=lambda model: type(model).__name__
)
def test_the_choi_spectrum_counts_the_operators_needed(model):
    display = ChoiSpectrumDisplay.from_model(model)
    quantum = model.to_hqmm()
    assert display.ranks.max() == quantum.canonical().kraus_rank
    np.testing.assert_allclose(display.spectra.sum(), quantum.n_states)
    assert len(display.ax_.lines) == model.n_symbols + 1
    with pytest.raises(ModelError, match="has no Kraus operators"):
        ChoiSpectrumDisplay.from_model(hmm_6_6().to_oom())


def test_a_graph_draws_what_is_probable_enough():
    model = HMM([[0.9, 0.3, 0], [0.1, 0.6, 0.5], [0, 0.1, 0.5]], np.eye(3), alphabet="abc")
    display = GraphDisplay.from_model(model)
    np.testing.assert_allclose(display.visits, model.stationary_state())
    assert display.symbols == ["a 100%", "b 100%", "c 100%"]
    assert len(display.ax_.patches) == 3 + 7
    assert len(GraphDisplay.from_model(model, threshold=0.2).ax_.patches) == 3 + 5
    with pytest.raises(ModelError, match="a graph is for an HMM or a hybrid model"):
        GraphDisplay.from_model(SPIN)


def test_a_hybrid_whose_labels_are_the_states_of_an_hmm_has_its_graph():
    model = hmm_6_6()
    of_hmm, of_hybrid = GraphDisplay.from_model(model), GraphDisplay.from_model(model.to_hybrid())
    np.testing.assert_allclose(of_hybrid.transition, of_hmm.transition, atol=1e-9)
    np.testing.assert_allclose(of_hybrid.visits, of_hmm.visits, atol=1e-9)
    assert of_hybrid.symbols == of_hmm.symbols
    quantum = GraphDisplay.from_model(HYBRID)
    np.testing.assert_allclose(quantum.transition.sum(axis=0), 1)
    np.testing.assert_allclose(quantum.transition @ quantum.visits, quantum.visits)


def test_the_history_with_what_was_kept():
    result = fit(
        BaumWelch(), random_hmm(3, 6), DATA[:4], validation=DATA[4:], max_iter=15, n_init=2, random_state=0
    )
    display = HistoryDisplay.from_fit(result)
    pale, train, validation, kept, _ = display.ax_.lines
    np.testing.assert_array_equal(train.get_ydata(), result.history["train"])
    np.testing.assert_array_equal(validation.get_ydata(), result.history["validation"])
    assert pale.get_ydata()[0] in {one.history["train"][0] for one in result.restarts}
    assert kept.get_ydata()[0] == result.history["validation"].max()
    by_passes = HistoryDisplay.from_fit(result, x="passes", y="description accuracy")
    np.testing.assert_array_equal(by_passes.ax_.lines[1].get_xdata(), result.history["passes"])
    for wrong in ({"x": "hours"}, {"y": "beauty"}, {"y": "accuracy"}):
        with pytest.raises(DataError):
            HistoryDisplay.from_fit(result, **wrong)


def test_the_history_without_held_out_data_ends_at_the_last_iterate():
    result = fit(COSM(batch_size=3), random_hqmm(2, 6), DATA, max_iter=3, random_state=0)
    display = HistoryDisplay.from_fit(result)
    assert [line.get_label() for line in display.ax_.lines] == ["training", "kept"]
    assert display.ax_.lines[-1].get_xdata()[0] == result.best_iteration
    display.figure_.canvas.draw()
    assert all(float(tick).is_integer() for tick in display.ax_.get_xticks())


def test_estimators_are_drawn_once_fitted():
    estimator = HMMEstimator(2, max_iter=3, random_state=0)
    for display, more in (
        (HistoryDisplay, []),
        (StateDisplay, [SEQUENCE]),
        (GraphDisplay, []),
        (OperatorDisplay, []),
    ):
        with pytest.raises(NotFittedError, match="call fit first"):
            display.from_estimator(estimator, *more)
    with pytest.warns(match="has not converged"):
        estimator.fit(DATA)
    display = StateDisplay.from_estimator(estimator, SEQUENCE)
    np.testing.assert_allclose(display.values, estimator.model_.filter(SEQUENCE))
    shown = HistoryDisplay.from_estimator(estimator)
    np.testing.assert_array_equal(shown.ax_.lines[0].get_ydata(), estimator.history_["train"])
    with pytest.warns(match="has not converged"):
        quantum = HQMMEstimator(2, max_iter=1, random_state=0).fit(DATA)
    assert ChoiSpectrumDisplay.from_estimator(quantum).spectra.shape == (6, 4)
    sizes = SizeDisplay.from_estimator({"HMM": [estimator], "HQMM": [quantum]}, DATA)
    assert list(sizes.curves) == ["HMM", "HQMM"]


def test_scores_by_size_are_description_accuracies_with_their_spread():
    models = [random_hmm(n, 6)(np.random.default_rng(n)) for n in (3, 1)]
    display = SizeDisplay.from_models({"HMM": models, "hybrid": [HYBRID]}, DATA, references={"true": hmm_6_6()})
    scores = [description_accuracies(model, DATA) for model in models]
    curve = display.curves["HMM"]
    assert curve.sizes.tolist() == [1, 3]
    np.testing.assert_allclose(curve.scores, [scores[1].mean(), scores[0].mean()])
    np.testing.assert_allclose(curve.errors, [scores[1].std(), scores[0].std()])
    assert display.curves["hybrid"].sizes.tolist() == [6]
    level = next(line for line in display.ax_.lines if line.get_label() == "true")
    assert level.get_ydata()[0] == pytest.approx(description_accuracies(hmm_6_6(), DATA).mean())
    with pytest.raises(DataError, match="at least one model"):
        SizeDisplay.from_models({"none": []}, DATA)
    assert SizeDisplay({"given": Curve([1, 2], [0, 1])}).plot(ax=plt.subplots()[1]).ax_.get_xlabel() == "states"


def test_confusions_are_counted_as_scikit_learn_does():
    generator = np.random.default_rng(0)
    truth, guessed = generator.choice(["a", "b", "c"], (2, 50))
    display = ConfusionDisplay.from_predictions(truth, guessed)
    np.testing.assert_array_equal(display.counts, confusion_matrix(truth, guessed))
    right = np.mean(truth == guessed)
    assert display.ax_.get_title() == f"{right:.1%} right"
    np.testing.assert_allclose(image_of(display), confusion_matrix(truth, guessed, normalize="true"))
    ordered = ConfusionDisplay.from_predictions(truth, guessed, labels=["c", "b", "a"])
    np.testing.assert_array_equal(ordered.counts, display.counts[::-1, ::-1])
    with pytest.raises(DataError, match="labels does not have the class 'a'"):
        ConfusionDisplay.from_predictions(truth, guessed, labels=["b", "c"])
    with pytest.raises(DataError, match="one prediction for each true class"):
        ConfusionDisplay.from_predictions(truth, guessed[1:])


def test_confusions_of_a_classifier():
    from hqmm import SequenceClassifier

    words, labels = ["aabab", "aabb", "bbbab", "babb"], ["x", "x", "y", "y"]
    classifier = SequenceClassifier(HMMEstimator(1, random_state=0)).fit(words, labels)
    display = ConfusionDisplay.from_estimator(classifier, words, labels)
    np.testing.assert_array_equal(display.counts, confusion_matrix(labels, classifier.predict(words)))


def test_matplotlib_is_imported_when_something_is_drawn():
    code = "import sys, hqmm.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
