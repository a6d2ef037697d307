"""Traces: the run is repeated with its probes on, and gives tables."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import farlink as fl
from farlink import _farlink, columns, registry, source
from farlink.plot.data import Columns
from farlink.trace import NAMES, PACKETS, round_bin


@pytest.mark.parametrize("name", NAMES)
def test_the_arrays_of_a_trace_are_those_of_its_table(result: fl.Result, name: str) -> None:
    arrays = result.arrays(name, "sack")
    table = Columns.of(result.probe("sack").table(name)).arrays
    assert list(arrays) == list(table)
    for column, values in table.items():
        assert arrays[column].dtype == values.dtype, column
        np.testing.assert_array_equal(arrays[column], values, err_msg=column)


def test_arrays_have_the_rows_asked_for(result: fl.Result) -> None:
    table = result.probe("sack").table("segments")
    for side in ("from", "to", "nowhere"):
        arrays = result.arrays("segments", "sack", where={"side": side, "flow": "flow0"})
        chosen = table[(table["side"] == side) & (table["flow"] == "flow0")]
        np.testing.assert_array_equal(arrays["time"], chosen["time"])
        assert set(arrays["side"]) <= {side}


@pytest.mark.parametrize("name", NAMES)
def test_every_trace_is_a_table_with_units(result: fl.Result, name: str) -> None:
    table = result.trace(name, tcp="sack")
    assert list(table.columns[:2]) == ["tcp", "time"]
    assert list(table["tcp"].cat.categories) == ["sack"]
    assert table["time"].dtype == "float64"
    if name != "throughput":
        assert table["time"].is_monotonic_increasing
    units = table.attrs["units"]
    assert units["time"] == "s"
    assert set(units) == set(table.columns) - {"tcp"}
    # This TCP run has no datagrams, ECN, link protocol or agent, and it may have no SACK blocks.
    without = ("sacks", "datagrams", "frames", "control", "agent", "passages", "queue_marks")
    assert name in without or len(table) > 0


def test_without_a_tcp_all_are_told_apart(result: fl.Result) -> None:
    both = result.trace("cwnd")
    assert list(both["tcp"].cat.categories) == ["newreno", "sack"]
    item = result.trace("cwnd", tcp="newreno")
    pd.testing.assert_frame_equal(
        both[both["tcp"] == "newreno"].drop(columns="tcp"), item.drop(columns="tcp")
    )


def test_traces_agree_with_the_counts(result: fl.Result) -> None:
    for tcp in result.tcp:
        metrics = result.data["results"][result.tcp.index(tcp)]["metrics"]
        segments = result.trace("segments", tcp=tcp, run=1)
        assert len(segments) == metrics["segments_sent"]["values"][1]
        again = metrics["segments_retransmitted"]["values"][1]
        assert segments["retransmission"].sum() == again > 0
        kinds = result.trace("marks", tcp=tcp, run=1)["kind"].value_counts()
        assert kinds["timeout"] == metrics["timeouts"]["values"][1]
        assert kinds["fast_retransmit"] == metrics["fast_retransmits"]["values"][1]
        rtt = result.trace("rtt", tcp=tcp, run=1).query("side == 'from'")
        assert rtt["rtt"].mean() == pytest.approx(metrics["rtt_mean"]["values"][1], rel=1e-6)


def test_arrivals_agree_with_the_counts(result: fl.Result) -> None:
    for tcp in result.tcp:
        metrics = result.data["results"][result.tcp.index(tcp)]["metrics"]
        arrivals = result.trace("arrivals", tcp=tcp, run=1).query("side == 'to'")
        assert arrivals["duplicate"].dtype == arrivals["out_of_order"].dtype == bool
        for column in ("duplicate", "out_of_order"):
            count = metrics[f"segments_{column}"]["values"][1]
            assert arrivals[column].sum() == count
        assert arrivals["out_of_order"].any()
        # The new data are all bytes of the transfer, each once.
        assert arrivals.query("not duplicate")["len"].sum() == 300_000
        segments = result.trace("segments", tcp=tcp, run=1)
        first = segments.drop_duplicates("seq").set_index("seq")["time"]
        came = arrivals.query("not duplicate").set_index("seq")["time"]
        delay = (came - first).mean()
        assert delay == pytest.approx(metrics["segment_delay_mean"]["values"][1], rel=1e-6)


def test_traces_obey_tcp(result: fl.Result) -> None:
    segments = result.trace("segments", tcp="sack")
    acks = result.trace("acks", tcp="sack").query("side == 'from'")
    delivered = result.trace("delivered", tcp="sack")
    # The FIN takes a sequence number too.
    assert acks["ack"].max() == 300_001
    assert acks["ack"].is_monotonic_increasing
    assert (segments["seq"] + segments["len"]).max() == 300_000
    assert segments["len"].between(1, 1460).all()
    assert delivered["bytes"].is_monotonic_increasing
    assert delivered["bytes"].iloc[-1] == 300_000
    assert (acks["window"] <= 65_535).all()
    # Every segment ends within the window of the latest ACK before its departure.
    sent = pd.merge_asof(segments, acks[["time", "ack", "window"]], on="time")
    edge = (sent["ack"] + sent["window"]).fillna(65_535)
    assert (sent["seq"] + sent["len"] <= edge).all()
    # 100 ms of propagation and a full segment's 12 ms, with at most 20 queued.
    rtt = result.trace("rtt", tcp="sack")["rtt"]
    assert rtt.min() >= 0.1
    assert rtt.max() < 1.0
    assert math.isinf(result.trace("ssthresh", tcp="sack")["ssthresh"].iloc[0])
    assert result.trace("queue", tcp="sack")["packets"].max() <= 20


def test_throughput_keeps_every_bit(result: fl.Result) -> None:
    sent = next(
        row["metrics"]["bytes"]["values"][0]
        for row in result.data["links"]
        if (row["tcp"], row["direction"]) == ("sack", "down")
    )
    drops = result.trace("drops", tcp="sack")
    lost = drops[(drops["direction"] == "down") & (drops["cause"] == "loss")]["bytes"].sum()
    for width in (0.1, 1.0, None):
        table = result.trace("throughput", tcp="sack", bin_s=width)
        table = table[(table["link"] == "satellite") & (table["direction"] == "down")]
        step = table["time"].iloc[1] - table["time"].iloc[0]
        carried = table["throughput"].sum() * step / 8
        assert carried + lost == pytest.approx(sent)
        # At most the rate, plus a packet that began in the bin before.
        assert table["throughput"].max() <= 1e6 + 8 * 1500 / step


def test_drops_have_their_cause(result: fl.Result) -> None:
    drops = result.trace("drops", tcp="sack")
    assert set(drops["cause"]) <= {"loss", "congestion"}
    lost = (drops["cause"] == "loss") & (drops["direction"] == "down")
    row = next(
        row for row in result.data["links"] if (row["tcp"], row["direction"]) == ("sack", "down")
    )
    assert lost.sum() == row["metrics"]["drops_loss"]["values"][0] > 0
    # Each lost segment was retransmitted.
    again = result.trace("segments", tcp="sack").query("retransmission")["seq"]
    assert set(drops[lost]["seq"].dropna()) <= set(again)


@pytest.mark.parametrize(
    ("simulated_s", "expected"),
    [(434.0, 5.0), (100.0, 1.0), (2000.0, 20.0), (0.8, 0.01), (0.0, 1e-8)],
)
def test_bins_are_round_numbers(simulated_s: float, expected: float) -> None:
    assert round_bin(simulated_s) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "bin_s", "message"),
    [
        ("cwmd", None, "trace 'cwmd' is not known; there are cwnd, ssthresh, "),
        ("cwnd", 1.0, "bin_s is for the trace 'throughput'; 'cwnd' is not binned"),
        ("throughput", 0.0, "bin_s is 0.0; write seconds above "),
        ("throughput", math.nan, "bin_s is nan; write seconds above "),
    ],
)
def test_wrong_traces(result: fl.Result, name: str, bin_s: float | None, message: str) -> None:
    with pytest.raises(fl.ScenarioError) as caught:
        result.trace(name, bin_s=bin_s)
    assert str(caught.value).startswith(message)


def test_parquet_and_csv_hold_the_same(result: fl.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "p")
    result.save(tmp_path / "c", table_format="csv")
    for name in (name for name in NAMES if name != PACKETS):
        parquet = pd.read_parquet(tmp_path / "p" / "sack" / f"{name}.parquet")
        csv = pd.read_csv(tmp_path / "c" / "sack" / f"{name}.csv")
        table = result.trace(name, tcp="sack").drop(columns="tcp")
        texts = table.select_dtypes("category").columns
        pd.testing.assert_frame_equal(parquet, table.astype(dict.fromkeys(texts, "str")))
        assert parquet.attrs["units"] == table.attrs["units"]
        assert len(csv) == len(table)
        assert csv.columns[0] == "time_s"
    assert "cwnd_B" in pd.read_csv(tmp_path / "c" / "sack" / "cwnd.csv").columns
    assert fl.load(tmp_path / "p" / "result.json").data == result.data


def test_a_result_that_does_not_repeat_is_refused(result: fl.Result) -> None:
    data = json.loads(json.dumps(result.data))
    data["results"][1]["metrics"]["segments_sent"]["values"][0] += 1
    data["version"] = "0.0.0"
    with pytest.raises(fl.RunError) as caught:
        fl.Result(data).trace("cwnd", tcp="sack")
    assert str(caught.value) == (
        "small: run 0 of sack does not repeat: the result is of farlink 0.0.0 "
        f"and this is {_farlink.version()}; run the scenario again"
    )


def test_captures_are_kept_beside_the_traces(result: fl.Result, tmp_path: Path) -> None:
    written = result.save_pcaps(tmp_path, snaplen=96)
    assert {path.parent.name for path in written} == {"newreno", "sack"}
    assert all(path.suffix == ".pcapng" and path.stat().st_size > 0 for path in written)
    short = sum(path.stat().st_size for path in written)
    whole = sum(path.stat().st_size for path in result.save_pcaps(tmp_path, snaplen=0))
    assert whole > 2 * short


def test_a_congestion_control_shows_its_inner_state() -> None:
    result = fl.run("geo-omueti2007", tcp="bbr", overrides={"flows.0.size": "500 kB"})
    table = result.trace("control")
    state = table[table["quantity"] == "state"]["value"]
    # Startup, Drain and ProbeBW.
    assert state.iloc[0] == 0
    assert set(state) <= {0.0, 1.0, 2.0, 3.0}
    shown = {
        quantity["name"] for quantity in registry.quantities() if quantity["algorithm"] == "bbr"
    }
    assert set(table["quantity"].unique()) <= shown


def test_columns_of_the_engine_keep_their_types() -> None:
    where = source.find("geo-lossy").resolve(None, [("flows.0.size", "1 MB")])
    table = _farlink.trace(next(iter(where.values())), 0, None, packets=False, progress=None)[
        "tables"
    ]["drops"]
    assert table.column("time")[0] == "float64"
    cause = columns.array(table, "cause")
    assert isinstance(cause, columns.Texts)
    assert cause.texts[:2] == ["congestion", "loss"]
    dtype, data, present, texts = table.column("seq")
    assert (dtype, len(data), texts) == ("int64", 8 * len(table), None)
    assert present is not None
    assert len(present) == len(table)
