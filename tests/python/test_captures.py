"""Captures of real traffic are read at any point of the path and in any format."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farlink as fl
from farlink.captures.direction import Kind
from farlink.captures.file import packets
from farlink.captures.path import fit_path
from farlink.overlay import Verdict
from test_cli import farlink

Rows = list[tuple[float, bytes]]

SYN, FIN, ACK = 2, 1, 16


def segment(
    number: int,
    ack: int,
    length: int = 0,
    *,
    flags: int = ACK,
    back: bool = False,
    window: int = 1000,
    options: bytes = b"",
    ports: tuple[int, int] = (40000, 80),
    six: bool = False,
    identity: int = 0,
) -> bytes:
    """Return the headers of a segment whose data are cut off."""
    options += bytes(-len(options) % 4)
    near, far = ports[::-1] if back else ports
    header = struct.pack(
        "!HHIIBBHHH",
        near,
        far,
        number % 2**32,
        ack % 2**32,
        (20 + len(options)) // 4 << 4,
        flags,
        window,
        0,
        0,
    )
    ends = [bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))]
    whole = len(header) + len(options) + length
    if not six:
        source, target = ends[::-1] if back else ends
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + whole, identity, 0, 64, 6, 0)
        return ip + source + target + header + options
    source, target = [bytes(15) + end[-1:] for end in (ends[::-1] if back else ends)]
    hop_by_hop = bytes((6, 0)) + bytes(6)
    ip = struct.pack("!IHBB", 6 << 28, whole + len(hop_by_hop), 0, 64)
    return ip + source + target + hop_by_hop + header + options


def write(
    path: Path,
    rows: Rows,
    *,
    kind: int = 101,
    head: bytes = b"",
    order: str = "<",
    magic: int = 0xA1B2C3D4,
) -> Path:
    """Write packets as pcap, each behind the header of its link type."""
    unit = 10**9 if magic == 0xA1B23C4D else 10**6
    text = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, kind)
    for time, data in rows:
        when = divmod(round(time * unit), unit)
        text += struct.pack(order + "IIII", *when, len(head + data), 1500) + head + data
    path.write_bytes(text)
    return path


SCALE = b"\x03\x03\x07\x01"
"""Window scale 7."""


def exchange(first: int = 1000, **how: Any) -> Rows:  # noqa: ANN401 (of `segment`)
    """Return two segments, a retransmission of the first, and their ACKs, with 100 ms each way."""
    return [
        (0.0, segment(first, 0, flags=SYN, options=SCALE, **how)),
        (0.1, segment(7000, first + 1, flags=SYN | ACK, back=True, options=SCALE, **how)),
        (0.101, segment(first + 1, 7001, **how)),
        (0.102, segment(first + 1, 7001, 1000, **how)),
        (0.103, segment(first + 1001, 7001, 1000, **how)),
        (0.5, segment(first + 1, 7001, 1000, **how)),
        (0.6, segment(7001, first + 2001, back=True, **how)),
        (0.601, segment(first + 2001, 7001, 1000, **how)),
        (0.701, segment(7001, first + 3001, back=True, window=2000, **how)),
    ]


LINKS: dict[str, dict[str, Any]] = {
    "raw": {},
    "ethernet": {"kind": 1, "head": bytes(12) + b"\x08\x00"},
    "vlan": {"kind": 1, "head": bytes(12) + b"\x88\xa8\x00\x07\x81\x00\x00\x08\x08\x00"},
    "pppoe": {"kind": 1, "head": bytes(12) + b"\x88\x64\x11\x00\x00\x01\x00\x50\x00\x21"},
    "cooked": {"kind": 113, "head": bytes(14) + b"\x08\x00"},
    "cooked2": {"kind": 276, "head": bytes(20)},
    "loopback": {"kind": 0, "head": b"\x02\0\0\0"},
    "nanoseconds": {"magic": 0xA1B23C4D},
    "other bytes first": {"order": ">"},
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("six", [0, 1])
def test_every_kind_of_link_and_file_gives_the_same(link: str, six: int, tmp_path: Path) -> None:
    how = LINKS[link]
    capture = fl.capture(write(tmp_path / "x.pcap", exchange(six=bool(six)), **how))
    (item,) = capture.connections
    assert (item.opener, item.responder) == (
        ("[::1]:40000", "[::2]:80") if six else ("10.0.0.1:40000", "10.0.0.2:80")
    )
    way = item.directions["a2b"]
    assert way.place == "sender"
    assert (way.bytes, way.sent_again, way.overtaken) == (3000, 1, 0)
    assert way.least_rtt == pytest.approx(0.101)
    assert way.segments["seq"].tolist() == [0, 1000, 0, 2000]
    assert way.segments["kind"].tolist() == [Kind.NEW, Kind.NEW, Kind.AGAIN, Kind.NEW]
    # Scaled by 2^7, as both ends announced.
    assert way.acks["window"].tolist() == [128_000, 256_000]
    # The segment sent twice gives no sample (Karn), so only the last one does.
    assert way.ahead["rtt"].tolist() == pytest.approx([0.1])
    flight = way.flight
    assert flight["flight"].max() == 2000
    assert flight["flight"][-1] == 0


def test_numbers_that_wrap_go_on(tmp_path: Path) -> None:
    capture = fl.capture(write(tmp_path / "x.pcap", exchange(first=2**32 - 500)))
    way = capture.connections[0].directions["a2b"]
    assert way.segments["seq"].tolist() == [0, 1000, 0, 2000]
    assert way.acks["ack"].tolist() == [2000, 3000]


def test_more_than_the_space_of_numbers_goes_on(tmp_path: Path) -> None:
    """Six gigabytes pass the range of sequence numbers; the capture has a segment per half."""
    step = 2**30
    rows = [
        (number / 2, segment(1 + number * step // 2, 1, 2**15 if number else 1))
        for number in range(12)
    ]
    way = fl.capture(write(tmp_path / "x.pcap", rows)).connections[0].directions["a2b"]
    assert way.segments["seq"][-1] == 5.5 * step


def test_what_is_missing_for_a_round_trip_was_lost_and_less_was_overtaken(tmp_path: Path) -> None:
    rows = [
        (0.0, segment(0, 0, flags=SYN)),
        (0.001, segment(50, 1, flags=SYN | ACK, back=True)),
        (0.101, segment(1, 51)),
        (0.2, segment(1001, 51, 1000)),
        (0.21, segment(1, 51, 1000)),
        (0.3, segment(3001, 51, 1000)),
        (0.4, segment(2001, 51, 1000)),
    ]
    way = fl.capture(write(tmp_path / "x.pcap", rows)).connections[0].directions["a2b"]
    assert way.place == "receiver"
    # The first segment seen is at 1000: later segments below it fill a hole.
    assert way.segments["kind"].tolist() == [Kind.NEW, Kind.LATE, Kind.NEW, Kind.FILLED]
    assert (way.sent_again, way.overtaken, way.bytes) == (1, 1, 4000)


def test_a_port_that_is_used_again_is_another_connection(tmp_path: Path) -> None:
    later = [(time + 10, data) for time, data in exchange(first=500_000)]
    capture = fl.capture(write(tmp_path / "x.pcap", exchange() + later))
    assert [connection.directions["a2b"].bytes for connection in capture.connections] == [
        3000,
        3000,
    ]


def test_packets_captured_twice_count_once(tmp_path: Path) -> None:
    rows = [
        (time + copy * 1e-5, data)
        for number, (time, data) in enumerate(exchange())
        for copy in (0, 1)
        for data in [data[:4] + struct.pack("!H", number + 1) + data[6:]]
    ]
    capture = fl.capture(write(tmp_path / "x.pcap", rows))
    assert capture.connections[0].directions["a2b"].sent_again == 1
    assert capture.notes[0].startswith("9 copies of packets are left out")


def test_without_a_handshake_windows_are_scaled_by_what_was_sent(tmp_path: Path) -> None:
    capture = fl.capture(write(tmp_path / "x.pcap", exchange()[3:]))
    way = capture.connections[0].directions["a2b"]
    assert way.shift == 0
    rows = exchange()[3:]
    rows.insert(0, (0.0, segment(7001, 1001, back=True, window=300)))
    # The end that is seen first counts as the opener.
    way = fl.capture(write(tmp_path / "x.pcap", rows)).connections[0].directions["b2a"]
    assert way.shift == 3  # 2000 B were sent above a window of 300
    assert capture.connections[0].notes[0].startswith("no handshake in the capture")


@pytest.mark.parametrize("stamps", [0, 1])
@pytest.mark.parametrize("host", ["server", "client"])
def test_a_run_is_told_as_it_was(host: str, stamps: int, tmp_path: Path) -> None:
    result = fl.run(
        "geo-lossy",
        tcp="sack",
        overrides={
            "flows.0.size": "300 kB",
            "links.1.down.channel.ber": 5e-6,
            "tcp.timestamps": bool(stamps),
        },
    )
    trace = result.probe(snaplen=96)
    path = tmp_path / "x.pcapng"
    path.write_bytes(trace.pcaps[host])
    capture = fl.capture(path)
    way = capture.connections[0].directions[capture.connections[0].main]
    assert way.place == ("sender" if host == "server" else "receiver")
    assert way.bytes == 300_000
    segments = trace.table("segments")
    again = int(segments["retransmission"].sum())
    # A segment lost twice is retransmitted twice, but fills one hole.
    assert way.sent_again == again if host == "server" else 0 < way.sent_again <= again
    assert way.overtaken == 0
    # Twice the delays of both hops, and the transmission times of SYN and SYN-ACK.
    assert way.least_rtt == pytest.approx(0.5215, abs=1e-3)
    if host == "server":
        flight = trace.table("flight")
        most = flight[flight["side"] == "from"]["flight"].max()
        assert way.flight["flight"].max() == pytest.approx(most, abs=2 * 1460)
    if stamps or host == "server":
        assert len(way.rtt["rtt"]) > 20
        assert np.median(way.rtt["rtt"]) == pytest.approx(0.53, abs=0.01)


def test_the_figures_are_of_what_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "x.pcap", exchange())
    assert farlink("plot", str(path), "--out", str(tmp_path / "out")) == 0
    names = {item.name for item in (tmp_path / "out").glob("*.png")}
    kinds = ("sequence", "rtt", "throughput", "flight", "first-loss")
    assert names == {f"{kind}-1-a2b.png" for kind in kinds}
    assert "connection 1 was captured at its sender" in capsys.readouterr().out
    plot = fl.capture(path).plot
    axes = plot.sequence(t0=0.45, t1=0.55).axes[0]
    assert axes.get_xlim() == (0.45, 0.55)
    labels = [text.get_text() for text in plot.sequence().axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert labels == ["segment", "retransmission", "ACK"]
    assert "<table" in fl.capture(path)._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--connection", "2"], "connection 2 is not there; it has 1 to 1"),
        (["--direction", "up"], "direction 'up': write a2b (from the opener) or b2a"),
        (["--direction", "b2a"], "connection 1 has no data from 10.0.0.2:80"),
        (["--from", "5"], "t1 must be later"),
        (["--list", "--out", "x"], "--out x has no effect beside --list"),
    ],
)
def test_bad_input_is_one_line(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write(tmp_path / "x.pcap", exchange())
    monkeypatch.chdir(tmp_path)
    assert farlink("plot", str(path), *options) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_files_are_said(tmp_path: Path) -> None:
    whole = write(tmp_path / "x.pcap", exchange()).read_bytes()
    result = fl.run("geo-lossy", tcp="sack", overrides={"flows.0.size": "20 kB"})
    other = result.probe(snaplen=96).pcaps["server"]
    random = np.random.default_rng(1)
    for data in (whole, other):
        for _ in range(150):
            text = bytearray(data[: random.integers(0, len(data))])
            for place in random.integers(0, max(len(text), 1), 8):
                if len(text):
                    text[place] = random.integers(0, 256)
            path = tmp_path / "y.pcap"
            path.write_bytes(text)
            try:
                capture = fl.capture(path)
                assert len(capture.summary) >= 0
            except fl.ScenarioError as error:
                assert str(path) in str(error)  # noqa: PT017 (most of them can be read)


def test_a_file_of_several_interfaces_is_read_with_the_units_of_each(tmp_path: Path) -> None:
    """One pcapng has microseconds on Ethernet and nanoseconds on raw IP."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    text = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    text += block(1, struct.pack("<HHI", 1, 0, 0))
    text += block(1, struct.pack("<HHI", 101, 0, 0) + struct.pack("<HHB3x", 9, 1, 9))
    for number, (time, data) in enumerate(exchange()):
        first = number % 2
        ticks = round(time * (10**9 if first else 10**6))
        frame = data if first else bytes(12) + b"\x08\x00" + data
        head = struct.pack("<IIIII", first, ticks >> 32, ticks % 2**32, len(frame), 1500)
        text += block(6, head + frame)
    path = tmp_path / "x.pcapng"
    path.write_bytes(text)
    assert len(list(packets(path))) == 9
    way = fl.capture(path).connections[0].directions["a2b"]
    assert way.segments["time"].tolist() == pytest.approx([0.102, 0.103, 0.5, 0.601])


PATH: dict[str, Any] = {
    "name": "known",
    "seed": 3,
    "tcp": {"timestamps": True, "receive_window": "1 MiB"},
    "links": [
        {
            "between": ["server", "client"],
            "down": {
                "rate": "4 Mbit/s",
                "delay": "60 ms",
                "queue": {"bytes": "90 kB"},
                "channel": {"loss": 0.004},
            },
            "up": {"rate": "4 Mbit/s", "delay": "60 ms"},
        }
    ],
    "flows": [{"from": "server", "to": "client", "size": "3 MB"}],
}


@pytest.mark.parametrize(
    ("host", "ip", "mss"), [("server", "v4", 1448), ("client", "v4", 1448), ("client", "v6", 1428)]
)
def test_the_path_of_a_capture_is_found_again(
    host: str, ip: str, mss: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The estimate finds a queue of 90 kB, 4 Mbit/s, 60 ms each way and 0.4 % loss."""
    result = fl.run({**PATH, "ip": ip}, tcp="linux-bbr")
    capture = tmp_path / "x.pcapng"
    capture.write_bytes(result.probe(snaplen=96).pcaps[host])
    path = fit_path(fl.capture(capture).connection())
    assert path.ip == path.scenario()["ip"] == ip
    # The rate includes all headers; without 20 bytes of them it would be 1.3 % less.
    assert path.rate_bit_s == pytest.approx(4e6, rel=0.007)
    assert path.delay_s == pytest.approx(0.06, rel=0.01)
    assert path.buffer == pytest.approx(90_000, rel=0.05)
    assert path.channel is not None
    (loss,) = [row for name, _, row in path.channel.rows if name == "loss"]
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low <= 0.004 <= loss.high
    assert (path.size, path.mss, path.timestamps) == (3_000_000, mss, True)
    # Of two TCPs over that path, the one of the capture is nearer.
    where = tmp_path / "out"
    options = ("--tcp", "reno,bbr", "--runs", "4", "--quiet", "--out", str(where))
    assert farlink("compare", "--capture", str(capture), *options) == 0
    out = capsys.readouterr().out
    assert "closest is linux-bbr" in out
    assert fl.run(where / "path.toml", tcp="linux-bbr").total("completed", "linux-bbr").mean == 1
    rows = json.loads((where / "overlay.json").read_text())["rows"]
    goodput = next(row for row in rows if row["tcp"] == "linux-bbr")
    assert goodput["measure"] == "goodput"
    assert goodput["fits"]


def test_a_verdict_is_where_one_more_run_would_lie() -> None:
    """Mean 100, s 10, n 4: t(0.975, 3) = 3.18245, so 100 +- 3.18245 * 10 * sqrt(1.25)."""
    values = tuple(100 + 10 * item * (3 / 4) ** 0.5 for item in (-1.0, -1.0, 1.0, 1.0))
    item = Verdict("reno", "goodput", 135.0, values)
    assert item.range[1] - 100 == pytest.approx(3.18245 * 10 * 1.25**0.5, rel=1e-4)
    assert item.fits
    assert not Verdict("reno", "goodput", 136.0, values).fits
    # If all runs are equal, the band is 5 %.
    assert Verdict("reno", "goodput", 104.0, (100.0, 100.0, 100.0)).fits
    assert not Verdict("reno", "goodput", 106.0, (100.0, 100.0, 100.0)).fits


def test_delayed_acks_are_no_queue(tmp_path: Path) -> None:
    """Without a queue no loss counts as overflow, though ACKs wait for up to 200 ms."""
    tree = {**PATH, "links": [{**PATH["links"][0]}]}
    tree["links"][0]["down"] = {"rate": "12 Mbit/s", "delay": "250 ms", "channel": {"loss": 0.02}}
    capture = tmp_path / "x.pcapng"
    capture.write_bytes(fl.run(tree, tcp="sack").probe(snaplen=96).pcaps["server"])
    path = fit_path(fl.capture(capture).connection())
    assert (path.full, path.buffer, path.filled) == (0, None, False)
    assert path.rate_bit_s == pytest.approx(12e6, rel=0.05)
    assert any("never filled the path" in note for note in path.notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["geo-lossy", "--capture", "x.pcap"], "SCENARIO has no effect beside --capture"),
        (["--capture", "x.pcap", "--transfer", "1 MB"], "--transfer has no effect beside"),
        (["--tcp", "reno"], "name a scenario, or a capture with --capture FILE"),
        (["geo-lossy", "--connection", "1"], "--connection has no effect without --capture"),
        (["--capture", "x.pcap"], "segments with data from 10.0.0.1:40000; 20 are the least"),
        (["--capture", "x.pcap", "--tcp", "nono"], "4 segments"),
    ],
)
def test_bad_input_of_compare_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / "x.pcap", exchange())
    monkeypatch.chdir(tmp_path)
    assert farlink("compare", *arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_capture_of_a_receiver_shows_its_acks_on_an_axis_of_its_own(
    small: Path, tmp_path: Path
) -> None:
    run = fl.run(small, overrides={"flows.0.size": "600 kB"})
    (pcap,) = [path for path in run.save_pcaps(tmp_path) if path.stem == "client"]
    plots = fl.capture(pcap).plot
    (axes,) = plots.sequence().axes
    legend = axes.get_legend()
    assert legend is not None
    assert "ACK" in [text.get_text() for text in legend.get_texts()]
    assert axes.get_ylim()[1] < 1.25 * 600_000  # not as far as the window, which is not drawn
    (axes,) = plots.rtt().axes
    assert 0.1 < axes.get_ylim()[1] < 0.3  # the path's 0.1 s: here the receiver answers at once


def test_figures_of_a_capture_have_the_size_asked_for(
    result: fl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pcap = str(next(path for path in result.save_pcaps(tmp_path) if path.parent.name == "sack"))
    out = tmp_path / "figures"
    assert farlink("plot", pcap, "--figure-size", "column", "--out", str(out)) == 0
    widths = {struct.unpack(">I", path.read_bytes()[16:20])[0] for path in out.glob("*.png")}
    assert widths == {680}  # pixels: 3.4 in at 200 dpi
    assert farlink("plot", pcap, "--figure-size", "tiny") == 2
    assert "--figure-size tiny: write column, page, slide" in capsys.readouterr().err
    assert farlink("plot", pcap, "--list", "--fonts", "tex") == 2
