"""The group `farlink channels`: sample a channel, or make one from captures, rain or orbits."""

import typer

from farlink.cli import text
from farlink.cli.channel import channel
from farlink.cli.fit import fit
from farlink.cli.orbit import orbit
from farlink.cli.rain import rain

__all__ = ["EXAMPLES", "app"]

EXAMPLES = {
    "sample": "farlink channels sample geo-bursts --packets 20000",
    "fit": "farlink channels fit sent-and-received.csv",
    "rain": "farlink channels rain --at 49.3,-123.1 --frequency 20GHz --elevation 30 --margin 6",
    "orbit": "farlink channels orbit example --at 47.4,8.5 --out delay.csv",
}

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Sample a channel, or make one from measurements, rain or orbits.",
)

for _name, _function in (("sample", channel), ("fit", fit), ("rain", rain), ("orbit", orbit)):
    app.command(_name, epilog=text.example(EXAMPLES[_name]))(_function)
