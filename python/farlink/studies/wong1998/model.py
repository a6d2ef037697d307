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

__all__ = ["CONGESTION", "FRAGMENTS", "HIGH_PER", "PER", "REGISTRY", "RENO", "Options", "Wong"]

PER = tuple(i / 20 for i in range(13))
"""Frame loss of the figures: 0 to 60 % in steps of 5 %."""

LONGEST = {"none": "1000000 s", "lapb": "20000 s", "mdlp": "20000 s", "rlp": "20000 s"}
"""Where a run ends that has not carried its 40 Mbit by then.

That is below 2 kbit/s with a link protocol. Without one, longer: hardly anything happens
from one time-out to the next, and samples are few.
"""

HIGH_PER = (0.40, 0.50, 0.60)

CONGESTION: Mapping[str, Mapping[str, Any]] = {
    "c25_5pct": {"duration": "25 s", "periods": 0.002},
    "c25_2pct": {"duration": "25 s", "periods": 0.0008},
    "c5_5pct": {"duration": "5 s", "periods": 0.01},
}
"""Congestion of the Internet in figures 5.8 to 5.11: mean duration, periods per second."""

RENO: Mapping[str, Any] = {
    "variant": "reno",
    "mss": "512 B",
    "receive_window": "4096 B",
    "initial_window": 1,
    "initial_ssthresh": "4096 B",
    "reduce_from": "cwnd",
    "cwnd_validation": False,
    "cwnd_limit": "receive-window",
    "restart_on_retransmit": True,
    "timer": "jacobson",
    "rto_srtt_initial": "1 s",
    "rto_dev_initial": "1 s",
    "rto_round": "500 ms",
    "rto_min": "2 s",
    "rto_max": "4 min",
    "max_retransmits": 1000,
    "max_syn_retransmits": 1000,
    "delayed_ack": "200 ms",
    "ack_every": 1000,
    "ack_gap_fill": "delayed",
}
"""TCP of the study (sections 2.1 and 3.2.5, table 3.6), as keys of `[tcp]`.

The time-out begins at SRTT + 4 D = 5 s from a mean and a deviation of 1 s each. ACKs wait
for their timer only, and nothing gives the connection up.
"""

FRAGMENTS = 5
"""Fragments of a full segment: 532 bytes, 108 to a datagram of 128 bytes."""

_IP_FIXED, _IP_BASE_AND_MOBILE = "0.2 ms", "2 ms"
"""Service of the IP layers: 5000, 1000 and 1000 packets per second.

That of the mobile host stands with that of the base station, so that it does not delay
what the two ends of the link tell each other.
"""


class Options(TypedDict, total=False):
    """What else a point of the study may say, and its values without.

    `seq`: in-sequence delivery (true; LAPB cannot do otherwise). `inet`: a key of
    `CONGESTION` (none). `data`: bulk data of a run ("5 MB", the 40 Mbit of the study).
    `runs`: factor on the runs of the lab (1). `mtu`: fragments of 128 bytes (true).
    `reverse`: data goes from the mobile host to the fixed one (false). `mac`: directions
    in which frames wait for the medium ("both", "up": the mobile's only, or "down").
    `reassembly`: how long the hosts wait for fragments ("60 s").
    `tcp`: further keys of `[tcp]`. The rest are keys of the link's `arq`.
    """

    seq: bool
    inet: str | None
    data: str
    runs: int
    mtu: bool
    reverse: bool
    mac: str
    reassembly: str
    tcp: Mapping[str, Any]
    header: str
    supervisory: str
    status: str
    window: int
    t1: str
    t2: str
    t200: str
    t205: str
    srej_repeat: bool
    retry_from: str
    n2: int
    best_effort: bool
    status_period: str
    min_interval: str
    max_recovery_delay: str


_OURS = frozenset({"seq", "inet", "data", "runs", "mtu", "reverse", "mac", "reassembly", "tcp"})
_ARQ = frozenset(Options.__annotations__) - _OURS


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
        seq, inet = kw.get("seq", True), kw.get("inet")
        arq: dict[str, Any] = {key: value for key, value in kw.items() if key in _ARQ}
        link: dict[str, Any] = {"protocol": ll, **arq}
        link["mac"] = {
            "access": "exponential",
            "delay": f"{self.mac * 1000:g} ms",
            "direction": kw.get("mac", "both"),
        }
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
        wired = {"rate": "10 Mbit/s", "queue": "unlimited"}
        internet = {**wired, "delay": _IP_BASE_AND_MOBILE, "channel": channel}
        ends = ("mobile", "fixed") if kw.get("reverse") else ("fixed", "mobile")
        scenario = {
            "name": "wong1998",
            "duration": LONGEST[ll],
            "max_duration": LONGEST[ll],
            "tcp": {**RENO, **kw.get("tcp", {})},
            "links": [
                {
                    "name": "wired",
                    "between": ["fixed", "internet"],
                    "down": {**wired, "delay": _IP_FIXED},
                },
                {"name": "internet", "between": ["internet", "base"], "down": internet},
                {"name": "radio", "between": ["base", "mobile"], "down": radio, "arq": link},
            ],
            "flows": [
                {
                    "name": "bulk",
                    "from": ends[0],
                    "to": ends[1],
                    "app": "file",
                    "size": kw.get("data", "5 MB"),
                    "dont_fragment": False,
                    "reassembly_timeout": kw.get("reassembly", "60 s"),
                }
            ],
        }
        return Cell(f"{ll}, PER {per:g}{_told(kw, arq)}", scenario, kw.get("runs", 1))

    def thr(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """TCP throughput: application data over time, in bit/s."""
        cell = self.cell(ll, per, **kw)
        return self.lab.flow(cell, "goodput").named(f"throughput({cell.label})")

    def rtt(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Mean of the RTT samples, in s."""
        return self.flow("rtt_mean", ll, per, **kw)

    def rto(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Mean of the RTO estimates, in s, not backed off."""
        return self.flow("rto_mean", ll, per, **kw)

    def e2e(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Mean end-to-end delay of TCP, first transmission to arrival, in s."""
        return self.flow("segment_delay_mean", ll, per, **kw)

    def flow(self, metric: str, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Return any metric of the flow (docs/results.md)."""
        return self.lab.flow(self.cell(ll, per, **kw), metric)

    def lld(self, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Mean transmission delay of the data link layer, in s."""
        return self.link("link_delay_mean", ll, per, **kw)

    def link(self, metric: str, ll: str, per: float, **kw: Unpack[Options]) -> Quantity:
        """Return any metric of the radio link in the direction of the data."""
        direction = "up" if kw.get("reverse") else "down"
        return self.lab.link(self.cell(ll, per, **kw), "radio", direction, metric)


def _told(kw: Options, arq: Mapping[str, Any]) -> str:
    parts = [f"{key} {value}" for key, value in arq.items()]
    parts += [f"{key} {value}" for key, value in kw.get("tcp", {}).items()]
    parts += [] if kw.get("seq", True) else ["not in sequence"]
    parts += [] if kw.get("mtu", True) else ["not fragmented"]
    parts += [f"reassembly within {kw['reassembly']}"] if "reassembly" in kw else []
    parts += ["from the mobile"] if kw.get("reverse") else []
    parts += [f"MAC delay {kw['mac']} only"] if "mac" in kw else []
    inet = kw.get("inet")
    parts += [inet] if inet else []
    return "".join(f", {part}" for part in parts)


REGISTRY: Registry[Wong] = Registry()
"""Figures, tables and claims of the study; its chapters register theirs."""
