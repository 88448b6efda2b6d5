import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from hqmm import HMM, FileFormatError, ModelError, save
from hqmm.datasets import hqmm_2_6
from hqmm.models.classes import Classes

COINS = {"fair": HMM([[1.0]], [[0.5], [0.5]]), 7: HMM([[1.0]], [[0.9], [0.1]])}


@pytest.fixture
def path(tmp_path):
    return Classes(COINS, [3, 1], burn_in=2).save(tmp_path / "coins.hqmm")


def rewrite(path, drop=(), add=None, **changes):
    with safe_open(path, framework="numpy") as file:
        header = {**json.loads(file.metadata()["hqmm"]), **changes}
        tensors = {name: file.get_tensor(name) for name in file.keys() if name not in drop}  # noqa: SIM118
    path.write_bytes(to_bytes({**tensors, **(add or {})}, metadata={"hqmm": json.dumps(header)}))


def test_everything_comes_back(path):
    found = Classes.load(path)
    assert list(found.models.items()) == list(COINS.items())
    np.testing.assert_allclose(found.prior, [0.75, 0.25])
    assert found.burn_in == 2


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"drop": ["prior"]}, "damaged: .*prior"),
        ({"drop": ["1.emission"]}, "HMM needs 'emission'"),
        ({"add": {"2.emission": np.eye(2)}}, "its parts do not fit together"),
        ({"add": {"prior": np.array([1.0, np.nan])}}, "prior must have one probability for each of 2 classes"),
        ({"labels": ["fair"]}, "its parts do not fit together"),
        ({"labels": ["fair", "fair"]}, "its parts do not fit together"),
        ({"labels": ["fair", 7, 8]}, "is damaged"),
        ({"labels": ["fair", True]}, "True is not a label"),
        ({"models": 3}, "is damaged"),
        ({"burn_in": -1}, "its parts do not fit together"),
        ({"burn_in": "two"}, "its parts do not fit together"),
    ],
)
def test_a_damaged_file_gives_a_clear_error(path, damage, message):
    rewrite(path, **damage)
    with pytest.raises(FileFormatError, match=message):
        Classes.load(path)


def test_a_file_of_one_model_holds_no_classes(path):
    with pytest.raises(FileFormatError, match="holds no classes but a 'HQMM'"):
        Classes.load(save(hqmm_2_6(), path))


def test_models_and_prior_must_fit():
    with pytest.raises(ModelError, match="models over one alphabet, not over 2"):
        Classes({"coin": COINS["fair"], "spin": hqmm_2_6()}, [1, 1])
    for prior in ([1], [1, -1], [0, 0], [1, np.inf]):
        with pytest.raises(ModelError, match="prior must have one probability for each of 2 classes"):
            Classes(COINS, prior)
