"""Flows of a picture: a flow over several paths has an arrow for each path."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["flows_of"]


def flows_of(scenario: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each flow and each further path of a flow, with the TCP that sends there.

    A path has the key `role`, which says in words what it carries.
    """
    for flow, tcp in zip(scenario["flows"], scenario["resolved_tcp"], strict=True):
        yield flow, tcp
        for number, path in enumerate(flow.get("multipath", {}).get("paths", []), 1):
            subflow = {**flow, "name": f"{flow['name']}.{path.get('name', number)}"}
            subflow |= {key: path[key] for key in ("from", "to") if key in path}
            subflow["role"] = "backup path" if path.get("backup") else "further path"
            yield subflow, {**tcp, "variant": path.get("variant", tcp["variant"])}
