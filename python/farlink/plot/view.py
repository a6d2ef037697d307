"""Part of a result that a figure shows: run, flows, and time range."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink.errors import ScenarioError
from farlink.measures import values_of
from farlink.plot.data import Columns

if TYPE_CHECKING:
    from farlink.result import Result

__all__ = ["View"]


@dataclass(frozen=True)
class View:
    """Selected run, flow and time range (s) of a result."""

    result: "Result"
    run: int
    flow: str | None = None
    t0: float | None = None
    t1: float | None = None

    def __post_init__(self) -> None:
        if self.t0 is not None and self.t1 is not None and self.t0 >= self.t1:
            raise ScenarioError(f"t0 is {self.t0} s and t1 is {self.t1} s; t1 must be later")

    def end_of(self, tcp: str, name: str) -> Columns:
        """Return a trace of the sending end of the flow."""
        return self._rows(tcp, name, flow=self.flow_name(tcp), side="from")

    def drops_of(self, tcp: str) -> Columns:
        """Return the packets with data that the flow lost on its way.

        The result is empty for a flow with data in both directions, because the trace of drops has
        no direction.
        """
        drops = self._rows(tcp, "drops", flow=self.flow_name(tcp))
        both_ways = len(self._rows(tcp, "segments", flow=self.flow_name(tcp), side="to")) > 0
        return drops.where(np.isfinite(drops["seq"]) & (not both_ways))

    def link_of(self, tcp: str, name: str, link: str, direction: str) -> Columns:
        """Return a trace of a link direction."""
        return self._rows(tcp, name, link=link, direction=direction)

    def flow_name(self, tcp: str) -> str:
        """Return the selected flow, or the first TCP flow, or the first flow."""
        flows = self.flows(tcp)
        if not flows:
            raise ScenarioError("there is no flow over TCP to draw")
        if self.flow is None:
            datagrams = set(self.result.udp_flows())
            return next((name for name in flows if name not in datagrams), flows[0])
        if self.flow not in flows:
            raise ScenarioError(f"flow {self.flow!r} is not there; there are {', '.join(flows)}")
        return self.flow

    def datagrams_of(self, tcp: str, flow: str) -> tuple[Columns, Columns]:
        """Return the arrived and the dropped datagrams of a flow."""
        return self._rows(tcp, "datagrams", flow=flow), self._rows(tcp, "drops", flow=flow)

    def _rows(self, tcp: str, name: str, **values: str) -> Columns:
        return Columns(self.result.arrays(name, tcp, self.run, where=values))

    def each_end_of(self, tcp: str, name: str) -> dict[str, Columns]:
        """Return a trace of the sending end of each selected flow, by name of the flow."""
        rows = self._rows(tcp, name, side="from")
        parts = rows.split("flow")
        nothing = rows.where(slice(0, 0))
        return {flow: parts.get(flow, nothing) for flow in self.flows_shown(tcp)}

    def delivered(self, tcp: str) -> float:
        """Return the bytes that the receivers of the selected flows got."""
        parts = self._rows(tcp, "delivered", side="to").split("flow")
        flows = [parts[flow] for flow in self.flows_shown(tcp) if flow in parts]
        return float(sum(rows["bytes"].max(initial=0) for rows in flows))

    def has_trace(self, trace: str) -> bool:
        """Return whether the result has a trace. Some traces are missing for a kernel's TCP."""
        return trace in self.result.trace_names

    def need_flows(self, tcp: str) -> list[str]:
        """Return the selected flows over TCP; raise `ScenarioError` if there are none."""
        flows = self.flows_shown(tcp)
        if not flows:
            raise ScenarioError("there is no flow over TCP to draw")
        return flows

    def flows_shown(self, tcp: str) -> list[str]:
        """Return the name of the selected flow, or the names of all flows over TCP."""
        if self.flow is not None:
            return [self.flow_name(tcp)]
        datagrams = set(self.result.udp_flows())
        return [name for name in self.flows(tcp) if name not in datagrams]

    def flows(self, tcp: str) -> list[str]:
        """Return the names of all flows."""
        return [str(row["flow"]) for row in self.result.rows("results") if row["tcp"] == tcp]

    def direction_of(self, tcp: str, chosen: tuple[str | None, str | None]) -> tuple[str, str]:
        """Return link and direction, by default those with the highest utilisation."""
        rows = [row for row in self.result.rows("links") if row["tcp"] == tcp]
        rows = [row for row in rows if chosen[0] in (None, row["link"])]
        rows = [row for row in rows if chosen[1] in (None, row["direction"])]
        if not rows:
            wanted = " ".join(part for part in chosen if part is not None)
            raise ScenarioError(f"link {wanted!r} is not in this result")
        used = max(rows, key=lambda row: row["metrics"]["utilisation"]["mean"] or 0)
        return str(used["link"]), str(used["direction"])

    def link(self, name: str, direction: str) -> dict[str, Any]:
        """Return the scenario's table of a link direction; empty if the link is unknown."""
        for item in self.result.scenario()["links"]:
            template = item.get("name") or "-".join(item["between"])
            if re.fullmatch(re.escape(template).replace(r"\{\}", r"\d+"), name):
                return dict(item.get(direction) or item.get("down") or {})
        return {}

    def limits(self, tcp: Sequence[str]) -> tuple[float, float]:
        """Return the time range (s): t0 to t1, or by default that of the longest run.

        If one of three or more TCPs takes more than five times as long as all others, the range
        ends soon after the others. `ending` then gives the end of the long run.
        """
        ends = sorted(self.end(name) for name in tcp)
        last = ends[-1]
        if len(ends) > 2 and last > 5 * ends[-2]:
            last = 1.25 * ends[-2]
        start = 0.0 if self.t0 is None else self.t0
        end = last if self.t1 is None else self.t1
        return start, max(end, start + 1e-6)

    def ending(self, tcp: str, limits: tuple[float, float]) -> str:
        """Return a text with the end of a run that exceeds the figure, otherwise ""."""
        end = self.end(tcp)
        return f"to {end:,.0f} s" if self.t1 is None and end > limits[1] else ""

    def ends_of_flows(self, tcp: str) -> dict[str, float]:
        """Return the end (s) of each selected flow; the end of the run if it is unknown.

        A flow ends when its last byte has arrived and its sender has received the last ACK.
        """
        rows = {row["flow"]: row for row in self.result.rows("results") if row["tcp"] == tcp}
        known = self.each_end_of(tcp, "limits") if self.has_trace("limits") else {}
        acks = self.each_end_of(tcp, "acks")
        ends = {}
        for flow in self.flows_shown(tcp):
            # The trace of limits starts with the flow's first SYN.
            first = known[flow]["time"] if flow in known else np.empty(0)
            # Results of the emulator have no metrics.
            metrics = rows[flow].get("metrics", {}) if flow in rows else {}
            duration = (
                values_of(rows[flow], "duration")[self.run] if "duration" in metrics else None
            )
            ends[flow] = self.end(tcp)
            if len(first) and duration is not None:
                last_ack = float(acks[flow]["time"].max(initial=0))
                ends[flow] = min(ends[flow], max(float(first[0]) + duration, last_ack))
        return ends

    def end(self, tcp: str) -> float:
        """Return the simulated time of a TCP, in seconds."""
        return self.result.probe(tcp, self.run).simulated_s
