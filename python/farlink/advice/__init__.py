"""Advice for a link: settings with their uncertainty, and the gain of a proxy or of link ARQ."""

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
    """Find what limits a link's transfers, and which settings help.

    Settings are chosen on `runs` runs. The reported numbers come from as many fresh runs, because
    the runs that led to a choice are better than average by chance.

    Parameters
    ----------
    scenario, overrides, seed
        As for `run`; `farlink.captures.path.fit_path(...).scenario()` makes a scenario from a
        capture.
    tcp
        TCP in use now; by default the scenario's, or "linux-cubic" if the scenario names none.
    server
        TCP that both hosts keep ("cubic"), as an alternative to `tcp`. Only link ARQ and agents
        between the hosts are tried.
    size
        Transfer sizes to choose for, such as "50 MB". By default the scenario's size, and a short,
        a middle and a long size.
    runs
        Number of runs for the choice, and again for the reported numbers. A significantly worse
        setting is dropped early. Three runs are used if nothing is random.
    lab
        Experiment that simulates and keeps the numbers.
    notes
        Notes on the origin of the path, for the page.
    name
        Name of the scenario in the printed commands.
    tell
        Callback that gets a line of text before each step.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, or has no flow over TCP.
    """
    from farlink.advice.work import Advisor, server_name
    from farlink.experiment import Experiment

    whole("runs", runs, 10_000, least=3)
    if tcp is not None and server is not None:
        raise ScenarioError("server is what tcp says, and that it stays: write one of them")
    asked = [size] if isinstance(size, str) else list(size or ())
    fixed = server_name(server) if server is not None else None
    changes = dict(overrides or {})
    advisor = Advisor(scenario, changes, seed, runs, lab or Experiment(), name, tell, asked, fixed)
    return advisor.advice(tcp, tuple(notes))
