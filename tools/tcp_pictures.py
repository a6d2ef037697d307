"""Draw cwnd of every TCP on the GEO link into docs/tcp/img.

`python tools/tcp_pictures.py [ROW ...]` with the installed package draws the named rows, or all.
The upper plot has no losses, and the lower one a bit error rate of 1e-6. Both have a window of 1
MB, so that only cwnd limits.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import farlink as fl

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "tcp" / "img"
WINDOW = 1_000_000
SECONDS = 60
# Segments that fit into the link during the handshake's round trip: 2048 kbit/s for 0.528 s.
SEGMENT = 1460
PIPE = 2_048_000 / 8 * 0.528 / (SEGMENT + 40)
CASES = {"without losses": "geo-omueti2007", "bit error rate 1e-6": "geo-lossy"}


def draw(axes: Axes, row: str, scenario: str) -> None:
    """Draw one run of a row."""
    result = fl.run(
        scenario,
        tcp=row,
        overrides={"tcp.receive_window": f"{WINDOW} B", "flows.0.size": "20 MB"},
    )
    trace: pd.DataFrame = result.trace("cwnd")
    trace = trace[(trace["time"] <= SECONDS) & (trace["side"] == "from")]
    segments = trace["cwnd"].clip(upper=WINDOW) / SEGMENT
    # cwnd is traced only when it may change, so its last value holds to the end.
    times = [*trace["time"], SECONDS]
    axes.step(times, [*segments, segments.iloc[-1]], where="post", linewidth=1.0, color="#1f6fb4")
    rate = result.summary["goodput"]["mean"].iloc[0] / 1000
    timeouts = result.summary["timeouts"]["mean"].iloc[0]
    axes.text(
        0.99,
        0.04,
        f"20 MB at {rate:.0f} kbit/s, {timeouts:.0f} time-outs",
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2},
    )


def picture(row: str) -> Figure:
    """Return the figure of a row."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    for axes, (title, scenario) in zip(panels, CASES.items(), strict=True):
        axes.axhline(PIPE, color="#888888", linewidth=0.8, linestyle="--")
        axes.axhline(WINDOW / SEGMENT, color="#888888", linewidth=0.8, linestyle=":")
        draw(axes, row, scenario)
        axes.set_title(f"{row}, {title}", fontsize=9, loc="left")
        axes.set_ylabel("cwnd (segments)", fontsize=8)
        axes.set_yscale("log")
        axes.set_ylim(0.8, 1000)
        axes.tick_params(labelsize=8)
        axes.text(SECONDS, PIPE, "the path is full ", ha="right", va="bottom", fontsize=7)
        axes.text(SECONDS, WINDOW / SEGMENT, "receive window ", ha="right", va="top", fontsize=7)
    panels[-1].set_xlabel("time (s)", fontsize=8)
    panels[-1].set_xlim(0, SECONDS)
    return figure


def main(rows: list[str]) -> None:
    """Draw the named rows, or all."""
    mpl.rcParams["svg.hashsalt"] = "farlink"  # equal figures give equal bytes
    mpl.rcParams["svg.fonttype"] = "none"
    IMAGES.mkdir(parents=True, exist_ok=True)
    for row in rows or list(fl.variants().index):
        picture(row).savefig(IMAGES / f"{row}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1:])
