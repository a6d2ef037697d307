"""Claims of chapters 5 and 6, and of the congestion model in section 3.2.4."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add

from farlink.studies.lab import Cell
from farlink.studies.quantity import LEVEL, Evidence, Quantity, best, every, fact, some
from farlink.studies.wong1998.chapter5 import LIMITS, N2, be_mdlp, be_rlp, reset_mdlp
from farlink.studies.wong1998.model import CONGESTION, HIGH_PER, PER, REGISTRY, Options, Wong

__all__ = ["average", "by_limit", "by_n2", "congestion_probe", "loss_rate"]

LOSS = {"c25_5pct": 0.05, "c25_2pct": 0.02, "c5_5pct": 0.05}
"""Published loss of datagrams: boxes of figures 5.8, 5.10 and 5.11."""


def average(quantities: Iterable[Quantity], label: str) -> Quantity:
    """Return the mean of several quantities, run by run."""
    parts = list(quantities)
    return (reduce(add, parts) / len(parts)).named(label)


def by_limit(w: Wong, inet: str | None, values: Sequence[int] = LIMITS) -> dict[int, Quantity]:
    """Return the throughput of RLP at high PER by its maximum recovery delay in s."""
    w.lab.prefetch(w.cell("rlp", p, **be_rlp(m, inet)) for m in values for p in HIGH_PER)
    return {
        m: average((w.thr("rlp", p, **be_rlp(m, inet)) for p in HIGH_PER), f"throughput({m} s)")
        for m in values
    }


def by_n2(w: Wong, inet: str | None) -> dict[int, Quantity]:
    """Return the throughput of MDLP at high PER by N2."""
    w.lab.prefetch(w.cell("mdlp", p, **be_mdlp(n, inet)) for n in N2 for p in HIGH_PER)
    return {
        n: average((w.thr("mdlp", p, **be_mdlp(n, inet)) for p in HIGH_PER), f"throughput(N2 {n})")
        for n in N2
    }


def _top(candidates: Mapping[int, Quantity]) -> int:
    return max(candidates, key=lambda key: candidates[key].mean)


# Section 3.2.4


def loss_rate(setting: str) -> float:
    """Return the share of time that the Internet is congested: alpha / (alpha + beta)."""
    duration = float(str(CONGESTION[setting]["duration"]).removesuffix(" s"))
    cycle = 1 / float(CONGESTION[setting]["periods"])
    alpha, beta = 1 / (cycle - duration), 1 / duration
    return alpha / (alpha + beta)


def congestion_probe(w: Wong, setting: str) -> Cell:
    """Return a day of datagrams, one each 5 s, through the Internet of a setting."""
    path = w.cell("none", 0.0, inet=setting).scenario
    flow = {
        "name": "probe",
        "from": "fixed",
        "to": "base",
        "app": "cbr",
        "rate": "1600 bit/s",
        "packet": "1000 B",
        "duration": "86000 s",
    }
    scenario = {
        "name": "wong1998-congestion",
        "duration": "86100 s",
        "links": path["links"][:2],
        "flows": [flow],
    }
    return Cell(f"probe, {setting}", scenario, 10)


@REGISTRY.claim("wong1998.sec3.2.4.loss_rates")
def _loss_rates(w: Wong) -> Evidence:
    parts = []
    for setting, loss in LOSS.items():
        model = loss_rate(setting)
        parts.append(fact(abs(model - loss) < 1e-9, f"{setting}: model {model:.4f} = {loss:g}"))
        measured = w.lab.flow(congestion_probe(w, setting), "loss_rate")
        parts.append(measured.within(loss - min(0.005, loss / 10), loss + min(0.005, loss / 10)))
    return every(parts)


# Figure 5.2


def _gain(w: Wong, n2: int, per: float) -> Quantity:
    kept, reset = (w.thr("mdlp", per, **o) for o in (be_mdlp(n2), reset_mdlp(n2)))
    return (kept / reset - 1).named(f"gain(N2 {n2}, PER {per:g})")


@REGISTRY.claim("wong1998.fig5.2.best_effort_always_better")
def _always_better(w: Wong) -> Evidence:
    w.lab.prefetch(
        w.cell("mdlp", p, **o) for n in (3, 5, 7) for o in (be_mdlp(n), reset_mdlp(n)) for p in PER
    )
    return every(
        w.thr("mdlp", p, **be_mdlp(n)) >= 0.99 * w.thr("mdlp", p, **reset_mdlp(n))
        for n in (3, 5, 7)
        for p in PER
    )


@REGISTRY.claim("wong1998.fig5.2.gain_81_22_2_at_50pct")
def _gains(w: Wong) -> Evidence:
    g3, g5, g7 = (_gain(w, n, 0.5) for n in (3, 5, 7))
    return every(
        g3.within(0.40, 1.60), g5.within(0.08, 0.45), g7.within(-0.01, 0.10), g3 > g5, g5 > g7
    )


@REGISTRY.claim("wong1998.fig5.2.gain_diminishes")
def _gain_diminishes(w: Wong) -> Evidence:
    g3, g5, g7 = (_gain(w, n, 0.5) for n in (3, 5, 7))
    middle, low = _gain(w, 3, 0.3), _gain(w, 3, 0.1)
    return every(g3 > g5, g5 > g7, g3 > middle, middle > low)


@REGISTRY.claim("wong1998.sec5.2.seq_close_to_nonseq_mdlp")
def _seq_close(w: Wong) -> Evidence:
    return every(
        w.thr("mdlp", p, **be_mdlp(n, seq=True)).close_to(w.thr("mdlp", p, **be_mdlp(n)), 0.10)
        for n in (3, 5, 7)
        for p in PER
    )


# Figures 5.3 to 5.7


@REGISTRY.claim("wong1998.fig5.3.lld_same_at_low_per")
def _delay_low(w: Wong) -> Evidence:
    return w.lld("rlp", 0.2, **be_rlp(2)).close_to(w.lld("rlp", 0.2, **be_rlp(5)), 0.05)


@REGISTRY.claim("wong1998.fig5.3.lld_grows_with_mrd_at_high_per")
def _delay_high(w: Wong) -> Evidence:
    d2, d3, d4, d5 = (w.lld("rlp", 0.6, **be_rlp(m)) for m in LIMITS)
    return every(d2 < d3, d3 < d4, d4 <= 1.02 * d5, d5 <= 1.5)


@REGISTRY.claim("wong1998.fig5.4.rtt_saturates_mrd2")
def _rtt_saturates(w: Wong) -> Evidence:
    short = {p: w.rtt("rlp", p, **be_rlp(2)) for p in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)}
    long = {p: w.rtt("rlp", p, **be_rlp(5)) for p in (0.4, 0.5, 0.6)}
    return every(
        some(every(short[0.6] <= 1.10 * short[p], short[p] > short[0.2]) for p in (0.3, 0.4, 0.5)),
        short[0.2] > short[0.0],
        long[0.6] > long[0.5],
        long[0.5] > long[0.4],
    )


@REGISTRY.claim("wong1998.fig5.5.rtt_n2_2_max_3s")
def _rtt_n2(w: Wong) -> Evidence:
    two, five = ([w.rtt("mdlp", p, **be_mdlp(n)) for p in PER] for n in (2, 5))
    highest = max(five, key=lambda one: one.mean)
    return every(
        some(one >= 2.2 for one in two),
        every(one <= 4.0 for one in two),
        every(highest > one for one in two),
    )


@REGISTRY.claim("wong1998.fig5.6.rto_like_rtt_rlp")
def _rto_rlp(w: Wong) -> Evidence:
    short = {p: w.rto("rlp", p, **be_rlp(2)) for p in (0.4, 0.5, 0.6)}
    long = {p: w.rto("rlp", p, **be_rlp(5)) for p in (0.4, 0.5, 0.6)}
    return every(
        some(short[0.6] <= 1.15 * short[p] for p in (0.4, 0.5)),
        long[0.6] > long[0.5],
        long[0.5] > long[0.4],
    )


@REGISTRY.claim("wong1998.fig5.7.rto_like_rtt_mdlp")
def _rto_mdlp(w: Wong) -> Evidence:
    short = {p: w.rto("mdlp", p, **be_mdlp(2)) for p in (0.4, 0.5, 0.6)}
    return every(
        some(short[0.6] <= 1.15 * short[p] for p in (0.4, 0.5)),
        w.rto("mdlp", 0.6, **be_mdlp(5)) > w.rto("mdlp", 0.4, **be_mdlp(5)),
    )


# Figures 5.8 to 5.11


@REGISTRY.claim("wong1998.fig5.8.best_mrd_3s")
def _best_limit(w: Wong) -> Evidence:
    return every(best(by_limit(w, "c25_5pct"), [3]), _short_is_worst(w))


@REGISTRY.claim("wong1998.fig5.8.mrd2_worst_high_per")
def _short_is_worst(w: Wong) -> Evidence:
    two, three = (w.thr("rlp", 0.6, **be_rlp(m, "c25_5pct")) for m in (2, 3))
    return two < three


@REGISTRY.claim("wong1998.fig5.9.best_n2_4")
def _best_n2(w: Wong) -> Evidence:
    two, three, four = (w.thr("mdlp", 0.6, **be_mdlp(n, "c25_5pct")) for n in (2, 3, 4))
    return every(two < four, three < four, best(by_n2(w, "c25_5pct"), [3, 4, 5]))


@REGISTRY.claim("wong1998.fig5.10.higher_than_5pct")
def _less_congestion(w: Wong) -> Evidence:
    cells = [be_rlp(m, inet) for m in LIMITS for inet in ("c25_2pct", "c25_5pct")]
    w.lab.prefetch(w.cell("rlp", p, **o) for o in cells for p in PER)
    less, more = (
        {(m, p): w.thr("rlp", p, **be_rlp(m, inet)) for m in LIMITS for p in PER}
        for inet in ("c25_2pct", "c25_5pct")
    )
    means = every(
        average((less[m, p] for p in PER), f"mean over PER({m} s, c25_2pct)")
        > average((more[m, p] for p in PER), f"mean over PER({m} s, c25_5pct)")
        for m in LIMITS
    )
    return every(means, _unless_refuted(every(less[one] > more[one] for one in less)))


def _unless_refuted(evidence: Evidence) -> Evidence:
    """Accept what holds "within the confidence interval": what the runs do not refute."""
    holds = evidence.p_against >= LEVEL
    return Evidence(0.0 if holds else 1.0, evidence.p_against, evidence.details)


@REGISTRY.claim("wong1998.fig5.10.best_mrd_4s")
def _best_limit_less(w: Wong) -> Evidence:
    less, before = by_limit(w, "c25_2pct"), _top(by_limit(w, "c25_5pct"))
    return some(best(less, [4, 5]), _not_below(less, before))


@REGISTRY.claim("wong1998.fig5.11.best_mrd_4s")
def _best_limit_short(w: Wong) -> Evidence:
    before = _top(by_limit(w, "c25_5pct"))
    short, long = (
        average((_repeated(w, p, inet) for p in (0.0, *HIGH_PER)), f"repeated({inet})")
        for inet in ("c5_5pct", "c25_5pct")
    )
    return every(_not_below(by_limit(w, "c5_5pct"), before), short < long)


def _not_below(candidates: Mapping[int, Quantity], limit: int) -> Evidence:
    allowed = [m for m in candidates if m >= limit]
    none_below = len(allowed) == len(candidates)
    if none_below:
        return fact(none_below, f"no maximum recovery delay is below {limit} s")
    return best(candidates, allowed)


def _repeated(w: Wong, per: float, inet: str) -> Quantity:
    """Time-outs that follow one of the same segment, per congestion period."""
    options: Options = be_rlp(5, inet)
    again, time = (w.flow(one, "rlp", per, **options) for one in ("timeouts_repeated", "duration"))
    periods = float(CONGESTION[inet]["periods"])
    return (again / (time * periods)).named(f"repeated time-outs per congestion(PER {per:g})")


@REGISTRY.claim("wong1998.fig5.11.axis_range")
def _axis(w: Wong) -> Evidence:
    return every(
        w.thr("rlp", p, **be_rlp(m, "c5_5pct")).within(3500, 10500) for m in LIMITS for p in PER
    )


# Chapter 6


@REGISTRY.claim("wong1998.ch6.limit_ll_recovery")
def _limit_recovery(w: Wong) -> Evidence:
    limits, counts = by_limit(w, "c25_5pct"), by_n2(w, "c25_5pct")
    no_limit, no_count = (
        average((w.thr(ll, p, **o) for p in HIGH_PER), f"throughput({ll} without limit)")
        for ll, o in (("rlp", be_rlp(None, "c25_5pct")), ("mdlp", be_mdlp(None, "c25_5pct")))
    )
    return every(
        best(limits, LIMITS[1:]),
        no_limit <= 1.01 * limits[_top(limits)],
        best(counts, N2[1:]),
        no_count <= 1.01 * counts[_top(counts)],
    )
