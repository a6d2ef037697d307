"""QUIC in place of TCP, from the name to captures that tshark decrypts."""

import json
import shutil
import ssl
import subprocess
from pathlib import Path

import numpy as np
import pytest

import farlink as fl
from farlink import emulation, source

GEO = {
    "name": "geo",
    "links": [{"between": ["a", "b"], "down": {"rate": "10 Mbit/s", "delay": "300 ms"}}],
    "flows": [{"from": "a", "to": "b", "size": "500 kB"}],
}

TRACES = ("segments", "acks")


def test_names_of_quic_run_beside_tcp() -> None:
    names = ["cubic", "quic", "quic-newreno", "quic-bbr"]
    result = fl.run(GEO, tcp=names, overrides={"links.0.down.channel.loss": 0.01})
    assert result.tcp == names
    flows = [result.probe(name).outcome["flows"][0]["metrics"] for name in names]
    assert [flow["completed"] for flow in flows] == [1, 1, 1, 1]
    assert all(flow["segments_retransmitted"] > 0 for flow in flows)
    assert source.split("quic") == ("quic", "cubic")
    again = fl.run(GEO, tcp=names, overrides={"links.0.down.channel.loss": 0.01})
    assert again.values.equals(result.values)


def test_traces_and_figures_are_those_of_tcp() -> None:
    result = fl.run(GEO, tcp=["cubic", "quic"])
    window = result.trace("cwnd", tcp="quic")["cwnd"]
    assert window.max() > window.min()
    assert len(result.trace("rtt", tcp="quic")) > 10
    assert result.trace("delivered", tcp="quic")["bytes"].max() == 500_000
    assert result.plot.cwnd() is not None
    segments, acks = (result.arrays(name, "quic", where={"side": "from"}) for name in TRACES)
    assert int((segments["seq"] + segments["len"]).max()) == int(segments["len"].sum()) == 500_000
    assert 250_000 < int(acks["ack"].max()) < 500_000
    # Each TCP has a line in the figure of progress, and QUIC a graph of its own.
    legend = result.plot.sequence().axes[0].get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["cubic (0 retransmitted)", "quic (0 retransmitted, 500 kB delivered)"]
    graph = result.plot.sequence("quic").axes[0]
    # The line through the segments ends with the file.
    assert max(float(np.max(line.get_ydata(), initial=0.0)) for line in graph.lines) == 500_000


def test_a_repair_is_in_the_graph_of_the_first_loss() -> None:
    result = fl.run(GEO, tcp="quic", overrides={"links.0.down.channel.loss": 0.01})
    assert result.plot.first_loss() is not None
    segments = result.trace("segments", tcp="quic")
    again = segments[segments["retransmission"]]
    drops = result.trace("drops", tcp="quic")["seq"].dropna()
    assert len(again) > 0
    # The first repair has the data of the first drop.
    first = drops.iloc[0]
    hit = again[(again["seq"] <= first) & (first < again["seq"] + again["len"])]
    assert len(hit) > 0


def test_logs_lie_beside_captures(tmp_path: Path) -> None:
    result = fl.run(GEO, tcp=["cubic", "quic"], overrides={"links.0.down.channel.loss": 0.01})
    written = result.save_pcaps(tmp_path)
    logs = [path for path in written if path.suffix == ".sqlog"]
    assert logs == [tmp_path / "quic" / f"flow-{end}.sqlog" for end in ("client", "server")]
    texts = logs[0].read_text().split("\x1e")[1:]
    records = [json.loads(text) for text in texts]
    assert records[0]["qlog_format"] == "JSON-SEQ"
    lost = [record for record in records if record.get("name") == "recovery:packet_lost"]
    metrics = result.probe("quic").outcome["flows"][0]["metrics"]
    assert len(lost) == metrics["segments_retransmitted"] > 0


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_tshark_decrypts_a_capture(tmp_path: Path) -> None:
    result = fl.run(GEO, tcp="quic")
    written = result.save_pcaps(tmp_path)
    keys = tmp_path / "quic" / "keys.log"
    assert keys in written
    assert len(keys.read_text().splitlines()) == 5
    command = ["tshark", "-r", str(tmp_path / "quic" / "b.pcapng"), "-o", f"tls.keylog_file:{keys}"]
    port = ["-d", "udp.port==5001,quic", "-Y", "quic.stream_data"]
    shown = subprocess.run(
        [*command, *port, "-T", "fields", "-e", "quic.stream.length", "-e", "quic.stream.offset"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    ends = [0]
    for line in shown.splitlines():
        lengths, _, offsets = line.partition("\t")
        numbers = zip(offsets.split(","), lengths.split(","), strict=False)
        ends += [int(at or 0) + int(length) for at, length in numbers if length]
    assert max(ends) == 500_000


def test_the_file_of_the_certificate_is_that_of_the_servers() -> None:
    crate = Path(__file__).parents[2] / "crates" / "farlink-quic" / "src"
    text = emulation.CERTIFICATE.read_text()
    assert ssl.PEM_cert_to_DER_cert(text) == (crate / "certificate.der").read_bytes()


def test_pages_have_their_times_over_tcp_and_quic() -> None:
    flow = {"from": "a", "to": "b", "app": "http", "pages": 2, "connections": "persistent"}
    result = fl.run({**GEO, "flows": [flow]}, tcp=["cubic", "quic"])
    for name in result.tcp:
        metrics = result.probe(name).outcome["flows"][0]["metrics"]
        assert metrics["responses"] == 2
        # A handshake, the main object and the inline objects take a round trip each, or more.
        assert 1.5 < metrics["response_time_mean"] < 4


@pytest.mark.parametrize(
    "app",
    [
        {"app": "telnet", "conversations": 1, "arrivals": "1 s", "typing": "9 s"},
        {"app": "repeat", "files": 3, "size": "20 kB"},
        {"app": "stream", "messages": 30, "size": "1 kB", "rate": "80 kbit/s"},
    ],
)
def test_applications_of_tcp_run_over_quic(app: dict[str, object]) -> None:
    """On a clean path the messages take as many round trips as over TCP."""
    tree = {**GEO, "flows": [{"from": "a", "to": "b", **app}]}
    # QUIC does not wait for a whole segment as Nagle's algorithm does.
    runs = {"linux-cubic": {"tcp.nagle": "off"}, "quic": {}}
    tcp, quic = (
        fl.run(tree, tcp=name, overrides=keys).probe(name).outcome["flows"][0]["metrics"]
        for name, keys in runs.items()
    )
    assert tcp["completed"] == quic["completed"] == 1
    assert tcp["responses"] == quic["responses"] > 0
    assert tcp["bytes_delivered"] == quic["bytes_delivered"]
    assert quic["response_time_mean"] == pytest.approx(tcp["response_time_mean"], rel=0.1)
