"""Paths over a constellation: least delay between places on the ground, over time.

A shell has planes of satellites with links between neighbours (+Grid). At each interval the path of
least delay is chosen. Positions follow SGP4 (package `sgp4`, extra `orbits`). Graphs of NetworkX
(extra `graphs`) go out by `graph` and in by `graph_paths`. `network` makes satellites routers of a
scenario. CZML goes out by `czml` and in by `read_czml`.
"""

from farlink.constellation.czml import czml, read_czml
from farlink.constellation.graphs import graph, graph_paths
from farlink.constellation.networks import LinkRates, Weather, network
from farlink.constellation.picture import picture
from farlink.constellation.shells import Path, Shell, paths, walker

__all__ = [
    "LinkRates",
    "Path",
    "Shell",
    "Weather",
    "czml",
    "graph",
    "graph_paths",
    "network",
    "paths",
    "picture",
    "read_czml",
    "walker",
]
