"""Satellite: means over both days, counts as in a capture at the receiver, interpretations."""

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.quantity import Quantity
from farlink.studies.study import Curves
from farlink.studies.vatne2006.registry import REGISTRY

__all__: list[str] = []

_DAYS = ("day1", "day2")
_ROUND_TRIP_S = 0.701


def _of_days(model: Model, measure: str, tcp: str) -> Quantity:
    item, two = (model.measure(measure, tcp, 0, 0, place=day) for day in _DAYS)
    return ((item + two) / 2).named(f"{measure}({tcp}, both days)")


@REGISTRY.function("sat_thr")
def _sat_thr(model: Model, tcp: str) -> Quantity:
    """Return the mean throughput of both days (B/s)."""
    return _of_days(model, "thr", tcp)


@REGISTRY.function("sat_duration")
def _sat_duration(model: Model, tcp: str) -> Quantity:
    """Return the mean duration of a transfer on both days (s)."""
    return _of_days(model, "duration", tcp)


def _holes(model: Model, tcp: str, day: str) -> Quantity:
    """Return the number of lost segments: retransmissions minus duplicates at the receiver."""
    table: dict[str, Any] = {"place": day}
    resent = model.resent(tcp, 0, 0, **table)
    return (resent - model.nrtx(tcp, 0, 0, **table)).named(f"holes({tcp}, {day})", "segments")


@REGISTRY.function("holes")
def _mean_holes(model: Model, day: str) -> Quantity:
    """Return the number of lost segments, averaged over the four TCPs."""
    tcps = model.plan.constants["SAT"]
    total = reduce(add, (_holes(model, tcp, day) for tcp in tcps))
    return (total / len(tcps)).named(f"holes({day})", "segments")


@REGISTRY.function("falls_with_holes")
def _falls_with_holes(model: Model, tcp: str) -> Quantity:
    """Return the terms (one for each run) of the covariance of lost segments and throughput."""
    holes = _holes(model, tcp, "day1").values
    rate = model.thr(tcp, 0, 0, place="day1").values
    terms = (holes - np.mean(holes)) * (rate - np.mean(rate))
    return Quantity(terms, f"covariance of holes and throughput({tcp})", "segments B/s")


@REGISTRY.function("spurious")
def _spurious(model: Model, share: float) -> Quantity:
    """Count duplicate segments on a path whose only fault is periodic silence.

    `share` is the length of a silence in round trips; packets are held meanwhile.
    """
    cell = model.cell("newreno", 0, 0, place="day1", clean=True)
    if not share or model.change.hook == "no_silence":
        return model.cache.flow(cell, "segments_duplicate")
    (link,) = cell.scenario["links"]
    length = f"{share * _ROUND_TRIP_S:g} s"
    outage = {"start": "20 s", "duration": length, "period": "17 s", "packets": "hold"}
    link = {**link, "down": {**link["down"], "channel": {"outage": outage}}}
    silent = Cell(f"silences of {share:g} round trips", {**cell.scenario, "links": [link]})
    return model.cache.flow(silent, "segments_duplicate")


def _bars(model: Model, measure: str, label: str, scale: float = 1.0) -> Curves:
    series = {}
    names = {"Vegas": "vegas", "NewReno": "newreno", "Westwood+": "westwood", "Hybla": "hybla"}
    for name, tcp in names.items():
        days: list[Quantity | None] = [model.measure(measure, tcp, 0, 0, place=d) for d in _DAYS]
        series[name] = [*days, _of_days(model, measure, tcp)]
    return Curves([1, 2, 3], "day (3: both)", label, series, scale)


@REGISTRY.figure("graph8")
def _graph8(model: Model) -> Curves:
    return _bars(model, "nrtx", "segments that came twice")


@REGISTRY.figure("graph10")
def _graph10(model: Model) -> Curves:
    return _bars(model, "nooo", "segments out of order")


@REGISTRY.figure("graph12")
def _graph12(model: Model) -> Curves:
    return _bars(model, "thr", "throughput (kB/s)", 1e-3)


@REGISTRY.hook("window_125")
def _window_125(tree: dict[str, Any]) -> None:
    if tree["tcp"]["receive_window"] == "62500 B":
        tree["tcp"]["receive_window"] = "125000 B"


@REGISTRY.hook("queue_20")
def _queue_20(tree: dict[str, Any]) -> None:
    """Let the satellite's queue hold 20 packets instead of 105 kB."""
    down = tree["links"][0]["down"]
    if down["queue"] == {"bytes": "105 kB"}:
        down["queue"] = {"packets": 20}


@REGISTRY.hook("no_silence")
def _no_silence(tree: dict[str, Any]) -> None:
    tree["links"][0]["down"].get("channel", {}).pop("mobile", None)


@REGISTRY.hook("half_the_jitter")
def _half_the_jitter(tree: dict[str, Any]) -> None:
    """Let the satellite's delay vary by 16 ms on average instead of 32 ms."""
    _vary(tree, "16 ms")


@REGISTRY.hook("eighth_of_the_jitter")
def _eighth_of_the_jitter(tree: dict[str, Any]) -> None:
    """Let the satellite's delay vary by 4 ms on average instead of 32 ms."""
    _vary(tree, "4 ms")


def _vary(tree: dict[str, Any], mean: str) -> None:
    channel = tree["links"][0]["down"].get("channel", {})
    if "jitter" in channel:
        channel["jitter"]["mean"] = mean


@REGISTRY.hook("constant_delay")
def _constant_delay(tree: dict[str, Any]) -> None:
    tree["links"][0]["down"].get("channel", {}).pop("jitter", None)
