import contextlib
import json
import os
import pickle
import struct

import numpy as np
import pytest
from safetensors.numpy import save as to_bytes

from hqmm import HMM, Alphabet, FileFormatError, load, save
from hqmm.datasets import hmm_6_6, hqmm_2_6

HEADER = {"class": "HMM", "version": 1, "alphabet": [0, 1]}
GOOD = {"transition": np.eye(2), "emission": np.eye(2), "initial": np.array([1.0, 0.0])}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hqmm"


def craft(path, tensors=GOOD, **changes):
    shapes = {name: list(array.shape) for name, array in tensors.items()}
    header = {**HEADER, "shapes": shapes, **changes}
    path.write_bytes(to_bytes(tensors, metadata={"hqmm": json.dumps(header)}))
    return path


def test_a_well_formed_file_loads(path):
    assert load(craft(path)) == HMM(np.eye(2), np.eye(2), [1, 0])


def test_the_alphabet_comes_back_with_its_types(path):
    model = HMM(np.eye(3), np.eye(3), alphabet=Alphabet(["ä", 7], end=True))
    assert load(save(model, path)).alphabet == model.alphabet
    assert load(path).alphabet.end == 2


def test_a_cut_file_is_refused_wherever_it_is_cut(path):
    save(hqmm_2_6(), path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="is not a file of hqmm, or is damaged"):
            load(path)


def test_flipped_bytes_never_do_worse_than_a_clear_error(path):
    model = hmm_6_6()
    whole = bytearray(save(model, path).read_bytes())
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 300):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with contextlib.suppress(FileFormatError):  # a flipped bit of a number may leave a valid model
            load(path)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda p: p.write_bytes(pickle.dumps({"transition": 1})), "is not a file of hqmm"),
        (lambda p: p.write_bytes(b""), "is not a file of hqmm"),
        (lambda p: p.write_bytes(struct.pack("<Q", 2**60) + b"{}"), "is not a file of hqmm"),
        (lambda p: p.write_bytes(to_bytes(GOOD)), "not one that hqmm wrote"),
        (lambda p: p.write_bytes(to_bytes(GOOD, metadata={"hqmm": "[" * 100_000})), "not one that hqmm wrote"),
        (lambda p: p.write_bytes(to_bytes(GOOD, metadata={"hqmm": "3"})), "not one that hqmm wrote"),
        (lambda p: craft(p, **{"class": "os.system"}), "holds a 'os.system'; known models are HMM"),
        (lambda p: craft(p, **{"class": ["HMM"]}), "holds a"),
        (lambda p: craft(p, version=99), "format 99"),
        (lambda p: craft(p, alphabet=[0, 0]), "no valid alphabet"),
        (lambda p: craft(p, alphabet=[{}, 1]), "no valid alphabet"),
        (lambda p: craft(p, alphabet=10**9), "no valid alphabet"),
        (lambda p: craft(p, alphabet=[0, 1, 2]), "not a model: HMM: the alphabet has 3"),
        (lambda p: craft(p, shapes={}), "damaged: its header speaks of other shapes"),
        (lambda p: craft(p, shapes={"transition": [2, 2]}), "damaged: its header speaks of other shapes"),
        (lambda p: craft(p, {"transition": np.eye(2)}), "HMM needs 'emission'"),
        (lambda p: craft(p, {**GOOD, "extra": np.eye(2)}), "do not belong to HMM"),
        (lambda p: craft(p, {**GOOD, "initial.imag": np.zeros(3)}), "do not match"),
        (lambda p: craft(p, {**GOOD, "initial": np.array([2.0, 0.0])}), r"HMM condition \(ii\)"),
        (lambda p: craft(p, {**GOOD, "initial": np.array([np.nan, 0.0])}), "must be finite"),
    ],
)
def test_a_foreign_or_hostile_file_gives_a_clear_error(path, write, message):
    write(path)
    with pytest.raises(FileFormatError, match=message):
        load(path)


def test_a_missing_file_is_said_to_be_missing(path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(path)


def test_a_missing_folder_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere; make it first"):
        save(hqmm_2_6(), tmp_path / "nowhere" / "a.hqmm")


def test_only_models_are_saved(path):
    with pytest.raises(TypeError, match="takes a model"):
        save({"transition": 1}, path)


def test_a_file_may_be_read_by_whom_other_files_may(path):
    ordinary = path.with_name("ordinary")
    ordinary.write_bytes(b"")
    assert save(hqmm_2_6(), path).stat().st_mode == ordinary.stat().st_mode


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    save(hmm_6_6(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(hqmm_2_6(), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
