"""The public names, frozen: adding or removing one is a decision, recorded here and in the changelog."""

import inspect

import hqmm

PUBLIC = {
    "Alphabet",
    "DataError",
    "FileFormatError",
    "HMM",
    "HQMM",
    "HqmmError",
    "MarkovChain",
    "Model",
    "ModelError",
    "NOOM",
    "NegativeProbabilityError",
    "OOM",
    "Sequences",
    "certify",
    "description_accuracies",
    "description_accuracy",
    "equivalent",
    "find_negative_probability",
    "load",
    "minimize",
    "save",
}


def test_the_public_names_are_these():
    assert set(hqmm.__all__) == PUBLIC
    assert len(hqmm.__all__) == len(PUBLIC)


def test_every_public_name_has_a_docstring_with_an_example():
    for name in hqmm.__all__:
        thing = getattr(hqmm, name)
        assert ">>>" in inspect.getdoc(thing) or name == "Model", name


def test_every_public_method_of_a_model_is_documented():
    for name in ("HMM", "OOM", "NOOM", "HQMM", "MarkovChain"):
        for attribute, member in inspect.getmembers(getattr(hqmm, name)):
            if not attribute.startswith("_") and (callable(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{name}.{attribute}"
