"""Print the table of docs/stp.md: TCP, split TCP, XTP and STP over a satellite."""

import sys
from typing import Any

import farlink

HALVES: dict[str, tuple[str, dict[str, str]] | None] = {
    "TCP": None,
    "split, SACK": ("satellite_tcp", {"variant": "sack"}),
    "split, Hybla": ("satellite_tcp", {"variant": "hybla"}),
    "XTP, 1900 kbit/s": ("satellite_xtp", {"rate": "1900 kbit/s", "window": "8 MiB"}),
    "STP, 1900 kbit/s": ("satellite_stp", {"rate": "1900 kbit/s", "window": "8 MiB"}),
    "STP, window": ("satellite_stp", {"window": "8 MiB"}),
}


def link(name: str, ends: list[str], rate: str, delay: str, loss: float = 0) -> dict[str, Any]:
    """Return a link that is the same in both directions."""
    way: dict[str, Any] = {"rate": rate, "delay": delay, "queue": "unlimited"}
    if loss:
        way["channel"] = {"loss": loss}
    return {"name": name, "between": ends, "down": way, "up": way}


def scenario(half: tuple[str, dict[str, str]] | None, size: str, loss: float) -> dict[str, Any]:
    """Return a transfer over a satellite, with a proxy at each end if there is a half."""
    agent: dict[str, Any] = {"wireless": "satellite", "kind": "pep"}
    if half:
        agent[half[0]] = half[1]
    return {
        "max_duration": "4000 s",
        "tcp": {"variant": "sack", "receive_window": "1 MiB", "window_scale": "auto"},
        "links": [
            link("lan", ["server", "hub"], "10 Mbit/s", "5 ms"),
            link("satellite", ["hub", "terminal"], "2 Mbit/s", "250 ms", loss),
            link("home", ["terminal", "client"], "10 Mbit/s", "5 ms"),
        ],
        "agents": [agent | {"at": at} for at in ("hub", "terminal") if half],
        "flows": [{"from": "server", "to": "client", "app": "file", "size": size}],
    }


def main() -> None:
    """Run each case five times."""
    for size in ("1 MB", "10 MB"):
        for loss in (0.0, 0.02):
            for name, half in HALVES.items():
                data = farlink.run(scenario(half, size, loss), runs=5).data
                seconds = data["results"][0]["metrics"]["duration"]["mean"]
                back = data["links"][3]["metrics"]["bytes"]["mean"] / 1000
                line = f"{size:5}  {loss:4.0%}  {name:16}  {seconds:6.1f} s  {back:6.1f} kB"
                sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
