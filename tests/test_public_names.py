"""The public names, frozen: adding or removing one is a decision, recorded here and in the changelog."""

import ast
import inspect
import subprocess
import sys

import pytest

import hqmm

PUBLIC = {
    "Alphabet",
    "BaumWelch",
    "COSM",
    "DataError",
    "FileFormatError",
    "GivensSearch",
    "HMM",
    "HMMEstimator",
    "HQMM",
    "HQMMEstimator",
    "HqmmError",
    "HybridHQMM",
    "MarkovChain",
    "MarkovChainEstimator",
    "Model",
    "ModelError",
    "NOOM",
    "NOOMEstimator",
    "NegativeProbabilityError",
    "OOM",
    "OOMEstimator",
    "Polar",
    "RiemannianAdam",
    "RiemannianLBFGS",
    "SequenceClassifier",
    "Sequences",
    "certify",
    "description_accuracies",
    "description_accuracy",
    "equivalent",
    "find_negative_probability",
    "fit",
    "load",
    "minimize",
    "mixture",
    "save",
}


def test_the_public_names_are_these():
    assert set(hqmm.__all__) == PUBLIC
    assert len(hqmm.__all__) == len(PUBLIC)


def test_every_public_name_can_be_had_and_is_listed():
    for name in PUBLIC:
        assert getattr(hqmm, name) is not None
        assert name in dir(hqmm)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hqmm' has no attribute 'HMN'"):
        hqmm.HMN


def test_type_checkers_see_the_late_names_where_they_come_from():
    seen = {}
    for node in ast.parse(inspect.getsource(hqmm)).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for block in node.body:
                seen |= {alias.asname or alias.name: block.module for alias in block.names}
    assert seen == hqmm._LATE
    assert seen.keys() <= PUBLIC


def test_late_names_are_imported_late():
    code = "import sys, hqmm; assert 'hqmm.learning' not in sys.modules; hqmm.Polar; assert hqmm.learning"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_has_a_docstring_with_an_example():
    for name in hqmm.__all__:
        thing = getattr(hqmm, name)
        assert ">>>" in inspect.getdoc(thing) or name == "Model", name


def test_every_public_method_of_a_model_is_documented():
    for name in ("HMM", "OOM", "NOOM", "HQMM", "HybridHQMM", "MarkovChain"):
        for attribute, member in inspect.getmembers(getattr(hqmm, name)):
            if not attribute.startswith("_") and (callable(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{name}.{attribute}"
