"""Counters of an emulation as tables."""

import shlex
from typing import TYPE_CHECKING, Any

from farlink.views import gateway

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.table import Table

    from farlink import emulation
    from farlink.views.page import Sink

__all__ = ["tables"]


def tables(done: "emulation.Emulated", out: "Sink") -> None:
    """Print the counters of links and hosts, the fate of all packets, and their lateness."""
    data = done.data
    out.print(_links(data["links"]))
    _hosts(data, out)
    out.print(_packets(data["packets"]), soft_wrap=True)
    for warning in _warnings(done):
        out.print(f"WARNING: {warning}")
    late = data["lateness"]
    out.print(
        f"{data['duration_s']:.1f} s; packets were late by {1e3 * late['p50_s']:.3f} ms (median), "
        f"{1e3 * late['p99_s']:.3f} ms (99 %), {1e3 * late['max_s']:.3f} ms (most)",
        soft_wrap=True,
    )
    if data["realtime_refused"]:
        out.print(
            f"The engine ran at normal priority ({data['realtime_refused']}), where a busy "
            "machine makes packets later; --no-realtime asks for that",
            soft_wrap=True,
        )


def _links(links: "Sequence[Mapping[str, Any]]") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("link", "direction"):
        table.add_column(title, no_wrap=True)
    for title in ("packets", "lost", "utilisation (%)", "longest queue"):
        table.add_column(title, justify="right")
    for row in links:
        metrics = row["metrics"]
        table.add_row(
            row["link"],
            row["direction"],
            f"{metrics['packets']:,.0f}",
            _lost(metrics),
            f"{100 * (metrics['utilisation'] or 0):.1f}",
            f"{metrics['queue_max']:,.0f}",
        )
    return table


def _hosts(data: "Mapping[str, Any]", out: "Sink") -> None:
    """Print a line for each host, gateway, user-space endpoint and server that exited early."""
    for row in data["hosts"]:
        odd = [
            f"{row[key]:,} {what}"
            for key, what in (
                ("not_ip", "no IP"),
                ("no_host", "to an address of no host"),
                ("refused", "refused by the kernel"),
                ("overflowed", "dropped by its full device"),
            )
            if row[key]
        ]
        beside = f" ({', '.join(odd)})" if odd else ""
        name = f" ({row['attached']})" if "attached" in row else ""
        out.print(
            f"{row['host']} {row['address']}{name}: sent {row['sent']:,}, "
            f"got {row['delivered']:,}"
            f"{beside}",
            soft_wrap=True,
        )
    for row in data["hosts"]:
        if "gateway" in row:
            out.print(gateway.line(row), soft_wrap=True, markup=False)
    # Each joining gateway is once counted as unauthenticated, so this counter is omitted.
    counts = [item for item in data.get("strangers", {}).items() if item[0] != "unproven"]
    if any(count for _, count in counts):
        others = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts if count]
        out.print(f"datagrams of no gateway: {', '.join(others)}", soft_wrap=True)
    for name, own in data["endpoints"].items():
        causes = [f"{count:,} {reason}" for reason, count in own["dropped"].items() if count]
        out.print(
            f"{name} in user space: {own['segments_sent']:,} segments sent, "
            f"{own['segments_retransmitted']:,} retransmitted, {own['timeouts']:,} time-outs; "
            f"dropped {', '.join(causes) or 'none'}",
            soft_wrap=True,
        )
    for server in data["servers"]:
        if server["exit_code"] is not None:
            out.print(
                f"{server['host']}: {shlex.join(server['argv'])} had ended before the end, with "
                f"exit code {server['exit_code']}",
                soft_wrap=True,
                markup=False,
            )


def _warnings(done: "emulation.Emulated") -> "Iterator[str]":
    data = done.data
    for row in data["links"]:
        bound, full = row["queue_bound_bytes"], row["metrics"]["drops_congestion"]
        if bound and full:
            yield (
                f"the queue of {row['link']} {row['direction']} has no limit in the "
                f"scenario; here it ends at {bound >> 20} MiB, and was full for {full:,.0f} packets"
            )
    if data["packets"]["overflowed"]:
        yield (
            f"{data['packets']['overflowed']:,} packets were sent faster than they could "
            "be read, and a host's device dropped them"
        )
    if done.missing:
        yield f"{done.missing:,} packets are unaccounted for, which is an error of farlink"
    if data["uncaptured"]:
        yield f"{data['uncaptured']:,} packets that the disk did not take are not captured"


def _packets(packets: dict[str, int]) -> str:
    made = [f"{packets['entered'] + packets['overflowed']:,} sent"]
    others = {
        "copied": "copied",
        "cut": "cut off",
        "answered": "from routers",
        "injected": "from agents",
    }
    for key, what in others.items():
        if packets[key]:
            made.append(f"{packets[key]:,} {what}")
    entries = [f"{packets['left']:,} left", f"{packets['lost']:,} lost"]
    if packets["overflowed"]:
        entries.append(f"{packets['overflowed']:,} dropped by devices")
    if packets["for_routers"]:
        entries.append(f"{packets['for_routers']:,} for routers")
    if packets["absorbed"]:
        entries.append(f"{packets['absorbed']:,} taken by agents")
    entries.append(f"{packets['inside']:,} under way")
    return f"packets: {', '.join(made)}; {', '.join(entries)}"


def _lost(metrics: dict[str, float]) -> str:
    causes = [
        f"{count:,.0f} {name.removeprefix('drops_')}"
        for name, count in metrics.items()
        if name.startswith("drops_") and count
    ]
    return ", ".join(causes) or "0"
