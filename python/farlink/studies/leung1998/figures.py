"""Draws figures of cwnd and sequence numbers from the traces of single runs."""

from collections.abc import Callable
from typing import Any

from farlink.plot.sheet import sheet, styled
from farlink.plot.style import DATA
from farlink.plot.style import title as heading
from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.leung1998.traces import sent, traced_cell
from farlink.studies.model import Model
from farlink.studies.study import Drawing

__all__: list[str] = []


_Panel = tuple[str, str, dict[str, Any]]
"""Section of the study, TCP, and factors that override the section's setting."""


@styled
def _draw(model: Model, title: str, of: str, panels: list[_Panel]) -> Drawing:
    figure = sheet(1.0 + 1.3 * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    tables = {}
    for ax, (scene, tcp, over) in zip(axes, panels, strict=True):
        cell = traced_cell(model, scene, tcp, over)
        table = sent(model.cache.probe(cell), of)
        y = "cwnd" if of == "cwnd" else "seq"
        style = "steps-post" if of == "cwnd" else "default"
        ax.plot(table["time"], table[y] / 1000, color=DATA, lw=0.8, drawstyle=style)
        ax.set_ylabel("window (kB)" if of == "cwnd" else "sequence (kB)")
        ax.set_title(cell.label, fontsize="small", loc="left")
        tables[cell.label] = table[["time", y]]
    axes[-1].set_xlabel("time (s)")
    heading(figure, title)
    return Drawing(figure, tables, "Run 0 of a shorter transfer.")


def _traces(title: str, of: str, panels: list[_Panel]) -> Callable[[Model], Drawing]:
    return lambda model: _draw(model, title, of, panels)


_ALL = ("rfc", "reno", "vegas")
_RV = ("reno", "vegas")
_RAIN = ("short", "long")
_FIGURES: dict[str, tuple[str, str, list[_Panel]]] = {
    "fig4.4": ("Windows in clear sky", "cwnd", [("4.4", tcp, {"plr": 0.0}) for tcp in _ALL]),
    "fig4.5": ("Reno, short and long rain", "cwnd", [("4.4", "reno", {"rain": r}) for r in _RAIN]),
    "fig4.6": (
        "Vegas, short and long rain",
        "cwnd",
        [("4.4", "vegas", {"rain": r}) for r in _RAIN],
    ),
    "fig4.8": (
        "Progress at two delays",
        "segments",
        [("4.5", tcp, {"plr": 0.001, "ete": ete}) for tcp in _ALL for ete in (0.35, 0.7)],
    ),
    "fig5.6": (
        "Windows at two speeds",
        "cwnd",
        [("5.4", tcp, {"plr_bad": 0.05, "speed": v}) for tcp in _RV for v in (45, 75)],
    ),
    "fig5.11": (
        "Progress over the mobile link",
        "segments",
        [("5.5", tcp, {"a": 70, "b": 3.5}) for tcp in _RV],
    ),
    "fig5.12": (
        "Windows at two distances of handoffs",
        "cwnd",
        [("5.5", tcp, {"a": a, "b": 3.5}) for tcp in _RV for a in (70, 200)],
    ),
}

for _id, _of in _FIGURES.items():
    REGISTRY.figure(_id)(_traces(*_of))
