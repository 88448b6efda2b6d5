"""scikit-learn's callbacks, and life without them."""

import importlib
import sys
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from hqmm import HMMEstimator, HQMMEstimator, Polar
from hqmm.datasets import hmm_6_6
from hqmm.estimators import callbacks

DATA = hmm_6_6().sample(20, 20, random_state=0)
callback = pytest.importorskip("sklearn.callback")  # from scikit-learn 1.9 on
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Recorder:
    """Keeps what it is told; stops after so many iterations."""

    def __init__(self, stop=None):
        self.told, self.scores, self.stop = [], [], stop

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.told.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, metadata=None, fitted_estimator=None):
        self.told.append(("end", context.task_name))
        self.metadata = metadata
        self.scores.append(fitted_estimator.score(X))
        return self.stop is not None and len(self.scores) == self.stop


def test_callbacks_are_told_of_every_iteration_with_the_estimator_as_it_stands():
    recorder = Recorder()
    estimator = HMMEstimator(2, max_iter=3, random_state=0).set_callbacks(recorder)
    estimator.fit(DATA, sample_weight=np.ones(20))
    iterations = [(hook, f"iteration {number}") for number in (1, 2, 3) for hook in ("begin", "end")]
    assert recorder.told == ["setup", ("begin", "fit"), *iterations, ("end", "fit"), "teardown"]
    np.testing.assert_allclose(recorder.scores[:3], estimator.history_["train"][1:])
    assert recorder.scores[3] == estimator.score(DATA)
    np.testing.assert_array_equal(recorder.metadata["sample_weight"], np.ones(20))


def test_a_callback_may_stop_the_fit():
    estimator = HMMEstimator(2, random_state=0).set_callbacks(Recorder(stop=2)).fit(DATA)
    assert (estimator.n_iter_, estimator.result_.reason) == (2, "interrupted")


def test_callbacks_of_restarts_side_by_side_do_not_mix():
    recorder = Recorder()
    HQMMEstimator(2, n_init=4, n_jobs=4, learner=Polar(sweeps=1), max_iter=3).set_callbacks(recorder).fit(DATA)
    inside = recorder.told[2:-2]
    assert len(inside) == 4 * 3 * 2
    assert all(
        begin[0] == "begin" and end == ("end", begin[1])
        for begin, end in zip(inside[::2], inside[1::2], strict=True)
    )


class Propagated(Recorder):
    """One that searches hand on to what they fit."""

    max_propagation_depth = None

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append((type(estimator).__name__, context.task_name))


def test_searches_hand_callbacks_on():
    recorder = Propagated()
    search = GridSearchCV(HMMEstimator(max_iter=2, random_state=0), {"n_states": [1, 2]}, cv=2)
    search.set_callbacks(recorder).fit(np.array(list(DATA)))
    assert recorder.told.count(("HMMEstimator", "iteration 1")) == 2 * 2 + 1


def test_scikit_learns_monitor_reads_the_scores_on_the_way():
    monitor = callback.ScoringMonitor(scoring={"score": lambda estimator, X, y: estimator.score(X)})
    estimator = HMMEstimator(2, max_iter=3, random_state=0).set_callbacks(monitor).fit(DATA, np.zeros(20))
    whole, *scores = [row["score"] for row in monitor.get_logs().data]
    np.testing.assert_allclose(scores, estimator.history_["train"][1:])
    assert whole == scores[-1]


def test_no_callbacks_cost_nothing():
    estimator = HMMEstimator(2, max_iter=2, random_state=0)
    watch = callbacks.Watch(estimator, DATA, None, None, estimator._attributes)
    assert watch.callbacks == []
    watch.end(None)


def test_estimators_work_without_scikit_learns_callbacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)  # as before 1.9
    old = importlib.util.module_from_spec(callbacks.__spec__)
    callbacks.__spec__.loader.exec_module(old)

    class Estimator(old.CallbackSupportMixin):
        @old.with_callbacks
        def fit(self):
            return "fitted"

    assert Estimator().fit() == "fitted"
    assert old.Watch(Estimator(), DATA, None, None, dict).callbacks == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert HMMEstimator(2, max_iter=1).fit(DATA).n_iter_ == 1
