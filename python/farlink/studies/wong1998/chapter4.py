"""Chapter 4: reliable link layers. The figures of curves: 4.7 to 4.11, 4.14 to 4.22."""

from collections.abc import Callable, Mapping

from farlink.studies.quantity import Quantity
from farlink.studies.study import Curves
from farlink.studies.wong1998.model import PER, REGISTRY, Options, Wong

__all__ = ["MIN_INTERVALS", "STATUS_PERIODS", "T1S", "T200S"]

STATUS_PERIODS = ("100 ms", "200 ms", "500 ms", "1 s")
"""Status periods of RLP in figure 4.19; its legend cannot be read."""

MIN_INTERVALS = ("200 ms", "300 ms", "400 ms", "500 ms")
"""Minimum times between transmissions of RLP in figure 4.20."""

T200S = ("500 ms", "1 s", "1500 ms", "2 s")
"""T200 of MDLP in figure 4.21; its legend cannot be read."""

T1S = ("500 ms", "1 s", "1500 ms", "2 s")
"""T1 of LAPB in figure 4.22; of its legend 1.5 and 2 s can be read."""

_Metric = Callable[[Wong, str, float, Options], Quantity]
_Case = tuple[str, Options]

_RECOVERY: Mapping[str, _Case] = {
    "with link layer recovery (RLP)": ("rlp", {}),
    "without link layer recovery": ("none", {}),
}
_PROTOCOLS: Mapping[str, _Case] = {
    "LAPB": ("lapb", {}),
    "CDPD MDLP": ("mdlp", {}),
    "RLP": ("rlp", {}),
}


def _sequencing(ll: str) -> Mapping[str, _Case]:
    return {
        "without in-sequence delivery": (ll, {"seq": False}),
        "with in-sequence delivery": (ll, {}),
    }


def _over_per(
    w: Wong,
    metric: str,
    y_label: str,
    cases: Mapping[str, _Case],
    *,
    scale: float = 1.0,
    y_range: tuple[float, float] | None = None,
    note: str = "",
) -> Curves:
    """Return a figure of one metric over the frame loss."""
    points = w.lab.points(PER)
    w.lab.prefetch(w.cell(ll, p, **kw) for ll, kw in cases.values() for p in points)
    measure = _METRICS[metric]
    return Curves(
        x=[100 * p for p in points],
        x_label="PER (%)",
        y_label=y_label,
        series={name: [measure(w, ll, p, kw) for p in points] for name, (ll, kw) in cases.items()},
        scale=scale,
        y_range=y_range,
        note=note,
    )


_METRICS: Mapping[str, _Metric] = {
    "thr": lambda w, ll, p, kw: w.thr(ll, p, **kw),
    "e2e": lambda w, ll, p, kw: w.e2e(ll, p, **kw),
    "rtt": lambda w, ll, p, kw: w.rtt(ll, p, **kw),
    "rto": lambda w, ll, p, kw: w.rto(ll, p, **kw),
    "lld": lambda w, ll, p, kw: w.lld(ll, p, **kw),
}


def _throughput(
    w: Wong,
    cases: Mapping[str, _Case],
    y_range: tuple[float, float] | None = None,
    note: str = "",
) -> Curves:
    label = "TCP throughput (kbit/s)"
    return _over_per(w, "thr", label, cases, scale=1e-3, y_range=y_range, note=note)


@REGISTRY.figure("fig4.7")
def _recovery_throughput(w: Wong) -> Curves:
    return _throughput(w, _RECOVERY)


@REGISTRY.figure("fig4.8")
def _recovery_delay(w: Wong) -> Curves:
    note = "The published axis ends at 5 s; here both curves go beyond it."
    label = "Mean end-to-end delay of TCP (s)"
    return _over_per(w, "e2e", label, _RECOVERY, y_range=(0.0, 5.0), note=note)


@REGISTRY.figure("fig4.9")
def _link_delay(w: Wong) -> Curves:
    label = "Mean transmission delay of the link layer (s)"
    return _over_per(w, "lld", label, {"RLP": ("rlp", {})})


@REGISTRY.figure("fig4.10")
def _recovery_rtt(w: Wong) -> Curves:
    note = (
        "Without recovery hardly any segment needs a single transmission beyond 40 %, "
        "and Karn's rule leaves few samples or none."
    )
    return _over_per(w, "rtt", "Mean RTT of TCP (s)", _RECOVERY, note=note)


@REGISTRY.figure("fig4.11")
def _recovery_rto(w: Wong) -> Curves:
    note = (
        "Mean of the estimates after each sample, not backed off. Without recovery there are few "
        "samples beyond 30 %, and the mean is near the 5 s that it begins with."
    )
    label = "Mean RTO of TCP (s)"
    return _over_per(w, "rto", label, _RECOVERY, note=note)


@REGISTRY.figure("fig4.14")
def _sequencing_rtt(w: Wong) -> Curves:
    note = "The figure does not name its protocol; RLP here."
    return _over_per(w, "rtt", "Mean RTT of TCP (s)", _sequencing("rlp"), note=note)


@REGISTRY.figure("fig4.15")
def _sequencing_rlp(w: Wong) -> Curves:
    return _throughput(w, _sequencing("rlp"))


@REGISTRY.figure("fig4.16")
def _sequencing_mdlp(w: Wong) -> Curves:
    return _throughput(w, _sequencing("mdlp"))


@REGISTRY.figure("fig4.17")
def _protocols(w: Wong) -> Curves:
    return _throughput(w, _PROTOCOLS)


@REGISTRY.figure("fig4.19")
def _status_period(w: Wong) -> Curves:
    note = "The published legend cannot be read; the periods are chosen."
    cases: dict[str, _Case] = {s: ("rlp", {"status_period": s}) for s in STATUS_PERIODS}
    return _throughput(w, cases, note=note)


@REGISTRY.figure("fig4.20")
def _min_interval(w: Wong) -> Curves:
    cases: dict[str, _Case] = {s: ("rlp", {"min_interval": s}) for s in MIN_INTERVALS}
    return _throughput(w, cases, (3, 12))


@REGISTRY.figure("fig4.21")
def _t200(w: Wong) -> Curves:
    note = "The published legend cannot be read; the values are chosen."
    cases: dict[str, _Case] = {f"T200 = {s}": ("mdlp", {"t200": s}) for s in T200S}
    return _throughput(w, cases, (0, 12), note)


@REGISTRY.figure("fig4.22")
def _t1(w: Wong) -> Curves:
    note = "Of the published legend 1.5 and 2 s can be read; the others are chosen."
    cases: dict[str, _Case] = {f"T1 = {s}": ("lapb", {"t1": s}) for s in T1S}
    return _throughput(w, cases, (0, 12), note)
