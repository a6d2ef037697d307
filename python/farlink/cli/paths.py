"""The command `farlink channels paths`: the path of least delay over a constellation."""

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from farlink import constellation, files, orbit, pictures, recordings
from farlink.cli import options, text
from farlink.cli.options import declare
from farlink.constellation import networks
from farlink.errors import ScenarioError
from farlink.views.recording import show

__all__ = ["paths"]

_WALKER = re.compile(r"walker:([\d.]+),([\d.]+),(\d+)x(\d+)(?:,(\d+))?(?:,([\d.]+))?")
_Czml = Annotated[bool, declare("--czml", "Write constellation.czml, for CesiumJS, in --out.")]


def paths(
    shell: Annotated[
        str,
        typer.Argument(
            help="walker:ALTITUDE,INCLINATION,PLANESxSATELLITES[,F[,SPREAD]], or a file of "
            "two-line elements or CZML (.czml), plane by plane, or `example`.",
            metavar="SHELL",
        ),
    ],
    first: Annotated[str, declare("--from", "Server's place: degrees north, east.", "LAT,LON")],
    second: Annotated[str, declare("--to", "Client's place, likewise.", "LAT,LON")],
    out: Annotated[Path, options.out("Write recording, traces and scenario here.")],
    planes: Annotated[
        int | None, declare("--planes", "Number of planes of a file of elements.", "N")
    ] = None,
    duration: Annotated[float, declare("--duration", "Length in seconds.", "S")] = 600.0,
    step: Annotated[float, declare("--step", "Time between rows in seconds.", "S")] = 1.0,
    interval: Annotated[
        float | None, declare("--interval", "Seconds between choices of a path.", "S")
    ] = None,
    min_elevation: Annotated[
        float, declare("--min-elevation", "Least elevation of a usable satellite.", "DEG")
    ] = 25.0,
    links: Annotated[
        bool, declare("--links/--no-links", "Links between satellites, or none.")
    ] = True,
    rate: Annotated[str, declare("--rate", "Rate down.", "RATE")] = "100 Mbit/s",
    up_rate: Annotated[str, declare("--up-rate", "Rate up.", "RATE")] = "20 Mbit/s",
    network: Annotated[
        bool,
        declare("--network", "Write a network: a router per satellite, routes that change."),
    ] = False,
    gap: Annotated[
        float, declare("--gap", "With --network: seconds without link at a handover.", "S")
    ] = 0.0,
    czml: _Czml = False,
    plot: Annotated[
        bool, declare("--plot", "Draw maps, and the delay over time, as PNG and SVG in --out.")
    ] = False,
) -> None:
    """Compute the path of least delay over a constellation, as a scenario.

    Each satellite has links to its neighbours in its plane and in the planes beside it. Needs the
    package sgp4.
    """
    settings = _settings(out, rate, up_rate)
    if gap and not network:
        raise ScenarioError("--gap is for a network; add --network")
    satellites = _shell(shell, planes)
    ends = _place("--from", first), _place("--to", second)
    (path,) = constellation.paths(
        satellites,
        [ends],
        duration=duration,
        step=step,
        interval=interval,
        min_elevation=min_elevation,
        links=links,
    )
    recording = path.recording(settings)
    if network:
        _save_network(satellites, path, ends, (rate, up_rate, gap), out)
    else:
        recordings.save(recording, out)
    show(recording, text.console(sys.stdout))
    if czml:
        _save_czml(satellites, path, ends, duration, out)
    if plot:
        _draw(satellites, path, out)
    text.line(f"wrote {out}; next: farlink run {out / 'scenario.toml'}")


def _settings(out: Path, rate: str, up_rate: str) -> recordings.Settings:
    """Return the settings of a recording in this folder, which can be written."""
    from farlink.cli.recordings import parse_rate

    settings = recordings.Settings(
        name=files.as_name(out.resolve().name),
        rate=parse_rate("--rate", rate),
        up_rate=parse_rate("--up-rate", up_rate),
    )
    files.check_name(settings.name)
    files.check_directory(out)
    return settings


def _save_network(
    shell: constellation.Shell,
    path: constellation.Path,
    ends: tuple[orbit.Place, orbit.Place],
    link: tuple[str, str, float],
    out: Path,
) -> None:
    """Write the scenario of a network; `link` has both rates of the client, and the gap."""
    rate, up_rate, gap = link
    rates = constellation.LinkRates(rate, up_rate)
    names = {ends[0]: "server", ends[1]: "client"}
    scenario = constellation.network(shell, [path], names, rates=rates, gap=gap)
    scenario |= {
        "name": files.as_name(out.resolve().name),
        "tcp": {"variant": "cubic", "receive_window": "8 MiB"},
    }
    scenario["flows"][0]["duration"] = f"{min(path.step * len(path.delay), 60):g} s"
    networks.save(scenario, out)


def _save_czml(
    shell: constellation.Shell,
    path: constellation.Path,
    ends: tuple[orbit.Place, orbit.Place],
    duration: float,
    out: Path,
) -> None:
    names = {ends[0]: "server", ends[1]: "client"}
    name = files.as_name(out.resolve().name)
    written = constellation.czml(shell, [path], names, duration=duration, name=name)
    files.write_text(out / "constellation.czml", written)
    text.line(f"CZML: {out / 'constellation.czml'}")


def _draw(shell: constellation.Shell, path: constellation.Path, out: Path) -> None:
    from farlink.plot.style import save

    with pictures.optional("path"):
        for file in save(constellation.picture(shell, path), out / "path"):
            text.line(f"figure: {file}")


def _shell(written: str, planes: int | None) -> constellation.Shell:
    match = _WALKER.fullmatch(written)
    if match is not None:
        if int(match[5] or 0) >= int(match[3]) > 0:
            most = int(match[3]) - 1
            raise ScenarioError(f"{written}: F is 0 to {most}, less than the number of planes")
        if planes is not None:
            raise ScenarioError("--planes is for a file of elements; the shell has its planes")
        return constellation.walker(
            altitude=float(match[1]),
            inclination=float(match[2]),
            planes=int(match[3]),
            per_plane=int(match[4]),
            phasing=int(match[5] or 0),
            spread=float(match[6] or 360),
        )
    if written.startswith("walker:"):
        raise ScenarioError(f"{written}: write for example walker:550,53,72x22,39")
    if written == "example":
        return constellation.Shell(orbit.example(), planes or 6, seam=False)
    content = files.read_text(Path(written))
    if planes is None:
        raise ScenarioError(f"{written}: give the number of its planes with --planes")
    if not written.endswith(".czml"):
        orbit.read_tle(content, written)
        return constellation.Shell(content, planes)
    try:
        return constellation.read_czml(content, planes)
    except ScenarioError as error:
        raise ScenarioError(f"{written}: {str(error).removeprefix('czml: ')}") from error


def _place(option: str, written: str) -> orbit.Place:
    try:
        north, east = (float(part) for part in written.split(","))
    except ValueError as error:
        raise ScenarioError(
            f"{option} {written!r}; write degrees north and east, for example 48.14,11.58"
        ) from error
    return orbit.Place(north, east)
