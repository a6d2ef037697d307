"""The command `farlink tune`: finds the best setting, with its interval."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from farlink import files, folder, pictures
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError
from farlink.views.tune import command, show, show_sensitivity

if TYPE_CHECKING:
    import pandas as pd

    from farlink.tuning import Tuned

__all__ = ["tune"]


_Vary = Annotated[
    list[str],
    declare(
        "--vary",
        "Key and the values to try: a range (16kB..128kB) or a list (512B|1460B).",
        "PATH=RANGE",
    ),
]
_Objective = Annotated[
    str,
    declare(
        "--objective",
        "goodput, time, delay, fairness, retransmitted, max:MEASURE, min:MEASURE, "
        "or a weighted sum: goodput=1,delay=0.5.",
        "GOAL",
    ),
]
_Pareto = Annotated[
    str,
    declare(
        "--pareto",
        "Two or three goals: list the settings that no other beats in all of them.",
        "GOAL,GOAL",
    ),
]
_Method = Annotated[
    str,
    declare(
        "--sensitivity", "Rank the ranges by their influence instead: morris or sobol.", "METHOD"
    ),
]
_Trials = Annotated[int | None, declare("--trials", "Settings to try; by default 60.", "N")]
_Samples = Annotated[
    int,
    declare(
        "--samples", "With --sensitivity: trajectories (morris), or a power of two (sobol).", "N"
    ),
]
_Confirm = Annotated[int, declare("--confirm", "Fresh runs of the best and the default.", "N")]


def tune(
    scenario: options.Scenario,
    vary: _Vary = [],
    tcp: Annotated[list[str], options.tcp("TCPs to choose among; the first is the default.")] = [],
    objective: _Objective = "goodput",
    pareto: _Pareto = "",
    sensitivity: _Method = "",
    trials: _Trials = None,
    samples: _Samples = 8,
    runs: Annotated[int, options.runs("Runs of each setting.")] = 10,
    confirm: _Confirm = 30,
    changes: options.Changes = [],
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    cluster: options.Cluster = "",
    out: Annotated[
        Path | None, options.out("Write tuned.json, the trials and the figure here.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Find the best setting for a goal, with the interval of its gain over the default."""
    from farlink import tuning
    from farlink.experiment import Experiment
    from farlink.experiment.execute import on_cluster

    if out is not None:
        files.check_directory(out)
    names = text.names(tcp)
    first = names[0] if names else None
    if sensitivity and (pareto or trials is not None or (names and len(names) > 1)):
        raise ScenarioError(
            "--pareto, --trials and several TCPs have no effect beside --sensitivity"
        )
    ranges = dict(_ranges(vary))
    common: dict[str, Any] = {
        "objective": objective,
        "runs": runs,
        "overrides": dict(text.assignments(changes)),
        "seed": seed,
        "tell": None if quiet else text.progress_line,
    }
    with on_cluster(cluster) as executor:
        lab = Experiment(store, "tune", jobs, executor)
        if sensitivity:
            table = tuning.sensitivity(
                scenario, ranges, tcp=first, method=sensitivity, samples=samples, lab=lab, **common
            )
            _report_sensitivity(table, out)
            return
        tuned = tuning.tune(
            scenario,
            ranges,
            tcp=names,
            pareto=[word.strip() for word in pareto.split(",")] if pareto else (),
            trials=60 if trials is None else trials,
            confirm=confirm,
            lab=lab,
            **common,
        )
    show(tuned, text.console(sys.stdout))
    text.line(f"to run it: {command(scenario, tuned, first, common['overrides'])}")
    if out is not None:
        _save(tuned, out)


def _report_sensitivity(table: "pd.DataFrame", out: Path | None) -> None:
    show_sensitivity(table, text.console(sys.stdout))
    if out is not None:
        with folder.filling(out, last="sensitivity.csv") as stage:
            files.write_text(stage / "sensitivity.csv", table.to_csv())
        text.line(f"wrote {out / 'sensitivity.csv'}")


def _save(tuned: "Tuned", out: Path) -> None:
    from farlink.plot.style import save

    with folder.filling(out, last="tuned.json") as stage:
        files.write_text(stage / "trials.csv", tuned.table.to_csv(index=False))
        files.write_text(stage / "tuned.json", json.dumps(tuned.data, indent=1) + "\n")
        written = ["tuned.json", "trials.csv"]
        with pictures.optional("response"):
            written += [item.name for item in save(tuned.plot(), stage / "response")]
    for name in written:
        text.line(f"wrote {out / name}")


def _ranges(vary: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for variation in vary:
        path, equals, name = variation.partition("=")
        if not equals or not path.strip() or not name.strip():
            raise ScenarioError(
                f"--vary {variation}: not PATH=RANGE; write for example --vary "
                "tcp.receive_window=64kB..4MB"
            )
        pairs.append((path.strip(), name.strip()))
    return pairs
