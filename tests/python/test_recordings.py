"""Importers of recordings, on files made in the documented formats."""

import dataclasses
import gzip
import json
import math
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import farlink as fl
import recorded_files as made
from farlink import recordings
from farlink.errors import ScenarioError
from farlink.recordings import document, probes, reading
from test_cli import farlink

KINDS = [kind for kind in recordings.KINDS if kind != "netem"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, recordings.Recording]:
    """Read files of every format."""
    files = made.write(tmp_path_factory.mktemp("recorded"))
    return {
        kind: recordings.read(kind, paths, recordings.Settings(name=kind, **settings))  # type: ignore[arg-type]
        for kind, (paths, settings) in files.items()
    }


def imported(
    tmp_path: Path, kind: str, text: str, name: str = "file.txt", **settings: object
) -> recordings.Recording:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return recordings.read(kind, [path], recordings.Settings(name="one", **settings))  # type: ignore[arg-type]


def values(column: recordings.Column) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    assert column.values is not None
    return np.asarray(column.values)


def test_each_format_has_a_file_here() -> None:
    assert set(KINDS) == {
        "lens", "leoreplayer", "irtt", "ping", "iperf3", "mahimahi", "hypatia", "starrynet",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_recording_is_read_again(
    kind: str, recorded: dict[str, recordings.Recording], tmp_path: Path
) -> None:
    recording = recorded[kind]
    recordings.save(recording, tmp_path / "a")
    again = recordings.load(tmp_path / "a")
    recordings.save(again, tmp_path / "b")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert again.start == recording.start
    assert again.files == recording.files


@pytest.mark.parametrize("kind", KINDS)
def test_an_import_runs(
    kind: str, recorded: dict[str, recordings.Recording], tmp_path: Path
) -> None:
    recordings.save(recorded[kind], tmp_path / "recording")
    result = fl.run(tmp_path / "recording" / "scenario.toml", overrides={"duration": "5 s"})
    assert result.rows("results")[0]["metrics"]["goodput"]["mean"] > 1e6


@pytest.mark.parametrize("kind", KINDS)
def test_each_value_has_an_origin_and_a_method(
    kind: str, recorded: dict[str, recordings.Recording]
) -> None:
    for _, direction in recorded[kind].directions:
        for name in document.COLUMNS:
            column = direction.column(name)
            assert column.origin in document.ORIGINS
            assert column.by
            assert (column.values is None) == (column.origin == "assumed")
        assert direction.traffic.effect


def test_irtt_has_round_trips_losses_by_direction_and_the_clock(
    recorded: dict[str, recordings.Recording],
) -> None:
    recording = recorded["irtt"]
    # Row 0 begins half a probe early.
    assert recording.start == datetime.fromtimestamp(made.START_S - 0.01, UTC)
    trip = values(recording.down.delay) + values(recording.up.delay)
    levels = [made.delay_ms(at / 10, made.seeded(1)) for at in range(recording.rows)]
    assert np.median(trip * 1e3 - np.array(levels)) == pytest.approx(0, abs=0.6)
    # 60 % of the round trip is the way up, and the clocks differ by 10.5 s: the offset puts the
    # smallest round trips, 22 ms at least, on even delays.
    assert recording.up.delay.mean > recording.down.delay.mean
    assert recording.up.delay.bounds[1] < 0.06
    # 1 % of each direction, and 1 % of both together of unknown direction.
    assert recording.up.loss.mean == pytest.approx(0.015, abs=0.006)
    assert recording.down.loss.mean == pytest.approx(0.015, abs=0.006)
    assert recording.down.traffic.offered == pytest.approx(8 * 88 / 0.02)
    assert recording.down.rate.origin == "assumed"


def test_irtt_without_time_stamps_of_the_server_has_half_the_round_trip(tmp_path: Path) -> None:
    document = json.loads(made.irtt(5))
    for item in document["round_trips"]:
        item["delay"].pop("send", None)
        item["delay"].pop("receive", None)
    recording = imported(tmp_path, "irtt", json.dumps(document), "a.json")
    assert values(recording.up.delay).tolist() == values(recording.down.delay).tolist()
    assert 0.011 < recording.up.delay.mean < 0.025
    assert "half the round trip" in recording.up.delay.by


def test_a_drift_of_the_clocks_is_removed() -> None:
    sent = np.arange(0, 600 * 10**9, 10**8, dtype=np.int64)
    clock = -3.0 + 2e-5 * sent / 1e9
    up, down, offset = probes.one_way(sent, np.asarray(0.02 + clock), np.asarray(0.02 - clock))
    assert offset == pytest.approx(-3.0)
    assert up == pytest.approx(np.full(len(sent), 0.02), abs=1e-9)
    assert down == pytest.approx(np.full(len(sent), 0.02), abs=1e-9)


def test_ping_has_half_the_round_trip_and_lost_replies(
    recorded: dict[str, recordings.Recording],
) -> None:
    recording = recorded["ping"]
    assert recording.start is not None
    assert recording.start.timestamp() == pytest.approx(made.START_S - 0.05, abs=1e-3)
    assert recording.rows == 900
    assert values(recording.down.delay) == pytest.approx(values(recording.up.delay))
    whole = 1 - (1 - values(recording.down.loss)) * (1 - values(recording.up.loss))
    assert whole.mean() == pytest.approx(0.02, abs=0.006)
    assert "half the round trip" in recording.down.delay.by


@pytest.mark.parametrize("numbers", [65536, 2**32])
def test_ping_without_times_is_placed_by_the_interval(numbers: int, tmp_path: Path) -> None:
    lines = [
        f"64 bytes from 1.1.1.1: icmp_seq={at % numbers} ttl=57 time={10 + at % 3}.5 ms"
        for at in range(65530, 65550)
        if at != 65540
    ]
    recording = imported(tmp_path, "ping", "\n".join(lines), interval=0.5)
    assert recording.start is None
    # The number begins again after 65535, and one is lost.
    assert (recording.rows, recording.step) == (20, 0.5)
    assert recording.notes[0] == "20 probes, 1 lost"


@pytest.mark.parametrize(
    "line",
    [
        "64 bytes from host (1.2.3.4): icmp_seq=1 ttl=57 time=10 ms",
        "64 bytes from 2605:59c8::1: icmp_seq=1 ttl=63 time=60.6 ms",
        "64 bytes from 1.1.1.1: icmp_seq=1 ttl=57 time=0.04 ms (DUP!)",
        "64 bytes from fe80::1%eth0, icmp_seq=1 hlim=64 time=2.1 ms",
    ],
)
def test_lines_of_several_pings_are_known(line: str, tmp_path: Path) -> None:
    assert imported(tmp_path, "ping", line).rows == 1


def test_numbers_above_16_bits_are_taken_as_they_are(tmp_path: Path) -> None:
    lines = [
        f"64 bytes from 1.1.1.1: icmp_seq={at} ttl=57 time=10 ms" for at in range(200_000, 200_050)
    ]
    assert imported(tmp_path, "ping", "\n".join(lines)).rows == 50


def test_requests_after_the_last_reply_are_placed_by_the_spacing_of_the_others(
    tmp_path: Path,
) -> None:
    lines = [
        f"[{1_700_000_000 + at}.010000] 64 bytes from 1.1.1.1: icmp_seq={at} ttl=57 time=10.0 ms"
        for at in (1, 2, 4)
    ]
    lines += [f"[{1_700_000_001 + at}.0] no answer yet for icmp_seq={at}" for at in range(5, 9)]
    recording = imported(tmp_path, "ping", "\n".join(lines))
    assert (recording.rows, recording.notes[0]) == (8, "8 probes, 5 lost")


def test_a_second_reply_to_a_request_is_ignored(tmp_path: Path) -> None:
    text = (
        "64 bytes from 1.1.1.1: icmp_seq=1 ttl=57 time=10.0 ms\n"
        "64 bytes from 1.1.1.1: icmp_seq=1 ttl=57 time=90.0 ms (DUP!)\n"
    )
    assert values(imported(tmp_path, "ping", text).down.delay).tolist() == [0.005]


def test_one_lost_probe_is_no_outage(tmp_path: Path) -> None:
    lines = [
        f"64 bytes from 1.1.1.1: icmp_seq={at} ttl=57 time=10.5 ms" for at in range(100) if at != 33
    ]
    loss = values(imported(tmp_path, "ping", "\n".join(lines)).down.loss)
    # Ten probes of a second are a window, of which each direction lost half of a tenth.
    assert loss[30:40] == pytest.approx(np.full(10, 1 - math.sqrt(0.9)), abs=1e-6)
    assert not loss[:30].any()
    assert not loss[40:].any()


def test_an_outage_of_a_window_loses_everything(tmp_path: Path) -> None:
    lines = [
        f"64 bytes from 1.1.1.1: icmp_seq={at} ttl=57 time=10.5 ms"
        for at in range(100)
        if not 30 <= at < 50
    ]
    loss = values(imported(tmp_path, "ping", "\n".join(lines)).down.loss)
    assert loss.tolist() == [0.0] * 30 + [1.0] * 20 + [0.0] * 50


def test_lens_knows_its_source_and_its_marks_of_losses(
    recorded: dict[str, recordings.Recording], tmp_path: Path
) -> None:
    recording = recorded["lens"]
    assert recording.licence == "CC BY-SA 4.0"
    assert "LENS" in recording.source
    text = "timestamp,rtt,uplink,downlink\n" + "".join(
        f"{1705744800 * 10**9 + at * 10**8},{row}\n"
        for at, row in enumerate(["40,15,25", "-1,0,0", "0,-1,0", "0,0,-1", *["40,15,25"] * 6])
    )
    short = imported(tmp_path, "lens", text, step=1.0)
    assert short.notes[0] == "10 probes, 3 lost"
    # Up: 1 of 10, down: 1 of the 9 that came so far; the unknown one is split evenly.
    split = math.sqrt(0.9)
    assert values(short.up.loss)[0] == pytest.approx(1 - 0.9 * split, abs=1e-6)
    assert values(short.down.loss)[0] == pytest.approx(1 - 8 / 9 * split, abs=1e-6)


def test_lens_reads_its_ping_and_its_raw_files(tmp_path: Path) -> None:
    recording = imported(tmp_path, "lens", made.lens_ping())
    assert recording.down.loss.origin == "assumed"
    assert "the file has replies only, so losses are unknown" in recording.notes
    assert imported(tmp_path, "lens", made.ping()).kind == "lens"
    assert imported(tmp_path, "lens", made.irtt(10)).licence == "CC BY-SA 4.0"


def test_hours_of_a_data_set_become_one_recording(tmp_path: Path) -> None:
    text, later = made.irtt(30), made.irtt(30, start=made.START_S + 45)
    paths = [tmp_path / "b.json.gz", tmp_path / "a.json"]
    paths[0].write_bytes(gzip.compress(later.encode()))
    paths[1].write_text(text, encoding="utf-8")
    recording = recordings.read("irtt", paths, recordings.Settings(name="hours"))
    assert recording.length == pytest.approx(75, abs=0.2)
    assert any("in gaps without a probe" in note for note in recording.notes)
    assert len(recording.files) == 2


def test_iperf3_udp_is_measured_where_it_lost(recorded: dict[str, recordings.Recording]) -> None:
    recording = recorded["iperf3"]
    assert recording.step == 1.0
    assert 60e6 <= recording.down.rate.bounds[0] <= recording.down.rate.bounds[1] <= 160e6
    assert recording.down.loss.origin == "measured"
    assert recording.up.rate.origin == "assumed"
    assert "of the intervals lost datagrams" in recording.down.traffic.effect


def changed_iperf3(**change: object) -> str:
    """Return iperf3's UDP JSON of 10 s with changes of every sum; a function gets the second."""
    document = json.loads(made.iperf3(seconds=10))
    for at, item in enumerate(document["intervals"]):
        for name, value in change.items():
            item["sum"][name] = value(at) if callable(value) else value
    return json.dumps(document)


def test_iperf3_leaves_out_omitted_and_very_short_intervals(tmp_path: Path) -> None:
    text = changed_iperf3(bytes=lambda at: 10**9 if at < 2 else 1_250_000)
    recording = imported(tmp_path, "iperf3", text, "a.json")
    assert recording.down.rate.bounds == pytest.approx((10e6, 10e6), rel=1e-3)
    document = json.loads(changed_iperf3(bytes=1_250_000, omitted=False))
    total = dict(document["intervals"][-1]["sum"], start=10.0001, end=10.0051, bytes=10**9)
    document["intervals"].append({"streams": [], "sum": total})
    recording = imported(tmp_path, "iperf3", json.dumps(document), "b.json")
    assert recording.rows == 10
    assert recording.down.rate.bounds == pytest.approx((10e6, 10e6), rel=1e-3)


def test_iperf3_udp_is_measured_only_if_every_interval_lost(tmp_path: Path) -> None:
    full = imported(tmp_path, "iperf3", changed_iperf3(lost_packets=3), "a.json")
    assert full.down.rate.origin == "measured"
    text = changed_iperf3(lost_packets=lambda at: int(at != 5))
    assert imported(tmp_path, "iperf3", text, "b.json").down.rate.origin == "estimated"


def test_iperf3_counts_losses_of_datagrams_and_segments(tmp_path: Path) -> None:
    # Datagrams that come late were counted as lost in an earlier interval.
    text = changed_iperf3(lost_packets=lambda at: -5 if at == 4 else 10, packets=1000)
    loss = values(imported(tmp_path, "iperf3", text, "a.json").down.loss)
    assert loss[4:6].tolist() == [0.0, 0.01]
    document = json.loads(made.iperf3(udp=False, reverse=False, seconds=5))
    for item in document["intervals"]:
        item["sum"] |= {"bytes": 1448 * 1000, "retransmits": 20}
    loss = values(imported(tmp_path, "iperf3", json.dumps(document), "b.json").up.loss)
    assert loss.tolist() == [0.02] * 5


def test_iperf3_has_a_clock_in_milliseconds(tmp_path: Path) -> None:
    document = json.loads(made.iperf3(seconds=5))
    document["start"]["timestamp"]["timemillisecs"] = 1_707_277_445_250
    recording = imported(tmp_path, "iperf3", json.dumps(document))
    assert recording.start == datetime(2024, 2, 7, 3, 44, 5, 250_000, UTC)


def test_iperf3_tcp_upload_has_rtt_and_retransmissions(tmp_path: Path) -> None:
    recording = imported(tmp_path, "iperf3", made.iperf3(udp=False, reverse=False), "up.json")
    assert recording.up.rate.origin == "estimated"
    assert 0.015 <= recording.up.delay.mean <= 0.03
    assert recording.up.loss.origin == "estimated"
    assert "lower bound" in recording.up.traffic.effect
    assert recording.down.rate.origin == "assumed"


def test_iperf3_of_a_udp_sender_says_nothing_of_the_path(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="says nothing of the path"):
        imported(tmp_path, "iperf3", made.iperf3(udp=True, reverse=False))


def test_iperf3_reads_both_directions_and_json_stream(tmp_path: Path) -> None:
    document = json.loads(made.iperf3(udp=False, reverse=False, seconds=10))
    for item in document["intervals"]:
        item["sum_bidir_reverse"] = item["sum"] | {"sender": False, "bytes": 1_250_000}
    both = imported(tmp_path, "iperf3", json.dumps(document), "both.json")
    assert both.down.rate.mean == pytest.approx(10e6, rel=0.01)
    assert both.up.rate.origin == "estimated"
    events = [{"event": "start", "data": document["start"]}]
    events += [{"event": "interval", "data": item} for item in document["intervals"]]
    text = "\n".join(map(json.dumps, [*events, {"event": "end", "data": {}}]))
    stream = imported(tmp_path, "iperf3", text, "stream.json")
    assert values(stream.down.rate) == pytest.approx(values(both.down.rate))


def test_iperf3_gives_the_rate_and_ping_the_rest(tmp_path: Path) -> None:
    rate, delay = tmp_path / "down.json", tmp_path / "ping.txt"
    rate.write_text(made.iperf3(), encoding="utf-8")
    delay.write_text(made.ping(), encoding="utf-8")
    settings = recordings.Settings(name="both")
    recording = recordings.read("iperf3", [rate], settings, ("ping", [delay]))
    assert recording.kind == "iperf3+ping"
    assert recording.step == 0.1
    assert recording.length == pytest.approx(60, abs=0.2)
    alone = recordings.read("iperf3", [rate], settings)
    assert values(recording.down.rate)[105] == values(alone.down.rate)[10]
    assert "half the round trip" in recording.down.delay.by
    assert recording.phases is not None
    assert recording.phases.first == pytest.approx(12, abs=0.11)
    other = made.ping().replace(str(made.START_S)[:6], "160727")
    delay.write_text(other, encoding="utf-8")
    with pytest.raises(ScenarioError, match="no row in common"):
        recordings.read("iperf3", [rate], settings, ("ping", [delay]))


def test_measurements_at_several_times_keep_their_common_part(tmp_path: Path) -> None:
    rate, delay = tmp_path / "down.json", tmp_path / "ping.txt"
    rate.write_text(made.iperf3(), encoding="utf-8")
    settings = recordings.Settings(name="both")
    alone = recordings.read("iperf3", [rate], settings)
    for lead, length in ((20, 40.0), (-25, 60.0)):
        delay.write_text(made.ping(120, start=made.START_S + lead), encoding="utf-8")
        recording = recordings.read("iperf3", [rate], settings, ("ping", [delay]))
        assert recording.length == pytest.approx(length, abs=0.2)
        begin = max(0, lead)
        assert values(recording.down.rate)[105] == values(alone.down.rate)[begin + 10]
        assert recording.start is not None
        assert recording.start.timestamp() == pytest.approx(made.START_S + begin, abs=0.06)
        assert recording.phases is not None
        for row in recording.phases.starts:
            past = (recording.start.timestamp() + row / 10 - 12) % 15
            assert min(past, 15 - past) < 0.16


def test_mahimahi_keeps_its_opportunities(
    recorded: dict[str, recordings.Recording], tmp_path: Path
) -> None:
    recording = recorded["mahimahi"]
    times = recording.down.opportunities
    assert times is not None
    assert "".join(f"{time}\n" for time in times) == made.mahimahi()
    assert recording.down.rate.mean == pytest.approx(8001 * 12000 / 10)
    assert recording.up.opportunities is not None
    # Times from 1 to 100 are in the first row.
    short = imported(tmp_path, "mahimahi", "1\n100\n101\n300\n")
    assert values(short.down.rate).tolist() == [240e3, 120e3, 120e3]


def test_a_shorter_trace_of_mahimahi_begins_again(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("cell.down", "cell.up")]
    for path, text in zip(paths, ("1000\n", "50\n150\n200\n"), strict=True):
        path.write_text(text, encoding="utf-8")
    recording = recordings.read("mahimahi", paths, recordings.Settings(name="cell"))
    assert values(recording.up.rate).tolist() == [120e3, 240e3] * 5


def test_files_of_mahimahi_are_told_apart_by_their_names(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("Verizon-LTE.up", "Verizon-LTE.down")]
    for path, text in zip(paths, ("10\n", "5\n10\n"), strict=True):
        path.write_text(text, encoding="utf-8")
    recording = recordings.read("mahimahi", paths, recordings.Settings(name="cell"))
    assert recording.down.opportunities is not None
    assert len(recording.down.opportunities) == 2
    with pytest.raises(ScenarioError, match="do not say the directions"):
        recordings.read("mahimahi", [paths[0]] * 2, recordings.Settings(name="cell"))


def test_leoreplayer_has_a_delay_each_10_ms(recorded: dict[str, recordings.Recording]) -> None:
    recording = recorded["leoreplayer"]
    assert (recording.step, recording.rows) == (0.01, 9000)
    delays = [int(line) for line in made.leo_delay().splitlines()]
    assert values(recording.down.delay) == pytest.approx(np.array(delays) / 1e3)
    assert not recording.keep_order
    assert recording.up.rate.origin == "assumed"


def test_hypatia_has_paths_and_a_time_without_one(
    recorded: dict[str, recordings.Recording],
) -> None:
    recording = recorded["hypatia"]
    assert values(recording.down.delay)[0] == pytest.approx(0.0384)
    assert values(recording.down.loss).tolist() == [0.0] * 180 + [1.0] * 20
    assert recording.phases is not None
    assert recording.phases.starts.tolist() == [33, 180]
    assert recording.phases.paths == ("1173-184-144-1229", "1173-184-177-1229", "Unreachable")
    assert recording.down.delay.origin == "computed"


def test_the_scenario_has_queues_of_a_bandwidth_delay_product(tmp_path: Path) -> None:
    lines = [f"{at * 200_000_000},40000000.0\n" for at in range(20)]
    path = tmp_path / "networkx_rtt_1_to_2.txt"
    path.write_text("".join(lines), encoding="utf-8")
    settings = recordings.Settings(name="x", rate=50e6, up_rate=100e3)
    recordings.save(recordings.read("hypatia", [path], settings), tmp_path / "out")
    tree = tomllib.loads((tmp_path / "out" / "scenario.toml").read_text("utf-8"))
    link = tree["links"][0]
    assert link["down"]["queue"] == {"bytes": "250000 B"}  # 50 Mbit/s for 40 ms
    assert link["up"]["queue"] == {"bytes": "30000 B"}  # at least 20 packets
    assert link["up"]["rate"] == "100 kbit/s"
    assert tree["flows"][0]["duration"] == "4 s"


def test_the_csv_has_the_phase_of_each_row(
    recorded: dict[str, recordings.Recording], tmp_path: Path
) -> None:
    recordings.save(recorded["hypatia"], tmp_path / "out")
    rows = (tmp_path / "out" / "down.csv").read_text("utf-8").splitlines()
    assert rows[0] == "time (s),delay (ms),loss,phase"
    phase = [row.split(",")[-1] for row in rows[1:]]
    assert phase == ["0"] * 33 + ["1"] * 147 + ["2"] * 21
    assert rows[-1].split(",")[0] == "20.000"


def test_a_computed_path_keeps_the_chosen_loss(tmp_path: Path) -> None:
    path = tmp_path / "networkx_rtt_1_to_2.txt"
    path.write_text(made.hypatia_rtt(), encoding="utf-8")
    settings = recordings.Settings(name="x", loss=0.01)
    loss = values(recordings.read("hypatia", [path], settings).down.loss)
    assert loss.tolist() == [0.01] * 180 + [1.0] * 20


def test_starrynet_has_the_path_of_least_delay(
    recorded: dict[str, recordings.Recording],
) -> None:
    recording = recorded["starrynet"]
    assert recording.phases is not None
    assert recording.phases.paths == ("1-2-3-4", "1-2-4")
    assert values(recording.down.delay)[0] == pytest.approx(3.51e-3 + 4e-3 + 5.25e-3)
    assert values(recording.down.delay)[9] == pytest.approx(3.6e-3 + 6e-3)


def test_starrynet_without_a_path_loses_everything(tmp_path: Path) -> None:
    paths = [tmp_path / f"{second}.txt" for second in (1, 2, 3)]
    for path, delay in zip(paths, (4, 0, 6), strict=True):
        path.write_text(f"0,{delay}\n{delay},0\n", encoding="utf-8")
    settings = recordings.Settings(name="x", between=(1, 2))
    recording = recordings.read("starrynet", paths, settings)
    assert values(recording.down.delay).tolist() == [0.004, 0.004, 0.006]
    assert values(recording.down.loss).tolist() == [0, 1, 0]


@pytest.mark.parametrize("changes", [False, True])
def test_starrynet_reads_lists_of_links(changes: bool, tmp_path: Path) -> None:  # noqa: FBT001
    paths = []
    for second in range(6):
        for kind, text in made.starrynet_lists(second, changes=changes).items():
            (tmp_path / kind).mkdir(exist_ok=True)
            path = tmp_path / kind / f"{second}.txt"
            path.write_text(text, encoding="utf-8")
            paths.append(path)
    settings = recordings.Settings(name="lists", between=(1, 2))
    recording = recordings.read("starrynet", paths, settings)
    assert recording.phases is not None
    assert recording.phases.paths == ("G1-0.0-0.1-G2", "G1-0.0-0.1-0.2-G2")
    before, after = 1.5 + 2.0 + 1.75, 1.5 + 2.5 + 3.0 + 1.25
    assert (1e3 * values(recording.down.delay)).tolist() == pytest.approx(
        [before] * 3 + [after] * 3
    )
    for change, message in (
        ({"between": (1, 9)}, "has no ground station 9"),
        ({"between": None}, "name two of them with --between"),
    ):
        with pytest.raises(ScenarioError, match=message):
            recordings.read("starrynet", paths, dataclasses.replace(settings, **change))
    with pytest.raises(ScenarioError, match="no file of the same time in the other folder"):
        recordings.read("starrynet", paths[:-1], settings)
    (tmp_path / "1.txt").write_text("0,1\n1,0\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="is in neither a folder isl nor gsl"):
        recordings.read("starrynet", [*paths, tmp_path / "1.txt"], settings)
    with pytest.raises(ScenarioError, match="only one shell is read"):
        recordings.read("starrynet", [*paths, paths[0]], settings)


def test_overtaken_probes_let_packets_overtake() -> None:
    sent = np.arange(5, dtype=np.int64) * 10**7
    delays = np.array([0.05, 0.01, 0.01, 0.05, 0.05])
    fate = np.zeros(5, dtype=np.int64)
    assert probes.Probes(sent, delays, np.full(5, 0.01), fate).overtakes() == 2
    assert probes.Probes(sent, np.full(5, 0.01), np.full(5, 0.01), fate).overtakes() == 0


def test_the_scenario_lets_packets_overtake_if_probes_did(tmp_path: Path) -> None:
    rows = [(0, 60), (10, 20), (20, 20), (30, 20)]
    text = "timestamp,rtt,uplink,downlink\n" + "".join(
        f"{10**18 + at * 10**6},{trip},{trip / 2},{trip / 2}\n" for at, trip in rows
    )
    recording = imported(tmp_path, "lens", text)
    assert not recording.keep_order
    assert "3 probes overtook others, so packets may overtake" in recording.notes
    recordings.save(recording, tmp_path / "out")
    scenario = (tmp_path / "out" / "scenario.toml").read_text("utf-8")
    assert scenario.count("keep_order = false") == 2


def test_the_share_of_queueing_is_above_the_least_delay_of_a_phase() -> None:
    from farlink.recordings.build import queueing_share

    delay = np.array([0.01, 0.03, 0.04, 0.04])
    phases = document.Phases(np.array([2], dtype=np.int64), "computed", "")
    assert queueing_share(delay, phases) == pytest.approx(1 - 0.025 / 0.03, abs=1e-4)
    assert queueing_share(delay, None) == pytest.approx(1 - 0.01 / 0.03, abs=1e-4)


def test_the_command_writes_a_folder_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "irtt.json"
    path.write_text(made.irtt(20), encoding="utf-8")
    out = tmp_path / "starlink"
    code = farlink(
        "import", "irtt", str(path), "--out", str(out), "--source", 'A "dish"', "--licence", "CC0"
    )
    assert code == 0
    assert "next: farlink run" in capsys.readouterr().out
    names = {item.name for item in out.iterdir()}
    expected = {"recording.toml", "scenario.toml", "down.csv", "up.csv", "farlink-files.json"}
    assert names == expected
    tree = tomllib.loads((out / "recording.toml").read_text(encoding="utf-8"))
    assert (tree["source"], tree["licence"], tree["name"]) == ('A "dish"', "CC0", "starlink")
    assert farlink("run", str(out / "scenario.toml"), "--set", "duration=2s", "--quiet") == 0
    assert farlink("import", "irtt", str(path), "--out", str(out), "--json") == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{\n") :])["down"]["delay"]["origin"] == "estimated"


BAD_OPTIONS = [
    (["--rate", "fast"], "--rate fast: write a rate"),
    (["--step", "0.5 ms"], "--step 0.5 ms: write a time from 0.001 s"),
    (["--step", "1.5 ms"], "--step 1.5 ms: write whole milliseconds"),
    (["--loss", "2"], "--loss 2: write a probability"),
    (["--direction", "left"], "--direction left: write up or down"),
    (["--between", "3"], "--between 3: write two numbers"),
    (["--phases", "1 ms"], "--phases 1 ms: write a time"),
    (["--with", "ping"], "--with ping: write KIND:FILE"),
    (["--with", "gopher:x"], "--with gopher:x: write KIND:FILE"),
    (["--name", "a/b"], "is not a name"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_a_bad_option_is_refused_in_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ping.txt"
    path.write_text(made.ping(5), encoding="utf-8")
    out = tmp_path / "out"
    assert farlink("import", "ping", str(path), "--out", str(out), *options) == 2
    err = capsys.readouterr().err
    assert err.startswith("farlink: error: ")
    assert err.count("\n") == 1
    assert message in err
    assert not out.exists()


def test_an_unknown_format_and_a_missing_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert farlink("import", "gopher", "x", "--out", out) == 2
    assert "format 'gopher' of a recording; write lens" in capsys.readouterr().err
    assert farlink("import", "ping", str(tmp_path / "none"), "--out", out) == 2
    assert "no such file" in capsys.readouterr().err
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "ping.txt").write_text(made.ping(5), encoding="utf-8")
    code = farlink("import", "ping", str(tmp_path / "ping.txt"), "--out", str(tmp_path / "file"))
    assert code == 2
    assert "is not a directory" in capsys.readouterr().err


def test_numbers_are_checked() -> None:
    source = reading.Input(Path("x"), b"1")
    assert reading.number(source, 1, "n", "1e3", 0, 1e4) == 1000
    assert reading.whole(source, 1, "n", 3.0, 0, 4) == 3
    numbers: list[object] = ["nan", "inf", "x", None, True, [], "1" * 400, 10**400]
    for value in numbers:
        with pytest.raises(ScenarioError, match="is not a number"):
            reading.number(source, 1, "n", value)
    wholes: list[object] = ["1.5", 1.5, True, "٣", None, "-", "1" * 30]
    for value in wholes:
        with pytest.raises(ScenarioError, match="is not a whole number"):
            reading.whole(source, 1, "n", value, 0, 9)
    with pytest.raises(ScenarioError, match="x, line 1: n '5' is not between 0 and 4"):
        reading.whole(source, 1, "n", "5", 0, 4)
