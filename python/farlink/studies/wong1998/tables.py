"""Tables 3.1 to 3.6, and tables on congestion and on runs of the published length.

The record has the published values. Simulated values are those of the resolved scenario.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farlink.studies.grid import Grid, amount, inputs, published
from farlink.studies.model import Model
from farlink.studies.study import Table
from farlink.studies.wong1998.numbers import congestion_of, loss_of, probe
from farlink.studies.wong1998.registry import REGISTRY

__all__ = ["chances"]


def _published(id: str) -> Sequence[Sequence[str]]:  # noqa: A002
    rows: Sequence[Sequence[str]] = published(str(__package__), id)
    return rows


def _resolved(model: Model, ll: str) -> dict[str, Any]:
    # Without the hook, which converts RLP's minimum interval to the time from a frame's end.
    plain = Model(model.cache, model.plan, replace(model.change, plain=True, hook=""))
    scenario: dict[str, Any] = json.loads(model.cache.text(plain.cell(ll, 0.1)))
    return scenario


def _side_by_side(id: str, ours: Sequence[str], note: str = "") -> Grid:  # noqa: A002
    pairs = list(zip(_published(id), ours, strict=True))
    rows = [
        (name, text, pair, math.isclose(amount(text), amount(pair))) for (name, text), pair in pairs
    ]
    return inputs(rows, note)


@REGISTRY.table("table3.1")
def _rates(model: Model) -> Grid:
    links = _resolved(model, "rlp")["links"]
    return _side_by_side("table3.1", [link["down"]["rate"] for link in links])


def _protocol(id: str, ll: str, timers: Sequence[str]) -> Callable[[Model], Grid]:  # noqa: A002
    def make(model: Model) -> Grid:
        arq = _resolved(model, ll)["links"][-1]["arq"]
        return _side_by_side(
            id,
            [*(arq[key] for key in timers), f"{arq['window']} frames"],
            "The table names parameters; their values are those found best in section 4.4.2.",
        )

    return make


REGISTRY.table("table3.2")(_protocol("table3.2", "lapb", ["t1", "t2"]))
REGISTRY.table("table3.3")(_protocol("table3.3", "mdlp", ["t200", "t205"]))
REGISTRY.table("table3.4")(_protocol("table3.4", "rlp", ["status_period", "min_interval"]))


@REGISTRY.table("table3.5")
def _service(model: Model) -> Grid:
    wired, internet = (link["down"]["delay"] for link in _resolved(model, "rlp")["links"][:2])
    fixed, both = 1 / amount(wired), 2 / amount(internet)
    return _side_by_side(
        "table3.5",
        [f"{rate:.0f} packets/s" for rate in (fixed, both, both)],
        f"Ours are fixed delays on the wired links: {wired} for the fixed host, and "
        f"{internet} for the base station and the mobile host together.",
    )


@REGISTRY.table("table3.6")
def _tcp(model: Model) -> Grid:
    tcp = _resolved(model, "rlp")["resolved_tcp"][0]
    return _side_by_side(
        "table3.6",
        [
            tcp["receive_window"],
            tcp["receive_window"],
            tcp["delayed_ack"],
            tcp["mss"],
            f"{tcp['rto_gain']:g}",
            f"{tcp['rto_dev_gain']:g}",
            f"{tcp['rto_k']:g}",
            tcp["rto_srtt_initial"],
            tcp["rto_dev_initial"],
            tcp["rto_min"],
            tcp["rto_max"],
        ],
    )


@REGISTRY.table("congestion")
def _congestion(model: Model) -> Table:
    rows, agrees = [], []
    for setting, printed, percent in _published("congestion"):
        duration, periods = congestion_of(model, setting)
        alpha, beta = 1 / (1 / periods - duration), 1 / duration
        loss = loss_of(model, setting)
        measured = model.cache.flow(probe(model, setting), "loss_rate")
        ours = f"{duration:g} s, {periods:g} periods/s"
        words = [f"{alpha:.3g}/s", f"{beta:.3g}/s", f"{loss:.3%}"]
        rows.append([printed, percent, ours, *words, (100 * measured).named("", "%").text])
        agrees.append(
            printed == ours and math.isclose(loss, float(percent.removesuffix(" %")) / 100)
        )
    return Table(
        columns=["published", "loss", "ours", "alpha", "beta", "loss of the model", "measured"],
        rows=rows,
        agrees=agrees,
        note="alpha is the rate from clear to congested, beta the rate back; measured with a "
        "datagram a second for a day a run.",
    )


_PER = (0.3, 0.4, 0.5, 0.6)


@REGISTRY.table("published-length")
def _published_length(model: Model) -> Table:
    limits, counts = model.plan.constants["LIMITS"], model.plan.constants["N2S"]
    settings: list[tuple[str, str, Sequence[int], str]] = [
        ("limited", "{} s", limits, "c25_5pct"),
        ("given_up", "N2 = {}", counts, "c25_5pct"),
        ("limited", "{} s", limits, "c25_2pct"),
        ("limited", "{} s", limits, "c5_5pct"),
    ]
    rows = []
    for (figure, printed), (measure, unit, values, inet) in zip(
        _published("published-length"), settings, strict=True
    ):
        for p in _PER:
            table = {unit.format(v): model.measure(measure, p, v, inet=inet) for v in values}
            shares = chances({name: match.values for name, match in table.items()})
            rows.append(
                [
                    figure,
                    printed,
                    f"{100 * p:g} %",
                    ", ".join((1e-3 * match).named("", "").text for match in table.values()),
                    max(table, key=lambda name: table[name].mean),
                    ", ".join(f"{name}: {share:.0%}" for name, share in shares.items()),
                ]
            )
    return Table(
        columns=[
            "figure",
            "published best",
            "PER",
            "throughput (kbit/s), from the smallest limit to the largest",
            "best of all runs",
            "best of four single runs",
        ],
        rows=rows,
        note="How often each limit would come out best if each had one run of the published "
        "length (40 Mbit, or 20,000 s), the four runs independent of each other.",
    )


def chances(values: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
    """Return the probability of each name to have the largest value in random draws.

    One value per name is drawn. Equal largest values share the probability.
    """
    return {name: _wins(name, values) for name in values}


def _wins(name: str, values: Mapping[str, NDArray[np.float64]]) -> float:
    won = 0.0
    for value in values[name]:
        ties = np.ones(1)  # ties[-1 - k]: probability of k equal values, others below
        for other, drawn in values.items():
            if other != name:
                ties = np.polymul([np.mean(drawn == value), np.mean(drawn < value)], ties)
        won += sum(share / (k + 1) for k, share in enumerate(np.atleast_1d(ties)[::-1]))
    return float(won / len(values[name]))
