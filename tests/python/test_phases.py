"""Statistics by path phase, against counts by hand for one change of a path."""

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import farlink
from farlink import cli, constellation, orbit, phases, phasetable, recordings
from farlink.errors import ScenarioError

SPACING = 1500 * 8 / 10e6
"""Time of a full packet at 10 Mbit/s (s)."""

SCENARIO = """
name = "change"
[tcp]
variant = "{tcp}"
receive_window = "300 kB"
{more}

[[links]]
name = "sky"
between = ["server", "client"]
[links.down]
rate = "10 Mbit/s"
delay = "0 s"
queue = {{ packets = 1000 }}
[links.down.channel]
{down}
[links.up]
rate = "10 Mbit/s"
delay = "10 ms"

[[flows]]
name = "download"
from = "server"
to = "client"
app = "bulk"
duration = "8 s"
"""


def _run(down: str, tcp: str = "reno", more: str = "") -> pd.DataFrame:
    text = SCENARIO.format(down=down, tcp=tcp, more=more)
    return farlink.run(tomllib.loads(text)).phases()


def _steps(*rows: tuple[float, float], column: str = "delay (ms)", more: str = "") -> str:
    lines = "\\n".join(f"{time:g},{value:g},{n}" for n, (time, value) in enumerate(rows))
    key = column.split()[0]
    return f'{key}_trace = {{ data = "time (s),{column},phase\\n{lines}\\n"{more} }}'


def test_falling_delay_lets_the_packets_of_the_last_40_ms_be_overtaken() -> None:
    # The delay falls from 100 to 60 ms at 3 s. A packet sent k spacings before the first packet on
    # the new path arrives after it if k spacings are less than 40 ms: k is 1 to 33.
    table = _run(_steps((0, 100), (3, 60), more=", keep_order = false"))
    late = math.floor(0.040 / SPACING)
    assert late == 33
    assert table["reordered"].tolist() == [0, late]
    # The last packet of the old path comes after 32 others of it and 33 of the new path.
    assert table["extent_max"].tolist() == [0, late - 1 + late]
    assert table["lost"].tolist() == [0, 0]
    assert table["start"].tolist()[1] == table["end"].tolist()[0] == 3.0


def test_falling_delay_reorders_nothing_if_packets_keep_their_order() -> None:
    table = _run(_steps((0, 100), (3, 60)))
    assert table["reordered"].tolist() == [0, 0]
    assert table["retransmissions"].tolist() == [0, 0]


def test_overtaken_packets_cause_spurious_retransmissions_with_sack_alone() -> None:
    down = _steps((0, 100), (3, 60), more=", keep_order = false")
    # Packets of both paths come in turn at the same rate, so each duplicate ACK is followed by a
    # new one, and Reno never counts three. SACK counts what arrived above the hole.
    assert _run(down)["retransmissions"].tolist() == [0, 0]
    table = _run(down, tcp="sack")
    assert table["retransmissions"].tolist()[1] > 0
    assert table["spurious"].tolist() == table["retransmissions"].tolist()


def test_gap_of_100_ms_loses_the_packets_of_100_ms() -> None:
    gap = 'reconfiguration = { interval = "15 s", first = "3 s", delay = ["50 ms", "50 ms"], '
    table = _run(gap + 'interruption_time = "100 ms" }')
    lost = table["lost"].tolist()
    assert lost[0] == 0
    assert abs(lost[1] - 0.100 / SPACING) < 1
    assert table["retransmissions"].tolist()[1] >= lost[1]
    assert table["spurious"].tolist()[0] == 0


def test_rising_delay_above_the_time_out_causes_a_spurious_time_out() -> None:
    table = _run(_steps((0, 50), (3, 1500)))
    assert table["timeouts"].tolist()[0] == 0
    assert table["timeouts"].tolist()[1] >= 1
    assert table["lost"].tolist() == [0, 0]
    assert table["spurious"].tolist()[1] == table["retransmissions"].tolist()[1] > 0


def test_goodput_and_rtt_are_those_of_each_phase() -> None:
    table = _run(_steps((0, 50), (3, 50), (5, 90)))
    assert table["phase"].tolist() == [0, 1, 2]
    # The window of 300 kB fills the queue, so the round trip is window over rate in each phase.
    assert table["goodput"].tolist()[1] == pytest.approx(10e6 * 1460 / 1500, rel=0.002)
    assert table["rtt_mean"].tolist()[1] == pytest.approx(300e3 * 8 / 10e6 * 1500 / 1460, rel=0.02)
    sent = table["goodput"] * (table["end"] - table["start"])
    assert sent.sum() / 8 < table["sent"].sum() * 1460


def test_sums_over_phases_are_those_of_the_run() -> None:
    result = farlink.run("leo-reconfiguration", overrides={"flows.0.duration": "31 s"})
    table = result.phases()
    total: Any = result.summary.loc[("cubic", "download")]
    assert table["start"].tolist()[1:] == [12.0, 27.0]
    assert table["sent"].sum() == total["segments_sent", "mean"]
    assert table["retransmissions"].sum() == total["segments_retransmitted", "mean"]
    assert table["spurious"].sum() == total["segments_duplicate", "mean"]
    assert table["timeouts"].sum() == total["timeouts", "mean"]
    lasting = table["end"] - table["start"]
    carried = (table["goodput"] * lasting).sum() / 8
    assert carried == pytest.approx(total["bytes_delivered", "mean"], abs=1)
    every = result.phases(interval=10.0, first=2.0)
    assert every["start"].tolist()[1:] == [2.0, 12.0, 22.0]
    assert every["sent"].sum() == table["sent"].sum()


def test_quic_has_what_it_sent_in_each_phase() -> None:
    result = farlink.run(
        "leo-reconfiguration", tcp=["quic"], overrides={"flows.0.duration": "14 s"}
    )
    table = result.phases()
    assert table["phase"].tolist() == [0, 1]
    assert table["goodput"].min() > 50e6
    assert table["rtt_mean"].min() > 0.02
    total: Any = result.summary.loc[("quic", "download")]
    # A packet with old and new data counts for both.
    packets, again = total["segments_sent", "mean"], table["retransmissions"].sum()
    assert packets <= table["sent"].sum() <= packets + again
    assert again > 0
    assert table[["spurious", "reordered", "timeouts", "undone"]].isna().all(axis=None)


def _scenario(**trace: Any) -> dict[str, Any]:  # noqa: ANN401 (values of TOML)
    return {"name": "x", "links": [{"name": "l", "down": {"channel": {"delay_trace": trace}}}]}


ROWS = "time (ms),delay (ms),phase\n0,1,7\n400,1,7\n1000,5,8\n2000,1,8\n"


def test_changes_follow_repeats_and_offsets_of_a_trace() -> None:
    assert phases.boundaries(_scenario(data=ROWS), 9.0) == [1.0]
    assert phases.boundaries(_scenario(data=ROWS, repeat=True), 4.5) == [1.0, 2.0, 3.0, 4.0]
    moved = _scenario(data=ROWS, repeat=True, offset="500 ms")
    assert phases.boundaries(moved, 3.0) == [0.5, 1.5, 2.5]
    assert phases.boundaries(_scenario(data=ROWS, offset="500 ms"), 3.0) == [0.5]
    later = ROWS.replace("0,1,7\n400", "100,1,7\n400")
    assert phases.boundaries(_scenario(data=later), 3.0) == [0.9]


def test_changes_of_routes_and_of_a_channel_in_stages_count() -> None:
    scenario = _scenario(data=ROWS)
    channel = scenario["links"][0]["down"]["channel"]
    scenario["links"][0]["down"]["channel"] = [{"loss": 0.1}, channel]
    scenario["routes"] = [
        {"at": "a", "to": "b", "via": "c"},
        {"at": "a", "to": "b", "via": "d", "start": "2500 ms"},
    ]
    assert phases.boundaries(scenario, 3.0) == [1.0, 2.5]
    assert phases.boundaries(scenario, 2.0) == [1.0]


def _segments(*rows: tuple[float, int, bool]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=pd.Index(["time", "seq", "retransmission"]))


def _arrivals(*rows: tuple[float, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=pd.Index(["time", "seq"]))


def test_segment_sent_again_counts_if_its_retransmission_cannot_have_come() -> None:
    # The least delay is 0.10 s, and the segment 0 is sent again at 0.20 s.
    sent = _segments((0.00, 0, False), (0.01, 1, False), (0.02, 2, False), (0.20, 0, True))
    others = ((0.11, 1), (0.14, 2))
    for arrival, late in ((0.15, 1), (0.25, 1), (0.31, 0)):
        arrived = _arrivals(*others, (arrival, 0))
        edges = phasetable._Edges(np.array([0.0, 1.0]))
        measures = phasetable._reordering(sent, arrived, edges)
        assert measures["reordered"].tolist() == [late]
        # Two segments came since the first that overtook.
        assert measures["extent_max"].tolist() == [2 * late]


def test_greatest_extent_of_a_phase_counts() -> None:
    sent = _segments(*((0.01 * seq, seq, False) for seq in range(6)))
    order = (1, 2, 3, 0, 5, 4)
    arrived = _arrivals(*((0.5 + 0.01 * place, seq) for place, seq in enumerate(order)))
    edges = phasetable._Edges(np.array([0.0, 1.0]))
    measures = phasetable._reordering(sent, arrived, edges)
    assert measures["reordered"].tolist() == [2]
    assert measures["extent_max"].tolist() == [3]


def test_event_at_a_change_belongs_to_the_new_phase() -> None:
    edges = phasetable._Edges(np.array([0.0, 1.0, 2.0]))
    assert edges.place(np.array([0.0, 0.999, 1.0, 2.0])).tolist() == [0, 0, 1, 1]


def test_bytes_of_several_connections_add_up() -> None:
    edges = phasetable._Edges(np.array([0.0, 1.0, 2.0]))
    rows = {"time": [0.1, 0.2, 1.1, 1.2], "bytes": [100, 250, 40, 90]}
    assert phasetable._bits(pd.DataFrame(rows), edges).tolist() == [2000.0, 720.0]


def test_losses_are_of_data_and_known_for_one_sender() -> None:
    text = SCENARIO.format(down="loss = 0.02", tcp="sack", more="")
    text = text.replace('delay = "10 ms"', 'delay = "10 ms"\nchannel = { loss = 0.05 }')
    result = farlink.run(tomllib.loads(text))
    drops = result.trace("drops")
    table = result.phases(interval=2.0)
    assert table["lost"].sum() == drops["seq"].notna().sum() < len(drops)
    both = [dict(flow) for flow in tomllib.loads(text)["flows"]]
    tree = tomllib.loads(text) | {"flows": [{**both[0], "app": "http", "pages": 3}]}
    tree["flows"][0].pop("duration")
    answered = farlink.run(tree).phases(interval=100.0)
    assert answered["side"].tolist() == ["from", "to"]
    assert answered["lost"].isna().all()


def test_unknown_changes_are_refused_in_a_line() -> None:
    with pytest.raises(ScenarioError, match="no change of a path is known"):
        phases.boundaries(_scenario(data="time (s),delay (ms)\n0,1\n1,2\n"), 3.0)
    with pytest.raises(ScenarioError, match="random place"):
        phases.boundaries(_scenario(data=ROWS, repeat=True, random_offset=True), 3.0)
    for interval, first in ((0.0, 0.0), (-1.0, 0.0), (math.inf, 0.0), (1.0, -1.0), (1e-6, 0.0)):
        with pytest.raises(ScenarioError, match="interval"):
            phases.grid(interval, first, 60.0)


def test_grid_has_the_changes_of_reconfiguration() -> None:
    assert phases.grid(15.0, 12.0, 60.0) == [12.0, 27.0, 42.0, 57.0]
    assert phases.grid(15.0, 15.0, 45.0) == [15.0, 30.0]
    assert phases.grid(15.0, 40.0, 60.0) == [10.0, 25.0, 40.0, 55.0]


def test_saved_tables_equal_the_table(tmp_path: Path) -> None:
    result = farlink.run("leo-reconfiguration", overrides={"flows.0.duration": "13 s"})
    result.save(tmp_path / "p", phases=(None, 0.0))
    result.save(tmp_path / "c", phases=(10.0, 0.0), table_format="csv")
    saved = pd.read_parquet(tmp_path / "p" / "cubic" / "phases.parquet")
    assert saved["sent"].tolist() == result.phases()["sent"].tolist()
    assert saved.attrs["units"]["goodput"] == "bit/s"
    text = pd.read_csv(tmp_path / "c" / "cubic" / "phases.csv")
    assert text["start_s"].tolist()[1] == 10.0
    assert text["sent_segments"].tolist() == result.phases(interval=10.0)["sent"].tolist()


def _command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(arguments))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def test_command_prints_phases_of_a_path_over_a_constellation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = constellation.walker(altitude=550, inclination=53, planes=72, per_plane=22, phasing=39)
    places = (orbit.Place(40.7, -74), orbit.Place(51.5, -0.1))
    (path,) = constellation.paths(shell, [places], duration=45, step=1, interval=15)
    recordings.save(
        path.recording(recordings.Settings(name="us-uk", rate=10e6)), tmp_path / "us-uk"
    )
    scenario = str(tmp_path / "us-uk" / "scenario.toml")
    out = str(tmp_path / "out")
    options = ("--set", "flows.0.duration=40s", "--set", "flows.0.start=1s", "--out", out)
    assert _command("run", scenario, "--tcp", "cubic", "--phases", "path", *options) == 0
    printed = capsys.readouterr().out
    table = pd.read_parquet(tmp_path / "out" / "cubic" / "phases.parquet")
    names = path.frame()["path"].tolist()
    changes = [float(at) for at in range(1, 41) if names[at] != names[at - 1]]
    assert table["start"].tolist()[1:] == changes
    assert changes
    assert f"{changes[0]:.2f}" in printed
    assert "taken" in printed


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ("path", "small: no change of a path is known"),
        ("15", "--phases 15: write path, an interval"),
        ("0 s", "--phases 0 s: write path"),
        ("1 s,2 s,3 s", "--phases 1 s,2 s,3 s: write path"),
    ],
)
def test_command_refuses_unknown_phases_before_it_runs(
    small: Path, capsys: pytest.CaptureFixture[str], when: str, message: str
) -> None:
    assert _command("run", str(small), "--phases", when) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert out == ""


def test_command_refuses_phases_that_nobody_reads(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _command("run", str(small), "--phases", "1 s", "--quiet") == 2
    assert "--phases has no effect beside --quiet; add --out DIR" in capsys.readouterr().err
