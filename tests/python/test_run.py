"""Running from Python: what comes back, and that it comes back again."""

import json
import math
import tomllib
from pathlib import Path

import pytest

import farlink as fl
from conftest import ENDLESS, SMALL, without_wall_time
from farlink import _farlink
from farlink.result import _combine


def test_two_runs_are_the_same_with_any_number_of_jobs(small: Path, result: fl.Result) -> None:
    again = [fl.run(small, tcp=["newreno", "sack"], runs=3, jobs=jobs) for jobs in (1, 2, 5)]
    for one in again:
        assert without_wall_time(one.data) == without_wall_time(result.data)


def test_a_mapping_is_the_same_as_its_toml(result: fl.Result) -> None:
    one = fl.run(tomllib.loads(SMALL), tcp=["newreno", "sack"], runs=3)
    assert without_wall_time(one.data) == without_wall_time(result.data)


def test_a_saved_result_runs_to_the_same_bits(tmp_path: Path, result: fl.Result) -> None:
    path = tmp_path / "result.json"
    result.to_json(path)
    again = fl.run(path)
    assert without_wall_time(again.data) == without_wall_time(result.data)


def test_a_saved_result_takes_changes(tmp_path: Path, small: Path, result: fl.Result) -> None:
    path = tmp_path / "result.json"
    result.to_json(path)
    other = fl.run(path, tcp="tahoe", runs=2, overrides={"flows.0.size": "100 kB"})
    direct = fl.run(small, tcp="tahoe", runs=2, overrides={"flows.0.size": "100 kB"})
    assert other.data["results"] == direct.data["results"]
    assert other.data["links"] == direct.data["links"]


def test_a_result_file_round_trips(tmp_path: Path, result: fl.Result) -> None:
    path = tmp_path / "result.json"
    result.to_json(path)
    loaded = fl.load(path)
    assert loaded.data == result.data
    assert loaded.summary.equals(result.summary)
    assert loaded.summary.attrs == result.summary.attrs


def test_the_file_says_all_that_is_promised(result: fl.Result) -> None:
    data = result.data
    assert data["format"] == "farlink-result/1"
    assert data["version"] == fl.__version__
    assert (data["seed"], data["runs"], data["tcp"]) == (7, 3, ["newreno", "sack"])
    assert data["scenario"]["tcp"]["variant"] == "newreno"
    assert data["events"] > 1000
    row = data["results"][0]
    assert (row["tcp"], row["flow"]) == ("newreno", "download")
    promised = "goodput duration segments_sent segments_retransmitted timeouts fast_retransmits"
    for name in [*promised.split(), "rtt_mean", "rto_mean"]:
        metric = row["metrics"][name]
        assert len(metric["values"]) == metric["n"] == 3
        assert metric["mean"] == pytest.approx(math.fsum(metric["values"]) / 3)
        low, high = metric["ci95"]
        assert low <= metric["mean"] <= high
    json.dumps(data, allow_nan=False)


def test_every_metric_has_a_unit_and_a_definition(result: fl.Result) -> None:
    known = {(one["scope"], one["name"]): one for one in json.loads(_farlink.metrics())}
    assert {one["unit"] for one in known.values()} <= {"bit/s", "s", "B", ""}
    assert all(one["definition"] for one in known.values())
    flow = {name for row in result.data["results"] for name in row["metrics"]}
    link = {name for row in result.data["links"] for name in row["metrics"]}
    run = {name for row in result.data["fairness"] for name in row["metrics"]}
    scopes = {"flow": flow, "link": link, "run": run}
    assert {(scope, name) for scope, names in scopes.items() for name in names} == set(known)


def test_flow_metrics_add_up_over_flows_if_they_are_amounts() -> None:
    # Amounts are bytes, bits a second and counts. Times are averaged, and so are these shares
    # and extremes, whose unit is 1 as that of a count is.
    no_amounts = {"completed", "fair_share", "loss_rate", "loss_burst_max"}
    for metric in json.loads(_farlink.metrics()):
        if metric["scope"] == "flow":
            name = metric["name"]
            amount = metric["unit"] in {"", "B", "bit/s"} and name not in no_amounts
            assert (_combine(name, [1.0, None, 5.0]) == 6.0) == amount, name


def test_what_arrives_is_what_was_sent(result: fl.Result) -> None:
    for tcp in result.tcp:
        goodput = result.total("goodput", tcp).mean
        duration = result.total("duration", tcp).mean
        assert goodput is not None
        assert duration is not None
        assert 0 < goodput < 1e6
        # 300 kB at 1 Mbit/s with 40 bytes of header in 1500 take at least 2.46 s.
        assert duration > 2.46


def test_summary_is_a_table_with_units(result: fl.Result) -> None:
    summary = result.summary
    assert list(summary.index) == [("newreno", "download"), ("sack", "download")]
    assert list(summary["goodput"].columns) == ["mean", "ci95_low", "ci95_high", "n"]
    assert summary.attrs["units"]["goodput"] == "bit/s"
    assert summary.attrs["units"]["rtt_mean"] == "s"
    assert result.links.index.names == ["tcp", "link", "direction"]
    used = result.links["utilisation"]["mean"]
    assert used.loc["sack", "satellite", "down"] > used.loc["sack", "satellite", "up"]
    assert len(result.values) == 6
    by_hand = result.values["goodput"].loc["sack"].mean()
    assert summary["goodput"]["mean"].loc["sack", "download"] == pytest.approx(by_hand)


def test_fairness_is_that_of_the_goodputs(small: Path, result: fl.Result) -> None:
    assert result.fairness["jain", "mean"].isna().all()
    several = fl.run(small, tcp=["reno", "sack"], runs=2, overrides={"flows.0.count": 3})
    assert list(several.fairness.index) == ["reno", "sack"]
    for row in several.data["fairness"]:
        for k, index in enumerate(row["metrics"]["jain"]["values"]):
            shares = [
                flow["metrics"]["goodput"]["values"][k]
                for flow in several.data["results"]
                if flow["tcp"] == row["tcp"]
            ]
            squares = sum(share**2 for share in shares)
            assert index == pytest.approx(sum(shares) ** 2 / (3 * squares))
            assert 1 / 3 < index < 1


def test_pages_have_response_times() -> None:
    pages = fl.run("geo-http-omueti2007", tcp=["sack"], overrides={"flows.0.duration": "100 s"})
    metrics = pages.data["results"][0]["metrics"]
    assert metrics["responses"]["values"] == [4]
    assert 4.15 < metrics["response_time_mean"]["mean"] < 4.45
    delivered = pages.trace("delivered")
    pages_only = delivered[delivered["side"] == "to"]["bytes"]
    assert pages_only.is_monotonic_increasing
    assert pages_only.iloc[-1] == 4 * 127_080


def test_one_run_has_no_interval(small: Path) -> None:
    one = fl.run(small)
    assert one.tcp == ["sack"]
    assert one.data["results"][0]["metrics"]["goodput"]["ci95"] == [None, None]
    assert one.summary["goodput"]["ci95_low"].isna().all()


def test_difference_is_paired_by_run(result: fl.Result) -> None:
    values = result.values["goodput"]
    by_hand = (values.loc["sack"] - values.loc["newreno"]).mean()
    assert result.difference("goodput", "sack", "newreno").mean == pytest.approx(by_hand)
    assert result.difference("goodput", "sack", "sack").half_width == 0.0


def test_runs_and_seeds_differ(small: Path, result: fl.Result) -> None:
    sent = result.values.loc["sack"]["duration"]
    assert sent.nunique() == 3
    other = fl.run(small, seed=8)
    assert other.seed == 8
    assert other.data["results"][0]["metrics"]["duration"]["mean"] not in set(sent)


def test_run_k_does_not_depend_on_how_many_runs_there_are(small: Path, result: fl.Result) -> None:
    more = fl.run(small, tcp="sack", runs=5).values["duration"].tolist()
    assert more[:3] == result.values.loc["sack"]["duration"].tolist()


def test_overrides_take_values_of_any_type(small: Path) -> None:
    changed = fl.run(
        small,
        overrides={
            "links.0.down.channel": {"loss": 0.0},
            "links.satellite.down.queue": "unlimited",
            "flows.0.size": "100 kB",
        },
    )
    assert changed.data["results"][0]["metrics"]["segments_retransmitted"]["mean"] == 0
    assert changed.scenario()["links"][0]["down"]["queue"] == "unlimited"


def test_progress_is_told(small: Path) -> None:
    calls: list[tuple[float, float, int, int]] = []

    def note(simulated_s: float, expected_s: float, done: int, total: int) -> None:
        calls.append((simulated_s, expected_s, done, total))

    fl.run(small, overrides={"flows.0.size": "500 MB"}, runs=4, jobs=1, progress=note)
    assert calls
    for simulated_s, expected_s, done, total in calls:
        assert simulated_s >= 0
        assert math.isnan(expected_s) or simulated_s <= expected_s
        assert done <= total == 4
    assert [call[2] for call in calls] == sorted(call[2] for call in calls)


def test_a_progress_that_raises_stops_the_run(small: Path) -> None:
    def stop(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fl.run(small, overrides=ENDLESS, progress=stop)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"runs": 0}, "runs is 0; write 1 to 1000000"),
        ({"jobs": 0}, "jobs is 0; write 1 to 1024"),
        ({"runs": 10**9}, "runs is 1000000000; write 1 to 1000000"),
        ({"tcp": []}, "tcp is empty; name at least one (`farlink tcp` lists them)"),
        ({"tcp": ["sack", "sack"]}, "tcp 'sack' is named twice; name each once"),
        ({"overrides": {"seed": object()}}, "an override of type object; use a string, number"),
    ],
)
def test_wrong_arguments(small: Path, keywords: dict[str, object], message: str) -> None:
    with pytest.raises(fl.ScenarioError) as caught:
        fl.run(small, **keywords)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, fl.FarlinkError)
    assert isinstance(caught.value, ValueError)


def test_what_is_not_in_a_result_is_said(result: fl.Result) -> None:
    with pytest.raises(fl.ScenarioError, match="tcp 'vegas' is not in this result; it has newreno"):
        result.trace("cwnd", tcp="vegas")
    with pytest.raises(fl.ScenarioError, match="run 3 is not there; this result has 0 to 2"):
        result.trace("cwnd", run=3)
    with pytest.raises(fl.ScenarioError, match="metric 'speed' is not known; there are "):
        result.total("speed", "sack")


def test_the_library_and_tables(tmp_path: Path) -> None:
    assert "geo-omueti2007" in fl.scenarios()
    assert {"rfc793", "tahoe", "reno", "newreno", "sack", "cubic"} <= set(fl.variants().index)
    assert fl.presets()["source"].str.len().min() > 0
    assert fl.schema()["$schema"].startswith("https://json-schema.org/")
    for name, text in fl.scenarios().items():
        path = tmp_path / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        json.loads(_farlink.resolve(text, str(path), []))
