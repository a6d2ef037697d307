"""Figure 5.1: reset of a link by the original MDLP and by the study's modified MDLP."""

import copy
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from farlink.studies.cache import Cell
from farlink.studies.ladder import Arrow, Note, Panel, draw_panels
from farlink.studies.model import Model
from farlink.studies.study import Drawing
from farlink.studies.wong1998.registry import REGISTRY

if TYPE_CHECKING:
    import pandas as pd

__all__: list[str] = []

_RADIO_BIT_S = 19_200
_LOST = (2, 5, 8)
"""Numbers of lost frames: I(1), its retransmission and the poll. Two time-outs in a row follow."""


def _play(model: Model, *, best_effort: bool) -> "tuple[pd.DataFrame, int]":
    """Simulate seven packets with a window of five frames, and two packets later.

    Returns the table of frames and the number of packets received.
    """
    cell = model.cell("mdlp", 0.0, window=5, n2=2, best_effort=best_effort)
    scenario = copy.deepcopy(dict(cell.scenario))
    del scenario["tcp"]
    radio = scenario["links"][-1]
    del radio["arq"]["mac"]
    radio["up"] = dict(radio["down"])
    radio["down"]["channel"] = {"scripted_loss": {"packets": list(_LOST), "min_size": "100 B"}}
    packets = {"from": "fixed", "to": "mobile", "app": "cbr", "rate": "10 Mbit/s"}
    packets |= {"packet": "100 B"}
    scenario["flows"] = [
        {"name": "first", **packets, "datagrams": 7},
        {"name": "later", **packets, "datagrams": 2, "start": "3.2 s"},
    ]
    how = "modified" if best_effort else "original"
    trace = model.cache.probe(Cell(f"MDLP, {how}", scenario))
    table = trace.table("frames")
    came = sum(flow["metrics"]["datagrams_received"] for flow in trace.outcome["flows"])
    return table[table["link"] == "radio"].reset_index(drop=True), int(came)


def _panel(title: str, frames: "pd.DataFrame", notes: tuple[str, str]) -> Panel:
    arrows = [
        Arrow(
            frame["time"] - 8 * frame["bytes"] / _RADIO_BIT_S,
            frame["time"],
            0 if frame["direction"] == "down" else 1,
            1 if frame["direction"] == "down" else 0,
            _label(frame),
            lost=frame["lost"],
            again=frame["retransmission"],
            faint=frame["direction"] == "up",
        )
        for frame in frames.to_dict("records")
    ]
    sabme, ua = (frames[frames["frame"] == kind].iloc[0]["time"] for kind in ("SABME", "UA"))
    lines = [Note(float(sabme), 1, notes[0]), Note(float(ua), 0, notes[1])]
    return Panel(title, ["sender", "receiver"], arrows, lines)


def _label(frame: Mapping[Hashable, Any]) -> str:
    kind = frame["frame"]
    if kind == "SABME":
        return "SABME"
    number = frame["ns"] if kind == "I" else frame["nr"]
    bit = ", P" if kind == "I" and frame["poll"] else ""
    return f"{kind}({number}{bit})"


@REGISTRY.figure("fig5.1")
def _anew(model: Model) -> Drawing:
    (original, few), (modified, many) = (_play(model, best_effort=item) for item in (False, True))
    panels = [
        _panel("original", original, ("discards all", "from 0")),
        _panel("modified", modified, ("hands on 2 to 5", "from 6")),
    ]
    note = (
        f"N2 = 2, a window of 5 frames, delivery in sequence: of 9 packets {few} come over the "
        f"original protocol, {many} over the modified one. I(1), its copy and the poll are lost."
    )
    return Drawing(draw_panels(panels), {"original": original, "modified": modified}, note)
