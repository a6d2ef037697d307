"""The command `farlink advise`: one page of advice on the settings of a link."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farlink import files
from farlink.cli import complete, options, text
from farlink.cli.options import declare
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    from farlink.advice.answer import Advice

__all__ = ["advise"]


_Preset = Annotated[
    str, declare("--preset", "A link of `farlink list presets` and a transfer of 5 MB.", "NAME")
]
_Capture = Annotated[
    Path | None, declare("--capture", "Capture of a connection; its path is fitted.", "FILE")
]
_Server = Annotated[
    str,
    typer.Option(
        "--server",
        help="TCP of both hosts, which cannot change: try only what the path between can do.",
        metavar="NAME",
        autocompletion=complete.tcps,
    ),
]
_Sizes = Annotated[
    list[str],
    declare(
        "--size",
        "Sizes to choose for; by default the scenario's, a short, a middle and a long one.",
        "SIZE,...",
    ),
]
_ENDINGS = (".pdf", ".html", ".md", ".json")


def advise(
    scenario: Annotated[
        str,
        options.scenario(
            "Name of the library, or .toml file; none with --preset or --capture.",
            show_default=False,
        ),
    ] = "",
    preset: _Preset = "",
    capture: _Capture = None,
    tcp: Annotated[
        list[str], options.tcp("TCP in use now; by default the scenario's, or linux-cubic.", "NAME")
    ] = [],
    server: _Server = "",
    size: _Sizes = [],
    runs: Annotated[int, options.runs("Runs to choose by, and to confirm.")] = 20,
    changes: options.Changes = [],
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    store: options.Store = None,
    cluster: options.Cluster = "",
    out: Annotated[
        Path | None, options.out("Write the page here too: .pdf, .html, .md or .json.", "FILE")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Report what limits a link, and which TCP and settings help, with intervals.

    Prints the page in Markdown.
    """
    from farlink import advice
    from farlink.experiment import Experiment
    from farlink.experiment.execute import on_cluster

    if out is not None:
        if out.suffix not in _ENDINGS:
            raise ScenarioError(f"--out {out}: write a name that ends in .pdf, .html, .md or .json")
        files.check_file(out)
    tree, name, notes = _network(scenario, preset, capture)
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
            tell=None if quiet else lambda line: text.progress_line(f"simulating: {line}"),
        )
    text.line(answer.markdown.rstrip())
    if out is not None:
        _write(answer, out)


def _network(
    scenario: str, preset: str, capture: Path | None
) -> tuple[str | dict[str, object], str | None, tuple[str, ...]]:
    """Return the scenario to advise on, its name on the page, and notes on its origin."""
    if [bool(scenario), bool(preset), capture is not None].count(True) != 1:
        raise ScenarioError("name one of: a scenario, --preset NAME, --capture FILE")
    if preset:
        link = {"name": "link", "between": ["sender", "receiver"], "preset": preset}
        flow = {"from": "sender", "to": "receiver", "size": "5 MB"}
        return {"name": preset, "links": [link], "flows": [flow]}, None, ()
    if capture is None:
        return scenario, None, ()
    from farlink import captures
    from farlink.captures.path import fit_path

    path = fit_path(captures.capture(capture).connection())
    origin = (
        f"the path is fitted to {capture.name}; `farlink compare --capture {capture.name} "
        "--out .` writes it as path.toml, and tells how well it fits"
    )
    return path.scenario(capture.stem), "path.toml", (origin, *path.notes)


def _write(answer: "Advice", out: Path) -> None:
    from farlink import advice

    if out.suffix == ".pdf":
        answer.save_pdf(out)
    elif out.suffix == ".json":
        files.write_text(out, json.dumps(advice.data(answer), indent=1) + "\n")
    else:
        files.write_text(out, answer.html if out.suffix == ".html" else answer.markdown)
    text.progress_line(f"wrote {out}")
