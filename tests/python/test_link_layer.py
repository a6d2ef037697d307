"""Links with a link-layer protocol, from Python."""

from typing import Any

import pytest

import farlink as fl

RADIO: dict[str, Any] = {
    "tcp": {"mss": "88 B", "receive_window": "4096 B"},
    "links": [
        {
            "name": "radio",
            "between": ["base", "mobile"],
            "down": {"rate": "19.2 kbit/s", "delay": "0 s", "channel": {"loss": 0.2}},
            "arq": {"protocol": "mdlp", "mac": {"access": "constant", "delay": "10 ms"}},
        }
    ],
    "flows": [{"from": "base", "to": "mobile", "size": "20 kB"}],
}


@pytest.fixture(scope="module")
def result() -> fl.Result:
    return fl.run(RADIO)


def test_frames_are_a_trace(result: fl.Result) -> None:
    frames = result.trace("frames", run=0)
    kinds = set(frames["frame"].astype(str))
    assert {"I", "RR", "SREJ"} <= kinds <= {"I", "RR", "SREJ"}
    down = frames[frames["direction"] == "down"]
    information = down[down["frame"] == "I"]
    assert information["ns"].between(0, 127).all()
    assert (information["bytes"] - 6).max() == 128
    # Numbers of new frames follow each other, modulo 128.
    new = information[~information["retransmission"]]
    assert ((new["ns"].diff().dropna() % 128) == 1).all()
    # The answer to a poll is RR, and a poll is a retransmitted I frame.
    assert set(frames[frames["poll"]]["frame"].astype(str)) <= {"I", "RR"}
    assert 0.1 < frames["lost"].mean() < 0.3


def test_frames_are_counted(result: fl.Result) -> None:
    frames = result.trace("frames", run=0)
    for row in result.data["links"]:
        metrics = {name: metric["mean"] for name, metric in row["metrics"].items()}
        mine = frames[frames["direction"] == row["direction"]]
        assert mine["lost"].sum() == metrics["frames_lost"]
        assert metrics["drops"] == 0
        assert metrics["link_delay_mean"] > 0.01
        assert 0 < metrics["window_mean"] < metrics["window_max"] <= 15


def test_a_preset_brings_its_protocol() -> None:
    presets = fl.presets()
    assert "cdpd-mdlp-wong1998" in presets.index
    scenario = {
        "links": [{"between": ["base", "mobile"], "preset": "cdpd-mdlp-wong1998"}],
        "flows": [{"from": "base", "to": "mobile", "size": "2 kB"}],
    }
    done = fl.run(scenario)
    link = done.data["links"][0]["metrics"]
    assert link["frames_sent"]["mean"] > 0
    arq = done.data["scenario"]["links"][0]["arq"]
    assert arq["protocol"] == "mdlp"
    assert arq["mac"]["delay"] == "10 ms"
    assert arq["t205"] == "300 ms"


def test_headers_are_compressed() -> None:
    scenario = {**RADIO, "links": [{**RADIO["links"][0], "header_compression": "rfc1144"}]}
    done = fl.run(scenario)
    down = {name: metric["mean"] for name, metric in done.data["links"][0]["metrics"].items()}
    assert down["vj_compressed"] > 200
    # Of forty bytes three remain, and a few more after a retransmission.
    assert 36.8 < down["vj_bytes_saved"] / down["vj_compressed"] <= 37
    assert down["vj_errors"] == down["vj_tossed"] == 0
    written = done.data["scenario"]["links"][0]["header_compression"]
    assert written == {"method": "rfc1144", "slots": 16, "compress_slot": True}
    with pytest.raises(fl.ScenarioError, match='write "rfc1144" or'):
        fl.run({**scenario, "links": [{**scenario["links"][0], "header_compression": "rohc"}]})
