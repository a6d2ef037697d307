"""Decisions behind a page of advice, tested with known numbers."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

from farlink.advice import work
from farlink.advice.answer import Option
from farlink.advice.work import Advisor, Setting
from farlink.experiment import Experiment
from farlink.stats import Estimate

Values = Mapping[str, list[float]]


class Lab:
    """Values by the name of a point, and the number of runs requested for each point."""

    def __init__(self, values: Values) -> None:
        self.known = values
        self.asked: dict[str, int] = {}

    def simulate(self, wanted: Iterable[tuple[str, int]]) -> None:
        for point, runs in wanted:
            self.asked[point] = max(self.asked.get(point, 0), runs)

    def values(self, point: str, measure: str, runs: int | None = None) -> Any:  # noqa: ANN401
        del measure
        return np.array(self.known[point][: runs or self.asked.get(point, len(self.known[point]))])


def work_of(values: Values, runs: int = 16) -> Advisor:
    lab: Any = Lab(values)
    own = Advisor({}, {}, None, runs, lab, None, None)
    own.measure = "goodput"
    own.is_random = True
    own.deciding = [None]  # type: ignore[list-item]
    return own


def setting(*points: str, window: str = "", tcp: str = "") -> Setting:
    changes: dict[str, str | int] = {"tcp.receive_window": window} if window else {}
    names: Any = points
    return Setting(tcp or points[0], changes, names)


def around(mean: float, spread: float, runs: int = 16, seed: int = 1) -> list[float]:
    drawn = np.random.default_rng(seed).normal(0, 1, runs)
    return [float(value) for value in mean * np.exp(spread * (drawn - drawn.mean()))]


def test_a_race_gives_up_what_is_shown_to_be_worse_and_nothing_else() -> None:
    values = {
        "first": around(1e6, 0.01, seed=1),
        "near": around(0.999e6, 0.01, seed=2),
        "slow": around(1e5, 0.01, seed=3),
        "now": around(9e5, 0.01, seed=4),
    }
    own = work_of(values)
    ranked = own._race([setting(name) for name in ("slow", "near", "first")], setting("now"))
    assert [item.tcp for item in ranked] == ["first", "near", "slow"]
    lab: Any = own.lab
    assert lab.asked == {"first": 16, "near": 16, "now": 16, "slow": work._FIRST}
    # Without randomness four runs tell no more than one, so they rule out no option.
    own = work_of(values)
    own.is_random = False
    own._race([setting(name) for name in ("slow", "near", "first")], setting("now"))
    lab = own.lab
    assert lab.asked["slow"] == 16


@pytest.mark.parametrize(
    ("ours", "is_harmed"),
    [
        (around(0.95e6, 0.001, seed=5), True),
        (around(0.95e6, 0.3, seed=5), False),  # its interval includes the present setting
        (around(0.99e6, 0.001, seed=5), False),  # less than 2 %
        (around(1.5e6, 0.001, seed=5), False),
    ],
)
def test_harm_is_what_all_of_the_interval_says(ours: list[float], *, is_harmed: bool) -> None:
    own = work_of({"now": around(1e6, 0.001), "other": ours})
    assert own._harms(setting("other"), setting("now")) == is_harmed


def test_of_settings_that_are_not_told_apart_the_smallest_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = {
        "large": around(1.001e6, 0.01, seed=1),
        "small": around(1e6, 0.01, seed=2),
        "smallest": around(2e5, 0.01, seed=3),
        "less by 5 %": around(0.95e6, 0.0001, seed=1),
        "now": around(1e5, 0.01, seed=4),
    }
    own = work_of(values)
    own.now = "now"
    windows = [
        setting("large", window="4096 KiB"),
        setting("small", window="128 KiB"),
        setting("smallest", window="64 KiB"),
        setting("less by 5 %", window="100 KiB"),
    ]
    monkeypatch.setattr(work, "CANDIDATES", ("smallest", "small"))
    monkeypatch.setattr(own, "_setting", lambda tcp, _: setting(tcp))
    monkeypatch.setattr(own, "_settings", lambda _: windows)
    _, best, champions = own._choose(setting("now"))
    assert [str(point) for point in best.points] == ["small"]
    assert [str(point) for point in champions[0][0].points] == ["small"]


def test_three_runs_are_enough_where_nothing_is_random() -> None:
    own = work_of({"now": [1e6] * 8}, runs=8)
    own._count_runs(setting("now"))
    assert (own.is_random, own.runs) == (False, 3)
    own = work_of({"now": [1e6, 1e6, 1e6, 1.1e6, 1e6]}, runs=8)
    own._count_runs(setting("now"))
    assert (own.is_random, own.runs) == (True, 8)


def test_values_are_of_runs_that_chose_nothing() -> None:
    point: Any = "now"
    own = work_of({"now": [float(n) for n in range(16)]}, runs=4)
    assert own._values(point, "goodput") == [4, 5, 6, 7]
    assert own._values(point, "goodput", 2) == [4, 5]


def test_datagrams_beside_a_tcp_do_not_refuse_advice() -> None:
    own = Advisor("geo-mixed", {}, None, 4, Experiment(jobs=1), None, None)
    own._read("sack")
    assert own.now == "sack"
    assert own.measure == "goodput_over_run"  # retransmissions of several flows


def test_the_best_tcp_of_a_size_is_shown_to_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "wild": [1e5, 2.4e6] * 8,  # a higher mean that is not significant
        "fast": around(1.2e6, 0.01, seed=1),
        "faster": around(1.3e6, 0.01, seed=2),
        "now": around(1e6, 0.01, seed=4),
    }
    own = work_of(values)
    own.now = "now"
    monkeypatch.setattr(work, "CANDIDATES", ("wild", "fast", "faster"))
    monkeypatch.setattr(own, "_setting", lambda tcp, _: setting(tcp))
    monkeypatch.setattr(own, "_settings", lambda pool: [setting(pool[0].tcp, window="64 KiB")])
    _, _, champions = own._choose(setting("now"))
    assert [item.tcp for item, _ in champions.values()] == ["faster"]
    values["fast"] = values["faster"] = around(0.9e6, 0.01, seed=2)
    own = work_of(values)
    own.now = "now"
    monkeypatch.setattr(own, "_setting", lambda tcp, _: setting(tcp))
    monkeypatch.setattr(own, "_settings", lambda pool: [setting(pool[0].tcp, window="64 KiB")])
    assert own._choose(setting("now"))[2] == {}


def option(tcp: str, low: float, high: float, again: float) -> Option:
    carried = Estimate((low + high) / 2, low, high, 4)
    share = Estimate(again, again, again, 4)
    return Option(tcp, tcp, {}, carried, carried, Estimate(0.1, 0.1, 0.1, 4), share)


def test_waste_is_said_beside_the_tcp_that_carries_as_much() -> None:
    best = option("greedy", 9e5, 1.1e6, 0.2)
    assert work._waste(option("greedy", 9e5, 1.1e6, 0.1), []) == ()
    slow, kind = option("slow", 1e5, 2e5, 0.0), option("kind", 8e5, 9.5e5, 0.04)
    (line,) = work._waste(best, [slow, kind])
    assert "sends 20 % of its segments again" in line
    assert "kind as it is" in line
    assert "slow" not in line
    (line,) = work._waste(best, [slow, option("half", 8e5, 9.5e5, 0.11)])
    assert "as it is" not in line


def test_a_window_is_the_next_power_of_two() -> None:
    assert [work._rounded(size) for size in (1, 65_536, 65_537, 131_072)] == [
        65_536,
        65_536,
        131_072,
        131_072,
    ]


def test_a_tcp_that_harms_a_size_is_not_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    means = {"now": (1e6, 1e6), "greedy": (4e6, 0.9e6), "kind": (1.5e6, 1.2e6)}
    values = {
        f"{tcp} {place}": around(mean, 0.001, seed=place)
        for tcp, pair in means.items()
        for place, mean in enumerate(pair)
    }
    own = work_of(values)
    own.now = "now"
    own.deciding = [None, None]  # type: ignore[list-item]
    pools = []

    def settings(pool: list[Setting]) -> list[Setting]:
        pools.append([item.tcp for item in pool])
        return pool

    def of(tcp: str, _: object) -> Setting:
        return setting(f"{tcp} 0", f"{tcp} 1", tcp=tcp)

    monkeypatch.setattr(work, "CANDIDATES", ("greedy", "kind"))
    monkeypatch.setattr(own, "_setting", of)
    monkeypatch.setattr(own, "_settings", settings)
    _, best, champions = own._choose(of("now", {}))
    assert pools == [["kind"]]
    assert best.tcp == "kind"
    assert {place: item.tcp for place, (item, _) in champions.items()} == {0: "greedy", 1: "kind"}
