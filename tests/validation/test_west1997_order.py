"""The order of schemes on West and Vaidya's testbeds as errors increase: tables 1 to 4."""

from statistics import mean

import pytest

import farlink as fl
from farlink.measures import values_of

RUNS = 20
SCHEMES: dict[str, dict[str, object]] = {
    "reno": {"agents.0.enabled": False},
    "snoop": {},
    "ackp": {"agents.0.kind": "ackp", "agents.0.protocol": "initial", "tcp.ackp": "constant"},
    "ackp-full": {"agents.0.kind": "ackp", "tcp.ackp": "restart"},
    "ebsn": {"agents.0.kind": "ebsn", "tcp.ebsn": True},
    "eln": {"agents.0.kind": "eln", "tcp.eln": "agent"},
    "seqcache": {"agents.0.kind": "seqcache", "tcp.eln": "agent"},
    "split": {"agents.0.kind": "split"},
}
CACHES = ("snoop", "ackp", "ackp-full", "ebsn")
"""Schemes that retransmit at the base station."""


def measured(scenario: str, scheme: str, **errors: object) -> tuple[float, float]:
    """Return goodput in KB/s (1024 B) and the sender's time-outs; no `errors` means none."""
    channel = {"byte_errors": errors} if errors else {}
    channels = {f"links.wavelan.{way}.channel": channel for way in ("down", "up")}
    result = fl.run(scenario, runs=RUNS, overrides={**SCHEMES[scheme], **channels})
    (row,) = result.rows("results")
    goodputs, timeouts = (
        [value for value in values_of(row, name) if value is not None]
        for name in ("goodput", "timeouts")
    )
    assert len(goodputs) == RUNS
    return mean(goodputs) / 8192, mean(timeouts)


@pytest.mark.parametrize(
    ("scenario", "published"), [("wlan-west1997", 199.92), ("wwan-west1997", 14.14)]
)
def test_the_testbed_without_errors_is_that_of_the_report(scenario: str, published: float) -> None:
    """Tables 1 and 3, to which the medium is fitted, with and without snoop."""
    for scheme in ("reno", "snoop"):
        goodput, timeouts = measured(scenario, scheme)
        assert goodput == pytest.approx(published, rel=0.002)
        assert timeouts == 0


@pytest.mark.long
@pytest.mark.parametrize("scenario", ["wlan-west1997", "wwan-west1997"])
@pytest.mark.parametrize("distance", ["64 KiB", "32 KiB", "16 KiB"])
def test_repairs_at_the_station_come_before_marks_and_those_before_reno(
    scenario: str, distance: str
) -> None:
    """Repairs at the station are faster than notices to the sender, and notices than Reno.

    In tables 1 and 3 snoop with and without ACKP differ by at most 1 %. Schemes that notify the
    sender follow, then Reno. A split connection has Reno on its wireless half, without Reno's
    time-outs.
    """
    table = {scheme: measured(scenario, scheme, distance=distance) for scheme in SCHEMES}
    rate = {scheme: match[0] for scheme, match in table.items()}
    for scheme in CACHES:
        assert rate[scheme] == pytest.approx(rate["snoop"], rel=0.01), scheme
        assert table[scheme][1] <= 0.1, scheme
    for scheme in ("eln", "seqcache"):
        assert rate["reno"] * 1.05 < rate[scheme] < rate["snoop"], scheme
    assert rate["eln"] < rate["seqcache"] * 1.01
    assert rate["split"] == pytest.approx(rate["reno"], rel=0.1)


@pytest.mark.long
def test_throughputs_are_those_of_the_tables() -> None:
    """Throughputs agree with table 1: Reno at half of the ideal, snoop at 93 %.

    Table 1 has 98.36 KB/s for Reno and 185.91 KB/s for snoop. Snoop in farlink is 4 % faster,
    because ACKs of segments that are not full do not hinder its repairs.
    """
    assert measured("wlan-west1997", "reno", distance="64 KiB")[0] == pytest.approx(98.36, rel=0.11)
    assert measured("wlan-west1997", "snoop", distance="64 KiB")[0] == pytest.approx(
        185.91, rel=0.05
    )


@pytest.mark.long
@pytest.mark.parametrize("scenario", ["wlan-west1997", "wwan-west1997"])
def test_bursts_leave_snoop_and_little_of_reno(scenario: str) -> None:
    """With bursts snoop stays fast, and Reno does not (tables 2 and 4).

    With bursts of six, snoop keeps half of the ideal on the LAN and three quarters on the slow
    link. Reno keeps a twentieth on the LAN and a fifth on the slow link.
    """
    errors = {"distance": "64 KiB", "burst": 6}
    rate = {scheme: measured(scenario, scheme, **errors)[0] for scheme in SCHEMES}
    ideal, least = (199.92, 0.5) if scenario == "wlan-west1997" else (14.14, 0.7)
    for scheme in CACHES:
        assert least * ideal < rate[scheme] < ideal, scheme
        assert rate[scheme] == pytest.approx(rate["snoop"], rel=0.05), scheme
    assert rate["reno"] < 0.25 * ideal
    assert rate["reno"] < rate["seqcache"] < rate["snoop"]
