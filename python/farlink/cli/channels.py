"""The group `farlink channels`: sample a channel, or make one from measurements or a model."""

from collections.abc import Callable

import typer

from farlink.cli import text
from farlink.cli.channel import channel
from farlink.cli.fit import fit
from farlink.cli.orbit import orbit
from farlink.cli.paths import paths
from farlink.cli.rain import rain
from farlink.cli.recordings import export_recording, import_recording

__all__ = ["EXAMPLES", "app"]

EXAMPLES = {
    "sample": "farlink channels sample geo-bursts --packets 20000",
    "fit": "farlink channels fit sent-and-received.csv",
    "import": "farlink channels import irtt irtt.json --out starlink",
    "export": "farlink channels export mahimahi starlink --out traces",
    "rain": "farlink channels rain --at 49.3,-123.1 --frequency 20GHz --elevation 30 --margin 6",
    "orbit": "farlink channels orbit example --at 47.4,8.5 --out delay.csv",
    "paths": "farlink channels paths walker:550,53,72x22,39 --from 41,-74 --to 51,0 --out us-uk",
}

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Sample a channel, or make one from measurements, recordings, rain or orbits.",
)

_COMMANDS: dict[str, Callable[..., None]] = {
    "sample": channel,
    "fit": fit,
    "import": import_recording,
    "export": export_recording,
    "rain": rain,
    "orbit": orbit,
    "paths": paths,
}

for _name, _function in _COMMANDS.items():
    app.command(_name, epilog=text.example(EXAMPLES[_name]))(_function)
