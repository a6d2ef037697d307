"""Goodput under random loss agrees with Mathis 1997 and Padhye 1998, where each holds.

docs/validation.md gives the reasons for the bands.
"""

from functools import cache

import pytest

from lossrates import LOSSES, Point, point

RUNS = 10
TCPS = ("reno", "sack")
EVERY = (1, 2)


@cache
def measured(tcp: str, loss: float, ack_every: int) -> Point:
    return point(tcp, loss, ack_every=ack_every, runs=RUNS)


@pytest.mark.parametrize("ack_every", EVERY)
@pytest.mark.parametrize("tcp", TCPS)
@pytest.mark.parametrize("loss", [p for p in LOSSES if p <= 3e-3])
def test_without_timeouts_it_is_mathis(tcp: str, loss: float, ack_every: int) -> None:
    """Without time-outs the goodput agrees with Mathis.

    Mathis leaves out time-outs, which hardly occur below a loss of 3e-3. C is 1.22 for periodic
    losses. For independent losses it is 1.31 (7 % more) in the limit of large windows (Ott,
    Kemperman and Mathis 1996). Windows of about 20 whole segments halve to less.
    """
    measurement = measured(tcp, loss, ack_every)
    assert measurement.timeouts < 0.01
    assert 0.90 < measurement.mean / measurement.mathis < 1.10


@pytest.mark.parametrize("ack_every", EVERY)
@pytest.mark.parametrize("tcp", TCPS)
@pytest.mark.parametrize("loss", [p for p in LOSSES if p > 3e-3])
def test_with_timeouts_mathis_is_a_bound(tcp: str, loss: float, ack_every: int) -> None:
    measurement = measured(tcp, loss, ack_every)
    assert 0.5 < measurement.mean / measurement.mathis < 1.0


@pytest.mark.parametrize("ack_every", EVERY)
@pytest.mark.parametrize("loss", LOSSES)
def test_reno_is_padhye_from_above(loss: float, ack_every: int) -> None:
    """Reno's goodput is above Padhye's model.

    The model drops the rest of a round after its first lost packet. Losses in farlink are
    independent, so fewer of them end in a time-out.
    """
    measurement = measured("reno", loss, ack_every)
    assert 0.92 < measurement.mean / measurement.padhye < 1.25


@pytest.mark.parametrize("ack_every", EVERY)
@pytest.mark.parametrize("loss", LOSSES)
def test_sack_is_above_reno_and_within_half_of_padhye(loss: float, ack_every: int) -> None:
    sack, reno = (measured(tcp, loss, ack_every) for tcp in ("sack", "reno"))
    assert sack.mean >= reno.mean
    assert 0.92 < sack.mean / sack.padhye < 1.50


@pytest.mark.parametrize("tcp", TCPS)
@pytest.mark.parametrize("loss", [p for p in LOSSES if p <= 3e-3])
def test_delayed_ack_costs_the_square_root_of_two(tcp: str, loss: float) -> None:
    every_packet, delayed = (measured(tcp, loss, n).mean for n in EVERY)
    assert every_packet / delayed == pytest.approx(2**0.5, rel=0.08)
