"""Tables of the study: 3.1 to 3.6, and ours on congestion and on runs of published length.

What was published is in the record; what is ours is read from the resolved scenario that
runs.
"""

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farlink.studies.study import Table
from farlink.studies.wong1998.chapter5 import LIMITS, N2, be_mdlp, be_rlp
from farlink.studies.wong1998.claims5 import LOSS, congestion_probe, loss_rate
from farlink.studies.wong1998.model import CONGESTION, REGISTRY, Options, Wong

__all__ = ["amount", "chances"]

_SCALES = {
    "": 1.0,
    "B": 1.0,
    "KiB": 1024.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "min": 60.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "frames": 1.0,
    "packets/s": 1.0,
}


def amount(text: str) -> float:
    """Return what "19.2 kbit/s" or "4096 B" is in bit/s, bytes, seconds or as a number.

    Raises
    ------
    ValueError
        If the unit is none of the study's.
    """
    number, _, unit = text.partition(" ")
    if unit not in _SCALES:
        raise ValueError(f"the unit of {text!r} is none of {', '.join(_SCALES)}")
    return float(number) * _SCALES[unit]


@cache
def _published(id: str) -> Sequence[Sequence[str]]:  # noqa: A002
    text = resources.files(__package__).joinpath("record5.toml").read_text(encoding="utf-8")
    rows: Sequence[Sequence[str]] = next(
        row["published"] for row in tomllib.loads(text)["table"] if row["id"] == id
    )
    return rows


def _resolved(w: Wong, ll: str) -> dict[str, Any]:
    scenario: dict[str, Any] = json.loads(w.lab.text(w.cell(ll, 0.1)))
    return scenario


def _side_by_side(id: str, ours: Sequence[str], note: str = "") -> Table:  # noqa: A002
    pairs = list(zip(_published(id), ours, strict=True))
    return Table(
        columns=["", "published", "ours"],
        rows=[[name, text, one] for (name, text), one in pairs],
        agrees=[math.isclose(amount(text), amount(one)) for (_, text), one in pairs],
        note=note,
    )


@REGISTRY.table("table3.1")
def _rates(w: Wong) -> Table:
    links = _resolved(w, "rlp")["links"]
    return _side_by_side("table3.1", [link["down"]["rate"] for link in links])


def _protocol(id: str, ll: str, timers: Sequence[str]) -> Callable[[Wong], Table]:  # noqa: A002
    def make(w: Wong) -> Table:
        arq = _resolved(w, ll)["links"][-1]["arq"]
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
def _service(w: Wong) -> Table:
    wired, internet = (link["down"]["delay"] for link in _resolved(w, "rlp")["links"][:2])
    fixed, both = 1 / amount(wired), 2 / amount(internet)
    return _side_by_side(
        "table3.5",
        [f"{rate:.0f} packets/s" for rate in (fixed, both, both)],
        f"Ours are fixed delays on the wired links: {wired} for the fixed host, and "
        f"{internet} for the base station and the mobile host together.",
    )


@REGISTRY.table("table3.6")
def _tcp(w: Wong) -> Table:
    tcp = _resolved(w, "rlp")["resolved_tcp"][0]
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
def _congestion(w: Wong) -> Table:
    rows, agrees = [], []
    w.lab.prefetch(congestion_probe(w, setting) for setting in LOSS)
    for setting, said, percent in _published("congestion"):
        duration = amount(str(CONGESTION[setting]["duration"]))
        periods = float(CONGESTION[setting]["periods"])
        alpha, beta = 1 / (1 / periods - duration), 1 / duration
        loss = loss_rate(setting)
        measured = w.lab.flow(congestion_probe(w, setting), "loss_rate")
        rows.append(
            [
                said,
                percent,
                f"{duration:g} s, {periods:g} periods/s",
                f"{alpha:.3g}/s",
                f"{beta:.3g}/s",
                f"{loss:.3%}",
                (100 * measured).named("", "%").text,
            ]
        )
        agrees.append(
            said == f"{duration:g} s, {periods:g} periods/s"
            and math.isclose(loss, float(percent.removesuffix(" %")) / 100)
        )
    return Table(
        columns=["published", "loss", "ours", "alpha", "beta", "loss of the model", "measured"],
        rows=rows,
        agrees=agrees,
        note="alpha is the rate from clear to congested, beta the rate back; measured with a "
        "datagram each 5 s for a day a run.",
    )


_PER = (0.3, 0.4, 0.5, 0.6)


@REGISTRY.table("published-length")
def _published_length(w: Wong) -> Table:
    settings: list[tuple[str, Sequence[int], Callable[[int], Options]]] = [
        ("rlp", LIMITS, lambda m: be_rlp(m, "c25_5pct")),
        ("mdlp", N2, lambda n: be_mdlp(n, "c25_5pct")),
        ("rlp", LIMITS, lambda m: be_rlp(m, "c25_2pct")),
        ("rlp", LIMITS, lambda m: be_rlp(m, "c5_5pct")),
    ]
    w.lab.prefetch(w.cell(ll, p, **of(v)) for ll, vs, of in settings for v in vs for p in _PER)
    rows = []
    for (figure, said), (ll, values, of) in zip(
        _published("published-length"), settings, strict=True
    ):
        unit = "N2 = {}" if ll == "mdlp" else "{} s"
        for p in _PER:
            found = {unit.format(v): w.thr(ll, p, **of(v)) for v in values}
            shares = chances({name: one.values for name, one in found.items()})
            rows.append(
                [
                    figure,
                    said,
                    f"{100 * p:g} %",
                    ", ".join((1e-3 * one).named("", "").text for one in found.values()),
                    max(found, key=lambda name: found[name].mean),
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
    """Return how often each has the largest value, if one of each is drawn at random.

    Those that are equal share the draw.
    """
    return {name: _wins(name, values) for name in values}


def _wins(name: str, values: Mapping[str, NDArray[np.float64]]) -> float:
    won = 0.0
    for value in values[name]:
        ties = np.ones(1)  # ties[-1 - k]: all others are below or equal, and k are equal
        for other, drawn in values.items():
            if other != name:
                ties = np.polymul([np.mean(drawn == value), np.mean(drawn < value)], ties)
        won += sum(share / (k + 1) for k, share in enumerate(np.atleast_1d(ties)[::-1]))
    return float(won / len(values[name]))
