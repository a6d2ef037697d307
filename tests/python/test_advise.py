"""The numbers of the page hold in new runs, and its lines are valid on real systems."""

import json
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import farlink as fl
from farlink import advice
from farlink.advice import Beside, work
from farlink.advice.answer import Option
from farlink.advice.path import bottleneck, sizes
from farlink.advice.systems import systems
from farlink.stats import Estimate, mean_ci95, paired_difference
from test_cli import farlink

RUNS = 4
SIZE = {"flows.0.size": "2 MB"}


@pytest.fixture(scope="module")
def page() -> fl.Advice:
    return fl.advise("geo-bursts", tcp="sack", runs=RUNS, overrides=SIZE)


def test_every_number_is_that_of_a_run_anew(page: fl.Advice) -> None:
    """Each option's command, run by the simulator, gives the goodput and gain of the page."""
    options = [page.present, page.best, *page.tcps[:2]]
    fresh = {}
    for option in options:
        parts = shlex.split(option.command)
        assert parts[:3] == ["farlink", "run", "geo-bursts"]
        changes = dict(
            parts[at + 1].split("=", 1) for at in range(len(parts)) if parts[at] == "--set"
        )
        runs = int(parts[parts.index("--runs") + 1])
        result = fl.run("geo-bursts", tcp=option.tcp, runs=runs, overrides=changes)
        fresh[option.what] = result.per_run("goodput", option.tcp)[RUNS:]
        assert option.goodput == mean_ci95(fresh[option.what])
        assert option.round_trip.mean == pytest.approx(
            mean_ci95(result.per_run("rtt_mean", option.tcp)[RUNS:]).mean
        )
        gain = paired_difference(fresh[option.what], fresh["now"])
        assert option.gain.mean == pytest.approx(gain.mean, abs=1e-6)
        assert option.gain.low == pytest.approx(gain.low, abs=1e-6)
    shares = fl.run("geo-bursts", tcp="sack", runs=RUNS, overrides=SIZE).summary
    share = 100 * shares["limited_congestion_window"]["mean"].iloc[0]
    assert f"congestion window {share:.0f} %" in " ".join(page.limited)


def test_the_fastest_tcp_comes_first(page: fl.Advice) -> None:
    goodputs = [option.goodput.mean or 0.0 for option in page.tcps]
    assert len(set(goodputs)) > 1
    assert goodputs == sorted(goodputs, reverse=True)


def test_the_page_has_its_parts(page: fl.Advice) -> None:
    text = page.markdown
    for title in (
        "What limits you now (sack)",
        "Which TCP",
        "Which settings",
        "Which size of transfer",
        "With other traffic beside it",
        "What the link or a proxy could do for ends that stay as they are",
        "The same with the setting advised at the ends",
        "What the queue does to others",
        "To set",
        "What this leaves out",
        "How it was found",
    ):
        assert f"## {title}\n" in text
    algorithm = page.best.tcp.removeprefix("linux-")
    wanted = f"sysctl -w net.ipv4.tcp_congestion_control={algorithm}\n"
    assert page.best.verdict == "more"
    assert wanted in text
    # The first sentence gives the share of retransmissions.
    assert f"and sends {100 * (page.best.retransmitted.mean or 0):.2g} % of its" in text[:400]
    again = page.best.retransmitted.mean or 0
    assert ("of its segments again, which takes room" in text) == (again > 0.1)
    whats = [remedy.what for remedy in page.remedies]
    assert [what.split(":")[0] for what in whats] == [
        "link ARQ",
        "link ARQ",
        "a proxy before the link (PEPsal",
        "spoofing before the link (acknowledges in the far end's name)",
        "snoop before the link (repairs losses, splits nothing)",
    ]
    assert [item.what for item in page.fixed] == whats
    assert {item.tcp for item in page.fixed} == {"sack"}
    assert [item.what for item in page.beside][:2] == ["sack, as it is", "as advised"]
    mean, p99 = page.delays["nothing else"]
    # 250 ms, and 228 bytes at 12 Mbit/s.
    assert mean.mean == pytest.approx(0.25 + 8 * 228 / 12e6, rel=1e-6)
    assert all((delay.mean or 0) >= (mean.mean or 0) for delay, _ in page.delays.values())
    assert p99.mean == pytest.approx(mean.mean, rel=0.01)


def test_the_html_needs_no_other_file(page: fl.Advice) -> None:
    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.outside: list[str] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            if tag not in ("meta", "img"):
                self.open.append(tag)
            sources = [str(v) for k, v in attributes if k in ("src", "href")]
            self.outside += [
                source for source in sources if not source.startswith("data:image/png")
            ]

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
    """On a clean link that CUBIC fills, the page says to keep CUBIC, and names no remedy."""
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
    advice = fl.advise(tree, runs=3)
    assert advice.present.tcp == "linux-cubic"
    share = (advice.present.goodput.mean or 0) / 1e7
    assert share > 0.9
    gain = (advice.best.gain.mean or 0) / (advice.present.goodput.mean or 1)
    assert abs(gain) < 0.05
    assert [remedy.what[:7] for remedy in advice.remedies] == ["a proxy", "spoofin"]
    assert "all runs of a setting are the same" in advice.markdown
    if advice.best.verdict != "more":
        assert "Keep what you have" in advice.markdown
        assert "### Nothing needs to be set" in advice.markdown


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
    result = bottleneck(tree)
    assert (result.name, result.direction, result.rate_bit_s) == ("sat", "down", 2e6)
    assert result.delay_s == pytest.approx(0.302)
    assert result.between == ("m", "b")
    assert result.queue == 75_000
    assert result.bdp == 151_000


def test_lines_of_systems_follow_the_setting() -> None:
    lines = {
        system.name: "\n".join(system.code)
        for system in systems("linux-bbr", 2**22, 20, wanted=True)
    }
    assert 'net.ipv4.tcp_rmem="4096 131072 8388608"' in lines["Linux"]
    assert "initcwnd 20" in lines["Linux"]
    assert "default_qdisc=fq" in lines["Linux"]
    assert "functions_default=bbr" in lines["FreeBSD"]
    assert "congestionprovider=bbr2" in lines["Windows"]
    usual = {
        system.name: "\n".join(system.code)
        for system in systems("linux-cubic", 2**20, 10, wanted=True)
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
    output = capsys.readouterr().out
    assert "the path is fitted to x.pcapng" in output
    assert "farlink run path.toml" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one of: a scenario, --preset NAME, --capture FILE"),
        (["geo-bursts", "--preset", "lan"], "name one of"),
        (["geo-bursts", "--out", "x.doc"], "write a name that ends in .pdf, .html, .md or .json"),
        (["geo-bursts", "--size", "much"], "--size much: write a size such as 50MB"),
        (["dumbbell-100", "--size", "1MB"], "--size is for a scenario with one transfer"),
        (["geo-bursts", "--server", "nono"], "nono"),
        (["geo-bursts", "--server", "cubic", "--tcp", "sack"], "write one of them"),
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


def geo(size: str, **down: object) -> dict[str, object]:
    link = {"rate": "10 Mbit/s", "delay": "270 ms", "queue": {"bdp": 1}, **down}
    return {
        "name": "geo",
        "links": [{"name": "satellite", "between": ["server", "client"], "down": link, "up": link}],
        "flows": [{"from": "server", "to": "client", "size": size, "opens": "receiver"}],
    }


def test_sizes_are_those_of_the_path() -> None:
    """A short, a middle and a long transfer; the scenario's size replaces a similar one."""
    tree = geo("3 MB")
    path = bottleneck(tree)
    assert path.bdp == 675_000
    deciding, text = sizes(tree, path, [])
    assert text == []
    assert [(item.label, item.bytes) for item in deciding] == [
        ("short", 70_000),
        ("the scenario's", 3_000_000),
        ("long", 20_000_000),
    ]
    deciding, text = sizes(tree, path, ["50 MB"])
    assert [item.bytes for item in deciding] == [50_000_000]
    assert [message.bytes for message in text] == [70_000, 2_000_000, 20_000_000]
    # A path of 19.2 kbit/s holds less than a segment, so sizes are counts of segments.
    slow = bottleneck(geo("3 MB", rate="19.2 kbit/s", delay="5 ms"))
    assert [size.bytes for size in sizes(tree, slow, [])[0]] == [15_000, 150_000, 3_000_000]


def test_ends_that_stay_are_told_what_a_proxy_does() -> None:
    """The first answer is whether a proxy helps CUBIC servers, with the number of a new run."""
    tree = geo("2 MB", channel={"loss": 0.01})
    advice = fl.advise(tree, server="cubic", runs=4)
    assert advice.present.tcp == "linux-cubic"
    assert advice.tcps == ()
    assert advice.remedies == ()
    proxy = next(item for item in advice.fixed if item.what.startswith("a proxy"))
    assert proxy.verdict == "more"
    assert advice.best in advice.fixed
    assert {item.tcp for item in advice.fixed} == {"linux-cubic"}
    first = advice.markdown[:700]
    assert "If the ends have to stay linux-cubic as it is: " in first
    assert "At the ends nothing: they stay as they are." in advice.markdown
    with pytest.raises(fl.ScenarioError, match="write one of them"):
        fl.advise(tree, server="cubic", tcp="cubic")


def test_a_setting_that_halves_another_size_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hybla, chosen for long transfers, overflows the queue in a transfer of middle size."""
    monkeypatch.setattr(work, "CANDIDATES", ("linux-hybla",))
    monkeypatch.setattr(work, "with_arq", lambda *_: iter(()))
    monkeypatch.setattr(advice.path, "_MOST_DATA", 1_000_000)
    monkeypatch.setattr(work, "_INITIAL_WINDOWS", (40,))
    monkeypatch.setattr(work, "_WINDOW_SHARES", (2.0,))
    tree = geo("20 MB", rate="20 Mbit/s", channel={"loss": 1e-4})
    answer = fl.advise(tree, tcp="linux-cubic", size="30 MB", runs=3)
    middle = next(size for size in answer.sizes if size.label == "middle")
    assert not middle.decides
    now, advised = middle.options[:2]
    assert advised.tcp == "linux-hybla"
    assert (advised.goodput.mean or 0) < 0.6 * (now.goodput.mean or 0)
    assert "Middle transfer, 4 MB, told beside: slower than now" in answer.markdown[:1200]


def test_a_difference_that_is_not_printed_is_no_headline(page: fl.Advice) -> None:
    def carries(option: Option, goodput: float) -> Option:
        gain = goodput - 108_500.0
        return replace(
            option,
            goodput=Estimate(goodput, goodput, goodput, RUNS),
            gain=Estimate(gain, gain, gain, RUNS),
            retransmitted=Estimate(0.0, 0.0, 0.0, RUNS),
        )

    def of(faster: float) -> fl.Advice:
        sizes = []
        for size in page.sizes:
            now, *rest = size.options
            others = [carries(option, faster) for option in rest]
            sizes.append(replace(size, options=(carries(now, 108_500.0), *others)))
        return replace(
            page,
            present=carries(page.present, 108_500.0),
            best=carries(page.best, faster),
            fixed=tuple(carries(option, faster) for option in page.fixed),
            sizes=tuple(sizes),
            beside=(),
        )

    text = of(108_510.0).markdown.split("## The link")[0]
    assert "Keep what you have" in text
    assert "no proxy, spoofing or link protocol tried is shown to help" in text
    assert "108.5 kbit/s to" not in text
    assert "carries more" not in text
    assert "1.01 times as much" in of(109_500.0).markdown.split("## The link")[0]


def test_the_headline_names_the_best_remedy_and_the_tcp_shown_to_be_faster(
    page: fl.Advice,
) -> None:
    def carries(option: Option, low: float, high: float, what: str) -> Option:
        goodput = Estimate((low + high) / 2, low, high, RUNS)
        gain = Estimate(low, low / 2, high, RUNS)
        again = Estimate(0.02, 0.01, 0.03, RUNS)
        return replace(option, what=what, goodput=goodput, gain=gain, retransmitted=again)

    now = carries(page.present, 1e6, 1.1e6, "now")
    fixed = (carries(now, 2e6, 2.1e6, "snoop"), carries(now, 3e6, 3.1e6, "split"))
    size = page.sizes[0]
    options = (
        now,
        carries(now, 1.05e6, 1.2e6, "reno, as it is"),  # its interval overlaps
        replace(carries(now, 1.5e6, 1.6e6, "linux-bbr, as it is"), tcp="linux-bbr"),
    )
    text = replace(
        page, present=now, fixed=fixed, sizes=(replace(size, options=options),), beside=()
    ).markdown.split("## The link")[0]
    assert "split takes them from" in text
    assert "linux-bbr as it is carries more, 1.550 ±0.050" in text
    assert text.count("carries more") == 1
    assert "and sends 2 % of its segments again" in text


def test_sizes_are_written_in_the_largest_unit_that_holds_them() -> None:
    assert [advice.page._size(size) for size in (2**21, 1.5 * 2**20, 2**16, 1000)] == [
        "2 MiB",
        "1536 KiB",
        "64 KiB",
        "1 kB",
    ]


def test_what_others_lose_is_in_the_first_lines(page: fl.Advice) -> None:
    lost = Estimate(-2e6, -3e6, -1e6, 4)
    row = Beside("as advised", Estimate(9e6, 8e6, 1e7, 4), Estimate(1e6, 5e5, 2e6, 4), lost)
    paid = replace(page, beside=(page.beside[0], row))
    assert "Others pay: beside it a transfer of linux-cubic has 1.0" in paid.markdown[:1200]
    kept = replace(row, change=Estimate(-2e6, -5e6, 1e6, 4))
    assert "Others pay" not in replace(page, beside=(page.beside[0], kept)).markdown


def test_links_with_a_trace_of_signal_get_advice(tmp_path: Path) -> None:
    """With adaptive coding the rate is the mean of the trace, and runs start anywhere in it."""
    (tmp_path / "storm.csv").write_text("time (s),esno (dB)\n0,12\n20,2\n30,12\n60,12\n")
    file = tmp_path / "storm.toml"
    file.write_text(
        """[[links]]
name = "satellite"
between = ["hub", "terminal"]
down = { delay = "250 ms", queue = { bytes = "200 kB" }, \
rate_trace = { file = "storm.csv", symbol_rate = "1 MBd", margin = 1 } }
up = { rate = "1 Mbit/s", delay = "250 ms" }
[[flows]]
from = "hub"
to = "terminal"
size = "400 kB"
""".replace("\\\n", "")
    )
    advice = fl.advise(file, runs=3)
    # 12 dB less 1 dB carry 2.966728 bits per symbol for 50 of 60 s; 2 dB less 1 dB carry 0.988858
    # for 10 s.
    assert advice.path.rate_bit_s == pytest.approx((5 * 2_966_728 + 988_858) / 6, rel=1e-5)
    assert advice.path.bounds == pytest.approx((988_858, 2_966_728))
    assert "in the mean of a trace" in advice.markdown
    assert "--set links.0.down.rate_trace.random_offset=true" in advice.present.command
    assert advice.extra["random"]


def test_the_page_is_a_pdf_too(page: fl.Advice, tmp_path: Path) -> None:
    out = tmp_path / "page.pdf"
    page.save_pdf(out)
    data = out.read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.count(b"/Type /Page ") in (3, 4, 5)
    assert len(page.plot().axes) == len(page.sizes) + 1


def test_a_figure_that_fails_costs_a_line_and_not_the_page(
    page: fl.Advice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: fl.Advice) -> None:
        raise RuntimeError("no ink")

    monkeypatch.setattr(fl.Advice, "plot", fails)
    with pytest.warns(fl.FigureWarning, match="figure advice is missing: RuntimeError: no ink"):
        assert "<img" not in page.html
    with pytest.warns(fl.FigureWarning, match="no ink"):
        page.save_pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
