"""Tests verdicts on claims, their deciding comparisons, and kinds of evidence."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from farlink.studies.judge import (
    FAILED,
    UNTESTED,
    Compared,
    Finding,
    Ground,
    InterimAnalyses,
    Judgement,
    judge,
    level_of,
)
from farlink.studies.quantity import (
    LEVEL,
    SETTLED,
    Evidence,
    Quantity,
    Verdict,
    best,
    every,
    fact,
    some,
)
from farlink.studies.study import ANALYSES, Claim

Values = NDArray[np.float64]

YES, NO = fact(True, "it holds"), fact(False, "it does not")  # noqa: FBT003
OPEN = Evidence(0.5, 0.5, ("nothing is sure",))
TIE = Evidence(0.5, 0.5, ("equal",), p_tie=0.001)
FEW = Evidence(0.5, 0.5, ("two events",), few=True)


def claim(name: str = "a", **keys: object) -> Claim:
    return Claim(name, "", "", {}, **keys)  # type: ignore[arg-type]


def told(order: Evidence | None, number: Evidence | None = None) -> Callable[[int], Finding]:
    return lambda runs: Finding(order, number, runs=runs)


def fail(_: int) -> Finding:
    raise KeyError("rtt")


@pytest.mark.parametrize(
    ("order", "number", "verdict"),
    [
        (YES, None, "reproduced"),
        (None, YES, "reproduced"),
        (YES, YES, "reproduced"),
        (YES, NO, "order only"),
        (YES, OPEN, "undecided"),
        (YES, FEW, "too few events"),
        (None, NO, "not reproduced"),
        (NO, YES, "not reproduced"),
        (NO, NO, "not reproduced"),
        (TIE, YES, "tie"),
        (FEW, NO, "too few events"),
        (OPEN, NO, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_order_and_number_make_a_verdict(
    order: Evidence | None, number: Evidence | None, verdict: str
) -> None:
    assert Finding(order, number).verdict.value == verdict


def test_a_number_that_is_off_says_by_how_much() -> None:
    rows = [
        Compared("rate", 8.0, "bit/s", Quantity([4.0, 4.0], "x")),
        Compared("delay", 1.0, "s", Quantity([1.1, 1.1], "y")),
        Compared("nothing", 0.0, "", Quantity([1.0, 1.0], "z")),
    ]
    item = Judgement(claim(), {"": Finding(YES, NO, rows)})
    assert item.key == "it does not; rate is 0.5 times the published 8"
    for values, text in [([100.4] * 2, "0.4 % above"), ([98.0] * 2, "2 % below")]:
        near = [Compared("rate", 100.0, "bit/s", Quantity(values, "x"))]
        item = Judgement(claim(), {"": Finding(YES, NO, near)})
        assert item.key == f"it does not; rate is {text} the published 100"
    assert Finding(YES, NO).off is None


def test_judge_adds_runs_until_a_claim_is_decided() -> None:
    """Evidence significant at `LEVEL` does not decide at the lower level of the first of three."""
    seen: list[int] = []

    def make(p_for: float) -> Callable[[int], Finding]:
        def analyse(runs: int) -> Finding:
            seen.append(runs)
            return Finding(YES if runs == 40 else Evidence(p_for, 0.9, ("x",)), None)

        return analyse

    judgement = judge(claim(), {"x": make(LEVEL / 3)}, [10, 20, 40]).findings["x"]
    assert seen == [10]
    assert judgement.level == LEVEL / 2
    judgement = judge(claim(), {"x": make(0.6 * LEVEL)}, [10, 20, 40]).findings["x"]
    assert seen == [10, 10, 20, 40]
    assert (judgement.runs, judgement.level) == (40, LEVEL / 4)
    assert judgement.verdict is Verdict.REPRODUCED


def test_settled_parts_are_decided_at_every_analysis() -> None:
    assert min(level_of(len(ANALYSES), place) for place in range(len(ANALYSES))) >= SETTLED
    assert sum(level_of(len(ANALYSES), place) for place in range(len(ANALYSES))) <= LEVEL


@pytest.mark.parametrize(
    ("p_for", "p_against", "is_open"),
    [
        (0.9, SETTLED / 2, False),
        (SETTLED / 2, 0.9, False),
        (SETTLED, 0.9, True),
        (0.9, SETTLED, True),
        (0.5, 0.5, True),
    ],
)
def test_a_statement_is_open_until_it_is_settled_either_way(
    p_for: float, p_against: float, *, is_open: bool
) -> None:
    """An order and a number each request more runs of their own cells alone."""
    item = Evidence(p_for, p_against, ("x",), open=frozenset("ab"))
    other = Evidence(0.0, 1.0, ("y",), open=frozenset("c"))
    expected = {"a", "b"} if is_open else set()
    assert Finding(item, other).open == expected
    assert Finding(other, item).open == expected
    assert Finding(None, item).open == expected
    assert Finding(item, None).open == expected


def test_a_finding_is_open_where_order_or_number_is_open() -> None:
    order = Evidence(0.5, 0.5, ("x",), open=frozenset("ab"))
    number = Evidence(0.5, 0.5, ("y",), open=frozenset("bc"))
    assert Finding(order, number).open == {"a", "b", "c"}
    assert Finding(YES, NO).open == set()


@pytest.mark.parametrize(
    ("order", "number", "legibility", "ground"),
    [
        (None, OPEN, "text", Ground.PRINTED),
        (OPEN, NO, "table", Ground.PRINTED),
        (NO, OPEN, "table", Ground.PRINTED),
        (OPEN, OPEN, "tick", Ground.AXIS),
        (OPEN, OPEN, "none", Ground.OURS),
        (None, OPEN, "", Ground.OURS),
        (OPEN, None, "text", Ground.ORDER),
        (YES, None, "text", Ground.FACT),
        (YES, every(YES, NO), "table", Ground.FACT),
        (YES, every(YES, OPEN), "table", Ground.PRINTED),
        (YES, some(YES, ~OPEN), "table", Ground.PRINTED),
        (YES, some(YES, ~NO), "table", Ground.FACT),
    ],
)
def test_a_judgement_says_what_it_rests_on(
    order: Evidence | None, number: Evidence | None, legibility: str, ground: Ground
) -> None:
    """A judgement counts as a fact only if no part of it was measured."""
    item = judge(claim(legibility=legibility), {"x": told(order, number)}, [2])
    assert item.ground is ground


def test_an_untested_claim_has_no_ground() -> None:
    assert judge(claim(untested="why"), {}, [2]).ground is None


def test_a_number_that_is_too_small_can_be_the_farthest_off() -> None:
    rows = [
        Compared("high", 1.0, "", Quantity([3.0, 3.0], "x")),
        Compared("low", 1.0, "", Quantity([0.25, 0.25], "y")),
    ]
    off = Finding(YES, NO, rows).off
    assert off is not None
    assert off.what == "low"


def test_an_interim_analysis_is_judged_at_its_own_level() -> None:
    """Evidence significant at `LEVEL` does not decide in the first of several analyses."""
    evidence = Evidence(0.9 * LEVEL, 0.9, ("x",))
    assert Finding(evidence, None, level=LEVEL).verdict is Verdict.REPRODUCED
    assert Finding(evidence, None, level=LEVEL / 2).verdict is Verdict.UNDECIDED


class Cells:
    """Random samples of cells with findings from them, in place of a cache and a claim."""

    def __init__(self, samples: Mapping[str, Values], state: Callable[..., Evidence]) -> None:
        self.samples, self.state = samples, state
        self.asked: list[dict[str, int]] = []

    def find(self, runs: int, more: Mapping[str, int]) -> Finding:
        counts = {name: max(runs, more.get(name, 0)) for name in self.samples}
        self.asked.append(counts)
        cells = {
            name: Quantity(self.samples[name][:count], name, cells=[name])
            for name, count in counts.items()
        }
        return Finding(self.state(**cells), None)


def judged(cells: Cells) -> str:
    return judge(claim(), {"x": InterimAnalyses(cells.find).analyse}, [10, 20, 40]).status


def test_only_open_cells_get_more_runs() -> None:
    """A settled part keeps its runs, an open part gets more; shared quantities use all runs."""
    random = np.random.default_rng(1)
    noise = dict(zip("abcd", random.normal(0, 0.1, (4, 40)), strict=True))
    samples = {"a": 5 + noise["a"], "b": 1 + noise["b"], "c": 1 + noise["c"], "d": 1 + noise["d"]}
    both = Cells(samples, lambda a, b, c, d: every(a > b, c > d))
    assert judged(both) == "undecided"
    assert both.asked[-1] == {"a": 10, "b": 10, "c": 40, "d": 40}
    either = Cells(samples, lambda a, b, c, d: some(b > a, c > d))
    assert judged(either) == "undecided"
    assert either.asked[-1] == {"a": 10, "b": 10, "c": 40, "d": 40}
    shared = Cells(samples, lambda a, b, c, d: every(a > b, b > c, a + d > c))
    judged(shared)
    assert shared.asked[-1] == {"a": 10, "b": 40, "c": 40, "d": 10}
    chosen = Cells(samples, lambda a, b, c, d: best({1: a - 4, 2: c, 3: b - 1}, (1,)))
    judged(chosen)
    assert chosen.asked[-1]["b"] == 10
    assert chosen.asked[-1]["c"] == 40


def test_values_from_traces_get_more_runs_of_all_cells() -> None:
    random = np.random.default_rng(1)
    seen = []

    def find(runs: int, more: Mapping[str, int]) -> Finding:
        seen.append((runs, dict(more)))
        a, b = random.normal(1, 1, (2, runs))
        return Finding(Quantity(a, "a") > Quantity(b, "b", cells=["b"]), None)

    judge(claim(), {"x": InterimAnalyses(find).analyse}, [10, 20, 40])
    assert seen == [(10, {}), (20, {"b": 20}), (40, {"b": 40})]


def most(samples: int) -> float:
    """Return `LEVEL` + 2.5 standard errors of a share of `samples` samples."""
    return float(LEVEL + 2.5 * (LEVEL / samples) ** 0.5)


LAWS: Mapping[str, Callable[[np.random.Generator], Values]] = {
    "normal": lambda r: r.normal(1, 1, (2, 40)),
    "exponential": lambda r: r.exponential(1, (2, 40)),
    "rare counts": lambda r: r.poisson(0.3, (2, 40)).astype(float),
}


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("samples", [100, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", LAWS)
def test_interim_analyses_keep_the_level(name: str, samples: int) -> None:
    """All interim analyses together call equal samples different in at most 2.5 % of cases.

    This also holds for a part whose other parts hold and keep their first runs.
    """
    random = np.random.default_rng(2)
    entries = []
    for _ in range(samples):
        a, b = LAWS[name](random)
        cells = {"a": a, "b": b, "c": 9 + a, "d": 1 + b}
        entries.append(judged(Cells(cells, lambda a, b, c, d: every(c > d, a > b))))
    assert entries.count("reproduced") / samples < most(samples)
    assert entries.count("not reproduced") / samples < most(samples)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("samples", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_interim_analyses_of_equal_candidates_name_no_best(samples: int) -> None:
    """Interim analyses find a best one of four equal candidates in at most 2.5 % of samples."""
    random = np.random.default_rng(4)
    entries = []
    for _ in range(samples):
        cells = dict(zip("abcd", random.normal(1, 0.2, (4, 40)), strict=True))
        entries.append(judged(Cells(cells, lambda **of: best(of, ("a",)))))
    assert entries.count("reproduced") / samples < most(samples)
    assert entries.count("not reproduced") / samples < most(samples)


def test_the_first_reading_gives_the_verdict_and_the_others_are_kept() -> None:
    item = judge(claim(), {"chosen": told(NO), "other": told(YES), "third": told(OPEN)}, [2])
    assert item.status == Verdict.NOT_REPRODUCED.value
    assert item.first is not None
    assert item.first.order is NO
    assert list(item.findings) == ["chosen", "other", "third"]


def test_the_key_is_the_deciding_comparison() -> None:
    evidence = Evidence(0.001, 0.9, ("first", "weakest"), key_for="weakest", key_against="first")
    assert judge(claim(), {"x": told(evidence)}, [2]).key == "weakest"


def test_an_untested_claim_is_not_judged_and_gives_the_reason() -> None:
    item = judge(claim(untested="no numbers"), {"x": fail}, [2])
    assert (item.status, item.key, item.findings) == (UNTESTED, "no numbers", {})
    assert judge(claim(), {}, [2]).status == UNTESTED


@pytest.mark.parametrize("error", [KeyError("rtt"), ZeroDivisionError("x"), ValueError("y")])
def test_an_exception_becomes_a_failure_of_the_claim(error: Exception) -> None:
    def broken(_: int) -> Finding:
        raise error

    item = judge(claim(), {"x": told(YES), "y": broken}, [2])
    assert item.status == FAILED
    assert item.key == item.failure == f"{type(error).__name__}: {error}"
    assert item.first is None


@pytest.mark.parametrize(("evidence", "cause"), [(NO, "the cause"), (YES, ""), (OPEN, "the cause")])
def test_only_claims_that_do_not_hold_have_a_cause(evidence: Evidence, cause: str) -> None:
    assert judge(claim(cause="the cause"), {"x": told(evidence)}, [2]).cause == cause
