"""Advice for a link: settings, how sure they are, and the gain of a proxy or a repairing link."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from farlink.advice.answer import Advice, Beside, Option, SizeResult, data
from farlink.checks import whole
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    from farlink.experiment import Experiment

__all__ = ["Advice", "Beside", "Option", "SizeResult", "advise", "data"]


def advise(
    scenario: str | Path | Mapping[str, object],
    *,
    tcp: str | None = None,
    server: str | None = None,
    size: str | Sequence[str] | None = None,
    runs: int = 20,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    lab: "Experiment | None" = None,
    notes: Sequence[str] = (),
    name: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> Advice:
    """Find out what limits a link's transfers, and what would help.

    Choices are made on `runs` runs; all numbers that are told are of as many fresh runs, so that
    what was chosen is not told with the luck that made it chosen.

    Parameters
    ----------
    scenario, overrides, seed
        As for `run`; `farlink.captures.path.fit_path(...).scenario()` makes one of a capture.
    tcp
        What is in use now; by default what the scenario says, and "linux-cubic" where it says
        nothing.
    server
        Instead of `tcp`: what the ends have and keep ("cubic"). Then only what stands between them
        is tried.
    size
        Sizes of transfer to choose for, such as "50 MB"; by default that of the scenario, and a
        short, a middle and a long one.
    runs
        Runs to choose by, and again to confirm. A setting that is shown to be worse is tried no
        further, and three runs do where nothing is random.
    lab
        Who simulates, and keeps the numbers.
    notes
        What else is to be known of where the path comes from.
    name
        How commands name the scenario.
    tell
        Called with a line before each step.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, or has no flow over TCP.
    """
    from farlink.advice.work import Work, server_name
    from farlink.experiment import Experiment

    whole("runs", runs, 10_000, least=3)
    if tcp is not None and server is not None:
        raise ScenarioError("server is what tcp says, and that it stays: write one of them")
    asked = [size] if isinstance(size, str) else list(size or ())
    fixed = server_name(server) if server is not None else None
    changes = dict(overrides or {})
    work = Work(scenario, changes, seed, runs, lab or Experiment(), name, tell, asked, fixed)
    return work.advice(tcp, tuple(notes))
