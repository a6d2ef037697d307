"""`farlink tune`: the best setting, and how sure that is."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from farlink import files, folder, pictures
from farlink.cli import complete, text
from farlink.errors import ScenarioError
from farlink.views.tune import command, show, show_sensitivity

if TYPE_CHECKING:
    pass

__all__ = ["tune"]


def tune(
    scenario: str = typer.Argument(
        help="Name of the library, or .toml file.",
        metavar="SCENARIO",
        autocompletion=complete.scenarios,
    ),
    vary: list[str] = typer.Option(
        [],
        "--vary",
        help="What may be set: a range (16kB..128kB) or a list (512B|1460B).",
        metavar="PATH=RANGE",
    ),
    tcp: list[str] = typer.Option(
        [],
        "--tcp",
        help="TCPs to choose among; the first is the default.",
        metavar="A,B",
        autocompletion=complete.tcps,
    ),
    objective: str = typer.Option(
        "goodput",
        "--objective",
        help="goodput, time, delay, fairness, retransmitted, max:MEASURE, min:MEASURE, "
        "or a weighted sum: goodput=1,delay=0.5.",
        metavar="GOAL",
    ),
    pareto: str = typer.Option(
        "",
        "--pareto",
        help="Two or three goals: what none beats in all of them.",
        metavar="GOAL,GOAL",
    ),
    sensitive: str = typer.Option(
        "",
        "--sensitivity",
        help="Tell which of the ranges matter instead: morris or sobol.",
        metavar="METHOD",
    ),
    trials: int | None = typer.Option(
        None, "--trials", help="Settings to try; by default 60.", metavar="N"
    ),
    samples: int = typer.Option(
        8, "--samples", help="Of --sensitivity: trajectories; Sobol: a power of two.", metavar="N"
    ),
    runs: int = typer.Option(10, "--runs", help="Runs of each setting.", metavar="N"),
    confirm: int = typer.Option(
        30, "--confirm", help="Fresh runs of the best and the default.", metavar="N"
    ),
    changes: list[str] = typer.Option(
        [], "--set", help="Replace a value, with its unit.", metavar="PATH=VALUE"
    ),
    seed: int | None = typer.Option(None, "--seed", help="Replace the seed.", metavar="N"),
    jobs: int | None = typer.Option(
        None, "--jobs", help="Threads; by default one per processor.", metavar="N"
    ),
    store: Path | None = typer.Option(
        None, "--store", help="Keep what was simulated here, and find it again.", metavar="DIR"
    ),
    cluster: str = typer.Option(
        "", "--cluster", help="Simulate on a Dask cluster instead: tcp://host:8786.", metavar="URL"
    ),
    out: Path | None = typer.Option(
        None, "--out", help="Write tuned.json, the trials and the figure here.", metavar="DIR"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress."),
) -> None:
    """Find the setting that serves a goal best, with its interval against the default."""
    from farlink import tuning
    from farlink.experiment import Experiment
    from farlink.experiment.execute import on_cluster

    if out is not None:
        files.check_directory(out)
    names = text.names(tcp)
    tell = None if quiet else _tell
    ranges: dict[str, object] = dict(_pairs(vary))
    overrides: dict[str, object] = dict(text.assignments(changes))
    console = text.console(sys.stdout)
    if sensitive:
        if pareto or trials is not None or (names and len(names) > 1):
            raise ScenarioError(
                "--pareto, --trials and several TCPs have no effect beside --sensitivity"
            )
        with on_cluster(cluster) as executor:
            table = tuning.sensitivity(
                scenario,
                ranges,
                tcp=names[0] if names else None,
                objective=objective,
                method=sensitive,
                samples=samples,
                runs=runs,
                overrides=overrides,
                seed=seed,
                lab=Experiment(store, "tune", jobs, executor),
                tell=tell,
            )
        show_sensitivity(table, console)
        if out is not None:
            with folder.filling(out, last="sensitivity.csv") as stage:
                files.write_text(stage / "sensitivity.csv", table.to_csv())
            text.line(f"wrote {out / 'sensitivity.csv'}")
        return
    with on_cluster(cluster) as executor:
        tuned = tuning.tune(
            scenario,
            ranges,
            tcp=names,
            objective=objective,
            pareto=[word.strip() for word in pareto.split(",")] if pareto else (),
            trials=60 if trials is None else trials,
            runs=runs,
            confirm=confirm,
            overrides=overrides,
            seed=seed,
            lab=Experiment(store, "tune", jobs, executor),
            tell=tell,
        )
    show(tuned, console)
    text.line(f"to run it: {command(scenario, tuned)}")
    if out is not None:
        from farlink.plot.style import save

        with folder.filling(out, last="tuned.json") as stage:
            files.write_text(stage / "trials.csv", tuned.table.to_csv(index=False))
            files.write_text(stage / "tuned.json", json.dumps(tuned.data, indent=1) + "\n")
            written = ["tuned.json", "trials.csv"]
            with pictures.optional("response"):
                written += [item.name for item in save(tuned.plot(), stage / "response")]
        for name in written:
            text.line(f"wrote {out / name}")


def _pairs(vary: list[str]) -> list[tuple[str, str]]:
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


def _tell(line: str) -> None:
    sys.stderr.write(text.printable(line) + "\n")
    sys.stderr.flush()
