"""Queue laws and traffic sources in Python."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import farlink as fl
from test_cli import farlink
from test_congestion import numbers

EXAMPLES = Path(__file__).parents[2] / "examples" / "classes"
LAW = "links.0.down.discipline"
CALL: dict[str, Any] = {
    "links": [
        {
            "between": ["a", "b"],
            "down": {"rate": "2 Mbit/s", "delay": "250 ms", "queue": {"bytes": "100 kB"}},
            "up": {"rate": "1 Mbit/s", "delay": "250 ms"},
        }
    ],
    "flows": [{"from": "a", "to": "b", "app": "cbr", "duration": "20 s"}],
}


def write(path: Path, text: str) -> str:
    path.write_text("import farlink as fl\n" + textwrap.dedent(text), encoding="utf-8")
    return str(path)


def most(result: fl.Result, measure: str) -> float:
    """Return the largest mean of a measure over the directions of the links."""
    return float(result.links[measure, "mean"].max())


@pytest.mark.parametrize("ecn", ["false", "true"])
@pytest.mark.parametrize("tcp", ["reno", "cubic", "bbr"])
def test_codel_in_python_equals_codel_to_the_bit(tcp: str, ecn: str, tmp_path: Path) -> None:
    bulk = {"from": "a", "to": "b", "app": "bulk", "duration": "60 s", "count": 3}
    path = {**CALL, "flows": [bulk], "tcp": {"receive_window": "4 MB", "ecn": ecn == "true"}}
    ours = fl.run(path, tcp=tcp, overrides={LAW: '"codel"'})
    theirs = fl.run(path, tcp=tcp, overrides={LAW: f"{EXAMPLES}/codel.py:Codel"})
    assert numbers(ours, tmp_path / "a.json") == numbers(theirs, tmp_path / "b.json")
    assert most(ours, "marks" if ecn == "true" else "queue_drops_aqm") > 10


def test_codel_in_python_drops_as_codel_on_a_queue_that_stays(tmp_path: Path) -> None:
    """A source at twice the rate of the link keeps the queue long, so that the law goes on."""
    fast = {**CALL, "flows": [{**CALL["flows"][0], "rate": "4 Mbit/s"}]}
    ours = fl.run(fast, overrides={LAW: '"codel"'})
    theirs = fl.run(fast, overrides={LAW: f"{EXAMPLES}/codel.py:Codel"})
    assert numbers(ours, tmp_path / "a.json") == numbers(theirs, tmp_path / "b.json")
    assert most(ours, "queue_drops_aqm") > 100


@pytest.mark.parametrize("app", ["cbr", "stream"])
def test_a_constant_source_in_python_equals_the_constant_rate(app: str, tmp_path: Path) -> None:
    """1,000 bytes at 100 kbit/s are a message each 80 ms."""
    even = """
        class Even(fl.TrafficSource):
            def messages(self):
                pause = 0
                while True:
                    yield pause, 1000
                    pause = 0.08
        """
    source = write(tmp_path / "even.py", even) + ":Even"
    flow = {**CALL["flows"][0], "app": app}
    rate = {"rate": "100 kbit/s"} | ({"size": "1000 B"} if app == "stream" else {})
    ours = fl.run({**CALL, "flows": [{**flow, **rate}]})
    theirs = fl.run({**CALL, "flows": [flow]}, overrides={"flows.0.source": source})
    assert numbers(ours, tmp_path / "a.json") == numbers(theirs, tmp_path / "b.json")


def test_a_frame_is_several_datagrams_and_runs_differ_by_seed_alone(tmp_path: Path) -> None:
    named = {"flows.0.source": f"{EXAMPLES}/video.py:Video(kbit_per_s=1000)"}
    first = fl.run(CALL, runs=3, overrides=named)
    again = fl.run(CALL, runs=3, overrides=named)
    assert numbers(first, tmp_path / "a.json") == numbers(again, tmp_path / "b.json")
    goodput = [value or 0.0 for value in first.per_run("goodput", first.tcp[0], udp=True)]
    assert len(set(goodput)) == 3
    # 500 frames, five of them key frames: the relative deviation of the sum is below 3 %.
    assert abs(sum(goodput) / 3e6 - 1) < 0.08
    # Frames of 5 kB on average are five datagrams of 1,000 bytes and one shorter.
    sent = first.per_run("datagrams_sent", first.tcp[0], udp=True)
    assert all(number is not None and 500 * 5 < number < 500 * 6.5 for number in sent)


def test_a_class_decides_on_each_packet_that_waits(tmp_path: Path) -> None:
    """A law that drops behind 5 packets never has a sixth wait, and answers are the reason."""
    short = """
        class Short(fl.QueueLaw):
            def __init__(self, most=5):
                self.most = most

            def on_arrival(self, packet):
                if packet.queue_packets >= self.most:
                    return "drop"
        """
    law = write(tmp_path / "short.py", short) + ":Short"
    fast = {**CALL, "flows": [{**CALL["flows"][0], "rate": "4 Mbit/s"}]}
    result = fl.run(fast, overrides={LAW: law})
    limit = fl.run(fast, overrides={"links.0.down.queue": "{ packets = 5 }"})
    dropped = most(result, "queue_drops_aqm")
    assert dropped == most(limit, "drops_congestion") > 1000
    assert most(result, "queue_drops_full") == 0
    longer = fl.run(fast, overrides={LAW: f"{law}(most=10)"})
    assert most(longer, "queue_drops_aqm") == dropped - 5


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        ("return 1 / 0", "law.py:4: Law.on_arrival at 0.0* s .* ZeroDivisionError: .*"),
        ("return True", 'law.py: .*Law.on_arrival .* returned True; return "drop", "mark" or None'),
        ("[x for x in iter(int, 1)]", "law.py:4: Law.on_arrival at .*: takes longer than 2 s"),
        ("return random.random()", "law.py:4: Law uses random, .*self.random.*"),
    ],
)
def test_an_error_of_a_law_is_one_line(hook: str, message: str, tmp_path: Path) -> None:
    text = f"\nclass Law(fl.QueueLaw):\n  def on_arrival(self, packet): {hook}\n"
    law = write(tmp_path / "law.py", "import random" + text) + ":Law"
    fast = {**CALL, "flows": [{**CALL["flows"][0], "rate": "4 Mbit/s"}]}
    with pytest.raises(fl.FarlinkError, match=message.replace("law.py: .*", "")) as error:
        fl.run(fast, overrides={LAW: law})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("yield -1, 5", "pause of -1 s; write 0 to"),
        ("yield 1, 0", "yielded 0 bytes; write 1 to"),
        ("yield 5", "yield a pause in seconds and a number of bytes"),
        ("yield float('nan'), 5", "pause of NaN s"),
        ("while True: yield 0, 1", "100000 messages at one time"),
        ("return 5", "messages at .* not iterable"),
    ],
)
def test_an_error_of_a_source_is_one_line(body: str, message: str, tmp_path: Path) -> None:
    text = f"\nclass Bad(fl.TrafficSource):\n  def messages(self):\n    {body}\n"
    source = write(tmp_path / "bad.py", text) + ":Bad"
    with pytest.raises(fl.FarlinkError, match=message) as error:
        fl.run(CALL, overrides={"flows.0.source": source})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (LAW, "none.py:Law", "none.py: no such file"),
        (LAW, "codel.py:Other", "codel.py: no class Other derived from farlink.QueueLaw"),
        ("flows.0.source", "codel.py:Codel", "no class Codel derived from farlink.TrafficSource"),
        (LAW, "codel.py:Codel(goal=1)", "goal is no argument .*; there are target, interval"),
        (LAW, "codel.py:Codel(1)", "write arguments as"),
        (LAW, "codel.py:", "write a file and a class"),
        (LAW, '{ method = "python" }', "has no class; name the class in the command"),
    ],
)
def test_a_wrong_name_says_what_to_write(
    path: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    with pytest.raises(fl.ScenarioError, match=message):
        fl.run({**CALL, "flows": [{**CALL["flows"][0]}]}, overrides={path: value})


def test_a_source_without_messages_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "calls.py", "class Silent(fl.TrafficSource):\n    pass\n")
    with pytest.raises(fl.ScenarioError, match=r"calls\.py: Silent has no messages\(\); yield"):
        fl.run(CALL, overrides={"flows.0.source": f"{file}:Silent"})


def test_rate_beside_a_source_is_refused() -> None:
    overrides = {"flows.0.source": f"{EXAMPLES}/video.py:Video", "flows.0.rate": "1 Mbit/s"}
    with pytest.raises(fl.ScenarioError, match=r"flows\[0\].rate would be ignored: the class"):
        fl.run(CALL, overrides=overrides)


def test_a_file_never_runs_a_class_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "queue.toml"
    text = (
        '[[links]]\nbetween = ["a", "b"]\ndown = { rate = "1 Mbit/s", delay = "1 ms", '
        'discipline = "codel.py:Codel" }\n[[flows]]\nfrom = "a"\nto = "b"\nsize = "1 MB"\n'
    )
    path.write_text(text, encoding="utf-8")
    with pytest.raises(fl.ScenarioError, match="name the class in the command: --set"):
        fl.run(path)


def test_a_result_keeps_the_source_and_runs_again_only_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    law = f"{EXAMPLES}/codel.py:Codel"
    out, again = tmp_path / "out", tmp_path / "again"
    assert farlink("run", "geo-lossy", "--set", f"{LAW}={law}", "--out", str(out)) == 0
    saved = json.loads((out / "result.json").read_text(encoding="utf-8"))
    (scenario,) = saved["scenarios"].values()
    entry = scenario["links"][0]["down"]["discipline"]["class"]
    assert entry["python"] == (EXAMPLES / "codel.py").read_text(encoding="utf-8")
    assert entry["arguments"] == {"interval": 0.1, "target": 0.005}
    program = "import sys; from farlink.entry import main; sys.exit(main())"
    refused = subprocess.run(
        [sys.executable, "-c", program, "run", str(out / "result.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert f"--set {LAW}=codel.py:Codel" in refused.stderr
    repeat = ["run", str(out / "result.json"), "--set", f"{LAW}={law}", "--out", str(again)]
    assert farlink(*repeat) == 0
    repeated = json.loads((again / "result.json").read_text(encoding="utf-8"))
    assert repeated["results"] == saved["results"]
