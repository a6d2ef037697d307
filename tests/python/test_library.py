"""Every command works with every scenario of the library, without a traceback."""

import json
from pathlib import Path

import pytest

from farlink import _farlink
from test_cli import farlink

SCENARIOS = [name for name, _ in _farlink.scenarios()]

_FEW = ("flows.0.count=5", "duration=0.3s", "links.1.down.rate=50 Mbit/s")

SMALL: dict[str, tuple[str, ...]] = {
    "car-5g-hu2023": ("flows.0.duration=2s",),
    "car-starlink-hu2023": ("flows.0.duration=2s",),
    "cdpd-rlp-wong1998": ("duration=20s",),
    "dumbbell-100": _FEW,
    "dumbbell-1000": _FEW,
    "dumbbell-1000-pairs": (*_FEW, "links.0.count=5", "links.2.count=5"),
    "fairness-omueti2007": ("duration=5s",),
    "geo-250-3": ("flows.0.size=200 kB",),
    "geo-50-10": ("flows.0.size=200 kB",),
    "geo-10-2": ("flows.0.size=200 kB",),
    "geo-2-10": ("flows.0.size=200 kB",),
    "geo-20-2": ("flows.0.size=200 kB",),
    "geo-20-2-loss": ("flows.0.size=200 kB",),
    "geo-bursts": ("flows.0.size=200 kB",),
    "geo-http-omueti2007": ("duration=10s",),
    "geo-lossy": ("flows.0.size=200 kB",),
    "geo-mixed": ("flows.1.count=2", "duration=6s"),
    "geo-omueti2007": ("flows.0.size=200 kB",),
    "geo-pep": ("flows.0.size=200 kB",),
    "gigabit-cubic": ("duration=0.02s",),
    "internet-leung1998": ("duration=5s",),
    "mars-contacts": ("flows.0.size=200 kB",),
    "leo-lossy": ("flows.0.size=200 kB",),
    "leo-reconfiguration": ("duration=1s",),
    "oneweb-ara2025": ("flows.0.duration=2s",),
    "several-losses": (),
    "starlink-laniewski2024": ("flows.0.duration=2s",),
    "two-stations": ("flows.0.size=4 MB",),
    "wlan-west1997": ("duration=2s",),
    "wwan-west1997": ("duration=20s",),
}
"""Options that keep a run short."""


def small(name: str) -> list[str]:
    return [part for change in SMALL[name] for part in ("--set", change)]


def test_the_list_has_every_scenario() -> None:
    assert sorted(SMALL) == sorted(SCENARIOS)


def said_one_line(code: int, err: str) -> bool:
    """Return whether a command succeeded, or reported in one line why it cannot."""
    lines = [line for line in err.splitlines() if not line.startswith("simulating")]
    return code == 0 or (code == 2 and len(lines) == 1 and lines[0].startswith("farlink: error: "))


@pytest.mark.parametrize("name", SCENARIOS)
def test_run_draws_and_captures(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--plot", "--pcap", "--quiet", "--out", str(tmp_path / "out")]
    assert farlink("run", name, *small(name), *options) == 0, capsys.readouterr().err
    written = {path.suffix for path in (tmp_path / "out").rglob("*")}
    assert {".json", ".png", ".pcapng"} <= written


@pytest.mark.parametrize("name", SCENARIOS)
def test_channel_is_sampled(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = farlink("channel", name, "--packets", "2000")
    assert said_one_line(code, capsys.readouterr().err)


FAST_TRACES = ("car-starlink-hu2023", "oneweb-ara2025", "starlink-laniewski2024")
"""Scenarios whose trace has some 300 Mbit/s: a quick page of one takes half a minute of CI. A
slower trace (car-5g-hu2023) and those of test_advise.py stay in CI."""

ADVISED = [
    pytest.param(name, quick, id=f"{name}-{word}", marks=marks)
    for word, quick in (("quick", True), ("full", False))
    for name in SCENARIOS
    for marks in [() if quick and name not in FAST_TRACES else pytest.mark.long]
]


@pytest.mark.parametrize(("name", "quick"), ADVISED)
def test_advice_is_given(
    name: str,
    quick: bool,  # noqa: FBT001 (a parameter of the test)
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from farlink.advice import path, queues, work

    options = ["--runs", "3"]
    if quick or name.startswith(("dumbbell", "gigabit")):
        # A full page of a gigabit path takes many minutes.
        options += small(name)
    if quick:
        monkeypatch.setattr(work, "CANDIDATES", ("linux-cubic", "linux-bbr"))
        monkeypatch.setattr(work, "_INITIAL_WINDOWS", (10,))
        monkeypatch.setattr(work, "_WINDOW_SHARES", (1.0,))
        monkeypatch.setattr(work, "_FIRST", 3)
        monkeypatch.setattr(queues, "_METHODS", ("fq-codel",))
        monkeypatch.setattr(path, "_AT_LEAST_S", 2.0)
        monkeypatch.setattr(path, "_ROUND_TRIPS", 3)
        monkeypatch.setattr(path, "_MOST_DATA", 1_000_000)
        monkeypatch.setattr(path, "_FEW_ROUND_TRIPS", 2)
        monkeypatch.setattr(path, "_LONG", 1.0)
        monkeypatch.setattr(path, "_LEAST_LONG", 1.0)
    out = tmp_path / "page.json"
    code = farlink("advise", name, *options, "--quiet", "--out", str(out))
    printed = capsys.readouterr()
    assert said_one_line(code, printed.err.replace(f"wrote {out}\n", ""))
    if code == 0:
        data = json.loads(out.read_text())
        assert data["sizes"]
        assert "# What to set on" in printed.out
