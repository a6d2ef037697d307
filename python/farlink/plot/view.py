"""Part of a result that a figure shows: the run, the flows, the time."""

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
    """View of a figure: run, flow and range of time."""

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

        None for a flow with data both ways: a drop does not say which way it went.
        """
        drops = self._rows(tcp, "drops", flow=self.flow_name(tcp))
        both_ways = len(self._rows(tcp, "segments", flow=self.flow_name(tcp), side="to")) > 0
        return drops.where(np.isfinite(drops["seq"]) & (not both_ways))

    def link_of(self, tcp: str, name: str, link: str, direction: str) -> Columns:
        """Return a trace of a link direction."""
        return self._rows(tcp, name, link=link, direction=direction)

    def flow_name(self, tcp: str) -> str:
        """Return the flow shown: the one asked for, or the first, over TCP if any is."""
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
        """Return the datagrams of a flow that arrived, and those that were dropped."""
        return self._rows(tcp, "datagrams", flow=flow), self._rows(tcp, "drops", flow=flow)

    def _rows(self, tcp: str, name: str, **values: str) -> Columns:
        return Columns(self.result.arrays(name, tcp, self.run, where=values))

    def each_end_of(self, tcp: str, name: str) -> dict[str, Columns]:
        """Return a trace of the sending end of each of the flows shown, by its name."""
        rows = self._rows(tcp, name, side="from")
        parts = rows.split("flow")
        nothing = rows.where(slice(0, 0))
        return {flow: parts.get(flow, nothing) for flow in self.flows_shown(tcp)}

    def knows(self, trace: str) -> bool:
        """Return whether the trace exists: some are not available from a kernel's TCP."""
        return trace in self.result.trace_names

    def need_flows(self, tcp: str) -> list[str]:
        """Return the flows shown; without any there is no figure."""
        flows = self.flows_shown(tcp)
        if not flows:
            raise ScenarioError("there is no flow over TCP to draw")
        return flows

    def flows_shown(self, tcp: str) -> list[str]:
        """Return the names of the flows over TCP that a figure of all flows shows."""
        if self.flow is not None:
            return [self.flow_name(tcp)]
        datagrams = set(self.result.udp_flows())
        return [name for name in self.flows(tcp) if name not in datagrams]

    def flows(self, tcp: str) -> list[str]:
        """Return the names of all flows."""
        return [str(row["flow"]) for row in self.result.rows("results") if row["tcp"] == tcp]

    def direction_of(self, tcp: str, chosen: tuple[str | None, str | None]) -> tuple[str, str]:
        """Return the link and direction shown: those asked for, or the most used."""
        rows = [row for row in self.result.rows("links") if row["tcp"] == tcp]
        rows = [row for row in rows if chosen[0] in (None, row["link"])]
        rows = [row for row in rows if chosen[1] in (None, row["direction"])]
        if not rows:
            wanted = " ".join(part for part in chosen if part is not None)
            raise ScenarioError(f"link {wanted!r} is not in this result")
        used = max(rows, key=lambda row: row["metrics"]["utilisation"]["mean"] or 0)
        return str(used["link"]), str(used["direction"])

    def link(self, name: str, direction: str) -> dict[str, Any]:
        """Return what the scenario says of a link direction; nothing if it has none such."""
        for item in self.result.scenario()["links"]:
            template = item.get("name") or "-".join(item["between"])
            if re.fullmatch(re.escape(template).replace(r"\{\}", r"\d+"), name):
                return dict(item.get(direction) or item.get("down") or {})
        return {}

    def limits(self, tcp: Sequence[str]) -> tuple[float, float]:
        """Return the time shown: t0 to t1, by default all of the run.

        Beside three or more TCPs, one that takes more than five times as long
        as the next would squeeze all others into a corner, so the figure ends
        with those; `ending` says how far it goes.
        """
        ends = sorted(self.end(name) for name in tcp)
        last = ends[-1]
        if len(ends) > 2 and last > 5 * ends[-2]:
            last = 1.25 * ends[-2]
        start = 0.0 if self.t0 is None else self.t0
        end = last if self.t1 is None else self.t1
        return start, max(end, start + 1e-6)

    def ending(self, tcp: str, limits: tuple[float, float]) -> str:
        """Say how far a run goes on beyond a figure that does not show its end."""
        end = self.end(tcp)
        return f"to {end:,.0f} s" if self.t1 is None and end > limits[1] else ""

    def ends_of_flows(self, tcp: str) -> dict[str, float]:
        """Return when each of the flows shown was done, or else the run, in seconds.

        It is done when its last byte came and what its sender was told of that.
        """
        rows = {row["flow"]: row for row in self.result.rows("results") if row["tcp"] == tcp}
        known = self.each_end_of(tcp, "limits") if self.knows("limits") else {}
        acks = self.each_end_of(tcp, "acks")
        ends = {}
        for flow in self.flows_shown(tcp):
            # What limits a flow is known from its first SYN on.
            first = known[flow]["time"] if flow in known else np.empty(0)
            # A result of the emulator has traces and no metrics.
            metrics = rows[flow].get("metrics", {}) if flow in rows else {}
            lasts = values_of(rows[flow], "duration")[self.run] if "duration" in metrics else None
            ends[flow] = self.end(tcp)
            if len(first) and lasts is not None:
                text = float(acks[flow]["time"].max(initial=0))
                ends[flow] = min(ends[flow], max(float(first[0]) + lasts, text))
        return ends

    def end(self, tcp: str) -> float:
        """Return the simulated time of a TCP, in seconds."""
        return self.result.probe(tcp, self.run).simulated_s
