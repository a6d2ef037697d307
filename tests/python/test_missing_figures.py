"""If a figure cannot be drawn, one line on standard error says so; other output is complete."""

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

import farlink as fl
from farlink import comparison, overlay
from farlink.cli import emulate, main
from farlink.plot import sheet, style

TRACED = """
name = "acm"
[[links]]
name = "satellite"
between = ["gateway", "client"]
down = { rate_trace = { file = "acm.csv", repeat = true }, delay = "50 ms", queue = { bdp = 1.2 } }
up = { rate_trace = "1 Mbit/s", delay = "50 ms", queue = { bdp = 1 } }
[[flows]]
from = "gateway"
to = "client"
size = "60 kB"
"""


def command(*words: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return int(left.value.code or 0)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every figure fail."""

    def savefig(*_: object, **__: object) -> None:
        raise ValueError("no\nink")

    monkeypatch.setattr(sheet.Picture, "savefig", savefig)


def test_a_queue_in_products_of_a_rate_trace_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "acm.csv").write_text("time (s),rate (Mbit/s)\n0,1\n1,2\n2,1\n", encoding="utf-8")
    (tmp_path / "acm.toml").write_text(TRACED, encoding="utf-8")
    out = tmp_path / "out"
    assert command("run", tmp_path / "acm.toml", "--out", out, "--plot", "--jobs", 1) == 0
    assert (out / "plots" / "queue.svg").exists()
    saved = fl.load(out / "result.json")
    assert set(saved.scenario()["links"][0]["down"]["queue"]) == {"bytes"}
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_figure_is_a_warning_and_other_files_are_written(
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    jobs: int,
) -> None:
    def bug(*_: object) -> None:
        raise KeyError("packets")

    monkeypatch.setattr("farlink.plot.draw_queue", bug)
    out = tmp_path / "out"
    code = command("run", small, "--out", out, "--plot", "--pcap", "--jobs", jobs)
    shown = capsys.readouterr()
    assert code == 3
    (line,) = shown.err.splitlines()
    assert line.startswith("farlink: figure queue is missing: KeyError: 'packets' (")
    assert line.endswith("; all else is written")
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    wanted = {"result.json", "sack/segments.parquet", "sack/client.pcapng", "plots/cwnd.png"}
    assert wanted <= there
    assert "plots/queue.png" not in there
    assert fl.load(out / "result.json").runs == 1


@pytest.mark.parametrize("kind", ["delay", "agent", "first-loss"])
def test_a_named_figure_without_data_is_one_line(
    tmp_path: Path, small: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    clean = ("--set", "flows.0.size=4kB") if kind == "first-loss" else ()
    out = tmp_path / "out"
    code = command("run", small, "--figure", kind, "--out", out, "--tcp", "sack,reno", *clean)
    (line,) = capsys.readouterr().err.splitlines()
    reason = "the run has no data for it; all else is written"
    assert (code, line) == (3, f"farlink: figure {kind} is missing: {reason}")
    assert (out / "result.json").exists()
    assert not list(out.rglob("packets.parquet"))


def test_no_figure_is_drawn_twice(
    result: fl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    usual = style.save

    def save(figure: Figure, stem: Path) -> list[Path]:
        drawn.append(stem.name)
        return usual(figure, stem)

    monkeypatch.setattr("farlink.plot.save", save)
    result.save(tmp_path / "out", plots=True, figure="cwnd")
    assert drawn.count("cwnd") == 1
    assert len(drawn) == len(set(drawn))
    assert not list((tmp_path / "out").rglob("packets.parquet"))


@pytest.mark.parametrize("given", [("--quiet",), ("--json", "-")])
def test_a_story_that_nobody_sees_is_refused(
    small: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...]
) -> None:
    assert command("run", small, "--story", 3, *given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--story prints nothing beside {' '.join(given)}" in line


@pytest.mark.usefixtures("broken")
def test_in_python_it_is_a_warning(result: fl.Result, tmp_path: Path) -> None:
    with pytest.warns(fl.FigureWarning, match="is missing: ValueError: no ink"):
        written = result.save(tmp_path / "out", plots=True)
    assert (tmp_path / "out" / "result.json") in written


def test_a_figure_is_written_as_png_and_svg_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = sheet.Picture.savefig

    def savefig(self: Figure, where: str | Path, **keywords: object) -> None:
        if "svg" in Path(where).name:
            raise ValueError("no ink")
        usual(self, where, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(sheet.Picture, "savefig", savefig)
    with pytest.raises(ValueError, match="no ink"):
        style.save(sheet.Picture(), tmp_path / "figure")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("broken")
def test_sweeps_searches_and_studies_keep_their_numbers(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        f'scenario = "{small}"\nruns = 2\n[factors]\ntcp = ["sack", "reno"]\n'
        '[[plots]]\nx = "tcp"\ny = "goodput"\n',
        encoding="utf-8",
    )
    out = tmp_path / "sweep"
    assert command("sweep", file, "--out", out) == 3
    assert "figure 01-goodput is missing" in capsys.readouterr().err
    assert (out / "results.csv").exists()
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "The figure 01-goodput could not be drawn" in page
    assert "farlink-digest" not in page  # the next call draws again

    out = tmp_path / "tune"
    vary = ("--vary", "tcp.initial_window=2|10", "--trials", 2, "--runs", 2, "--confirm", 2)
    assert command("tune", small, *vary, "--out", out, "--quiet") == 3
    assert json.loads((out / "tuned.json").read_text(encoding="utf-8"))
    assert {path.name for path in out.iterdir()} >= {"tuned.json", "trials.csv"}

    out = tmp_path / "study"
    only = ("--only", "fig4.2", "--quick", "--runs", 2)
    assert command("study", "wong1998", *only, "--out", out, "--quiet") == 3
    assert "figure fig4.2 is missing" in capsys.readouterr().err
    assert (out / "verdicts.json").exists()
    assert (out / "figures" / "fig4.2.csv").exists()
    assert "This figure could not be drawn" in (out / "index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("broken")
def test_captures_presets_and_channels_print_what_they_know(
    result: fl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pcap, *_) = result.save_pcaps(tmp_path / "captures")
    assert command("plot", pcap, "--out", tmp_path / "plots") == 3
    shown = capsys.readouterr()
    assert "goodput" in shown.out
    assert len(shown.err.splitlines()) >= 4  # each figure is tried
    assert command("plot", pcap, "--from", 9e9, "--out", tmp_path / "plots") == 2
    assert command("presets", "--plot", "--out", tmp_path) == 3
    channel = ("channel", "gilbert", "--set", "loss=0.05", "--set", "burst=4", "--packets", 2000)
    assert command(*channel, "--plot", "--out", tmp_path) == 3
    assert "loss" in capsys.readouterr().out


def test_an_emulation_keeps_its_traces(tmp_path: Path) -> None:
    seen: Any = SimpleNamespace(plots=lambda *_: 1 / 0)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        emulate._draw(seen, "kernel", tmp_path, tmp_path)
    assert [str(message.message).split(":")[0] for message in warned] == [
        "figure cwnd is missing",
        "figure sequence is missing",
    ]


def test_comparisons_keep_their_numbers(tmp_path: Path) -> None:
    result: Any = SimpleNamespace(data={}, path=SimpleNamespace(toml=str), plot=lambda: 1 / 0)
    for kind, name in ((comparison.Comparison, "comparison"), (overlay.Overlay, "overlay")):
        with pytest.warns(fl.FigureWarning, match="is missing"):
            kind.save(result, tmp_path / name)
        assert (tmp_path / name / f"{name}.json").exists()
