"""Feedback during long work and from starving flows: Ctrl-C, short messages, a line."""

import _thread
import signal
import threading
from pathlib import Path

import pytest

import farlink as fl
from farlink import _farlink, cli

RADIO = """
max_duration = "600 s"
[[links]]
name = "radio"
between = ["base", "phone"]
down = { rate = "30 kbit/s", delay = "1 ms", channel = { outage = OUTAGE } }
arq = { protocol = "rlp" }
[[flows]]
name = "news"
from = "base"
to = "phone"
size = "200 kB"
"""

FOR_EVER = '{ start = "1 s", duration = "3600 s" }'

TRACE = """
[[links]]
between = ["a", "b"]
down = { rate_trace = { file = "slow.trace" }, delay = "1 ms" }
[[flows]]
from = "a"
to = "b"
size = "1 kB"
"""


def output_of(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(SystemExit):
        cli.main(["run", str(file), *more])
    out, err = capsys.readouterr()
    return " ".join((out + err).split())


def test_a_flow_that_starves_is_told_with_its_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = output_of(tmp_path, RADIO.replace("OUTAGE", FOR_EVER), capsys)
    assert "WARNING: news starved: nothing arrived after " in output
    assert "most waits at radio, down" in output
    output = output_of(tmp_path, RADIO.replace("OUTAGE", '{ duration = "1 s" }'), capsys)
    assert "starved" not in output


@pytest.mark.parametrize("name", ["cdpd-rlp-wong1998", "several-losses", "two-stations"])
def test_slow_and_lossy_flows_of_the_library_do_not_starve(name: str) -> None:
    for row in fl.run(name).data["results"]:
        assert row["metrics"]["stalled_since"]["values"] == [None], row["flow"]


def test_ctrl_c_is_heeded_while_a_scenario_is_read() -> None:
    """A background job ignores SIGINT, so the test sets the usual handler."""
    released = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def read(_name: str) -> str:
        _thread.interrupt_main()
        released.wait(60)
        return ""

    try:
        with pytest.raises(KeyboardInterrupt):
            _farlink.resolve(TRACE, "x.toml", [], read)
    finally:
        released.set()
        signal.signal(signal.SIGINT, before)


def test_long_values_are_cut_in_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RADIO.replace("OUTAGE", FOR_EVER)
    long = "a long word " * 200
    for output in (
        output_of(tmp_path, text.replace('name = "news"', f'name = "{long}"'), capsys),
        output_of(tmp_path, text, capsys, "--tcp", "x" * 3000),
        output_of(tmp_path, text, capsys, "--set", f"tcp.variant={'y' * 3000}"),
    ):
        assert len(output) < 800, output
        assert "..." in output
