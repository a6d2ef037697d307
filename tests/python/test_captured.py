"""A capture equals the simulator's trace, and ratios equal their closed form."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import farlink as fl
from farlink import captured, comparison, emulation
from farlink.comparison import PROFILE, Row
from farlink.emulation import Emulated


@pytest.mark.parametrize("snaplen", [0, captured.HEADERS])
def test_a_capture_gives_the_traces_of_the_sender(tmp_path: Path, snaplen: int) -> None:
    result = fl.run(
        "geo-lossy",
        tcp="sack",
        overrides={"flows.0.size": "300 kB", "links.1.down.channel.ber": 5e-6},
    )
    trace = result.probe(snaplen=snaplen)
    path = tmp_path / "server.pcapng"
    path.write_bytes(trace.pcaps["server"])
    tables = captured.tables(path, "10.0.0.1")
    for name in ("segments", "acks", "sacks"):
        mine = tables[name]
        whole = trace.table(name)
        theirs = whole[whole["side"] == "from"].reset_index(drop=True)
        if name == "acks":
            # The acknowledgments of SYN and FIN do not acknowledge data.
            mine, theirs = (item[item["ack"] > 0].drop_duplicates("ack") for item in (mine, theirs))
        if name == "sacks":
            # A trace has the blocks that the sender processed, so none after the last ACK.
            mine, theirs = (item.drop_duplicates(["left", "right"]) for item in (mine, theirs))
        assert len(mine) == len(theirs) > 3
        for column in mine.columns:
            np.testing.assert_allclose(
                mine[column].astype(float), theirs[column].astype(float), atol=1e-9
            )
    assert tables["segments"]["retransmission"].any()


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    path.write_bytes(b"not a capture at all")
    with pytest.raises(fl.ScenarioError, match="not a pcap or pcapng file"):
        captured.tables(path, "10.0.0.1")


def test_the_ratio_is_that_of_paired_runs() -> None:
    """Residuals e - 2 s are -10, 20, -10: s = 17.3205; t(0.975, 2) = 4.302653."""
    row = Row("reno", (90.0, 100.0, 110.0), (170.0, 220.0, 210.0))
    ratio = row.ratio
    assert ratio.mean == pytest.approx(2.0)
    wanted = 4.302653 * math.sqrt(300) / math.sqrt(3) / 100
    assert ratio.half_width == pytest.approx(wanted, rel=1e-6)
    assert row.verdict == "differs"


def test_an_interval_decides_whether_two_agree_and_not_a_mean() -> None:
    """A mean of 1.00 decides nothing if its interval is wider than 5 %, or with only one run."""
    wide = Row("reno", (90.0, 100.0, 110.0), (120.0, 70.0, 110.0))
    assert wide.ratio.mean == pytest.approx(1.0)
    assert wide.verdict == "undecided"
    assert Row("reno", (100.0,), (100.0,)).verdict == "undecided (one run)"
    assert Row("reno", (90.0, 100.0, 110.0), (91.0, 100.0, 111.0)).verdict == "within 5 %"
    # The ratio differs from 1, but by less than 5 %.
    assert Row("reno", (100.0, 100.0), (102.0, 102.0)).verdict == "within 5 %"
    # The ratio is equal in all runs, so its interval has no width.
    same = Row("reno", (100.0, 200.0), (150.0, 300.0))
    assert same.ratio.half_width == pytest.approx(0.0)
    assert same.verdict == "differs"


@pytest.mark.parametrize("tcp", ["reno", "cubic", "bbr"])
def test_the_rows_take_the_profile_of_linux(tcp: str) -> None:
    name = f"{PROFILE}-{tcp}"
    result = fl.run(_tree(), tcp=name)
    (whole,) = result.scenario()["resolved_tcp"]
    assert (whole["profile"], whole["variant"]) == ("linux", tcp)
    assert (whole["recovery"], whole["rack"]) == ("sack", True)
    assert result.total("completed", name).mean == 1


def _tree() -> dict[str, object]:
    return {
        "links": [{"between": ["a", "b"], "down": {"rate": "10 Mbit/s", "delay": "10 ms"}}],
        "flows": [{"from": "a", "to": "b", "size": "100 kB"}],
    }


def test_a_run_that_fell_behind_is_emulated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run 0 is late once. Run 1 is late each time, and its third attempt counts."""
    late = {0: [5e-2, 1e-4], 1: [2e-2, 3e-2, 4e-2]}
    tried: list[int] = []

    def transfer(*_: object, run: int, output: Path, **__: object) -> Emulated:
        tried.append(run)
        goodput = 1e5 * len(tried)
        output.write_text(json.dumps({"goodput_bit_s": goodput}))
        p99_s = late[run][tried.count(run) - 1]
        return Emulated({"exit_code": 0, "lateness": {"p50_s": 0.0, "p99_s": p99_s}})

    monkeypatch.setattr(emulation, "transfer", transfer)
    monkeypatch.setattr(emulation, "check_kernel", lambda _: None)
    monkeypatch.setattr(comparison, "_sequence", lambda *_: {})
    lines: list[str] = []
    outcome = comparison.compare(
        "geo-omueti2007", ["reno"], size="10 kB", runs=2, tell=lines.append
    )
    assert tried == [0, 0, 1, 1, 1]
    assert [line.endswith("again: it fell behind the clock") for line in lines] == [
        False,
        True,
        False,
        True,
        True,
    ]
    assert outcome.rows[0].emulated == (2e5, 5e5)
    assert outcome.rows[0].tcp == "linux-reno"
    (whole,) = outcome.result.scenario("linux-reno")["resolved_tcp"]
    # The result has the whole named profile, without the scenario's own keys.
    (named,) = fl.run(_tree(), tcp="linux-reno").scenario()["resolved_tcp"]
    assert whole["profile"] == "linux"
    # Simulation and emulation have equal buffers.
    shared = {"send_buffer", "receive_window", "receive_window_max"}
    assert {
        key for key in whole.keys() | named.keys() if whole.get(key) != named.get(key)
    } <= shared
    assert outcome.late_p99_s == 4e-2
