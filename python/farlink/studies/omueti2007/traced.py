"""Measures from traces: rates late in a transfer, and properties of TCP-ADaLR."""

import math

import numpy as np
from numpy.typing import NDArray

from farlink.studies.cache import Cell
from farlink.studies.model import Model
from farlink.studies.omueti2007.registry import REGISTRY
from farlink.studies.quantity import Evidence, Quantity, fact
from farlink.studies.study import Curves

__all__ = ["late_share"]

_RATE = 2_048_000.0
_BIN_S = 10.0


def _same(model: Model, value: float, label: str) -> Quantity:
    """Return a quantity with the same value in every run, for deterministic scenarios."""
    return Quantity([value] * model.cache.runs, label)


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean, NaN without values: a transfer can end before a time of the figure."""
    return float(np.mean(values)) if values.size else math.nan


def _rate(model: Model, cell: Cell) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and throughput (bit/s) of the satellite's downlink."""
    table = model.cache.trace(cell, "throughput")
    table = table[(table["link"] == "satellite") & (table["direction"] == "down")]
    return table["time"].to_numpy(), table["throughput"].to_numpy()


@REGISTRY.function("late_share")
def late_share(model: Model, tcp: str, ack: str) -> Quantity:
    """Return throughput / link rate in the last quarter of TCP-ADaLR's download time."""
    end = model.cache.flow(model.cell("adalr_sack", ack), "duration").mean
    time, rate = _rate(model, model.cell(tcp, ack))
    late = (time > 0.75 * end) & (time < 0.98 * end)
    return _same(model, _mean(rate[late]) / _RATE, f"late share({tcp}, {ack})")


@REGISTRY.function("rho_is")
def _rho_is(model: Model, rtt: float, rho: float) -> Evidence:
    """Return the fact whether rho is `rho` (within 1e-5) on a path with the RTT `rtt` (s)."""
    cell = model.cell("adalr_sack", "n", rtt=rtt / 2, fast=True, size="20 kB")
    table = model.cache.trace(cell, "control")
    table = table[(table["quantity"] == "rho") & table["value"].notna()]
    result = float(table["value"].iloc[-1])
    return fact(math.isclose(result, rho, rel_tol=1e-5), f"rho({rtt:g} s) is {result:.6g}")


@REGISTRY.function("at_once")
def _at_once(model: Model, tcp: str) -> Quantity:
    """Return the largest number of retransmissions at one instant after a time-out."""
    cell = model.cell(tcp, "n", outage="window", size="4 MiB")
    sent = model.cache.trace(cell, "segments")
    sent = sent[(sent["side"] == "from") & sent["retransmission"]]
    most = sent.groupby("time").size().max()
    return Quantity([float(most)] * model.cache.runs, f"sent again at once({tcp})", "segments")


@REGISTRY.function("later")
def _later(model: Model, k: int) -> Quantity:
    """Return the delay (s) of the k-th consecutive time-out of TCP-ADaLR compared to SACK."""
    times = []
    for tcp in ("adalr_sack", "sack"):
        marks = model.cache.trace(model.cell(tcp, "n", outage="minute", size="4 MiB"), "marks")
        outs = marks[(marks["kind"] == "timeout") & (marks["side"] == "from")]["time"].to_numpy()
        times.append(float(outs[k - 1] - outs[0]))
    return _same(model, times[0] - times[1], f"later({k})")


def _over_time(model: Model, label: str, congested: bool, scale: float = 1e-3) -> Curves:  # noqa: FBT001
    """Compute curves of the satellite link's throughput over time, without delayed ACKs."""
    series, x = {}, np.arange(_BIN_S / 2, 300 if not congested else 1200, _BIN_S)
    names = {"TCP-ADaLR SACK": "adalr_sack", "TCP-ADaLR NewReno": "adalr_newreno"}
    for name, tcp in {**names, "TCP SACK": "sack", "TCP NewReno": "newreno"}.items():
        time, rate = _rate(model, model.cell(tcp, "n", congested=congested))
        at = [_mean(rate[np.abs(time - item) <= _BIN_S / 2]) for item in x]
        series[name] = [_same(model, value, name) for value in at]
    return Curves([float(item) for item in x], "time (s)", label, series, scale)


@REGISTRY.figure("fig8")
def _fig8(model: Model) -> Curves:
    return _over_time(model, "satellite link throughput (kbit/s)", congested=False)


@REGISTRY.figure("fig10")
def _fig10(model: Model) -> Curves:
    return _over_time(model, "satellite link throughput (kbit/s)", congested=True)


def _received(model: Model, tcp: str, at: NDArray[np.float64], *, congested: bool) -> list[float]:
    table = model.cache.trace(model.cell(tcp, "n", congested=congested), "delivered")
    table = table[table["side"] == "to"]
    return list(np.interp(at, table["time"], table["bytes"]))


@REGISTRY.figure("fig7")
def _fig7(model: Model) -> Curves:
    x = np.arange(0.0, 330.0, _BIN_S)
    series = {
        name: [_same(model, v, name) for v in _received(model, tcp, x, congested=False)]
        for name, tcp in {"TCP-ADaLR": "adalr_sack", "SACK, NewReno": "sack"}.items()
    }
    return Curves(list(x), "time (s)", "received sequence number (MB)", series, 1e-6)


@REGISTRY.figure("fig9")
def _fig9(model: Model) -> Curves:
    x = np.arange(0.0, 1200.0, _BIN_S)
    names = {"TCP-ADaLR SACK": "adalr_sack", "TCP-ADaLR NewReno": "adalr_newreno"}
    series = {}
    for name, tcp in {**names, "TCP SACK": "sack", "TCP NewReno": "newreno"}.items():
        got = np.diff(_received(model, tcp, x, congested=True)) * 8 / _BIN_S
        series[name] = [_same(model, float(v), name) for v in got]
    return Curves(list(x[1:]), "time (s)", "TCP throughput (kbit/s)", series, 1e-3)
