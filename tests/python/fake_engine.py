"""A stand-in for the compiled engine: a toy sender over one link, for tests of the Python side.

It keeps the contract of farlink._farlink and looks plausible; its numbers mean
nothing. `pytest --fake-engine` uses it, so that the Python side can be worked on
without building the Rust side; a few tests use it to make an engine fail.
"""

import heapq
import json
import math
import random
import re
import sys
import tomllib
from types import ModuleType

MSS = 1460
HEADER = 40
TCPS = ("rfc793", "tahoe", "reno", "newreno", "sack", "cubic")
CAUSES = ["congestion", "bit_error", "loss"]
MARKS = ["timeout", "fast_retransmit", "recovery_exit", "established", "closed"]
UNLIMITED = 2**64 - 1

GEO = """
name = "{name}"
description = "50 MiB over a geostationary satellite{more}"
source = "Omueti & Trajkovic 2007"
seed = 1
[tcp]
variant = "sack"
receive_window = "65535 B"
[[links]]
name = "satellite"
between = ["gateway", "client"]
[links.down]
rate = "2048 kbit/s"
delay = "265 ms"
queue = {{ packets = 30 }}
channel = {{ ber = {ber} }}
[links.up]
rate = "2048 kbit/s"
delay = "265 ms"
[[flows]]
name = "download"
from = "gateway"
to = "client"
app = "file"
size = "{size}"
"""

LIBRARY = {
    "geo-omueti2007": GEO.format(name="geo-omueti2007", more="", ber="0", size="50 MiB"),
    "geo-omueti2007-ber1e-6": GEO.format(
        name="geo-omueti2007-ber1e-6", more=", BER 1e-6", ber="1e-6", size="50 MiB"
    ),
    "geo-omueti2007-ber1e-5": GEO.format(
        name="geo-omueti2007-ber1e-5", more=", BER 1e-5", ber="1e-5", size="10 MiB"
    ),
}

METRICS = [
    ("goodput", "flow", "bit/s", "application bytes delivered in order over time"),
    ("duration", "flow", "s", "time from open to last byte"),
    ("bytes_delivered", "flow", "B", "application bytes delivered in order"),
    ("segments_sent", "flow", "segments", "segments with data sent"),
    ("segments_retransmitted", "flow", "segments", "of these, sent before"),
    ("timeouts", "flow", "events", "expiries of the retransmission timer"),
    ("fast_retransmits", "flow", "events", "entries into fast retransmit"),
    ("rtt_mean", "flow", "s", "mean of the round-trip samples"),
    ("rto_mean", "flow", "s", "mean of the time-out"),
    ("utilisation", "link", "fraction", "share of time the transmitter was busy"),
    ("throughput", "link", "bit/s", "bits carried over time"),
    ("packets", "link", "packets", "packets carried"),
    ("bytes", "link", "B", "bytes carried"),
    ("drops_congestion", "link", "packets", "dropped by a full queue"),
    ("drops_bit_error", "link", "packets", "lost to bit errors"),
    ("drops_loss", "link", "packets", "lost to packet loss"),
    ("queue_max", "link", "packets", "most packets waiting"),
]


class FarlinkError(Exception):
    pass


class ScenarioError(FarlinkError, ValueError):
    pass


class RunError(FarlinkError):
    pass


def version():
    return "0.0.0-fake"


def schema():
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema"})


def presets():
    row = {"name": "geo-omueti2007", "source": "Omueti & Trajkovic 2007, Table 1"}
    return json.dumps([row])


def scenarios():
    return list(LIBRARY.items())


def variants():
    rows = [
        {"name": name, "summary": name, "source": "", "status": "", "axes": {}} for name in TCPS
    ]
    return json.dumps(rows)


def metrics():
    keys = ("name", "scope", "unit", "definition")
    return json.dumps([dict(zip(keys, row, strict=True)) for row in METRICS])


def resolve(text, origin, overrides):
    try:
        tree = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise ScenarioError(f"{origin}: {error}") from error
    for path, value in overrides:
        *parents, last = path.split(".")
        node = tree
        for key in parents:
            try:
                node = node[int(key) if isinstance(node, list) else key]
            except (KeyError, IndexError, ValueError):
                raise ScenarioError(f"--set {path}: no {key!r} here") from None
        if last not in node and last not in ("seed", "variant", "channel", "queue"):
            raise ScenarioError(f"--set {path}: unknown key {last!r}")
        try:
            node[last] = tomllib.loads(f"x = {value}")["x"]
        except ValueError:
            node[last] = value
    if tree["tcp"]["variant"] not in TCPS:
        raise ScenarioError(f"{origin}: tcp.variant: unknown TCP {tree['tcp']['variant']!r}")
    tree.setdefault("seed", 1)
    if "delay" in str(overrides) and "-" in tree["links"][0]["down"]["delay"]:
        raise ScenarioError(f"{origin}: links.0.down.delay: a delay cannot be negative")
    return json.dumps(tree)


def simulate(jobs, threads, progress):
    assert threads >= 1
    done = []
    for text, run in jobs:
        done.append(Toy(json.loads(text), run).result())
        if progress is not None:
            progress(100.0 * len(done), 100.0 * len(jobs), len(done), len(jobs))
    return done


def trace(scenario, run, snaplen, progress):
    toy = Toy(json.loads(scenario), run)
    return {
        "result": toy.result(),
        "flows": ["download"],
        "links": ["satellite"],
        "causes": CAUSES,
        "marks": MARKS,
        "pcaps": {} if snaplen is None else {"gateway": b"pcapng", "client": b"pcapng"},
        "tables": toy.tables(),
    }


def quantity(text):
    number, unit = re.fullmatch(r"([\d.e-]+)\s*(\S+)", text).groups()
    factors = {"ms": 1e-3, "s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "B": 1, "KiB": 1024, "MiB": 2**20}
    return float(number) * factors[unit]


class Toy:
    """A window sender, one bottleneck with a queue and bit errors, a receiver with SACK."""

    def __init__(self, scenario, run):
        down = scenario["links"][0]["down"]
        self.tcp = scenario["tcp"]["variant"]
        self.rate = quantity(down["rate"])
        self.delay = quantity(down["delay"])
        self.limit = down["queue"]["packets"]
        self.ber = float(down.get("channel", {}).get("ber", 0))
        self.total = math.ceil(quantity(scenario["flows"][0]["size"]) / MSS)
        self.rwnd = quantity(scenario["tcp"]["receive_window"]) / MSS
        self.random = random.Random(f"{scenario['seed']} {run}")  # noqa: S311 (a toy)
        self.rows = {
            "state": [],
            "rtt": [],
            "segments": [],
            "acks": [],
            "sacks": [],
            "marks": [],
            "delivered": [],
            "queue": [],
            "deliveries": [],
            "drops": [],
        }
        self.run()

    def run(self):
        self.cwnd, self.ssthresh, self.una, self.nxt, self.high = 2.0, UNLIMITED, 0, 0, 0
        self.dupacks, self.recover, self.recovering = 0, -1, False
        self.sacked, self.resent, self.sent_at = set(), set(), {}
        self.expected, self.buffer = 0, set()
        self.free, self.waiting = 0.0, []
        self.srtt, self.rto, self.deadline = 0.0, 3.0, math.inf
        self.counts = dict.fromkeys(("sent", "resent", "timeouts", "fast", "drops", "queue"), 0)
        self.rtts, self.rtos, self.events = [], [], []
        now, order = 0.5, 0
        self.mark(now, 3)
        self.send(now)
        while self.una < self.total:
            if self.events and self.events[0][0] <= self.deadline:
                now, _, kind, data = heapq.heappop(self.events)
                (self.arrive if kind == "data" else self.ack)(now, data)
            else:
                now = self.deadline
                self.timeout(now)
            order += 1
        self.mark(now, 4)
        self.end = now

    def push(self, time, kind, data):
        heapq.heappush(self.events, (time, self.counts["sent"] * 2 + len(self.events), kind, data))

    def transmit(self, now, n):
        again = n < self.high and n in self.sent_at
        self.counts["sent"] += 1
        self.counts["resent"] += again
        self.sent_at[n] = math.nan if again else now
        self.rows["segments"].append((now, 0, 0, n * MSS, MSS, int(again)))
        self.waiting = [t for t in self.waiting if t > now]
        if len(self.waiting) >= self.limit:
            self.drop(now, n, 0)
            return
        start = max(now, self.free)
        self.free = start + 8 * (MSS + HEADER) / self.rate
        if start > now:
            self.waiting.append(start)
        self.counts["queue"] = max(self.counts["queue"], len(self.waiting))
        self.rows["queue"].append((now, 0, 0, len(self.waiting), len(self.waiting) * 1500))
        arrival = self.free + self.delay
        if self.random.random() < 1 - (1 - self.ber) ** (8 * (MSS + HEADER)):
            self.drop(arrival, n, 1)
        else:
            self.rows["deliveries"].append((arrival, 0, 0, 0, MSS + HEADER))
            self.push(arrival, "data", n)
        self.deadline = min(self.deadline, now + self.rto)

    def drop(self, now, n, cause):
        self.counts["drops"] += 1
        self.rows["drops"].append((now, 0, 0, 0, MSS + HEADER, n * MSS, cause))

    def arrive(self, now, n):
        self.buffer.add(n)
        while self.expected in self.buffer:
            self.buffer.remove(self.expected)
            self.expected += 1
        self.rows["delivered"].append((now, 0, 1, self.expected * MSS))
        self.rows["deliveries"].append((now + self.delay, 0, 1, 0, HEADER))
        blocks = []
        if self.buffer and self.tcp in ("sack", "cubic"):
            left = right = n
            while left - 1 in self.buffer:
                left -= 1
            while right in self.buffer:
                right += 1
            blocks = [(left, right)]
        self.push(now + self.delay, "ack", (self.expected, n, blocks))

    def ack(self, now, data):
        ack, n, blocks = data
        self.rows["acks"].append((now, 0, 0, ack * MSS, int(self.rwnd * MSS)))
        for left, right in blocks:
            self.rows["sacks"].append((now, 0, 0, left * MSS, right * MSS))
            self.sacked.update(range(left, right))
        if not math.isnan(self.sent_at.get(n, math.nan)):
            rtt = now - self.sent_at[n]
            self.rtts.append(rtt)
            self.rows["rtt"].append((now, 0, 0, int(rtt * 1e9)))
            self.srtt = rtt if not self.srtt else 0.875 * self.srtt + 0.125 * rtt
            self.rto = max(1.0, 2 * self.srtt)
        if ack > self.una:
            self.una = ack
            self.sacked = {s for s in self.sacked if s >= ack}
            self.nxt = max(self.nxt, ack)
            self.dupacks = 0
            self.deadline = now + self.rto if self.una < self.high else math.inf
            if self.recovering and ack >= self.recover:
                self.recovering = False
                self.cwnd = self.ssthresh
                self.mark(now, 2)
            elif self.recovering and self.tcp == "reno":
                self.recovering = False
                self.cwnd = self.ssthresh
            elif self.recovering:
                self.transmit(now, self.una)
            elif self.cwnd < self.ssthresh:
                self.cwnd += 1
            else:
                self.cwnd += (3 if self.tcp == "cubic" else 1) / self.cwnd
        elif self.high > ack:
            self.dupacks += 1
            if (
                self.dupacks == 3
                and not self.recovering
                and ack > self.recover
                and self.tcp != "rfc793"
            ):
                self.loss(now)
            elif self.recovering and self.tcp in ("reno", "newreno"):
                self.cwnd += 1
            elif self.recovering:
                hole = next(
                    (
                        s
                        for s in range(self.una, self.recover)
                        if s not in self.sacked and s not in self.resent
                    ),
                    None,
                )
                if hole is not None and self.sacked and hole < max(self.sacked):
                    self.resent.add(hole)
                    self.transmit(now, hole)
        self.state(now)
        self.send(now)

    def loss(self, now):
        self.counts["fast"] += 1
        self.mark(now, 1)
        flight = self.nxt - self.una
        self.ssthresh = max(2.0, flight * (0.7 if self.tcp == "cubic" else 0.5))
        self.recover = self.high
        self.resent = {self.una}
        if self.tcp == "tahoe":
            self.cwnd, self.nxt = 1.0, self.una
            return
        self.recovering = True
        self.cwnd = self.ssthresh + (3 if self.tcp in ("reno", "newreno") else 0)
        self.transmit(now, self.una)

    def timeout(self, now):
        self.counts["timeouts"] += 1
        self.mark(now, 0)
        self.ssthresh = max(2.0, (self.nxt - self.una) / 2)
        self.cwnd, self.nxt, self.recover = 1.0, self.una, self.high
        self.dupacks, self.recovering, self.sacked = 0, False, set()
        self.rto = min(60.0, 2 * self.rto)
        self.deadline = now + self.rto
        self.state(now)
        self.send(now)

    def send(self, now):
        pipe = len(self.sacked) if self.recovering else 0
        while (
            self.nxt < self.total
            and self.nxt - self.una - pipe < self.cwnd
            and (self.nxt - self.una < self.rwnd - 1)
        ):
            self.transmit(now, self.nxt)
            self.nxt += 1
            self.high = max(self.high, self.nxt)

    def state(self, now):
        self.rtos.append(self.rto)
        ssthresh = UNLIMITED if self.ssthresh == UNLIMITED else int(self.ssthresh * MSS)
        flight = (self.nxt - self.una) * MSS
        self.rows["state"].append(
            (
                now,
                0,
                0,
                int(self.cwnd * MSS),
                ssthresh,
                flight,
                int(self.srtt * 1e9),
                int(self.rto * 1e9),
            )
        )

    def mark(self, now, kind):
        self.rows["marks"].append((now, 0, 0, kind))

    def result(self):
        delivered = self.total * MSS
        bits = 8 * sum(row[4] for row in self.rows["deliveries"] if row[2] == 0)
        flow = (
            8 * delivered / self.end,
            self.end,
            delivered,
            self.counts["sent"],
            self.counts["resent"],
            self.counts["timeouts"],
            self.counts["fast"],
            sum(self.rtts) / len(self.rtts) if self.rtts else None,
            sum(self.rtos) / len(self.rtos),
        )
        link = (
            bits / self.end / self.rate,
            bits / self.end,
            len(self.rows["deliveries"]),
            bits // 8,
            self.counts["drops"],
            0,
            0,
            self.counts["queue"],
        )
        names = {scope: [m[0] for m in METRICS if m[1] == scope] for scope in ("flow", "link")}
        none = dict.fromkeys(names["link"], 0)
        return json.dumps(
            {
                "flows": [
                    {"flow": "download", "metrics": dict(zip(names["flow"], flow, strict=True))}
                ],
                "links": [
                    {
                        "link": "satellite",
                        "direction": "down",
                        "metrics": dict(zip(names["link"], link, strict=True)),
                    },
                    {"link": "satellite", "direction": "up", "metrics": none},
                ],
                "events": 3 * self.counts["sent"],
                "simulated_s": self.end,
            }
        )

    def tables(self):
        import numpy as np

        columns = {
            "state": "time:i8 flow:u4 side:u1 cwnd:u8 ssthresh:u8 flight:u8 srtt:u8 rto:u8",
            "rtt": "time:i8 flow:u4 side:u1 rtt:u8",
            "segments": "time:i8 flow:u4 side:u1 seq:u8 len:u4 retransmission:u1",
            "acks": "time:i8 flow:u4 side:u1 ack:u8 window:u8",
            "sacks": "time:i8 flow:u4 side:u1 left:u8 right:u8",
            "marks": "time:i8 flow:u4 side:u1 kind:u1",
            "delivered": "time:i8 flow:u4 side:u1 bytes:u8",
            "queue": "time:i8 link:u4 direction:u1 packets:u4 bytes:u8",
            "deliveries": "time:i8 link:u4 direction:u1 flow:u4 bytes:u4",
            "drops": "time:i8 link:u4 direction:u1 flow:u4 bytes:u4 seq:u8 cause:u1",
        }
        tables = {}
        for table, text in columns.items():
            names, dtypes = zip(*(item.split(":") for item in text.split()), strict=True)
            rows = sorted(self.rows[table])
            tables[table] = {}
            for i, (name, dtype) in enumerate(zip(names, dtypes, strict=True)):
                values = [int(row[i] * 1e9) if name == "time" else row[i] for row in rows]
                tables[table][name] = (dtype, np.array(values, dtype=f"<{dtype}").tobytes())
        return tables


def install():
    """Put this in the place of farlink._farlink."""
    module = ModuleType("farlink._farlink")
    for name, value in globals().items():
        if not name.startswith("__"):
            setattr(module, name, value)
    sys.modules["farlink._farlink"] = module
