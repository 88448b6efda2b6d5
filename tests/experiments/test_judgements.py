"""Every claim is judged from made-up rows, one set that confirms it and one that contradicts it."""

import pytest

from hqmm.experiments import initialisation, speedup, synthetic_hmm, synthetic_hqmm, training_time, update_schemes


def scored(model, n=None, w=1, test_da=0.1, test_sd=0.01, **more):
    return {
        "model": model,
        "n": n,
        "w": w,
        "validation_da": test_da,
        "test_da": test_da,
        "test_sd": test_sd,
        "cpu_seconds": 1.0,
        **more,
    }


def by_n(model, **scores):
    return [scored(model, int(name[1:]), test_da=value) for name, value in scores.items()]


TRUTH = [scored("truth", 6, test_da=0.18)]


def curve(model, n, w, scores, pace=1.0, **more):
    return [
        {"model": model, "n": n, "w": w, "seed": 0, "iteration": i, "seconds": i * pace, "test_da": score, **more}
        for i, score in enumerate(scores)
    ]


def races(gs_small, gs_large, pace=2.0, rival="gs-30"):
    """COSM gets to .1 in (2, 6, 1) and to .2 in (6, 6, 6); one Givens search as told, the other nowhere."""
    other = {"gs": "gs-30", "gs-30": "gs"}[rival]
    return [
        *curve("cosm", 2, 1, [0.0, 0.08, 0.1]),
        *curve(rival, 2, 1, [0.0, *gs_small], pace),
        *curve(other, 2, 1, [0.0, 0.0]),
        *curve("cosm", 6, 6, [0.0, 0.15, 0.2]),
        *curve(rival, 6, 6, [0.0, *gs_large], pace),
        *curve(other, 6, 6, [0.0, 0.0]),
    ]


def cut_and_whole(cut, whole):
    """COSM on pieces and on whole sequences: the DA and the seconds of each."""
    return [
        scored(model, 2, test_da=da, cpu_seconds=seconds + extra)
        for model, (da, seconds) in (("cosm", cut), ("cosm-whole", whole))
        for extra in (0.0, 9.0)
    ]


def schemes(ends, paces, name="hmm"):
    return [
        {
            "set": name,
            "n": 2,
            "w": 1,
            "scheme": scheme,
            "iteration": i,
            "seconds": i * pace,
            "validation_da": i * end,
        }
        for scheme, end, pace in zip(update_schemes.PAPERS, ends, paces, strict=True)
        for i in (0, 1)
    ]


def starts(name, spreads):
    """Two seeds for each (n, w), as far apart as told."""
    return [
        {"set": name, "n": n, "w": w, "seed": seed, "iteration": 10, "validation_da": 0.1 + seed * spread}
        for (n, w), spread in spreads.items()
        for seed in (0, 1)
    ]


def ratio(n, w, estimated, measured=None, fraction=1.0):
    return {
        "n": n,
        "w": w,
        "seed": 0,
        "numbers": 6 * w * n * n,
        "fraction": fraction,
        "cosm_seconds": 1.0,
        "cosm_da": 0.2,
        "gs_seconds": 5.0,
        "gs_da": 0.1,
        "estimated_speedup": estimated,
        "measured_speedup": measured,
        "speedup_is_more_than": 5.0 if measured is None else None,
    }


CASES = {
    "cosm ≥ gs at every n": (
        synthetic_hmm.cosm_beats_gs,
        [*by_n("cosm", n2=0.15, n4=0.16), *by_n("gs", n2=0.15, n4=0.1)],
        [*by_n("cosm", n2=0.15, n4=0.16), *by_n("gs", n2=0.151, n4=0.1)],
    ),
    "of several starts the best on validation counts": (
        synthetic_hmm.cosm_beats_gs,
        [*by_n("cosm", n2=0.1), *by_n("cosm", n2=0.2), *by_n("gs", n2=0.15)],
        [*by_n("cosm", n2=0.1), *by_n("gs", n2=0.05), *by_n("gs", n2=0.15)],
    ),
    "small HQMMs beat HMMs": (
        synthetic_hmm.small_hqmms_beat_hmms,
        [*by_n("cosm", n2=0.15, n6=0.1), *by_n("em", n2=0.12, n6=0.18)],
        [*by_n("cosm", n2=0.15, n5=0.16), *by_n("em", n2=0.12, n5=0.17)],
    ),
    "but not with six states": (
        synthetic_hmm.not_at_six,
        [*by_n("cosm", n6=0.16), *by_n("em", n6=0.18)],
        [*by_n("cosm", n6=0.19), *by_n("em", n6=0.18)],
    ),
    "a larger rank helps": (
        synthetic_hmm.rank_helps,
        [scored("cosm", 5, 1, 0.16), scored("cosm", 5, 3, 0.17)],
        [scored("cosm", 5, 1, 0.16), scored("cosm", 5, 3, 0.15)],
    ),
    "(5, 6, 3) is within one sd": (
        synthetic_hmm.five_three_suffices,
        [*TRUTH, scored("cosm", 5, 3, 0.171)],
        [*TRUTH, scored("cosm", 5, 3, 0.169)],
    ),
    "(6, 6, 6) is within one sd": (
        synthetic_hmm.six_six_suffices,
        [*TRUTH, scored("cosm", 6, 6, 0.171)],
        [*TRUTH, scored("cosm", 6, 6, 0.169)],
    ),
    "HQMMs grow faster": (
        synthetic_hmm.more_numbers,
        [scored(m, n, numbers=k) for m, n, k in (("em", 2, 16), ("em", 6, 72), ("cosm", 2, 24), ("cosm", 6, 216))],
        [scored(m, n, numbers=k) for m, n, k in (("em", 2, 16), ("em", 6, 72), ("cosm", 2, 24), ("cosm", 6, 48))],
    ),
    "COSM ends higher and sooner": (
        training_time.better_and_faster,
        races([0.05] * 9, [0.1] * 9),
        races([0.05] * 8 + [0.11], [0.1] * 9),
    ),
    "sooner matters, to where the other ends": (
        training_time.better_and_faster,
        races([0.05, 0.06], [0.1] * 9, pace=1.5),
        races([0.05, 0.06], [0.1] * 9, pace=0.4),
    ),
    "the better of two Givens searches counts": (
        training_time.better_and_faster,
        races([0.05] * 9, [0.1] * 9, rival="gs"),
        races([0.05] * 8 + [0.11], [0.1] * 9, rival="gs"),
    ),
    "the lead grows with size": (
        training_time.gap_grows,
        races([0.09] * 9, [0.05] * 9),
        races([0.01] * 9, [0.19] * 9),
    ),
    "the lead is over whichever Givens search is ahead": (
        training_time.gap_grows,
        races([0.09] * 9, [0.05] * 9, rival="gs"),
        races([0.01] * 9, [0.19] * 9, rival="gs"),
    ),
    "COSM ≥ Givens search on the HQMM's data": (
        synthetic_hqmm.cosm_at_least_gs,
        [scored("cosm", 2, test_da=0.13), scored("gs", 2, test_da=0.12)],
        [scored("cosm", 2, test_da=0.12), scored("gs", 2, test_da=0.13)],
    ),
    "six states of an HMM": (
        synthetic_hqmm.six_states,
        [scored("truth", 2, test_da=0.13), *by_n("em", n5=0.12, n6=0.13)],
        [scored("truth", 2, test_da=0.13), *by_n("em", n5=0.13, n6=0.13)],
    ),
    "cutting costs nothing and saves time": (
        synthetic_hqmm.cutting_is_free,
        cut_and_whole((0.1295, 1.0), (0.1296, 1.2)),
        cut_and_whole((0.1280, 1.0), (0.1296, 1.2)),
    ),
    "cutting saves time": (
        synthetic_hqmm.cutting_is_free,
        cut_and_whole((0.1295, 1.0), (0.1290, 1.2)),
        cut_and_whole((0.1295, 1.2), (0.1290, 1.0)),
    ),
    "four states at least": (
        synthetic_hqmm.four_states_at_least,
        [scored("truth", 2, test_da=0.13), *by_n("em", n2=0.1, n3=0.12, n4=0.13)],
        [scored("truth", 2, test_da=0.13), *by_n("em", n2=0.1, n3=0.13, n4=0.13)],
    ),
    "COSM learns it back": (
        synthetic_hqmm.two_states_suffice,
        [scored("truth", 2, test_da=0.13), scored("cosm", 2, test_da=0.1299)],
        [scored("truth", 2, test_da=0.13), scored("cosm", 2, test_da=0.12)],
    ),
    "two schemes are one": (
        update_schemes.two_are_one,
        schemes((0.16, 0.16 + 1e-12, 0.1), (1, 1, 1)),
        schemes((0.16, 0.16 + 1e-6, 0.16), (1, 1, 1)),
    ),
    "schemes end alike": (
        update_schemes.similar_quality,
        schemes((0.16, 0.1605, 0.16), (1, 1, 1)),
        schemes((0.16, 0.165, 0.16), (1, 1, 1)),
    ),
    "schemes take the same time": (
        update_schemes.similar_speed,
        schemes((0.1, 0.1, 0.1), (1, 1.1, 0.9)),
        schemes((0.1, 0.1, 0.1), (1, 1.5, 1)),
    ),
    "Wen–Yin is fastest": (
        update_schemes.wen_yin_fastest,
        schemes((0.1, 0.1, 0.1), (1, 1.1, 1.05)),
        schemes((0.1, 0.1, 0.1), (1, 1.1, 0.9)),
    ),
    "the smallest model depends most on its start": (
        initialisation.smallest_is_sensitive,
        starts("hqmm", {(2, 1): 0.05, (4, 1): 0.01}),
        starts("hqmm", {(2, 1): 0.01, (4, 1): 0.05}),
    ),
    "the spread falls with n and with w": (
        initialisation.falls_with_size,
        starts("hqmm", {(2, 1): 0.05, (6, 1): 0.01, (2, 6): 0.01}),
        starts("hqmm", {(2, 1): 0.05, (6, 1): 0.06, (2, 6): 0.01}),
    ),
    "the spread is lower on the HMM's data": (
        initialisation.lower_on_hmm,
        [*starts("hqmm", {(2, 1): 0.05}), *starts("hmm", {(2, 1): 0.01})],
        [*starts("hqmm", {(2, 1): 0.05}), *starts("hmm", {(2, 1): 0.06})],
    ),
    "more than 150 times": (
        speedup.more_than_150,
        [ratio(2, 1, 3), ratio(6, 6, 200)],
        [ratio(2, 1, 300), ratio(6, 6, 100)],
    ),
    "a line that never rises is more than 150 times, too": (
        speedup.more_than_150,
        [ratio(6, 6, float("inf"))],
        [ratio(6, 6, 150.0)],
    ),
    "150 times COSM's time was not enough": (
        speedup.measured_150,
        [{**ratio(6, 6, 3), "speedup_is_more_than": 200.0}],
        [ratio(6, 6, 3, measured=20.0)],
    ),
    "the speedup grows either way": (
        speedup.grows_either_way,
        [ratio(2, 1, 3), ratio(6, 1, 10), ratio(5, 1, 8), ratio(5, 6, 9)],
        [ratio(2, 1, 3), ratio(6, 1, 10), ratio(5, 1, 8), ratio(5, 6, 7)],
    ),
    "the estimate is too low": (
        speedup.understated,
        [ratio(2, 1, 3, measured=4.0), ratio(4, 1, 5), ratio(6, 6, 100)],
        [ratio(2, 1, 3, measured=4.0), ratio(4, 1, 5, measured=4.0)],
    ),
    "COSM is always first": (
        speedup.always_first,
        [ratio(2, 1, 3, measured=2.0), ratio(6, 6, 100), ratio(2, 1, 3, measured=0.5, fraction=0.5)],
        [ratio(2, 1, 3, measured=0.5), ratio(6, 6, 100)],
    ),
}


@pytest.mark.parametrize(("judge", "confirming", "contradicting"), CASES.values(), ids=CASES.keys())
def test_a_claim_holds_on_rows_that_confirm_it_and_fails_on_rows_that_contradict_it(
    judge, confirming, contradicting
):
    assert judge(confirming).holds is True
    assert judge(contradicting).holds is False


EXPERIMENTS = [
    module.EXPERIMENT
    for module in (synthetic_hmm, training_time, synthetic_hqmm, update_schemes, initialisation, speedup)
]


def test_every_claim_of_these_experiments_has_a_case_and_an_explanation():
    judges = {judge for judge, *_ in CASES.values()}
    for experiment in EXPERIMENTS:
        for claim in experiment.claims:
            assert claim.judge in judges, claim.statement
            assert claim.otherwise.endswith("."), claim.statement


@pytest.mark.parametrize(
    ("judge", "rows"),
    [
        (synthetic_hmm.cosm_beats_gs, by_n("cosm", n2=0.1)),
        (synthetic_hmm.rank_helps, [scored("cosm", 5, 1)]),
        (synthetic_hmm.more_numbers, [scored("em", 2, numbers=16)]),
        (synthetic_hqmm.six_states, by_n("em", n2=0.1, n6=0.1)),
        (initialisation.falls_with_size, starts("hqmm", {(2, 1): 0.05})),
        (initialisation.lower_on_hmm, starts("hqmm", {(2, 1): 0.05})),
        (speedup.more_than_150, [ratio(2, 1, 300)]),
        (speedup.measured_150, [ratio(6, 6, 300)]),
        (speedup.grows_either_way, [ratio(2, 1, 300)]),
        (speedup.understated, [ratio(2, 1, 300)]),
    ],
)
def test_a_claim_is_left_open_where_the_runs_that_would_tell_are_missing(judge, rows):
    assert judge(rows).holds is None


def test_the_estimated_speedup_follows_the_line_through_the_last_steps():
    cosm = [{"seconds": float(t), "da": min(0.1, 0.05 * t)} for t in range(4)]  # has .1 after 2 s, ends after 3
    gs = [
        {"seconds": 0.1 * t, "da": min(0.001 * t, 0.06)} for t in range(200)
    ]  # .03 after 3 s, never more than .06
    whole, half = speedup.compare(cosm, gs, 1.0), speedup.compare(cosm, gs, 0.5)
    assert whole["gs_seconds_estimated"] == pytest.approx(10.0)
    assert whole["estimated_speedup"] == pytest.approx(10.0 / 3)
    assert whole["measured_speedup"] is None
    assert whole["speedup_is_more_than"] == pytest.approx(19.9 / 2)
    assert half["estimated_speedup"] == pytest.approx(5.0 / 3)
    assert half["measured_speedup"] == pytest.approx(5.0 / 1)


def test_a_search_that_stands_still_never_arrives():
    cosm = [{"seconds": float(t), "da": 0.1} for t in range(3)]
    gs = [{"seconds": 0.1 * t, "da": 0.05} for t in range(20)]
    assert speedup.compare(cosm, gs, 1.0)["estimated_speedup"] == float("inf")
