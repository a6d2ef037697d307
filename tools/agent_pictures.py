"""Draw the sequence diagram of each kind of agent into docs/agents/img.

`python tools/agent_pictures.py [KIND ...]` with the installed package draws the named kinds, or
all. The path is a sender, a wired link, the agent, and a link that loses one packet in twenty.
"""

import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

import farlink as fl

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "agents" / "img"
SCENARIO = """
[tcp]
variant = "reno"
receive_window = "12 KiB"
{tcp}
[[links]]
between = ["fixed", "base"]
down = {{ rate = "10 Mbit/s", delay = "20 ms" }}
[[links]]
name = "radio"
between = ["base", "mobile"]
down = {{ rate = "2 Mbit/s", delay = "10 ms", channel = {{ loss = 0.05 }} }}
up = {{ rate = "2 Mbit/s", delay = "10 ms" }}
[[agents]]
at = "base"
wireless = "radio"
kind = "{kind}"
[[flows]]
from = "fixed"
to = "mobile"
size = "800 kB"
"""
KINDS = {
    "snoop": "",
    "ackp": 'ackp = "restart"',
    "ebsn": "ebsn = true",
    "eln": 'eln = "agent"',
    "seqcache": 'eln = "agent"',
    "split": "",
    "pep": "",
    "spoof": "",
}


def main(kinds: list[str]) -> None:
    """Draw the named kinds, or all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        for kind in kinds or KINDS:
            file = Path(place) / f"{kind}.toml"
            file.write_text(SCENARIO.format(kind=kind, tcp=KINDS[kind]), encoding="utf-8")
            figure = fl.run(file).plot.agent()
            drawn = io.BytesIO()
            figure.savefig(drawn, format="png", dpi=80)
            # A few colours suffice, and make the file four times smaller.
            small = Image.open(drawn).convert("RGB").quantize(40)
            small.save(IMAGES / f"{kind}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
