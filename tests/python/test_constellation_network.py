"""Networks of satellites: delays of the paths, handovers, and shared links."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import farlink as fl
from farlink import constellation, orbit
from test_cli import farlink

NEW_YORK, LONDON = orbit.Place(40.7, -74.0), orbit.Place(51.5, -0.1)
SAO_PAULO = orbit.Place(-23.5, -46.6)
NAMES = {NEW_YORK: "server", LONDON: "client"}
SHELL = constellation.walker(altitude=550, inclination=53, planes=72, per_plane=22, phasing=39)


def probe(rate: str, seconds: int) -> dict[str, object]:
    """Return a flow of datagrams of 100 bytes."""
    ends = {"from": "server", "to": "client"}
    return {**ends, "app": "cbr", "rate": rate, "packet": "100 B", "duration": f"{seconds} s"}


def paths(seconds: int = 120) -> list[constellation.Path]:
    pairs = [(NEW_YORK, LONDON)]
    return constellation.paths(SHELL, pairs, duration=seconds, step=1, interval=15)


def test_datagrams_take_the_light_time_of_the_path() -> None:
    """A datagram each second meets the delay of each row; 10 us are for transmission."""
    (path,) = paths()
    net = constellation.network(SHELL, [path], NAMES)
    result = fl.run({**net, "flows": [probe("800 bit/s", 110)]})
    flow = {name: result.total(name, result.tcp[0], udp=True).mean for name in MEASURES}
    rows = path.delay[:110]
    assert flow["datagrams_received"] == 110
    for name, expected in [("min", rows.min()), ("mean", rows.mean()), ("max", rows.max())]:
        assert flow[f"delay_{name}"] == pytest.approx(expected, rel=1e-3)


MEASURES = ("datagrams_received", "datagrams_lost", "delay_min", "delay_mean", "delay_max")


def test_a_gap_loses_what_crosses_a_new_ground_link() -> None:
    """100 datagrams a second: 10 are lost in 0.1 s at the server, and fewer at the client."""
    (path,) = paths()
    net = constellation.network(SHELL, [path], NAMES, gap=0.1)
    result = fl.run({**net, "flows": [probe("80 kbit/s", 110)]})
    lost = result.total("datagrams_lost", result.tcp[0], udp=True).mean
    ends = [(nodes[0], nodes[-1]) for nodes in path.satellites[:110]]
    changes = np.array(
        [[a != b for a, b in zip(x, y, strict=True)] for x, y in itertools.pairwise(ends)]
    )
    server, client = (10 * int(count) for count in changes.sum(axis=0))
    assert server > 0
    assert lost is not None
    assert server <= lost <= server + client
    without = constellation.network(SHELL, [path], NAMES)
    kept = fl.run({**without, "flows": [probe("80 kbit/s", 110)]})
    assert kept.total("datagrams_lost", kept.tcp[0], udp=True).mean == 0


def test_a_file_arrives_over_changes_and_another_flow_takes_its_share() -> None:
    names = {**NAMES, SAO_PAULO: "other"}
    both = constellation.paths(
        SHELL, [(NEW_YORK, LONDON), (SAO_PAULO, LONDON)], duration=60, step=1, interval=15
    )
    rates = constellation.LinkRates(down="20 Mbit/s", up="5 Mbit/s")
    net = constellation.network(SHELL, both, names, rates=rates)
    net["flows"][0] |= {"count": 2, "name": "pair"}
    result = fl.run(net, tcp="cubic", overrides={"tcp.receive_window": "8 MB"})
    total = result.total("goodput", "cubic").mean
    assert total is not None
    # The paths end at two satellites. The pair shares one link of 20 Mbit/s, and the third
    # transfer has the other.
    ends = zip(both[0].satellites, both[1].satellites, strict=True)
    assert all(first[-1] != second[-1] for first, second in ends)
    assert 35e6 < total < 40e6


def test_rain_at_the_client_sets_the_rate_of_its_links() -> None:
    """8PSK 3/4 carries 2.228 bit per symbol at 8 to 9 dB, QPSK 1/2 carries .989 at 1 to 2 dB."""
    (path,) = paths(60)
    table = pd.DataFrame({"time": [0.0, 29.0, 30.0, 61.0], "attenuation": [0.0, 0.0, 6.5, 6.5]})
    # The satellites are at 25 to 90 degrees, so that 6.5 dB at 25 degrees are at most 6.5 dB.
    weather = {LONDON: constellation.Weather(table, 25.0, 9.5, "10 MBd")}
    net = constellation.network(SHELL, [path], NAMES, weather=weather)
    assert all(
        ("rate_trace" in link["down"]) == ("client" in link["between"]) for link in net["links"]
    )
    result = fl.run({**net, "flows": [{**probe("40 Mbit/s", 60), "packet": "1400 B"}]})
    total = result.total("bytes_delivered", result.tcp[0], udp=True).mean
    assert total is not None
    dry = fl.run(
        {
            **constellation.network(
                SHELL,
                [path],
                NAMES,
                weather={LONDON: constellation.Weather(table * [1, 0], 25.0, 9.5, "10 MBd")},
            ),
            "flows": [{**probe("40 Mbit/s", 60), "packet": "1400 B"}],
        }
    )
    clear = dry.total("bytes_delivered", dry.tcp[0], udp=True).mean
    assert clear is not None
    # At 9.5 - 1 dB the code is 8PSK 3/4 with 2.228 bit per symbol, less 28 bytes of headers.
    assert clear * 8 / 60 == pytest.approx(10e6 * 2.228 * 1400 / 1428, rel=0.02)
    # In the second half 2.3 dB or more of rain leave less.
    assert 0.5 * clear < total < 0.95 * clear


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": -1.0}, "gap -1; write 0 or more"),
        ({"names": {NEW_YORK: "server"}}, "an end has no name"),
    ],
)
def test_wrong_arguments_are_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"names": NAMES, **change}
    with pytest.raises(fl.ScenarioError, match=message):
        constellation.network(SHELL, paths(15), **arguments)  # type: ignore[arg-type]


def test_the_command_writes_a_scenario_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "net"
    places = ["--from", "40.7,-74", "--to", "51.5,-0.1", "--out", str(out)]
    shell = ["channels", "paths", "walker:550,53,72x22,39", *places]
    time = ["--duration", "30", "--interval", "15"]
    assert farlink(*shell, *time, "--network", "--gap", "0.05") == 0
    assert farlink("run", str(out / "scenario.toml"), "--set", "flows.0.duration=5s") == 0
    assert farlink(*shell, *time, "--gap", "1") == 2
    assert "--gap is for a network; add --network" in capsys.readouterr().err
