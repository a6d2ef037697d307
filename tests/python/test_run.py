"""Runs from Python: their results, and that repeated runs give equal results."""

import io
import json
import math
import tomllib
from pathlib import Path

import pytest

import farlink as fl
from conftest import ENDLESS, SMALL, without_wall_time
from farlink import ScenarioError, _farlink, columns, registry
from farlink.cli.text import console
from farlink.views.table import show


def test_two_runs_are_the_same_with_any_number_of_jobs(small: Path, result: fl.Result) -> None:
    again = [fl.run(small, tcp=["newreno", "sack"], runs=3, jobs=jobs) for jobs in (1, 2, 5)]
    for item in again:
        assert without_wall_time(item.data) == without_wall_time(result.data)


def test_a_mapping_is_the_same_as_its_toml(result: fl.Result) -> None:
    item = fl.run(tomllib.loads(SMALL), tcp=["newreno", "sack"], runs=3)
    assert without_wall_time(item.data) == without_wall_time(result.data)


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


SCOPES = ("flow", "link", "run")


def test_every_metric_has_a_unit_and_a_definition(result: fl.Result) -> None:
    known = {(s, name): m for s in SCOPES for name, m in registry.measures(s).items()}
    assert {entry.unit for entry in known.values()} <= {"bit/s", "s", "B", ""}
    assert all(entry.definition for entry in known.values())
    flow = {name for row in result.data["results"] for name in row["metrics"]}
    link = {name for row in result.data["links"] for name in row["metrics"]}
    run = {name for row in result.data["fairness"] for name in row["metrics"]}
    scopes = {"flow": flow, "link": link, "run": run}
    assert {(scope, name) for scope, names in scopes.items() for name in names} == set(known)


def test_flow_metrics_add_up_over_flows_if_they_are_amounts() -> None:
    # Amounts are bytes, bits per second and counts, except maxima.
    for name, metric in registry.measures("flow").items():
        amount = metric.kind in {"count", "size", "rate"} and not name.endswith("_max")
        assert (metric.of_all([1.0, None, 5.0]) == 6.0) == amount, name


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
    item = fl.run(small)
    assert item.tcp == ["sack"]
    assert item.data["results"][0]["metrics"]["goodput"]["ci95"] == [None, None]
    assert item.summary["goodput"]["ci95_low"].isna().all()


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


def test_what_was_done_when_it_stops_is_kept(small: Path) -> None:
    def stop(_simulated: float, _expected: float, done: int, _total: int) -> None:
        if done >= 7:
            raise KeyboardInterrupt

    for jobs in (1, 3):
        with pytest.raises(fl.Interrupted) as caught:
            fl.run(small, tcp=["sack", "reno"], runs=100_000, jobs=jobs, progress=stop)
        kept = caught.value.result
        assert 3 <= kept.runs < 100_000
        assert str(caught.value) == (
            f"interrupted when {kept.runs} of 100000 runs of each TCP were done"
        )
        again = fl.run(small, tcp=["sack", "reno"], runs=kept.runs)
        assert without_wall_time(kept.data) == without_wall_time(again.data)


NESTED: list[object] = []
for _ in range(100_000):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"runs": 0}, "runs is 0; write 1 to 1000000"),
        ({"jobs": 0}, "jobs is 0; write 1 to 1024"),
        ({"runs": 10**9}, "runs is 1000000000; write 1 to 1000000"),
        ({"tcp": []}, "tcp is empty; name at least one (`farlink list tcp` lists them)"),
        ({"tcp": ["sack", "sack"]}, "tcp 'sack' is named twice; name each once"),
        ({"overrides": {"seed": object()}}, "an override of type object; use a string, number"),
        ({"overrides": ["seed"]}, "overrides is ['seed']; write values by path, for example"),
        ({"overrides": {3: 1}}, "overrides has the key 3; write a path as a string"),
        ({"overrides": {"seed": 10**5000}}, "an override has a number of thousands of digits"),
        ({"overrides": {"seed": NESTED}}, "an override is nested too deep"),
        ({"overrides": {"flows.0.sise": "1 MB"}}, "override flows.0.sise=1 MB: unknown key"),
        ({"overrides": {"a." * 50_000 + "b": 1}}, "override a.a.a.a."),
        ({"overrides": {"flows.0.size": "x" * 10**5}}, "override flows.0.size=xxxx"),
        ({"overrides": {"links.0.down.rate": 12e6}}, "override links.0.down.rate=12000000.0: "),
        ({"runs": 2.5}, "runs is 2.5; write a whole number"),
        ({"runs": math.inf}, "runs is inf; write a whole number"),
        ({"runs": "3"}, "runs is '3'; write a whole number"),
        ({"runs": bool(1)}, "runs is True; write a whole number"),
        ({"runs": 10**5000}, "runs is a int that cannot be written; write 1 to 1000000"),
        ({"jobs": 1.0}, "jobs is 1.0; write a whole number"),
        ({"seed": -1}, "seed is -1; write 0 to 18446744073709551615"),
        ({"seed": 1.5}, "seed is 1.5; write a whole number"),
        ({"tcp": 5}, "tcp is 5; write a name or a list of names"),
        ({"tcp": ["sack", 5]}, "tcp is ['sack', 5]; write a name or a list of names"),
        ({"tcp": "x" * 10**5}, "tcp 'xxxx"),
        ({"progress": 3}, "progress is 3; give a function or nothing"),
    ],
)
def test_wrong_arguments(small: Path, keywords: dict[str, object], message: str) -> None:
    with pytest.raises(fl.ScenarioError) as caught:
        fl.run(small, **keywords)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 3000
    assert isinstance(caught.value, fl.FarlinkError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("scenario", [3, None, b"geo-lossy", {"links": NESTED}, {"seed": math.nan}])
def test_what_is_no_scenario_is_said(scenario: object) -> None:
    with pytest.raises(fl.ScenarioError) as caught:
        fl.run(scenario)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "a\0b.toml", "x" * 5000 + ".json", "\ud800"])
def test_names_that_no_file_can_have_are_said(name: str) -> None:
    with pytest.raises(fl.ScenarioError) as caught:
        fl.run(name)
    assert len(str(caught.value)) < 500


def test_wrong_arguments_of_a_trace(result: fl.Result) -> None:
    for run in (-1, 1.5, "0"):
        with pytest.raises(fl.ScenarioError, match=r"run is "):
            result.trace("cwnd", run=run)  # type: ignore[arg-type]
    for snaplen in (-1, 2**40, 0.5):
        with pytest.raises(fl.ScenarioError, match="snaplen is "):
            result.probe("sack", snaplen=snaplen)  # type: ignore[arg-type]
    for width in (1e-12, 0, -1, math.nan, math.inf, "x"):
        with pytest.raises(fl.ScenarioError, match=r"bin_s is .*; write seconds above"):
            result.trace("throughput", "sack", bin_s=width)  # type: ignore[arg-type]
    with pytest.raises(fl.ScenarioError, match=r"trace \[\] is not known"):
        result.trace([])  # type: ignore[arg-type]


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


UNNAMED = """
[[links]]
between = ["a", "b"]
down = { rate = "1 Mbit/s", delay = "10 ms" }
[[flows]]
from = "a"
to = "b"
size = "100 kB"
count = 2
stagger = "500 ms"
"""


def test_an_unnamed_scenario_is_called_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "my path.toml"
    path.write_text(UNNAMED, encoding="utf-8")
    result = fl.run(path)
    assert (result.name, result.scenario()["name"]) == ("my-path", "my-path")
    assert fl.run(tomllib.loads(UNNAMED)).name == "scenario"


def test_an_idle_key_stays_in_a_saved_result(tmp_path: Path) -> None:
    tree = {**tomllib.loads(UNNAMED), "tcp": {"initial_window": 4}}
    result = fl.run(tree, tcp=["rfc793", "reno"])
    path = tmp_path / "result.json"
    result.to_json(path)
    again = fl.run(path, seed=9)
    assert [again.scenario(tcp)["tcp"]["initial_window"] for tcp in again.tcp] == [4, 4]
    with pytest.raises(ScenarioError, match="initial_window would be ignored; it needs"):
        fl.run(tree, tcp="rfc793", overrides={"tcp.initial_window": 5})


def test_either_name_of_westwood_plus_is_understood() -> None:
    with pytest.raises(ScenarioError, match=r"did you mean 'westwood\+'"):
        fl.run("geo-lossy", tcp="westwood_plus")


def test_goodputs_of_a_row_are_those_over_the_run() -> None:
    result = fl.run(tomllib.loads(UNNAMED))
    stream = io.StringIO()
    show(result, console(stream))
    over_run = result.total("goodput_over_run", "sack").mean
    own = result.total("goodput", "sack").mean
    assert over_run is not None
    assert own is not None
    assert over_run < 1e6 < own
    row = next(line for line in stream.getvalue().splitlines() if line.strip().startswith("sack"))
    assert float(row.split()[1]) == pytest.approx(over_run / 1e3, rel=0.01)


def test_what_agents_counted_is_in_the_result(result: fl.Result, tmp_path: Path) -> None:
    """Each kind of agent has its own counters, and a result with counters is a valid file."""

    def metric(value: int) -> dict[str, object]:
        values = [value] * result.runs
        interval = [float(value)] * 2
        return {
            "mean": float(value),
            "ci95": interval,
            "n": len(values),
            "unit": "",
            "values": values,
        }

    place = {"at": "base", "wireless": "radio"}
    kinds = [
        {"tcp": tcp, "agent": agent, **place, "metrics": {counter: metric(value)}}
        for tcp in result.tcp
        for agent, counter, value in (("eln", "marked", 3), ("snoop", "kept", 2))
    ]
    fl.Result({**result.data, "agents": kinds}).to_json(tmp_path / "result.json")
    agents = fl.load(tmp_path / "result.json").agents
    assert agents["marked"]["mean"].tolist()[0] == 3
    assert agents["marked"]["n"].tolist() == [result.runs, 0] * len(result.tcp)
    assert result.agents.empty


@pytest.mark.parametrize("runs", [1, 3])
def test_a_result_file_is_the_document_as_json(small: Path, runs: int) -> None:
    """The result file is written row by row, but equals the output of `json`."""
    result = fl.run(small, tcp=["newreno", "sack"], runs=runs)
    assert result.text == json.dumps(result.data, indent=1, allow_nan=False) + "\n"
    assert "".join(fl.Result(result.data).pieces()) == result.text


def test_measures_are_tables_of_columns(small: Path) -> None:
    """Rows are sorted by flow, then by run; missing values are null, and numbers agree."""
    result = fl.run(small, tcp="sack", runs=3)
    text = _farlink.resolve(small.read_text(), "small", [("tcp.variant", "sack")])
    (measures,) = _farlink.simulate([(text, [2, 0])], 1)
    table = columns.frame(measures.table("flow"))
    assert table["run"].tolist() == [2, 0]
    assert set(table["flow"]) == {result.data["results"][0]["flow"]}
    for name, metric in result.data["results"][0]["metrics"].items():
        values = table[name].astype(object).where(table[name].notna(), None)
        assert values.tolist() == [metric["values"][2], metric["values"][0]]
    assert table["datagrams_sent"].isna().all()
    links = columns.frame(measures.table("link"))
    assert [(row.run, row.direction) for row in links.itertuples()][:4] == [
        (2, "down"), (0, "down"), (2, "up"), (0, "up"),
    ]  # fmt: skip
    whole = columns.frame(measures.table("run"))
    assert whole["events"].sum() == measures.events


def test_parts_of_a_batch_have_their_own_runs(small: Path) -> None:
    """Runs of several scenarios are simulated in parallel; each scenario gets its own runs."""
    texts = [_farlink.resolve(small.read_text(), "small", [("seed", str(seed))]) for seed in (1, 2)]
    together = _farlink.simulate([(texts[0], [0]), (texts[1], [3, 1, 2])], 2)
    apart = [_farlink.simulate([(texts[0], [0])], 1)[0]]
    apart += [_farlink.simulate([(texts[1], [k])], 1)[0] for k in (3, 1, 2)]
    rows = [item.row(k, 0, 400) for item in together for k in range(len(item))]
    assert rows == [item.row(0, 0, 400) for item in apart]


def test_a_large_result_is_written_piece_by_piece(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of 1,000 pairs has 40 MB, the numbers 3 MB."""
    many = {"flows.0.count": "40"}
    result = fl.run(small, tcp="sack", overrides=many)
    pieces = list(result.pieces())
    assert len(pieces) > 40
    assert max(map(len, pieces)) < 20_000 < sum(map(len, pieces)) / 10
    assert "data" not in vars(result)
    assert result.summary.shape[0] == 40
    assert "data" not in vars(result)
