"""Sweeps: sweep files, the points that they give, and tables, plots and pages of results."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farlink as fl
from farlink.errors import ScenarioError
from farlink.experiment import Experiment, Point, Store, plan
from farlink.experiment.design import grid, sampled
from farlink.experiment.factors import Factor, read_factor
from farlink.experiment.reading import Reading
from farlink.experiment.sequential import Precision, Rule, _level
from farlink.experiment.sweep import State, SweepStopped
from farlink.stats import t_quantile

Sample = np.typing.NDArray[np.float64]

FACTORS: dict[str, Any] = {
    "tcp": ["sack", "reno"],
    "loss": {"path": "links.0.down.channel.loss", "values": [0.0, 0.02]},
}
SET = {"flows.0.size": "30 kB"}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> fl.SweepResult:
    from conftest import SMALL

    where = tmp_path_factory.mktemp("sweep")
    (where / "small.toml").write_text(SMALL, encoding="utf-8")
    tree = {
        "scenario": str(where / "small.toml"),
        "runs": 6,
        "set": SET,
        "factors": FACTORS,
        "against": {"tcp": "reno"},
        "plots": [
            {"x": "loss", "y": "goodput", "colour": "tcp"},
            {"x": "tcp", "y": "satellite.down.utilisation", "panels": "loss", "log_y": True},
        ],
    }
    return fl.sweep(tree, store=where / "store", jobs=2)


def command(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "farlink", *(str(word) for word in words)]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


# What comes out.


def test_means_and_intervals_are_those_of_run(sweep: fl.SweepResult, small: Path) -> None:
    result = fl.run(small, tcp="reno", runs=6, overrides=SET)
    row = sweep.frame.query("tcp == 'reno' and loss == 0.02 and measure == 'goodput'").iloc[0]
    item = result.total("goodput", "reno")
    assert (row["mean"], row["ci95_low"], row["ci95_high"]) == (item.mean, item.low, item.high)
    assert (row["n"], row["unit"]) == (6, "bit/s")
    assert len(sweep.frame) == 4 * 2


def test_differences_are_paired(sweep: fl.SweepResult, small: Path) -> None:
    result = fl.run(small, tcp=["sack", "reno"], runs=6, overrides=SET)
    item = result.difference("goodput", "sack", "reno")
    table = sweep.differences("tcp", "reno", ["goodput"])
    row = table[table["loss"] == 0.02].iloc[0]
    assert (row["difference"], row["ci95_low"]) == (item.mean, item.low)
    mean = result.total("goodput", "reno").mean
    assert item.mean is not None
    assert mean is not None
    assert row["percent"] == pytest.approx(100 * item.mean / mean)
    with pytest.raises(ScenarioError, match="'vegas' is no level; there are sack, reno"):
        sweep.differences("tcp", "vegas")


def test_it_is_an_array_with_the_factors_as_its_axes(sweep: fl.SweepResult) -> None:
    array = sweep.to_xarray()
    item = array["goodput"].sel(tcp="sack", loss=0.02, stat="mean")
    row = sweep.frame.query("tcp == 'sack' and loss == 0.02 and measure == 'goodput'")
    assert float(item) == row["mean"].item()
    assert array["goodput"].attrs["units"] == "bit/s"


def test_the_store_is_asked_by_factors(sweep: fl.SweepResult) -> None:
    asked = sweep.query(
        "select tcp, loss, avg(value) mean, count(*) n from runs where measure = 'goodput' "
        "group by all order by all"
    )
    assert asked["n"].tolist() == [6] * 4
    means = sweep.frame.query("measure == 'goodput'").sort_values(["tcp", "loss"])["mean"]
    assert asked["mean"].tolist() == pytest.approx(means.tolist(), rel=1e-14)


def test_page_and_files(sweep: fl.SweepResult, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep.save(out)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.count("<img") == 2
    assert 'src="http' not in page
    assert "reno" in page
    assert (
        (out / "results.csv").read_text().splitlines()[0].startswith("tcp,loss,measure,unit,mean")
    )
    assert len(list((out / "plots").iterdir())) == 4
    stamp = (out / "index.html").stat().st_mtime_ns
    sweep.save(out)
    assert (out / "index.html").stat().st_mtime_ns == stamp  # the same numbers: not drawn again
    assert sweep._repr_html_().count("<tr>") == 5


def test_plots_have_a_bar_at_each_mean(sweep: fl.SweepResult) -> None:
    figure = sweep.figures["01-goodput"]
    axes = figure.axes[0]
    assert len(axes.containers) == 2
    means = _bars(axes)[0].get_ydata()
    wanted = sweep.frame.query("measure == 'goodput' and tcp == 'sack'")["mean"]
    assert list(means) == pytest.approx(wanted.tolist())
    low, high = (_bars(axes)[1][end].get_ydata()[1] for end in (0, 1))
    row = sweep.frame.query("measure == 'goodput' and tcp == 'sack' and loss == 0.02").iloc[0]
    assert (low, high) == pytest.approx((row["ci95_low"], row["ci95_high"]))


def _bars(axes: Any) -> Any:  # noqa: ANN401 (what errorbar draws: the marks, and the caps)
    return axes.containers[0].lines


# What a file says.


def factor(name: str, value: object) -> Factor:
    return read_factor(name, value, Reading("f"))


def test_levels_with_units_are_numbers_in_the_basic_unit() -> None:
    delay = factor("delay", {"path": "links.0.down.delay", "values": ["10 ms", "0.25 s"]})
    assert [delay.shown(level) for level in delay.levels] == [0.01, 0.25]
    assert delay.unit == "s"
    mixed = factor("mixed", {"path": "x.y", "values": ["10 ms", "off"]})
    assert [mixed.shown(level) for level in mixed.levels] == ["10 ms", "off"]
    assert not mixed.is_number


def test_a_bundle_sets_all_that_it_names(small: Path) -> None:
    tree = {
        "scenario": str(small),
        "factors": {
            "setting": {
                "bundles": {
                    "iw10": {"tcp.initial_window": 10},
                    "big buffer": {"links": {"0": {"down": {"queue": {"packets": 99}}}}},
                    "as hybla": {"tcp": "hybla"},
                }
            }
        },
    }
    iw, buffer, hybla = (point.scenario for point in plan.read(tree).points)
    assert iw["tcp"]["initial_window"] == 10
    assert buffer["links"][0]["down"]["queue"] == {"packets": 99}
    assert hybla["tcp"]["variant"] == "hybla"
    assert "99" not in json.dumps(iw["links"])


def test_zipped_factors_go_through_their_levels_together() -> None:
    a, b = (factor(name, {"path": "x.y", "values": [1, 2, 3]}) for name in "ab")
    c = factor("c", {"path": "x.z", "values": [1, 2]})
    points = grid([a, c, b], [["a", "b"]])
    shown = [{name: item.label for name, item in point.items()} for point in points]
    assert len(shown) == 6
    assert all(entry["a"] == entry["b"] for entry in shown)
    assert list(shown[0]) == ["a", "c", "b"]


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_drawn_designs_fill_their_ranges(kind: str) -> None:
    factors = [
        factor("loss", {"path": "a.b", "from": 1e-8, "to": 1e-4, "scale": "log"}),
        factor("delay", {"path": "a.c", "from": "10 ms", "to": "300 ms"}),
        factor("window", {"path": "a.d", "from": 1, "to": 4}),
        factor("tcp", ["sack", "reno"]),
    ]
    drawn, points = sampled(factors, kind, 256, 1)
    logs = np.log10([float(point["loss"].value) for point in points])
    # The mean of 256 even values: standard error 4/sqrt(12 * 256), and far less for Sobol.
    assert abs(logs.mean() + 6) < (4 * 4 / math.sqrt(12 * 256) if kind == "random" else 0.02)
    assert all(re.fullmatch(r"[0-9.]+ ms", str(point["delay"].value)) for point in points)
    counts = [sum(point["window"].value == level for point in points) for level in (1, 2, 3, 4)]
    assert min(counts) > (40 if kind == "random" else 62)
    assert {point["tcp"].label for point in points} == {"sack", "reno"}
    assert [draw.name for draw in drawn] == ["loss", "delay", "window", "tcp"]


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"factor": {}}, "key 'factor' is not known; did you mean 'factors'?"),
    ({"factors": {}}, 'factors: nothing is varied; write tcp = ["sack", "cubic"]'),
    ({"runs": 0}, "runs: 0 is not usable; write a whole number, 1 to 1000000"),
    ({"runs": 3, "precision": {"goodput": "2 %"}}, "runs and precision; write one of them"),
    ({"precision": {"goodput": "two"}}, "precision.goodput: 'two' is no precision; write \"2 %\""),
    ({"precision": {"goodput": "2 %", "least": 50, "most": 20}}, "least 50 is above most 20"),
    ({"factors": {"loss": [0, 1]}}, 'write loss = { path = "...", values = [...] }'),
    (
        {"factors": {"a": {"path": "x.y"}}},
        "write one of values, from and to, tcp",
    ),
    ({"factors": {"a": {"values": [1]}}}, "factors.a: path is missing"),
    ({"factors": {"tcp": ["sack", "sack"]}}, "level 'sack' is there twice"),
    (
        {"factors": {"tcp": ["sakc"]}},
        "point tcp sakc: tcp 'sakc' is not known",
    ),
    ({"factors": {"a": {"path": "links.0.down.dealy", "values": ["1 ms"]}}}, "dealy"),
    ({"factors": {"a": {"path": "x.y", "from": 1, "to": 2}}}, "from and to are for drawn designs"),
    ({"factors": {"a": {"path": "x.y", "from": "1 ms", "to": "2 s"}}}, "write one unit"),
    ({"factors": {"a": {"path": "x.y", "from": 0, "to": 1, "scale": "log"}}}, "has no logarithm"),
    ({"factors": {"iw": {"bundles": {"a": {}, "b": {}}}}}, "are the same scenario"),
    ({"design": {"zip": ["tcp", "delay"]}}, "factor 'delay' is not there; there are tcp, loss"),
    (
        {"design": {"kind": "latin"}},
        "design.kind: 'latin' is not usable; write one of grid",
    ),
    ({"design": {"kind": "sobol"}}, "points is missing"),
    ({"design": {"kind": "sobol", "points": 4}, "against": {"tcp": "sack"}}, "has no pairs"),
    ({"plots": [{"x": "los", "y": "goodput"}]}, "plots[0]: x = 'los' is no factor; there are tcp"),
    ({"plots": [{"x": "loss", "y": "goodput", "color": "tcp"}]}, "did you mean 'colour'?"),
    ({"against": {"tcp": "vegas"}}, "against.tcp: 'vegas' is no level; there are sack, reno"),
    ({"measures": ["goodputt"]}, "measure 'goodputt' is not there; did you mean goodput"),
    ({"scenario": 3}, "scenario is missing"),
]


@pytest.mark.parametrize(("changed", "message"), ERRORS, ids=[error[:40] for _, error in ERRORS])
def test_what_is_wrong_is_said_in_a_line(
    changed: dict[str, Any], message: str, small: Path
) -> None:
    tree = {"scenario": str(small), "factors": FACTORS, "set": SET}
    runs = None if {"runs", "precision"} & changed.keys() else 1
    with pytest.raises(ScenarioError, match=re.escape(message)) as raised:
        fl.sweep({**tree, **changed}, runs=runs)
    assert "\n" not in str(raised.value)


# How many runs.


def _stopped(sample: Sample, rule: Rule, probability: float) -> tuple[float, float, int]:
    """Return the mean, half its interval, and the number of runs at a stop for 8 %."""
    mean, half, runs = math.nan, math.nan, 0
    for runs in rule.analyses:
        part = sample[:runs]
        mean = float(part.mean())
        deviation = float(np.std(part, ddof=1))
        half = t_quantile(probability, runs - 1) * deviation / math.sqrt(runs)
        if WANTED.reached(mean, half):
            break
    return mean, half, runs


WANTED = Precision("x", share=0.08)
TRIALS = 1500


def test_the_looks_hold_their_level() -> None:
    """The interval at the stop covers the known mean of the samples often enough."""
    rng = np.random.default_rng(5)
    rule = Rule(20, 400)
    laws: list[tuple[str, Callable[[int], Sample], float]] = [
        ("normal", lambda n: rng.normal(10, 3, n), 0.945),
        ("uniform", lambda n: rng.uniform(3, 17, n), 0.945),
        # Student's t also covers less than 95 %
        ("exponential", lambda n: 7 + rng.exponential(3, n), 0.925),
    ]
    for name, draw, least in laws:
        stops = [_stopped(draw(rule.most), rule, (1 + rule.level) / 2) for _ in range(TRIALS)]
        held = sum(abs(mean - 10) <= half for mean, half, _ in stops) / TRIALS
        # Four standard errors of a share of 95 % in 1500 are 0.0225.
        assert held >= least, (name, held)
        assert len({runs for _, _, runs in stops}) > 1


def test_without_the_wider_interval_the_level_is_not_kept() -> None:
    """With repeated analyses plain 95 % intervals miss the mean more often."""
    rng = np.random.default_rng(6)
    rule = Rule(3, 400)
    stops = [_stopped(rng.normal(10, 3, rule.most), rule, 0.975) for _ in range(TRIALS)]
    assert sum(abs(mean - 10) <= half for mean, half, _ in stops) / TRIALS < 0.94


def test_the_level_of_looks_is_that_of_the_tables() -> None:
    # Pocock 1977, table 1 (two-sided 5 %): equally spaced looks.
    from scipy.special import ndtri

    for count, constant in ((1, 1.960), (2, 2.178), (3, 2.289), (5, 2.413)):
        looks = tuple(range(10, 10 * count + 1, 10))
        result = float(ndtri((1 + _level(looks)) / 2))
        assert result == pytest.approx(constant, abs=0.0011)


def test_a_precision_runs_each_point_as_long_as_it_needs(small: Path) -> None:
    result = fl.sweep(
        small,
        factors={"loss": {"path": "links.0.down.channel.loss", "values": [0.0, 0.02]}},
        overrides=SET,
        precision={"goodput": "5 %", "least": 20, "most": 400},
        jobs=2,
    )
    assert result.runs[0] == 20
    assert result.runs[1] > 28
    assert result.reached == [True, True]
    lossy = result.frame.iloc[1]
    assert lossy["ci95_high"] - lossy["mean"] <= 0.05 * lossy["mean"]
    assert lossy["n"] == result.runs[1]
    short = fl.sweep(
        small,
        factors={"loss": {"path": "links.0.down.channel.loss", "values": [0.1, 0.05]}},
        overrides=SET,
        precision={"goodput": "0.1 %", "least": 5, "most": 10},
    )
    assert short.reached == [False, False]
    assert short.runs == [10, 10]


# The command.


FILE = """
scenario = "small.toml"
runs = 4
set = { "flows.0.size" = "30 kB" }
[factors]
tcp = ["sack", "reno"]
loss = { path = "links.0.down.channel.loss", values = [0.0, 0.02] }
"""


@pytest.fixture
def file(small: Path) -> Path:
    path = small.parent / "grid.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_the_command_makes_a_page_and_does_not_simulate_again(file: Path) -> None:
    first = command("sweep", file, cwd=file.parent)
    assert first.returncode == 0, first.stderr
    assert "4 points, 16 runs, 16 of them simulated now" in first.stdout
    out = file.parent / "farlink-out" / "grid"
    assert (out / "index.html").is_file()
    again = command("sweep", file, "--csv", "-", cwd=file.parent)
    assert again.stdout == (out / "results.csv").read_text()
    more = fl.sweep(file, runs=5, store=out / "store")
    assert more.simulated_runs == 4


def test_bad_input_is_a_line_and_leaves_nothing(file: Path) -> None:
    file.write_text(FILE.replace("values", "vals"), encoding="utf-8")
    done = command("sweep", file, cwd=file.parent)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "grid.toml: factors.loss: key 'vals' is not known; did you mean 'values'?" in done.stderr
    assert not (file.parent / "farlink-out").exists()
    file.write_text("x = [", encoding="utf-8")
    assert "not TOML" in command("sweep", file, cwd=file.parent).stderr


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(file: Path) -> None:
    line = [sys.executable, "-m", "farlink", "sweep", str(file), "--runs", "100000"]
    # Where these tests run in the background, Ctrl-C may be ignored; programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    going = subprocess.Popen(line, cwd=file.parent, stderr=subprocess.PIPE, text=True)
    store = file.parent / "farlink-out" / "grid" / "store"
    until = time.monotonic() + 60
    while len(list(store.glob("part-*"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    going.send_signal(signal.SIGINT)
    _, output = going.communicate(timeout=120)
    assert going.returncode == 130
    assert re.search(r"interrupted when [0-9,]+ of 400,000 runs were done; they are in .*store; "
                     "the same command goes on from there", output)  # fmt: skip
    done = sum(len(item) for item in Store(store).covered().values())
    assert 0 < done < 400_000


def test_a_stopped_sweep_tells_its_state(small: Path, tmp_path: Path) -> None:
    def stop(state: State) -> None:
        assert state.points_total == 2
        if state.runs > 20:
            raise KeyboardInterrupt

    with pytest.raises(SweepStopped, match="interrupted when"):
        fl.sweep(small, factors={"tcp": ["sack", "reno"]}, runs=10_000, overrides=SET,
                 store=tmp_path / "store", progress=stop)  # fmt: skip


# Two results, or two scenarios.


def test_diff_of_two_scenarios_is_paired(small: Path) -> None:
    wider = {**SET, "tcp.initial_window": 10}
    difference = fl.diff(
        small, small, overrides_a=SET, overrides_b=wider, runs=8, measures=["duration"]
    )
    (row,) = difference.rows
    a, b = (
        Experiment().values(Point.of(small, overrides=sets), "duration", 8) for sets in (SET, wider)
    )
    assert row.difference.mean == pytest.approx(float((b - a).mean()))
    assert [setting[0] for setting in difference.settings] == ["tcp.initial_window"]
    assert difference.settings[0][2] == "10"
    half = 2.3646 * float((b - a).std(ddof=1)) / math.sqrt(8)
    assert row.difference.half_width == pytest.approx(half, rel=1e-4)


def test_diff_of_results(small: Path, result: fl.Result, tmp_path: Path) -> None:
    result.to_json(tmp_path / "a.json")
    same = fl.diff(tmp_path / "a.json", small)
    assert same.paired
    assert {row.difference.mean for row in same.rows} == {0.0}
    assert same.settings == []
    other = fl.run(small, tcp=["newreno", "sack"], runs=3, seed=99)
    apart = fl.diff(result, other, measures=["goodput"])
    assert not apart.paired
    row = apart.rows[0]
    a, b = (side.per_run("goodput", "newreno") for side in (result, other))
    from scipy.stats import ttest_ind

    interval = ttest_ind(
        np.array(b, float), np.array(a, float), equal_var=False
    ).confidence_interval(0.95)
    assert (row.difference.low, row.difference.high) == pytest.approx(tuple(interval))
    with pytest.raises(ScenarioError, match="runs has no effect on two saved results"):
        fl.diff(result, other, runs=5)
    with pytest.raises(ScenarioError, match="no TCP is on both sides"):
        fl.diff(result, fl.run(small, tcp=["vegas"], runs=3))


def test_the_command_diff(small: Path) -> None:
    done = command("diff", small, small, "--set", "flows.0.size=30kB", "--set-b",
                   "tcp.initial_window=10", "--runs", 3, cwd=small.parent)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tcp.initial_window" in done.stdout
    assert "paired" in done.stdout
    wrong = command("diff", small, small, "--measures", "speed", cwd=small.parent)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


# Killed, and on several machines.


@pytest.mark.parametrize(
    ("runs", "kills"), [(150, 1), pytest.param(1500, 10, marks=pytest.mark.long)]
)
def test_killed_at_any_moment_it_ends_with_the_same_numbers(
    file: Path, runs: int, kills: int
) -> None:
    reference = fl.sweep(file, runs=runs, jobs=1).frame
    line = [sys.executable, "-m", "farlink", "sweep", str(file), "--runs", str(runs), "--quiet"]
    rng = np.random.default_rng(1)
    for _ in range(kills):
        going = subprocess.Popen(line, cwd=file.parent)
        time.sleep(float(rng.uniform(0.2, 1.5)))
        os.kill(going.pid, signal.SIGKILL)
        going.wait()
    lab = fl.sweep(file, runs=runs, store=file.parent / "farlink-out" / "grid" / "store")
    assert lab.frame.equals(reference)
    assert fl.sweep(file, runs=runs, store=lab.experiment.store).simulated_runs == 0


@pytest.mark.long
def test_on_dask_with_a_worker_that_is_killed(small: Path) -> None:
    distributed = pytest.importorskip("distributed")
    factors = {"tcp": ["sack", "reno"]}
    reference = fl.sweep(small, factors=factors, runs=400, jobs=1).frame
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killed: list[int] = []

        def kill(state: State) -> None:
            if state.runs > 40 and not killed:
                killed.append(state.runs)
                os.kill(pids[0], signal.SIGKILL)

        result = fl.sweep(
            small, factors=factors, runs=400, executor=client.get_executor(), progress=kill
        )
    assert killed
    assert result.frame.equals(reference)


def test_a_cluster_that_does_not_answer_is_said() -> None:
    from farlink.experiment.execute import on_cluster

    text = "--cluster nowhere: no scheduler answers there"
    with pytest.raises(ScenarioError, match=text), on_cluster("nowhere"):
        pass


def test_the_example_can_be_run() -> None:
    example = Path(__file__).parents[2] / "examples" / "geo-buffers.toml"
    read = plan.read(example)
    assert len(read.points) == 36
    assert [item.factor for item in read.against] == ["setting"]
    assert len(read.plots) == 2


def test_the_help_shows_a_file_that_can_be_run(tmp_path: Path) -> None:
    shown = command("sweep", "--help", cwd=tmp_path).stdout
    lines = shown[shown.index("scenario =") : shown.index("Run k of every point")].splitlines()
    (tmp_path / "x.toml").write_text("\n".join(lines), encoding="utf-8")
    assert len(plan.read(tmp_path / "x.toml").points) == 12
