"""`farlink advise`: one page that says what to set on a link."""

import json
import sys
from pathlib import Path

import typer

from farlink import files
from farlink.cli import complete, text
from farlink.errors import ScenarioError

__all__ = ["advise"]


def advise(
    scenario: str = typer.Argument(
        "",
        show_default=False,
        help="Name of the library, or .toml file; none with --preset or --capture.",
        metavar="SCENARIO",
        autocompletion=complete.scenarios,
    ),
    preset: str = typer.Option(
        "",
        "--preset",
        help="A link of `farlink list presets` and a transfer of 5 MB.",
        metavar="NAME",
    ),
    capture: Path | None = typer.Option(
        None, "--capture", help="The path of a captured connection.", metavar="FILE"
    ),
    tcp: list[str] = typer.Option(
        [],
        "--tcp",
        help="What is in use now; by default the scenario's, or linux-cubic.",
        metavar="NAME",
        autocompletion=complete.tcps,
    ),
    server: str = typer.Option(
        "",
        "--server",
        help="What the ends have and keep: try only what stands between them.",
        metavar="NAME",
        autocompletion=complete.tcps,
    ),
    size: list[str] = typer.Option(
        [],
        "--size",
        help="Sizes to choose for; by default the scenario's, a short, a middle and a long one.",
        metavar="SIZE,...",
    ),
    runs: int = typer.Option(20, "--runs", help="Runs to choose by, and to confirm.", metavar="N"),
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
        None, "--out", help="Write the page here too: .pdf, .html, .md or .json.", metavar="FILE"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress."),
) -> None:
    """Say what limits a link, which TCP and settings help, and how sure that is.

    Prints the page in Markdown.
    """
    from farlink import advice
    from farlink.experiment import Experiment
    from farlink.experiment.execute import on_cluster

    given = [bool(scenario), bool(preset), capture is not None]
    if sum(given) != 1:
        raise ScenarioError("name one of: a scenario, --preset NAME, --capture FILE")
    if out is not None:
        if out.suffix not in (".pdf", ".html", ".md", ".json"):
            raise ScenarioError(f"--out {out}: write a name that ends in .pdf, .html, .md or .json")
        files.check_file(out)
    tree: str | dict[str, object] = scenario
    notes: tuple[str, ...] = ()
    name = None
    if preset:
        tree = {
            "name": preset,
            "links": [{"name": "link", "between": ["sender", "receiver"], "preset": preset}],
            "flows": [{"from": "sender", "to": "receiver", "size": "5 MB"}],
        }
    elif capture is not None:
        from farlink import captures
        from farlink.captures.path import fit_path

        path = fit_path(captures.capture(capture).connection())
        tree, notes = path.scenario(capture.stem), path.notes
        name = "path.toml"
        notes = (
            f"the path is fitted to {capture.name}; `farlink compare --capture {capture.name} "
            "--out .` writes it as path.toml, and tells how well it fits",
            *notes,
        )
    with on_cluster(cluster) as executor:
        answer = advice.advise(
            tree,
            tcp=text.one_name(tcp),
            server=server or None,
            size=[part.strip() for item in size for part in item.split(",")],
            runs=runs,
            overrides=dict(text.assignments(changes)),
            seed=seed,
            lab=Experiment(store, "advise", jobs, executor),
            notes=notes,
            name=name,
            tell=None if quiet else _tell,
        )
    text.line(answer.markdown.rstrip())
    if out is not None and out.suffix == ".pdf":
        answer.save_pdf(out)
        sys.stderr.write(text.printable(f"wrote {out}") + "\n")
    elif out is not None:
        made = {
            ".html": lambda: answer.html,
            ".md": lambda: answer.markdown,
            ".json": lambda: json.dumps(advice.data(answer), indent=1) + "\n",
        }
        files.write_text(out, made[out.suffix]())
        sys.stderr.write(text.printable(f"wrote {out}") + "\n")


def _tell(line: str) -> None:
    sys.stderr.write(text.printable(f"simulating: {line}") + "\n")
    sys.stderr.flush()
