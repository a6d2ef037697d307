"""Live points of a study, with real packets. Skipped without emulation."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from test_emulate import NAMES, pytestmark  # noqa: F401  (skips without the right)
from test_endings import heeds_signals  # noqa: F401  (of all tests)

from farlink.studies.cache import SimulationCache
from farlink.studies.live import emulate
from farlink.studies.study import Registry, Study

LINK = {
    "name": "link",
    "between": ["a", "b"],
    "down": {"rate": "1 Mbit/s", "delay": "20 ms"},
    "up": {"rate": "1 Mbit/s", "delay": "20 ms"},
}
RECORD: dict[str, Any] = {
    "study": {"id": "toy2020", "author": "Toy", "year": 2020, "title": "", "summary": ""},
    "model": {
        "tcp": {"variant": "sack"},
        "links": [LINK],
        "flows": [{"name": "file", "from": "a", "to": "b", "app": "file", "size": "12 kB"}],
    },
    "point": {"args": ["rate"]},
    "factors": {
        "rate": {"doc": "rate", "path": "links.link.down.rate", "write": "{:g} Mbit/s"},
    },
    "measures": {
        "thr": {"doc": "goodput", "of": "file.goodput", "unit": "bit/s"},
        "timeouts": {"doc": "time-outs", "of": "file.timeouts"},
        "lost": {"doc": "packets that the link lost", "of": "link.down.drops"},
    },
    "live": {
        "doc": "A kernel over a fast link, and ours over a slow one.",
        "runs": 2,
        "late_s": 0.05,
        "measures": ["thr", "timeouts"],
        "points": [
            {"says": {"rate": 0.4}, "kernel": "reno", "published": {"thr": [3e5]}},
            {"says": {"rate": 0.2}},
        ],
    },
    "claim": [
        {"id": "faster", "where": "", "says": "", "order": "thr(0.4) > 1.2 * thr(0.2)"},
        {"id": "lossless", "where": "", "says": "", "order": "lost(0.4) == 0"},
        {"id": "elsewhere", "where": "", "says": "", "order": "thr(0.4) > thr(0.5)"},
    ],
}


def test_kernels_and_our_tcp_give_live_numbers_and_verdicts(tmp_path: Path) -> None:
    """The kernel's TCP and farlink's give live numbers and verdicts.

    Claims about points or measures that are not live are not judged. Points in the store are not
    run again.
    """
    study = Study.of(RECORD, Registry())
    claims = list(study.claims.values())
    lines: list[str] = []
    live = emulate(study, SimulationCache(runs=2), claims, store=tmp_path, tell=lines.append)
    assert len(lines) == 4
    assert [item.sender for item in live.rows][::2] == ["kernel, reno", "farlink"]
    for row in live.rows:
        if row.measure == "thr":
            assert abs(row.live.mean / row.matched.mean - 1) < 0.2, row
        else:
            assert row.live.mean == row.matched.mean == 0
    assert [judgement.claim.id for judgement in live.judgements] == ["faster"]
    assert "= " in live.judgements[0].key
    again = emulate(study, SimulationCache(runs=2), claims, store=tmp_path, tell=lines.append)
    assert len(lines) == 4
    assert [item.live.mean for item in again.rows] == [item.live.mean for item in live.rows]


@pytest.mark.long
def test_an_end_by_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "farlink", "study", "vatne2006", "--live", "--quiet"]
    mine: set[int] = set()
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")], stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            while process.poll() is None and not _names(mine):
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
                mine |= {int(pid) for pid in children.split()}
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGINT)
            _, output = process.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
    assert process.returncode == 130, output
    assert b"Traceback" not in output
    assert mine
    assert not _names(mine)
    assert not any(Path(f"/proc/{pid}").exists() for pid in mine)
    assert not (tmp_path / "out").exists()


def _names(processes: set[int]) -> list[str]:
    names = [path.name for path in NAMES.iterdir()] if NAMES.exists() else []
    return [name for name in names if any(name.startswith(f"farlink-{pid}-") for pid in processes)]
