"""Pictures in scikit-learn's Display style: ``XDisplay.from_estimator(…)``, or from a model, a fit or scores.

Every display holds its data, draws with ``plot(ax=…)`` on given axes or its own, keeps them in ``ax_`` and
``figure_``, and returns itself. None calls ``show``.
"""

from hqmm.plots.bloch import BlochDisplay, bloch_vectors
from hqmm.plots.confusion import ConfusionDisplay
from hqmm.plots.graph import GraphDisplay
from hqmm.plots.history import HistoryDisplay
from hqmm.plots.operators import ChoiSpectrumDisplay, OperatorDisplay
from hqmm.plots.prediction import PredictionDisplay
from hqmm.plots.sizes import Curve, SizeDisplay
from hqmm.plots.states import LabelDisplay, StateDisplay

__all__ = [
    "BlochDisplay",
    "ChoiSpectrumDisplay",
    "ConfusionDisplay",
    "Curve",
    "GraphDisplay",
    "HistoryDisplay",
    "LabelDisplay",
    "OperatorDisplay",
    "PredictionDisplay",
    "SizeDisplay",
    "StateDisplay",
    "bloch_vectors",
]
