"""Congestion controls in Python."""

import json
import textwrap
import zipfile
from pathlib import Path

import pytest

import farlink as fl
from test_cli import farlink

EXAMPLES = Path(__file__).parents[2] / "examples" / "cc"
SHORT = {"duration": "20 s"}


def numbers(result: fl.Result, path: Path) -> object:
    """Return all numbers of a result of one TCP, without its name."""
    result.to_json(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: document[key] for key in ("results", "links", "fairness", "events")}
    return json.loads(json.dumps(kept).replace(json.dumps(result.tcp[0]), '"it"'))


def write(path: Path, hook: str, head: str = "") -> str:
    """Write a class with one hook, which runs after 2 s, and return its name for --tcp."""
    body = textwrap.indent(textwrap.dedent(hook).strip(), " " * 12)
    path.write_text(
        f"{head}\nimport farlink as fl\n\n\nclass Mine(fl.CongestionControl):\n"
        f"    def on_ack(self, event):\n        if event.now > 2:\n{body}\n",
        encoding="utf-8",
    )
    return f"{path}:Mine"


@pytest.mark.parametrize("scenario", sorted(fl.scenarios()))
def test_reno_in_python_equals_reno_to_the_bit(scenario: str, tmp_path: Path) -> None:
    # The class is the Reno of the RFCs, also where a scenario has the profile of a kernel.
    duration = {"dumbbell-1000": "4 s", "dumbbell-1000-pairs": "1 s"}.get(scenario, "20 s")
    path = {"duration": duration, "tcp.profile": "rfc"}
    ours = fl.run(scenario, tcp="reno", overrides=path)
    own = fl.run(scenario, tcp=f"{EXAMPLES}/reno.py:Reno", overrides=path)
    assert numbers(ours, tmp_path / "a.json") == numbers(own, tmp_path / "b.json")


@pytest.mark.parametrize(
    ("hook", "head", "message"),
    [
        ("1 / 0", "", r"mine.py:8: Mine.on_ack at 2\.\d+ s of the run: ZeroDivisionError: .*"),
        ("self.cwnd = float('nan')", "", r"mine.py:8: Mine.on_ack at .* cwnd = NaN; write bytes.*"),
        ("self.cwnd = -1", "", r"mine.py:8: Mine.on_ack at .* cwnd = -1; write bytes.*"),
        ("self.ssthresh = -1", "", r"mine.py:8: .* ssthresh = -1; write bytes of 0 or more.*"),
        ("self.pacing_rate = 0", "", r"mine.py:8: .* pacing_rate = 0; write bit/s from 1.*"),
        ("while True:\n    pass", "", r"mine.py:\d+: Mine.on_ack at .*: takes longer than 2 s"),
        ("time.sleep(1)", "import time", r"mine.py:8: Mine uses time, .*"),
        ("random.random()", "import random", r"mine.py:8: Mine uses random, .*"),
        ("uniform(0, 1)", "from random import uniform", r"mine.py:8: Mine uses random, .*"),
        ("np.random.rand()", "import numpy as np", r"mine.py:8: Mine uses numpy.random, .*"),
        ("import time\ntime.time()", "", r"mine.py:8: Mine uses time, .*"),
        ("x()", "import time\ndef x(): return time.time()", r"mine.py:2: Mine uses time, .*"),
    ],
)
def test_an_error_of_a_class_is_one_line(
    tmp_path: Path, hook: str, head: str, message: str
) -> None:
    name = write(tmp_path / "mine.py", hook, head)
    with pytest.raises(fl.ScenarioError, match=message) as error:
        fl.run("geo-omueti2007", tcp=name, overrides=SHORT)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.py:Mine", None, "none.py: no such file or directory"),
        ("mine.py:Mine", "x = (", "mine.py:1: .*"),
        ("mine.py:Mine", "x = 1 / 0", "mine.py:1: ZeroDivisionError: .*"),
        ("mine.py:Mine", "class Mine: pass", "mine.py: no class Mine derived from .*"),
        ("mine.py:Mine(2)", "import farlink as fl\nclass Mine(fl.CongestionControl): pass",
         r".*write arguments as \(alpha=1, beta=0.7\)"),
        ("mine.py:Mine(x=2)", "import farlink as fl\nclass Mine(fl.CongestionControl): pass",
         ".*x is no argument of Mine.*"),
        ("nothing+mine.py:Mine", "import farlink as fl\nclass Mine(fl.CongestionControl): pass",
         "tcp 'nothing' is not known.*"),
    ],
)  # fmt: skip
def test_an_unusable_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(fl.ScenarioError, match=message):
        fl.run("geo-omueti2007", tcp=name, overrides=SHORT)


def test_random_numbers_depend_on_seed_and_run_only(tmp_path: Path) -> None:
    name = write(tmp_path / "mine.py", "self.cwnd = (2 + 20 * self.random()) * event.mss")
    runs = [fl.run("geo-omueti2007", tcp=name, overrides=SHORT, seed=s, runs=2) for s in (1, 1, 2)]
    a, b, c = (numbers(run, tmp_path / "r.json") for run in runs)
    assert a == b
    assert a != c
    first, second = runs[0].per_run("goodput", runs[0].tcp[0])
    assert first != second


def test_parameters_and_published_state(tmp_path: Path) -> None:
    name = f"linux-cubic+{EXAMPLES}/aimd.py:Aimd(alpha=2, beta=0.7)"
    result = fl.run("geo-lossy", tcp=[name, "cubic"], overrides=SHORT)
    assert result.tcp[0] == "linux-cubic+Aimd-alpha2-beta0.7"
    control = result.scenario(result.tcp[0])["resolved_tcp"][0]["control"]["Aimd"]
    assert (control["alpha"], control["beta"]) == (2, 0.7)
    assert "class Aimd" in control["python"]
    trace = result.trace("control", tcp=result.tcp[0])
    assert set(trace["quantity"]) == {"losses"}
    assert trace["value"].max() > 0


def test_a_sweep_varies_a_parameter() -> None:
    factors = {"tcp": [f"{EXAMPLES}/aimd.py:Aimd"], "tcp.control.Aimd.alpha": [0.5, 4]}
    grid = fl.sweep("geo-lossy", factors=factors, runs=2, overrides=SHORT)
    goodput = grid.frame[grid.frame["measure"] == "goodput"]["mean"]
    assert len(set(goodput)) == 2


def test_a_pack_holds_the_source(tmp_path: Path) -> None:
    result = fl.run("geo-omueti2007", tcp=f"{EXAMPLES}/aimd.py:Aimd(beta=0.7)", overrides=SHORT)
    result.to_json(tmp_path / "r.json")
    fl.artifact.pack([tmp_path / "r.json"], tmp_path / "p.zip")
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        packed = archive.read("results/r/aimd.py").decode()
        readme = archive.read("README.md").decode()
    assert packed == (EXAMPLES / "aimd.py").read_text(encoding="utf-8")
    assert "--tcp 'aimd.py:Aimd(beta=0.7)'" in readme


def test_a_class_shares_a_link_with_another_tcp(tmp_path: Path) -> None:
    scenario = EXAMPLES.parent / "bbr-beside.toml"
    reno = fl.run(scenario, overrides={**SHORT, "flows.0.tcp": '{ variant = "reno" }'})
    own = fl.run(scenario, overrides={**SHORT, "flows.0.tcp": f"{EXAMPLES}/reno.py:Reno"})
    assert numbers(reno, tmp_path / "a.json") == numbers(own, tmp_path / "b.json")
    cubic = fl.run(scenario, overrides={**SHORT, "flows.first.tcp": "linux-cubic"})
    assert numbers(cubic, tmp_path / "c.json") != numbers(own, tmp_path / "b.json")
    with pytest.raises(fl.ScenarioError, match="tcp 'nothing' is not known"):
        fl.run(scenario, overrides={"flows.0.tcp": "nothing"})


def test_advice_starts_from_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{EXAMPLES}/reno.py:Reno"
    assert farlink("advise", "geo-bursts", "--tcp", name, "--runs", "3", "--quiet") == 0
    assert f"farlink run geo-bursts --tcp {name}" in capsys.readouterr().out


def test_a_method_that_is_no_hook_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import farlink as fl\n\n\nclass Mine(fl.CongestionControl):\n"
        "    def on_acks(self, event):\n        self.cwnd += 1\n",
        encoding="utf-8",
    )
    message = r"mine\.py:5: Mine\.on_acks is no hook of .*CongestionControl; did you mean on_ack\?"
    with pytest.raises(fl.ScenarioError, match=message):
        fl.run("geo-lossy", tcp=f"{file}:Mine")


def test_a_class_over_quic_is_refused(tmp_path: Path) -> None:
    name = write(tmp_path / "mine.py", "pass")
    with pytest.raises(fl.ScenarioError, match=r"QUIC has the congestion controls of quinn; write"):
        fl.run("geo-lossy", tcp=f"quic+{name}")


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("", r"name the class in it, for example .*mine\.py:Mine"),
        (":Other", r"mine\.py: no class Other derived from farlink\.CongestionControl"),
        (":Mine(1)", r"write arguments as \(alpha=1, beta=0\.7\)"),
    ],
)
def test_a_wrong_name_of_a_class_is_one_line(tmp_path: Path, end: str, message: str) -> None:
    name = write(tmp_path / "mine.py", "pass").removesuffix(":Mine")
    with pytest.raises(fl.ScenarioError, match=message) as error:
        fl.run("geo-lossy", tcp=name + end)
    assert "\n" not in str(error.value)


def test_an_unknown_argument_names_those_of_the_class() -> None:
    with pytest.raises(fl.ScenarioError, match=r"gamma is no argument of .*; there are g0, g1"):
        fl.run("geo-lossy", tcp=f"{EXAMPLES}/policy.py:Policy(gamma=1)")


def test_a_capture_is_compared_with_a_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = fl.run("geo-bursts", tcp="linux-reno", overrides={"flows.0.size": "500 kB"})
    host = result.scenario()["flows"][0]["from"]
    capture = tmp_path / "reno.pcapng"
    capture.write_bytes(result.probe(snaplen=96).pcaps[host])
    name = f"{EXAMPLES}/reno.py:Reno"
    options = ("--tcp", name, "--runs", "1", "--quiet", "--out", str(tmp_path / "out"))
    assert farlink("compare", "--capture", str(capture), *options) == 0
    assert "Reno  goodput" in capsys.readouterr().out
