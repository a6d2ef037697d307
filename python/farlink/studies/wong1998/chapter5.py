"""Chapter 5: best-effort link layers. Figures 5.2 to 5.11.

All links are non-sequencing. Points have twice the runs of chapter 4: with congestion a run
of 40 Mbit meets a handful of congestion periods, and hangs on them.
"""

from collections.abc import Callable, Mapping, Sequence

from farlink.studies.quantity import Quantity
from farlink.studies.study import Curves
from farlink.studies.wong1998.model import PER, REGISTRY, Options, Wong

__all__ = ["LIMITS", "N2", "be_mdlp", "be_rlp", "reset_mdlp"]

LIMITS = (2, 3, 4, 5)
"""Maximum recovery delays of RLP in figures 5.3 to 5.11, in s."""

N2 = (2, 3, 4, 5)
"""Time-outs in a row after which MDLP gives up, in figures 5.5, 5.7 and 5.9."""

RUNS = 2
"""Factor on the runs of the lab."""


def be_rlp(limit: int | None, inet: str | None = None) -> Options:
    """Return best-effort RLP with a maximum recovery delay in s (None: it never gives up)."""
    options: Options = {"seq": False, "runs": RUNS, "inet": inet}
    if limit is not None:
        options["max_recovery_delay"] = f"{limit} s"
    return options


def be_mdlp(n2: int | None, inet: str | None = None, *, seq: bool = False) -> Options:
    """Return best-effort MDLP that gives up after N2 time-outs (None: never)."""
    options: Options = {"seq": seq, "runs": RUNS, "inet": inet}
    if n2 is not None:
        options |= {"n2": n2, "best_effort": True}
    return options


def reset_mdlp(n2: int) -> Options:
    """Return the original MDLP: after N2 time-outs the link is reset, and loses what it had."""
    return {"seq": False, "runs": RUNS, "n2": n2, "best_effort": False}


Metric = Callable[[Wong, str, float, Options], Quantity]


def _thr(w: Wong, ll: str, per: float, options: Options) -> Quantity:
    return w.thr(ll, per, **options)


def _rtt(w: Wong, ll: str, per: float, options: Options) -> Quantity:
    return w.rtt(ll, per, **options)


def _rto(w: Wong, ll: str, per: float, options: Options) -> Quantity:
    return w.rto(ll, per, **options)


def _lld(w: Wong, ll: str, per: float, options: Options) -> Quantity:
    return w.lld(ll, per, **options)


_LABELS: Mapping[Metric, str] = {
    _thr: "TCP throughput (kbit/s)",
    _rtt: "average RTT in TCP (s)",
    _rto: "average RTO in TCP (s)",
    _lld: "average transmission delay of the link layer (s)",
}


def _curves(
    w: Wong,
    metric: Metric,
    ll: str,
    series: Mapping[str, Options],
    y_range: tuple[float, float] | None = None,
    note: str = "",
) -> Curves:
    points = w.lab.points(PER)
    w.lab.prefetch(w.cell(ll, p, **options) for options in series.values() for p in points)
    return Curves(
        x=[100 * p for p in points],
        x_label="PER (%)",
        y_label=_LABELS[metric],
        series={
            name: [metric(w, ll, p, options) for p in points] for name, options in series.items()
        },
        scale=1e-3 if metric is _thr else 1.0,
        y_range=y_range,
        note=note,
    )


def _limits(inet: str | None = None) -> dict[str, Options]:
    return {f"maximum recovery delay {limit} s": be_rlp(limit, inet) for limit in reversed(LIMITS)}


def _n2s(inet: str | None = None, values: Sequence[int] = N2) -> dict[str, Options]:
    return {f"N2 = {n}": be_mdlp(n, inet) for n in reversed(values)}


@REGISTRY.figure("fig5.2")
def _resets(w: Wong) -> Curves:
    series: dict[str, Options] = {}
    for n in (7, 5, 3):
        series[f"modified, N2 = {n}"] = be_mdlp(n)
        series[f"original, N2 = {n}"] = reset_mdlp(n)
    return _curves(
        w,
        _thr,
        "mdlp",
        series,
        note="Published at PER 50 %: the modified protocol is 81, 22 and 2 % above the original "
        "with N2 of 3, 5 and 7.",
    )


@REGISTRY.figure("fig5.3")
def _link_delay(w: Wong) -> Curves:
    return _curves(
        w, _lld, "rlp", _limits(), (0, 1.2), "Frames that were given up are not in the mean."
    )


@REGISTRY.figure("fig5.4")
def _rtt_rlp(w: Wong) -> Curves:
    return _curves(w, _rtt, "rlp", _limits())


@REGISTRY.figure("fig5.5")
def _rtt_mdlp(w: Wong) -> Curves:
    return _curves(w, _rtt, "mdlp", _n2s(), note="Published: 3.0 s at most with N2 = 2.")


@REGISTRY.figure("fig5.6")
def _rto_rlp(w: Wong) -> Curves:
    return _curves(w, _rto, "rlp", _limits(), (2, 16))


@REGISTRY.figure("fig5.7")
def _rto_mdlp(w: Wong) -> Curves:
    return _curves(w, _rto, "mdlp", _n2s(), (0, 22))


@REGISTRY.figure("fig5.8")
def _congestion_rlp(w: Wong) -> Curves:
    return _curves(w, _thr, "rlp", _limits("c25_5pct"), note=_congested(25, 0.002))


@REGISTRY.figure("fig5.9")
def _congestion_mdlp(w: Wong) -> Curves:
    note = f"The publication does not say which congestion; {_congested(25, 0.002)}"
    return _curves(w, _thr, "mdlp", _n2s("c25_5pct"), note=note)


@REGISTRY.figure("fig5.10")
def _less_congestion(w: Wong) -> Curves:
    return _curves(w, _thr, "rlp", _limits("c25_2pct"), note=_congested(25, 0.0008))


@REGISTRY.figure("fig5.11")
def _short_congestion(w: Wong) -> Curves:
    return _curves(w, _thr, "rlp", _limits("c5_5pct"), (4, 10), _congested(5, 0.01))


def _congested(duration: int, periods: float) -> str:
    return (
        f"congestion of {duration} s on average, {periods:g} periods per second: "
        f"{duration * periods:.0%} of all datagrams are lost."
    )
