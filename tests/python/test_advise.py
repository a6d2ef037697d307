"""The page says what is true of a fresh run, and its lines are what systems take."""

import json
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest

import farlink as fl
from farlink import advice
from farlink.advice.path import bottleneck
from farlink.advice.systems import systems
from farlink.stats import mean_ci95, paired_difference
from test_cli import farlink

RUNS = 4
SIZE = {"flows.0.size": "2 MB"}


@pytest.fixture(scope="module")
def page() -> fl.Advice:
    return fl.advise("geo-bursts", tcp="sack", runs=RUNS, overrides=SIZE)


def test_every_number_is_that_of_a_run_anew(page: fl.Advice) -> None:
    """Each option's command, run by the simulator itself, gives its goodput and gain."""
    options = [page.present, page.best, *page.tcps[:2]]
    fresh = {}
    for one in options:
        parts = shlex.split(one.command)
        assert parts[:3] == ["farlink", "run", "geo-bursts"]
        changes = dict(
            parts[at + 1].split("=", 1) for at in range(len(parts)) if parts[at] == "--set"
        )
        runs = int(parts[parts.index("--runs") + 1])
        result = fl.run("geo-bursts", tcp=one.tcp, runs=runs, overrides=changes)
        fresh[one.what] = result.per_run("goodput", one.tcp)[RUNS:]
        assert one.goodput == mean_ci95(fresh[one.what])
        assert one.round_trip.mean == pytest.approx(
            mean_ci95(result.per_run("rtt_mean", one.tcp)[RUNS:]).mean
        )
        gain = paired_difference(fresh[one.what], fresh["now"])
        assert one.gain.mean == pytest.approx(gain.mean, abs=1e-6)
        assert one.gain.low == pytest.approx(gain.low, abs=1e-6)
    shares = fl.run("geo-bursts", tcp="sack", runs=RUNS, overrides=SIZE).summary
    share = 100 * shares["limited_congestion_window"]["mean"].iloc[0]
    assert f"congestion window {share:.0f} %" in " ".join(page.limited)


def test_the_page_has_its_parts(page: fl.Advice) -> None:
    text = page.markdown
    for title in (
        "What limits you now (sack)",
        "Which TCP",
        "Which settings",
        "What the link or a proxy could do",
        "What the queue does to others",
        "To set",
        "What this leaves out",
        "How it was found",
    ):
        assert f"## {title}\n" in text
    algorithm = page.best.tcp.removeprefix("linux-")
    wanted = f"sysctl -w net.ipv4.tcp_congestion_control={algorithm}\n"
    assert (wanted in text) == (page.best.verdict == "more")
    assert ("Keep what you have" in text) == (page.best.verdict != "more")
    again = page.best.retransmitted.mean or 0
    assert ("of its segments again, which takes room" in text) == (again > 0.1)
    whats = [one.what for one in page.remedies]
    assert [one.split(":")[0] for one in whats] == [
        "link ARQ",
        "link ARQ",
        "a proxy before the link (PEPsal",
        "snoop before the link (repairs losses, splits nothing)",
    ]
    mean, p99 = page.delays["nothing else"]
    # 250 ms, and 228 bytes at 12 Mbit/s.
    assert mean.mean == pytest.approx(0.25 + 8 * 228 / 12e6, rel=1e-6)
    assert all((one.mean or 0) >= (mean.mean or 0) for one, _ in page.delays.values())
    assert p99.mean == pytest.approx(mean.mean, rel=0.01)


def test_the_html_needs_no_other_file(page: fl.Advice) -> None:
    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.outside: list[str] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            if tag not in ("meta",):
                self.open.append(tag)
            self.outside += [str(v) for k, v in attributes if k in ("src", "href")]

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    reader = Reader()
    reader.feed(page.html)
    assert reader.open == []
    assert reader.outside == []
    assert "@media print" in page.html
    assert "http" not in page.html.replace("http.server", "")
    assert page._repr_html_() in page.html


def test_where_nothing_helps_nothing_is_advised() -> None:
    """A clean link that CUBIC fills: the page says to keep it, and names no remedy."""
    tree = {
        "name": "clean",
        "links": [
            {
                "name": "link",
                "between": ["a", "b"],
                "down": {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"packets": 100}},
                "up": {"rate": "10 Mbit/s", "delay": "5 ms"},
            }
        ],
        "flows": [{"from": "a", "to": "b", "size": "4 MB"}],
    }
    found = fl.advise(tree, runs=3)
    assert found.present.tcp == "linux-cubic"
    share = (found.present.goodput.mean or 0) / 1e7
    assert share > 0.9
    gain = (found.best.gain.mean or 0) / (found.present.goodput.mean or 1)
    assert abs(gain) < 0.05
    assert [one.what[:7] for one in found.remedies] == ["a proxy"]
    if found.best.verdict != "more":
        assert "Keep what you have" in found.markdown
        assert "### Nothing needs to be set" in found.markdown


def test_the_slowest_link_of_the_way_is_found() -> None:
    tree = {
        "links": [
            {"between": ["m", "a"], "down": {"rate": "9 Mbit/s", "delay": "1 ms"},
             "up": {"rate": "100 Mbit/s", "delay": "2 ms"}},
            {"name": "sat", "between": ["m", "b"],
             "down": {"rate": "2 Mbit/s", "delay": "300 ms", "queue": {"packets": 50}},
             "up": {"rate": "1 Mbit/s", "delay": "300 ms"}},
        ],
        "flows": [{"from": "a", "to": "b"}],
    }  # fmt: skip
    found = bottleneck(tree)
    assert (found.name, found.direction, found.rate_bit_s) == ("sat", "down", 2e6)
    assert found.delay_s == pytest.approx(0.302)
    assert found.between == ("m", "b")
    assert found.queue == 75_000
    assert found.bdp == 151_000


def test_lines_of_systems_follow_the_setting() -> None:
    lines = {one.name: "\n".join(one.code) for one in systems("linux-bbr", 2**22, 20, wanted=True)}
    assert 'net.ipv4.tcp_rmem="4096 131072 8388608"' in lines["Linux"]
    assert "initcwnd 20" in lines["Linux"]
    assert "default_qdisc=fq" in lines["Linux"]
    assert "functions_default=bbr" in lines["FreeBSD"]
    assert "congestionprovider=bbr2" in lines["Windows"]
    usual = {
        one.name: "\n".join(one.code) for one in systems("linux-cubic", 2**20, 10, wanted=True)
    }
    assert "initcwnd" not in usual["Linux"]
    assert "modprobe" not in usual["Linux"]


def test_a_preset_and_a_capture_are_links_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.json"
    options = ("--runs", "3", "--set", "flows.0.size=300 kB", "--quiet", "--out", str(out))
    assert farlink("advise", "--preset", "lte-webpagetest", *options) == 0
    assert "# What to set on lte-webpagetest" in capsys.readouterr().out
    data = json.loads(out.read_text())
    assert data["now"]["tcp"] == "linux-cubic"
    result = fl.run("geo-lossy", tcp="linux-cubic", overrides={"flows.0.size": "300 kB"})
    capture = tmp_path / "x.pcapng"
    capture.write_bytes(result.probe(snaplen=96).pcaps["client"])
    assert farlink("advise", "--capture", str(capture), *options) == 0
    said = capsys.readouterr().out
    assert "the path is fitted to x.pcapng" in said
    assert "farlink run path.toml" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one of: a scenario, --preset NAME, --capture FILE"),
        (["geo-bursts", "--preset", "lan"], "name one of"),
        (["geo-bursts", "--out", "x.pdf"], "write a name that ends in .html, .md or .json"),
        (["geo-bursts", "--runs", "2"], "runs"),
        (["--preset", "nono"], "nono"),
        (["geo-bursts", "--tcp", "a,b"], "write one TCP"),
        (["geo-bursts", "--cluster", "nowhere"], "no scheduler answers there"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert farlink("advise", *arguments, "--quiet") == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_without_tcp_there_is_nothing_to_advise() -> None:
    flow = {"from": "a", "to": "b", "rate": "1 Mbit/s"}
    for carries in ({"app": "xtp", "size": "1 MB"}, {"app": "cbr", "datagrams": 10}):
        link = {"between": ["a", "b"], "down": {"rate": "1 Mbit/s", "delay": "10 ms"}}
        with pytest.raises(fl.FarlinkError, match="the scenario has no flow over it"):
            fl.advise({"links": [link], "flows": [{**flow, **carries}]})


def test_its_numbers_are_json(page: fl.Advice) -> None:
    data = advice.data(page)
    assert data["best"]["overrides"]["tcp.initial_window"] == page.initial_window
    assert json.loads(json.dumps(data)) == data
