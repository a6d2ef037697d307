"""Draws docs/img/validation-loss and updates the tables of docs/validation.md.

.venv/bin/python tests/validation/report.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from agreement import FOLLOWS_RFC, ours, rows
from farlink.plot.sheet import styled, width
from farlink.plot.style import PALETTE, save
from lossrates import LOSSES, Point, point
from models import mathis, padhye

RUNS = 30
PAGE = Path(__file__).parents[2] / "docs" / "validation.md"
TITLES = {1: "an ACK for every segment", 2: "delayed ACK, one for two"}

Points = dict[tuple[str, float, int], Point]


@styled
def draw(points: Points) -> Figure:
    figure = Figure(figsize=(width(), 3.4), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    curve = np.geomspace(7e-5, 5e-2, 200)
    for axes, every in zip(panels, TITLES, strict=True):
        first = [mathis(p, 0.1, every) for p in curve]
        second = [padhye(p, 0.1, every, 1.0) for p in curve]
        axes.plot(curve, first, color="#7A7A7A", linestyle="--", label="Mathis 1997")
        axes.plot(curve, second, color="#1A1A1A", label="Padhye 1998")
        for tcp, shift, marker, colour in (
            ("reno", 0.97, "o", PALETTE[1]),
            ("sack", 1.03, "s", PALETTE[0]),
        ):
            chosen = [points[tcp, p, every] for p in LOSSES]
            mean = np.array([choice.mean for choice in chosen])
            error = np.array(
                [[choice.mean - choice.low, choice.high - choice.mean] for choice in chosen]
            ).T
            axes.errorbar(
                np.array(LOSSES) * shift,
                mean,
                yerr=error,
                color=colour,
                marker=marker,
                markersize=3.5,
                linestyle="none",
                elinewidth=1,
                capsize=2,
                label=f"{tcp}, mean of {RUNS} runs with 95 % interval",
            )
        axes.set(xscale="log", yscale="log", xlabel="packet loss probability")
        axes.set_title(TITLES[every])
    panels[0].set_ylabel("goodput (segments/s)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


def loss_table(points: Points) -> str:
    heads = ["loss", "ACK", "TCP", "goodput (segments/s)", "Mathis", "ratio", "Padhye", "ratio"]
    lines = [[*heads, "time-outs/s"], ["---"] * (len(heads) + 1)]
    for (tcp, loss, every), item in points.items():
        cells = [f"{loss:g}", "each" if every == 1 else "delayed", f"`{tcp}`"]
        cells += [f"{item.mean:.1f} ± {(item.high - item.low) / 2:.1f}", f"{item.mathis:.1f}"]
        cells += [f"{item.mean / item.mathis:.2f}", f"{item.padhye:.1f}"]
        cells += [f"{item.mean / item.padhye:.2f}", f"{item.timeouts:.3f}"]
        lines.append(cells)
    return table(lines)


def agreement_table(engine: str) -> str:
    columns = {
        "goodput": "goodput (kbit/s)",
        "segments_retransmitted": "retransmitted",
        "timeouts": "time-outs",
        "fast_retransmits": "fast retransmits",
    }
    lines = [["case", *columns.values()], ["---"] * (len(columns) + 1)]
    for row in rows():
        if row.engine != engine or row.lossless:
            continue
        cells = [str(row).replace(f"{engine}, {row.tcp}, ", "")]
        for name in columns:
            scale = 1e3 if name == "goodput" else 1
            pair = (ours(row)[name], row.metrics[name])
            shown = [
                f"{member.mean / scale:.1f} ± {member.half_width / scale:.1f}" for member in pair
            ]
            cells.append(" / ".join(shown))
        lines.append(cells)
    return table(lines)


def table(lines: list[list[str]]) -> str:
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def put(name: str, text: str) -> None:
    """Replace the text between the marks of this name on the page."""
    begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    points = {
        (tcp, loss, every): point(tcp, loss, ack_every=every, runs=RUNS)
        for every in TITLES
        for tcp in ("reno", "sack")
        for loss in LOSSES
    }
    save(draw(points), PAGE.parent / "img" / "validation-loss")
    put("loss", loss_table(points))
    put("changed ns-3", agreement_table(FOLLOWS_RFC))
    put("unmodified ns-3", agreement_table("3.44"))


if __name__ == "__main__":
    main()
