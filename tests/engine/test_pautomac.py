"""Short strings by the thousand: the natural case for the tree of shared prefixes."""

import numpy as np
import pytest
from tests.engine.plain import assert_close, random_form

from hqmm import Alphabet, Sequences
from hqmm.engine import explain_plan, gradient


@pytest.fixture(scope="module")
def strings(data_folder):
    lines = (data_folder / "pautomac" / "4.pautomac.train").read_text().splitlines()
    count, symbols = map(int, lines[0].split())
    rows = [np.array(line.split()[1:], dtype=int) for line in lines[1 : count + 1]]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    assert len(rows) == count
    return Sequences.from_arrays(np.concatenate(rows).astype(np.int8), offsets, Alphabet(symbols))


def test_shared_prefixes_are_chosen_and_agree_with_one_string_at_a_time(strings):
    form = random_form(np.random.default_rng(0), "hmm", 20, len(strings.alphabet))
    assert explain_plan(form, strings).method == "prefixes"
    tree = gradient(form, strings)
    plain = gradient(form, strings, method="single")
    np.testing.assert_allclose(tree.log_likelihood, plain.log_likelihood, rtol=1e-10)
    assert_close(tree.operators, plain.operators)
    assert_close(tree.initial, plain.initial)
    assert_close(tree.evaluation, plain.evaluation)
