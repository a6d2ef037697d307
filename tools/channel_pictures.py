"""Draw a picture of each channel into docs/channels/img.

`python tools/channel_pictures.py [NAME ...]` with the installed package draws the pictures of the
named pages, or of all.
"""

import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
from PIL import Image

import farlink as fl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "channels" / "img"

SAMPLES: Mapping[str, tuple[str, Mapping[str, object], str]] = {
    "loss": ("loss", {"loss": 0.02}, "10 ms"),
    "gilbert": ("gilbert", {"loss": 0.05, "burst": 4}, "10 ms"),
    "jitter": ("jitter", {"distribution": "exponential", "mean": "20 ms"}, "10 ms"),
    "satellite": ("satellite", {"b": 0.01, "g": 0.05, "loss": 0.05, "loss_size": "554 B"}, "10 ms"),
    "mobile": ("mobile", {"speed": "75 km/h", "cell_radius": "2 km", "handoff_region": "100 m",
                          "carrier": "850 MHz", "fade_margin": 30, "ber_bad": 5e-5}, "230 ms"),
    "congestion": ("congestion", {"duration": "5 s", "share": 0.05}, "10 ms"),
    "outage": ("outage", {"start": "10 s", "duration": "5 s", "period": "1 min"}, "10 ms"),
    "byte_errors": ("byte_errors", {"distance": "64 KiB", "burst": 6}, "10 ms"),
    "internet_delay": ("internet_delay", {"constant": "20 ms", "mean": "10 ms"}, "10 ms"),
    "rayleigh": ("rayleigh", {"speed": "0.65 m/s", "carrier": "2.4 GHz", "loss": 0.01,
                              "step": "1.92 ms"}, "10 ms"),
    "radio": ("radio", {"band": "2400 MHz", "distance": "120 m", "modulation": "o-qpsk"}, "10 ms"),
    "orbit": ("orbit", {"altitude": "550 km", "min_elevation": 25, "inclination": 53,
                        "handover_time": "50 ms"}, "10 ms"),
}  # fmt: skip
"""Key, parameters and time between packets of a sample, by page."""


def sample(name: str) -> "Figure":
    """Draw a channel alone beside its closed form."""
    key, parameters, spacing = SAMPLES[name]
    chosen: dict[str, Any] = dict(parameters)
    return fl.channel(key, packets=100_000, spacing=spacing, **chosen).plot()


def walk() -> "Figure":
    """Draw the positions of a node with a radio."""
    radio = {
        "band": "2400 MHz", "noise": "vatne2006",
        "mobility": {
            "model": "vatne2006", "area": ["200 m", "200 m"], "speed": ["0.5 m/s", "5 m/s"],
            "step": "1 s", "leg": ["5 s", "30 s"], "pause": ["0 s", "10 s"], "turning": 1.5,
        },
    }  # fmt: skip
    down = {"rate": "250 kbit/s", "delay": "1 ms", "channel": {"radio": radio}}
    scenario = {
        "links": [{"between": ["a", "b"], "down": down}],
        "flows": [{"from": "a", "to": "b", "size": "10 kB"}],
    }
    table = fl.trajectory(scenario, duration=600)
    figure, axes = plt.subplots(figsize=(4.2, 4.0), layout="constrained")
    axes.plot(table["x1"], table["y1"], lw=1, label="node 1")
    axes.plot(table["x2"], table["y2"], lw=1, label="node 2")
    axes.set(xlabel="x (m)", ylabel="y (m)", xlim=(0, 200), ylim=(0, 200), aspect="equal")
    axes.legend(loc="upper right")
    return figure


def cross_traffic() -> "Figure":
    """Draw the queue of a bottleneck with cross traffic."""
    down = {
        "rate": "2 Mbit/s", "delay": "20 ms", "queue": {"packets": 50},
        "background": [{"load": "1 Mbit/s"}],
    }  # fmt: skip
    scenario = {
        "links": [{"between": ["a", "b"], "down": down}],
        "flows": [{"from": "a", "to": "b", "size": "5 MB"}],
    }
    return fl.run(scenario, tcp="newreno").plot.queue()


RECORDED = """\
[tcp]
receive_window = "1 MiB"
[[links]]
between = ["a", "b"]
down = { rate_trace = { file = "rate.csv" }, delay = "50 ms", queue = { packets = 200 } }
up = { rate = "8 Mbit/s", delay = "50 ms" }
[[flows]]
from = "a"
to = "b"
app = "bulk"
duration = "60 s"
"""


def recorded_rate() -> "Figure":
    """Draw the throughput over a link whose rate steps every ten seconds."""
    with TemporaryDirectory() as place:
        rates = enumerate((4, 1, 8, 0, 3, 6))
        rows = ["time (s),rate (Mbit/s)", *(f"{10 * step},{rate}" for step, rate in rates)]
        (Path(place) / "rate.csv").write_text("\n".join(rows) + "\n")
        (Path(place) / "recorded.toml").write_text(RECORDED)
        return fl.run(Path(place) / "recorded.toml", tcp="cubic").plot.throughput()


def adaptive_coding() -> "Figure":
    """Draw the throughput over a link whose code adapts to a fade of the signal."""
    with TemporaryDirectory() as place:
        fade = (14, 12, 9, 5, 1, -2, 2, 6, 10, 14)
        rows = ["time (s),esno (dB)", *(f"{6 * step},{esno}" for step, esno in enumerate(fade))]
        (Path(place) / "signal.csv").write_text("\n".join(rows) + "\n")
        coded = '{ file = "signal.csv", symbol_rate = "2 MBd" }'
        text = RECORDED.replace('{ file = "rate.csv" }', coded)
        (Path(place) / "coded.toml").write_text(text)
        return fl.run(Path(place) / "coded.toml", tcp="cubic").plot.throughput()


OTHERS: Mapping[str, Callable[[], "Figure"]] = {
    "mobility": walk,
    "background": cross_traffic,
    "traces": recorded_rate,
    "adaptive-coding": adaptive_coding,
}
"""Pictures other than samples, by page."""


def main(names: list[str]) -> None:
    """Draw the pictures of these pages, or of all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in names or [*SAMPLES, *OTHERS]:
        figure = OTHERS[name]() if name in OTHERS else sample(name)
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=80)
        image = Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE)
        image.save(IMAGES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
