"""The path of the study as scenarios, and its metrics by the names its record uses.

Wong 1998, chapter 3: a fixed host, the Internet, a base station, and a mobile host behind
19.2 kbit/s of radio. What the study leaves open, and what stands here for it, is in
`record.toml` under `choice`.
"""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from farlink.studies.lab import Cell, Lab
from farlink.studies.quantity import Quantity
from farlink.studies.study import Registry

__all__ = ["CONGESTION", "HIGH_PER", "PER", "REGISTRY", "Options", "Wong"]

PER = tuple(i / 20 for i in range(13))
"""Frame loss of the figures: 0 to 60 % in steps of 5 %."""

LONGEST = "20000 s"
"""Where a run ends that has not carried its 40 Mbit by then (below 2 kbit/s)."""

HIGH_PER = (0.40, 0.50, 0.60)

CONGESTION: Mapping[str, Mapping[str, Any]] = {
    "c25_5pct": {"duration": "25 s", "periods": 0.002},
    "c25_2pct": {"duration": "25 s", "periods": 0.0008},
    "c5_5pct": {"duration": "5 s", "periods": 0.01},
}
"""Congestion of the Internet in figures 5.8 to 5.11: mean duration, periods per second."""

_RADIO = ("radio", "down")


class Options(TypedDict, total=False):
    """What else a point of the study may say, and its values without.

    `seq`: in-sequence delivery (true; LAPB cannot do otherwise). `inet`: a key of
    `CONGESTION` (none). `data`: bulk data of a run ("5 MB", the 40 Mbit of the study).
    `runs`: factor on the runs of the lab (1). `mtu`: fragments of 128 bytes (true).
    `tcp`: further keys of `[tcp]`. The rest are keys of the link's `arq`.
    """

    seq: bool
    inet: str | None
    data: str
    runs: int
    mtu: bool
    tcp: Mapping[str, Any]
    window: int
    t1: str
    t2: str
    t200: str
    t205: str
    n2: int
    best_effort: bool
    status_period: str
    min_interval: str
    max_recovery_delay: str


_ARQ = frozenset(Options.__annotations__) - {"seq", "inet", "data", "runs", "mtu", "tcp"}


class Wong:
    """The study at one mean MAC access delay (s), with the runs of a lab.

    All metrics take the link layer `ll` ("none", "lapb", "mdlp", "rlp"), the frame loss
    `per`, and `Options`.
    """

    def __init__(self, lab: Lab, mac: float = 0.010) -> None:
        self.lab = lab
        self.mac = mac

    def cell(self, ll: str, per: float, **kw: Unpack[Options]) -> Cell:
        """Return the scenario of one point: link layer, frame loss in both directions.

        Parameters
        ----------
        ll, per
            Link layer and frame loss, in both directions and for frames of every kind.
        kw
            See `Options`.
        """
        seq, inet, tcp = kw.get("seq", True), kw.get("inet"), kw.get("tcp", {})
        arq: dict[str, Any] = {key: value for key, value in kw.items() if key in _ARQ}
        link: dict[str, Any] = {"protocol": ll, **arq}
        link["mac"] = {"access": "exponential", "delay": f"{self.mac * 1000:g} ms"}
        if ll in ("mdlp", "rlp"):
            link["in_sequence"] = seq
        loss: dict[str, Any] = {"channel": {"loss": per}} if per else {}
        radio = {"rate": "19.2 kbit/s", "delay": "0 s", "queue": "unlimited", **loss}
        if kw.get("mtu", True):
            radio |= {"mtu": "128 B", "fragments": "wong1998"}
        delay = {"constant": "20 ms", "mean": "10 ms", "order": 2, "keep_order": True}
        channel: dict[str, Any] = {"internet_delay": delay}
        if inet is not None:
            channel["congestion"] = {**CONGESTION[inet], "shared": True}
        wired = {"rate": "10 Mbit/s", "delay": "0 s", "queue": "unlimited"}
        scenario = {
            "name": "wong1998",
            "duration": LONGEST,
            "tcp": {
                "variant": "reno",
                "mss": "512 B",
                "receive_window": "4096 B",
                "initial_window": 1,
                "rto_initial": "5 s",
                "rto_min": "2 s",
                "rto_max": "4 min",
                "delayed_ack": "200 ms",
                **tcp,
            },
            "links": [
                # Deterministic service of the IP layers (0.2 and 1 ms) is in the delays.
                {"name": "wired", "between": ["fixed", "internet"], "down": wired},
                {
                    "name": "internet",
                    "between": ["internet", "base"],
                    "down": {**wired, "channel": channel},
                },
                {"name": "radio", "between": ["base", "mobile"], "down": radio, "arq": link},
            ],
            "flows": [
                {
                    "name": "bulk",
                    "from": "fixed",
                    "to": "mobile",
                    "app": "file",
                    "size": kw.get("data", "5 MB"),
                    "dont_fragment": False,
                }
            ],
        }
        return Cell(
            f"{ll}, PER {per:g}{_told(arq, seq=seq, inet=inet)}", scenario, kw.get("runs", 1)
        )

    def thr(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """TCP throughput: application data over time, in bit/s."""
        cell = self.cell(ll, per, **kw)
        return self.lab.flow(cell, "goodput").named(f"throughput({cell.label})")

    def rtt(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Mean of the RTT samples, in s."""
        return self.lab.flow(self.cell(ll, per, **kw), "rtt_mean")

    def rto(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Mean of the RTO estimates, in s, not backed off."""
        return self.lab.flow(self.cell(ll, per, **kw), "rto_mean")

    def lld(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Mean transmission delay of the data link layer, in s."""
        return self.lab.link(self.cell(ll, per, **kw), *_RADIO, "link_delay_mean")


def _told(arq: Mapping[str, Any], *, seq: bool, inet: str | None) -> str:
    parts = [f"{key} {value}" for key, value in arq.items()]
    parts += [] if seq else ["not in sequence"]
    parts += [inet] if inet else []
    return "".join(f", {part}" for part in parts)


REGISTRY: Registry[Wong] = Registry()
"""Figures, tables and claims of the study; its chapters register theirs."""
