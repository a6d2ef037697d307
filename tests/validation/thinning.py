"""Table of docs/agents/thin.md: a download whose ACKs a modem thins before a slow return link.

.venv/bin/python tests/validation/thinning.py

prints the seconds for 10 MB over 20 Mbit/s and 540 ms, by TCP, rate of the return link and
interval. The runs have no chance, and one run is enough.
"""

import sys
from typing import Any

import farlink as fl

__all__ = ["scenario"]

TCPS = ("linux-cubic", "linux-bbr", "sack")
RATES = ("1 Mbit/s", "48 kbit/s", "24 kbit/s")
INTERVALS = ("5 ms", "20 ms", "50 ms")


def scenario(rate: str, interval: str | None) -> dict[str, Any]:
    """Return a download with a return link of `rate`, thinned with this interval if any."""
    lan = {"rate": "100 Mbit/s", "delay": "1 ms"}
    back = {"rate": rate, "delay": "270 ms", "queue": {"packets": 50}}
    data = {"rate": "20 Mbit/s", "delay": "270 ms", "queue": {"packets": 1000}}
    tree: dict[str, Any] = {
        "name": "thinning",
        "links": [
            {"name": "lan", "between": ["client", "modem"], "down": lan},
            {"name": "satellite", "between": ["modem", "server"], "down": back, "up": data},
        ],
        "flows": [{"from": "server", "to": "client", "size": "10 MB"}],
    }
    if interval:
        agent = {"at": "modem", "wireless": "satellite", "kind": "thin", "interval": interval}
        tree["agents"] = [agent]
    return tree


def main() -> None:
    heads = ["TCP", "return link", "without", *INTERVALS]
    sys.stdout.write(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}\n")
    for tcp in TCPS:
        for rate in RATES:
            keys = {"tcp.receive_window": "4 MiB"}
            runs = [
                fl.run(scenario(rate, interval), tcp=tcp, overrides=keys)
                for interval in (None, *INTERVALS)
            ]
            times = [f"{run.summary['duration'].iloc[0]['mean']:.2f}" for run in runs]
            sys.stdout.write(f"| {' | '.join([tcp, rate, *times])} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
