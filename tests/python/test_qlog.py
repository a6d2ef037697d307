"""Logs of QUIC in the format of qlog: names and types of draft-ietf-quic-qlog-quic-events-02.

The tables below are the definitions of the draft, without the members that farlink never writes. A
name that ends with "?" may be missing.
"""

import json
from collections.abc import Iterator
from numbers import Number
from pathlib import Path
from typing import Any

import pytest

import farlink as fl

HEADER = {"packet_type": str, "packet_number?": int}
RAW = {"length": int}
PACKET = {"header": HEADER, "frames?": list, "raw": RAW, "datagram_id": int}
EVENTS: dict[str, dict[str, Any]] = {
    "transport:packet_sent": PACKET,
    "transport:packet_received": PACKET,
    "transport:packet_dropped": {"header": HEADER, "raw": RAW, "datagram_id": int},
    "recovery:packet_lost": {"header": HEADER, "trigger": str},
    "recovery:congestion_state_updated": {"old?": str, "new": str, "trigger?": str},
    "recovery:metrics_updated": {
        "smoothed_rtt?": Number,
        "latest_rtt?": Number,
        "min_rtt?": Number,
        "congestion_window?": int,
        "bytes_in_flight?": int,
        "ssthresh?": int,
    },
}
FRAMES: dict[str, dict[str, Any]] = {
    "padding": {"payload_length": int},
    "ping": {},
    "ack": {"ack_delay": Number, "acked_ranges": list},
    "crypto": {"offset": int, "length": int},
    "stream": {"stream_id": int, "offset": int, "length": int, "fin?": bool},
    "max_data": {"maximum": int},
    "max_stream_data": {"stream_id": int, "maximum": int},
    "max_streams": {"stream_type": str, "maximum": int},
    "new_connection_id": {"sequence_number": int, "retire_prior_to": int, "connection_id": str},
    "retire_connection_id": {"sequence_number": int},
    "new_token": {"token": dict},
    "handshake_done": {},
    "data_blocked": {"limit": int},
    "stream_data_blocked": {"stream_id": int, "limit": int},
    "connection_close": {"error_space": str, "error_code": int, "raw_error_code": int},
    "unknown": {"raw_frame_type": int},
}
TYPES = {"initial", "handshake", "0RTT", "1RTT", "retry"}
STATES = {"slow_start", "congestion_avoidance", "recovery"}
TRIGGERS = {"reordering_threshold", "time_threshold"}


def check(value: dict[str, Any], members: dict[str, Any], where: str) -> None:
    """Check that an object has the members of a definition, and no other."""
    names = {name.rstrip("?") for name in members}
    assert set(value) <= names, f"{where}: {set(value) - names}"
    for name, kind in members.items():
        key = name.rstrip("?")
        if key not in value:
            assert name.endswith("?"), f"{where} has no {key}"
        elif isinstance(kind, dict):
            check(value[key], kind, f"{where}.{key}")
        else:
            assert isinstance(value[key], kind), f"{where}.{key}: {value[key]!r}"


def events(path: Path) -> Iterator[dict[str, Any]]:
    """Return the events of a log, and check its header."""
    texts = path.read_text().split("\x1e")
    assert texts[0] == ""
    header = json.loads(texts[1])
    assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
    assert header["trace"]["common_fields"]["time_format"] == "relative"
    for text in texts[2:]:
        yield json.loads(text)


@pytest.mark.parametrize("tcp", ["quic", "quic-bbr"])
def test_all_events_and_frames_are_those_of_the_draft(tcp: str, tmp_path: Path) -> None:
    links = [
        {"between": ["a", "b"], "down": {"rate": "10 Mbit/s", "delay": "300 ms"}},
    ]
    flow = {"from": "a", "to": "b", "size": "2 MB", "reverse": "50 kB"}
    tree = {
        "links": links,
        "flows": [flow],
        "tcp": {"profile": "quic", "quic": {"ack_eliciting_threshold": 9}},
    }
    result = fl.run(tree, tcp=tcp, overrides={"links.0.down.channel.loss": 0.02})
    seen: dict[str, int] = {}
    kinds = set()
    for path in result.save_pcaps(tmp_path):
        if path.suffix != ".sqlog":
            continue
        for event in events(path):
            assert set(event) == {"time", "name", "group_id", "data"}
            name, data = event["name"], event["data"]
            seen[name] = seen.get(name, 0) + 1
            check(data, EVENTS[name], name)
            if "header" in data:
                assert data["header"]["packet_type"] in TYPES
            for frame in data.get("frames", []):
                kind = frame.pop("frame_type")
                kinds.add(kind)
                check(frame, FRAMES[kind], kind)
                ranges = frame.get("acked_ranges", [])
                assert all(low <= high for low, high in ranges)
                assert ranges == sorted(ranges)
            if name == "recovery:packet_lost":
                assert data["trigger"] in TRIGGERS
            if name == "recovery:congestion_state_updated":
                assert data["new"] in STATES
    assert {"stream", "ack", "crypto", "padding", "handshake_done", "unknown"} <= kinds
    assert seen["transport:packet_sent"] > 1500
    assert seen["recovery:packet_lost"] > 10
    assert ("recovery:congestion_state_updated" in seen) == (tcp == "quic")
