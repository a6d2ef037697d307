"""Files of recordings, made in the format that each tool documents."""

import json
import math
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

#: 2024-02-07 03:44:05 UTC, which is 7 s before a reconfiguration of Starlink.
START_S = 1_707_277_445

CLOCK_S = -10.5
"""Offset of the server's clock in seconds, as in the example of LENS."""


def seeded(seed: int) -> random.Random:
    """Return a stream of random numbers."""
    return random.Random(seed)  # noqa: S311 (a test draws its own file)


def delay_ms(since: float, chance: random.Random) -> float:
    """Return a round trip: a level for each 15 s from :12, a slow drift, and jitter."""
    phase = math.floor((START_S + since - 12) / 15)
    level = seeded(phase).uniform(22, 45)
    return level + 2 * math.sin(since / 40) + chance.expovariate(1.0)


def irtt(seconds: float = 90.0, interval: float = 0.02, seed: int = 1, start: int = START_S) -> str:
    """Return the JSON of irtt 0.9, with losses of each sort."""
    chance = seeded(seed)
    trips = []
    for at in range(round(seconds / interval)):
        wall = start * 10**9 + round(at * interval * 1e9)
        trip = round(delay_ms(at * interval, chance) * 1e6)
        up = trip * 6 // 10
        lost = chance.choices(["false", "true", "true_up", "true_down"], [0.97, 0.01, 0.01, 0.01])[
            0
        ]
        clock = round(CLOCK_S * 1e9)
        stamps: dict[str, dict[str, object]] = {
            "client": {"receive": {}, "send": {"wall": wall, "monotonic": wall % 10**12}},
            "server": {"receive": {}, "send": {}},
        }
        delay = {}
        if lost == "false":
            stamps["client"]["receive"] = {"wall": wall + trip, "monotonic": 0}
            stamps["server"] = {
                "receive": {"wall": wall + up + clock, "monotonic": 0},
                "send": {"wall": wall + up + clock, "monotonic": 0},
            }
            delay = {"receive": trip - up - clock, "rtt": trip, "send": up + clock}
        trips.append({"seqno": at, "lost": lost, "timestamps": stamps, "delay": delay, "ipdv": {}})
    document = {
        "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
        "config": {"params": {"interval": round(interval * 1e9), "length": 60}},
        "stats": {"start_time": {"wall": START_S * 10**9, "monotonic": 0}},
        "round_trips": trips,
    }
    return json.dumps(document, indent=1)


def ping(seconds: float = 90.0, interval: float = 0.1, seed: int = 2, start: int = START_S) -> str:
    """Return the log of `ping -D -O`, with its head, lost replies and its tail."""
    chance = seeded(seed)
    lines = ["PING 100.64.0.1 (100.64.0.1) 56(84) bytes of data."]
    for at in range(round(seconds / interval)):
        trip = delay_ms(start - START_S + at * interval, chance)
        if chance.random() < 0.02:
            lines.append(f"[{start + (at + 1) * interval:.6f}] no answer yet for icmp_seq={at + 1}")
            continue
        came = start + at * interval + trip / 1e3
        lines.append(
            f"[{came:.6f}] 64 bytes from 100.64.0.1: icmp_seq={at + 1} ttl=63 time={trip:.1f} ms"
        )
    lines += ["", "--- 100.64.0.1 ping statistics ---"]
    lines.append(f"{at + 1} packets transmitted, {at} received, 2% packet loss, time 90000ms")
    lines.append("rtt min/avg/max/mdev = 22.1/33.0/49.9/6.0 ms")
    return "\n".join(lines) + "\n"


def lens_irtt(seconds: float = 90.0, interval: float = 0.02, seed: int = 3) -> str:
    """Return LENS's CSV of irtt: -1 in the column of a lost packet, 0 in the others."""
    chance = seeded(seed)
    rows = ["timestamp,rtt,uplink,downlink"]
    for at in range(round(seconds / interval)):
        wall = START_S * 10**9 + round(at * interval * 1e9)
        trip = delay_ms(at * interval, chance)
        up = 0.6 * trip + 1e3 * CLOCK_S
        lost = chance.choices(["", "-1,0,0", "0,-1,0", "0,0,-1"], [0.97, 0.01, 0.01, 0.01])[0]
        rows.append(f"{wall}," + (lost or f"{trip:.6f},{up:.6f},{trip - up:.6f}"))
    return "\n".join(rows) + "\n"


def lens_ping(seconds: float = 90.0, interval: float = 0.1) -> str:
    """Return LENS's CSV of ping."""
    chance = seeded(4)
    rows = ["timestamp,rtt"]
    for at in range(round(seconds / interval)):
        trip = delay_ms(at * interval, chance)
        rows.append(f"{START_S + at * interval + trip / 1e3:.6f},{trip:.1f}")
    return "\n".join(rows) + "\n"


def iperf3(*, udp: bool = True, reverse: bool = True, seconds: int = 60) -> str:
    """Return the JSON of `iperf3 -J`."""
    chance = seeded(5)
    intervals = []
    for at in range(seconds):
        size = round(chance.uniform(60e6, 160e6) / 8)
        total = {
            "start": at + 0.0001 * (at > 0),
            "end": at + 1.0001,
            "seconds": 1.0,
            "bytes": size,
            "bits_per_second": 8.0 * size,
            "omitted": at < 2,
            "sender": not reverse,
        }
        if udp:
            lost = chance.randrange(200)
            total |= {"jitter_ms": 0.1, "lost_packets": lost, "packets": lost + size // 1400}
            total |= {"lost_percent": 1.0}
        stream = dict(total)
        if not reverse:
            total["retransmits"] = chance.randrange(30)
            stream["rtt"] = chance.randrange(30000, 60000)
        intervals.append({"streams": [stream], "sum": total})
    document = {
        "start": {
            "version": "iperf 3.12",
            "timestamp": {"time": "Wed, 07 Feb 2024 03:44:05 GMT", "timesecs": START_S},
            "test_start": {
                "protocol": "UDP" if udp else "TCP",
                "num_streams": 1,
                "omit": 2,
                "duration": seconds,
                "reverse": int(reverse),
                "target_bitrate": 400_000_000 if udp else 0,
            },
        },
        "intervals": intervals,
        "end": {},
    }
    return json.dumps(document, indent="\t")


def mahimahi(seconds: int = 10, seed: int = 6) -> str:
    """Return a packet-delivery trace; its last time is its length."""
    chance = seeded(seed)
    times = sorted(chance.randrange(1, seconds * 1000) for _ in range(seconds * 800))
    return "".join(f"{time}\n" for time in [*times, seconds * 1000])


def leo_delay(seconds: int = 90) -> str:
    """Return a file of LeoReplayer: a one-way delay in milliseconds for each 10 ms."""
    chance = seeded(7)
    return "".join(f"{round(delay_ms(at / 100, chance) / 2)}\n" for at in range(seconds * 100))


def hypatia_rtt() -> str:
    """Return a `networkx_rtt_A_to_B.txt` of 20 s, unreachable in the last two."""
    rows = []
    for at in range(200):
        trip = 0.0 if at >= 180 else 76.8e6 - 5600.0 * at - (900e3 if at >= 33 else 0)
        rows.append(f"{at * 100_000_000},{trip:.10f}\n")
    return "".join(rows)


HYPATIA_PATH = "0,1173-184-144-1229\n3300000000,1173-184-177-1229\n18000000000,Unreachable\n"


def starrynet(second: int) -> str:
    """Return StarryNet's matrix of delays (ms): a chain 1-2-3-4, with a shorter way after 5 s."""
    links = {(0, 1): 3.5 + second / 100, (1, 2): 4.0, (2, 3): 5.25}
    if second > 5:
        links[1, 3] = 6.0
    rows = [[links.get((min(a, b), max(a, b)), 0.0) for b in range(4)] for a in range(4)]
    return "".join(",".join(f"{cell:g}" for cell in row) + "\n" for row in rows)


def starrynet_lists(second: int, *, changes: bool) -> dict[str, str]:
    """Return StarryNet's lists of links: three satellites in a ring, two ground stations.

    Station 2 moves from satellite 1 to satellite 2 after 2 s, and a link is slower from then on.
    """
    late = second >= 3
    first = {"0,0": "0,0,1,2.00 1,0,0,0.00", "0,1": "2,0,2,3.00", "0,2": "4,0,0,9.00"}
    ground = {"0": "0,0,0,0,1.50", "1": "2,0,0,2,1.25" if late else "1,0,0,1,1.75"}
    if late:
        first["0,0"] = "0,0,1,2.50 1,0,0,0.00"
    if not changes:
        isl = "".join(f"{node}: {links}\n" for node, links in first.items())
        return {"isl": isl + "\n", "gsl": "".join(f"{k}: {v}\n" for k, v in ground.items())}
    if second == 0:
        isl = "".join(f"{node}|||{links}\n" for node, links in first.items())
        return {"isl": isl + "\n", "gsl": "".join(f"{k}|||{v}\n" for k, v in ground.items())}
    quiet = {"isl": "0,0|||\n0,1|||\n0,2|||\n\n", "gsl": "0|||\n1|||\n"}
    if second != 3:
        return quiet
    return {
        "isl": "0,0||0,0,1,2.50|\n0,1|||\n0,2|||\n\n",
        "gsl": "0|||\n1|1,0,0,1,1.75||2,0,0,2,1.25\n",
    }


def write(folder: Path) -> dict[str, tuple[list[Path], dict[str, object]]]:
    """Write files of every format, and return them with the settings that they need."""
    made: dict[str, tuple[list[Path], dict[str, object]]] = {}
    texts: dict[str, dict[str, Callable[[], str]]] = {
        "lens": {"irtt-10ms.csv": lens_irtt},
        "leoreplayer": {"bw_1.txt": mahimahi, "delay_1.txt": leo_delay},
        "irtt": {"irtt.json": irtt},
        "ping": {"ping.txt": ping},
        "iperf3": {"down.json": iperf3},
        "mahimahi": {"cell.down": mahimahi, "cell.up": lambda: mahimahi(seed=8)},
        "hypatia": {
            "networkx_rtt_1173_to_1229.txt": hypatia_rtt,
            "networkx_path_1173_to_1229.txt": lambda: HYPATIA_PATH,
        },
        "starrynet": {f"{at}.txt": partial(starrynet, at) for at in range(1, 11)},
    }
    for kind, names in texts.items():
        place = folder / kind
        place.mkdir()
        for name, text in names.items():
            (place / name).write_text(text(), encoding="utf-8")
        settings: dict[str, object] = {"between": (1, 4)} if kind == "starrynet" else {}
        made[kind] = ([place / name for name in names], settings)
    return made
