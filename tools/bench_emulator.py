"""What an emulation costs and how exact it is: `make bench-emu` (Linux, root).

Against the bare cost of the devices: packets that a loop without an engine reads from one TUN
device and writes to another. Figures of a busy machine are worth as ratios only; both sides of
a ratio are measured in turns.
"""

import argparse
import ctypes
import fcntl
import itertools
import json
import os
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import farlink as fl
from farlink import source

CLONE_NEWNET = 0x40000000
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
OFFLOAD_CSUM_TSO4 = 0x01 | 0x02
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, SIOCSIFTXQLEN = 0x8914, 0x8916, 0x891C, 0x8943
IFF_UP_RUNNING = 0x41
SO_TIMESTAMPNS, SO_TIMESTAMPING = 35, 37
SO_RCVBUFFORCE = 33
# Software stamps of sending, numbered, without the packet (linux/net_tstamp.h).
TX_STAMPS = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 11
IP_RECVERR = 11
PORT = 5300
SERVER, CLIENT = "10.0.0.1", "10.0.0.2"
BLOCK = 1 << 20
PAYLOAD = 1472
"""UDP payload of a packet of 1500 bytes."""
DELAY_MS = 50
GAP_NS = 4_700_000
"""From packet to packet; the delay is no multiple of it, or each packet would come at the time
at which another leaves, when the engine is awake anyway."""


@dataclass(frozen=True)
class Load:
    """What crosses the path whose delay is measured."""

    name: str
    size: int = 100
    """Payload of a datagram, in bytes."""
    gap_ns: int = GAP_NS
    hosts: int = 2
    """Of which two send and receive."""


LOADS = (
    Load("100 B, each 4.7 ms"),
    Load("1472 B", size=PAYLOAD),
    Load("each 0.47 ms", gap_ns=GAP_NS // 10),
    Load("among 100 hosts", hosts=100),
)


def path(rate: str, delay: str, hosts: int = 2) -> dict[str, Any]:
    """Two hosts and a link, and other hosts that do nothing."""
    way = {"rate": rate, "delay": delay, "queue": {"packets": 10000}}
    idle = [(f"a{number}", f"b{number}") for number in range(hosts // 2 - 1)]
    pairs = [("server", "client"), *idle]
    return {
        "links": [{"between": pair, "down": way, "up": way} for pair in pairs],
        "flows": [{"from": a, "to": b, "size": "1 MB"} for a, b in pairs],
    }


# Programs that run in the hosts.


def reno(connection: socket.socket) -> None:
    """Use a congestion control that does not pace."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def tcp_serve(seconds: str) -> None:
    """Send as fast as TCP lets."""
    with socket.create_server(("", PORT)) as listener:
        reno(listener)
        connection, _ = listener.accept()
        with connection:
            data = bytes(BLOCK)
            end = time.monotonic() + float(seconds)
            while time.monotonic() < end:
                connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)


def tcp_fetch(server: str, out: str) -> None:
    """Receive until the end; write the throughput in bit/s."""
    with socket.create_connection((server, PORT), timeout=10) as connection:
        connection.settimeout(None)
        began, count, buffer = time.monotonic(), 0, bytearray(BLOCK)
        while n := connection.recv_into(buffer):
            count += n
        Path(out).write_text(json.dumps(8 * count / (time.monotonic() - began)))


def first() -> None:
    """Run before programs of normal priority: what is measured is not this program."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))


def left(s: socket.socket, packets: int) -> dict[int, int]:
    """Collect when each packet got to the device, as the kernel saw it."""
    times: dict[int, int] = {}
    while len(times) < packets:
        try:
            _, ancillary, _, _ = s.recvmsg(0, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            break
        of_kind = {kind: data for _, kind, data in ancillary}
        seconds, nanos = struct.unpack_from("@qq", of_kind[SO_TIMESTAMPING])
        (number,) = struct.unpack_from("=I", of_kind[IP_RECVERR], 12)
        times[number] = seconds * 1_000_000_000 + nanos
    return times


def udp_serve(packets: str, interval_ns: str, size: str, out: str) -> None:
    """Once asked, send so many packets, each with its number; write when each left."""
    first()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", PORT))
        # The stamps wait here until the end: looking for each at once would keep the processor
        # from the engine, which is to read the packet.
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        _, to = s.recvfrom(100)
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, TX_STAMPS)
        began = time.monotonic_ns()
        for number in range(int(packets)):
            ahead = began + number * int(interval_ns) - time.monotonic_ns()
            if ahead > 0:
                time.sleep(ahead / 1e9)
            s.sendto(struct.pack("!Q", number).ljust(int(size), b"\0"), to)
        times = left(s, int(packets))
        part = Path(out + ".part")
        part.write_text(json.dumps(times))
        part.rename(out)
        time.sleep(60)


def udp_fetch(server: str, packets: str, sent: str, out: str) -> None:
    """Ask, and write (number, sent, received) of each; the kernel says when it came."""
    first()
    rows: list[tuple[int, int]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        s.settimeout(5)
        s.sendto(b"go", (server, PORT))
        while len(rows) < int(packets):
            try:
                data, ancillary, _, _ = s.recvmsg(2048, 256)
            except TimeoutError:
                break
            (number,) = struct.unpack_from("!Q", data)
            seconds, nanos = struct.unpack_from("@qq", ancillary[0][2])
            rows.append((number, seconds * 1_000_000_000 + nanos))
    while not Path(sent).exists():
        time.sleep(0.01)
    times = json.loads(Path(sent).read_text())
    Path(out).write_text(json.dumps([(n, times[str(n)], t) for n, t in rows]))


PROGRAMS: dict[str, Callable[..., None]] = {
    "tcp-serve": tcp_serve,
    "tcp-fetch": tcp_fetch,
    "udp-serve": udp_serve,
    "udp-fetch": udp_fetch,
}


def program(name: str, *arguments: object) -> list[str]:
    """Return this file as the program `name`."""
    return [sys.executable, str(Path(__file__)), "run", name, *map(str, arguments)]


def sent(out: Path) -> Path:
    """Where a sender writes when its packets left."""
    return out.with_name("sent")


# The bare devices.


def bare_host(address: str, command: list[str], link: socket.socket, *, offload: bool) -> None:
    """In a child process: a namespace with a device, whose descriptor goes to `link`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = IFF_TUN | IFF_NO_PI | (IFF_VNET_HDR if offload else 0)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"bare0", flags))
    if offload:
        fcntl.ioctl(tun, TUNSETOFFLOAD, OFFLOAD_CSUM_TSO4)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for what, ip in ((SIOCSIFADDR, address), (SIOCSIFNETMASK, "255.0.0.0")):
            request = struct.pack("16sH2x4s16x", b"bare0", socket.AF_INET, socket.inet_aton(ip))
            fcntl.ioctl(s, what, request)
        fcntl.ioctl(s, SIOCSIFTXQLEN, struct.pack("16si20x", b"bare0", 10_000))
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH22x", b"bare0", IFF_UP_RUNNING))
    for key in ("tcp_rmem", "tcp_wmem"):
        Path(f"/proc/sys/net/ipv4/{key}").write_text("4096 131072 67108864")
    socket.send_fds(link, [b"tun"], [tun])
    link.recv(1)
    os.execv(command[0], command)  # noqa: S606


@contextmanager
def bare(server: list[str], client: list[str], *, offload: bool) -> Iterator[tuple[int, int, int]]:
    """Two programs, each in a namespace: gives their devices and the client's process."""
    children: list[int] = []
    devices: list[int] = []
    links: list[socket.socket] = []
    try:
        for address, command in ((SERVER, server), (CLIENT, client)):
            ours, theirs = socket.socketpair()
            child = os.fork()
            if child == 0:
                try:
                    bare_host(address, command, theirs, offload=offload)
                finally:
                    os._exit(1)
            theirs.close()
            children.append(child)
            links.append(ours)
            _, fds, _, _ = socket.recv_fds(ours, 16, 1)
            devices += fds
        links[0].send(b"g")
        time.sleep(0.5)
        links[1].send(b"g")
        yield devices[0], devices[1], children[1]
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for fd in devices:
            os.close(fd)
        for link in links:
            link.close()


def forward(a: int, b: int, child: int) -> None:
    """Carry packets between two devices until the child has ended."""
    poll = select.epoll()
    poll.register(a, select.EPOLLIN)
    poll.register(b, select.EPOLLIN)
    other = {a: b, b: a}
    buffer = bytearray(70_000)
    view = memoryview(buffer)
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        for fd, _ in poll.poll(0.1):
            for _ in range(64):
                try:
                    n = os.readv(fd, [buffer])
                    os.write(other[fd], view[:n])
                except BlockingIOError:
                    break
                except OSError:
                    continue  # a device that is not up yet
    poll.close()


# What is measured.


def read(out: Path) -> Any:  # noqa: ANN401  (JSON)
    """Return what a program wrote, which it may not have."""
    if not out.exists():
        raise SystemExit("bench-emu: a program in a host failed")
    return json.loads(out.read_text())


def bare_throughput(seconds: float, out: Path, *, offload: bool) -> float:
    """Gb/s without an engine."""
    server, client = program("tcp-serve", seconds), program("tcp-fetch", SERVER, out)
    with bare(server, client, offload=offload) as (a, b, child):
        forward(a, b, child)
    return float(read(out)) / 1e9


def throughput(seconds: float, out: Path, *, plain: bool) -> tuple[float, float]:
    """Gb/s through the engine, each packet modelled, and its events in a second of that."""
    done = fl.emulate(
        path("40 Gbit/s", "0 ms"),
        program("tcp-fetch", "server", out),
        host="client",
        servers=[("server", program("tcp-serve", seconds))],
        plain=plain,
    )
    return float(read(out)) / 1e9, done.data["events"] / seconds


def spread(values: list[float]) -> str:
    """Mean, median, 99 % and greatest of values, in us."""
    ordered = sorted(values)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return (
        f"mean {statistics.fmean(ordered):7.1f}  p50 {statistics.median(ordered):7.1f}"
        f"  p99 {p99:8.1f}  max {ordered[-1]:8.1f} us"
    )


def bare_delay(packets: int, out: Path) -> list[float]:
    """Delays in us without an engine: what the devices and the kernel take."""
    server = program("udp-serve", packets, GAP_NS, 100, sent(out))
    client = program("udp-fetch", SERVER, packets, sent(out), out)
    with bare(server, client, offload=False) as (a, b, child):
        forward(a, b, child)
    return [(came - went) / 1e3 for _, went, came in read(out)]


def delay_errors(
    load: Load, seconds: float, out: Path, *, realtime: bool | None
) -> tuple[list[float], Any]:
    """Errors in us of a delay of 50 ms, from one device to the other, as the kernel sees it."""
    packets = int(seconds * 1e9 / load.gap_ns)
    serve = program("udp-serve", packets, load.gap_ns, load.size, sent(out))
    done = fl.emulate(
        path("1 Gbit/s", f"{DELAY_MS} ms", load.hosts),
        program("udp-fetch", "server", packets, sent(out), out),
        host="client",
        servers=[("server", serve)],
        realtime=realtime,
    )
    wire_us = 8 * (load.size + 28) / 1e9 * 1e6
    errors = [(came - went) / 1e3 - 1e3 * DELAY_MS - wire_us for _, went, came in read(out)]
    return errors, done.data["lateness"]


def rate_error(rate: float, seconds: float, out: Path) -> tuple[float, float]:
    """Error of a link's rate, in %, and the 99 % deviation of a gap between packets in us.

    The sender sends half as fast again as the link, so that the link never waits for it. A packet
    i is due at i times its duration; the drift from there is taken between the first and the last
    third of the packets, by medians, which packets that left late do not move.
    """
    duration = 8 * (PAYLOAD + 28) / rate * 1e9
    packets = max(20, int(seconds * 1e9 / duration))
    fl.emulate(
        path(f"{rate / 1e3:g} kbit/s", "10 ms"),
        program("udp-fetch", "server", packets, sent(out), out),
        host="client",
        servers=[
            ("server", program("udp-serve", packets, int(duration / 1.5), PAYLOAD, sent(out)))
        ],
    )
    rows = read(out)
    drift = [came - number * duration for number, _, came in rows]
    third = len(drift) // 3
    elapsed = duration * (rows[-1][0] - rows[0][0]) * (1 - third / len(drift))
    change = statistics.median(drift[-third:]) - statistics.median(drift[:third])
    gaps = sorted(abs(b[2] - a[2] - duration) / 1e3 for a, b in itertools.pairwise(rows))
    return 100 * change / elapsed, gaps[int(0.99 * len(gaps))]


def start_and_end(hosts: int, folder: Path) -> tuple[float, float]:
    """Seconds from the call of `farlink emulate` to its program, and from there to its end."""
    file = folder / f"{hosts}.json"
    way = {"rate": "10 Mbit/s", "delay": "10 ms", "queue": {"packets": 100}}
    pairs = [(f"a{number}", f"b{number}") for number in range(hosts // 2)]
    scenario = {
        "name": "pairs",
        "links": [{"between": pair, "down": way, "up": way} for pair in pairs],
        "flows": [{"from": a, "to": b, "size": "1 MB"} for a, b in pairs],
    }
    (text,) = source.find(scenario).resolve(None, []).values()
    file.write_text(text)
    command = [sys.executable, "-m", "farlink", "emulate", str(file), "--quiet", "--"]
    began = time.time()
    done = subprocess.run(  # noqa: S603
        [*command, "date", "+%s.%N"], stdout=subprocess.PIPE, check=True
    )
    ended = time.time()
    at = float(done.stdout)
    return at - began, ended - at


def main() -> None:
    """Measure all, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--turns", type=int, default=3, help="of both sides of a ratio")
    options = parser.parse_args()
    say: Callable[[str], None] = lambda line: print(line, flush=True)  # noqa: E731, T201
    with tempfile.TemporaryDirectory() as folder:

        def fresh() -> Path:
            out = Path(folder) / "out"
            for old in (out, sent(out)):
                old.unlink(missing_ok=True)
            return out

        for name, plain in (("one packet to a write", True), ("split and merged", False)):
            without = []
            carried = []
            for _ in range(options.turns):
                without.append(bare_throughput(options.seconds, fresh(), offload=not plain))
                carried.append(throughput(options.seconds, fresh(), plain=plain))
            a = statistics.median(bits for bits, _ in carried)
            b = statistics.median(without)
            events = statistics.median(events for _, events in carried)
            say(f"throughput, {name}: {a:.2f} Gb/s, bare devices {b:.2f} Gb/s, ratio {a / b:.2f}")
            say(f"  events of the engine a second: {events:,.0f}")
        busy, processors = os.getloadavg()[0], os.cpu_count()
        say(f"load average {busy:.1f} on {processors} processors")
        packets = int(options.seconds * 1e9 / GAP_NS)
        say(f"delay, bare devices:           {spread(bare_delay(packets, fresh()))}")
        for name, realtime in (("--no-realtime", False), ("default", None), ("--realtime", True)):
            say(f"error of {DELAY_MS} ms, {name}:")
            for load in LOADS if realtime is not False else LOADS[:1]:
                errors, late = delay_errors(load, options.seconds, fresh(), realtime=realtime)
                say(f"  {load.name:18}:          {spread(errors)}")
                say(
                    f"    of which the engine:       mean {1e6 * late['mean_s']:7.1f}"
                    f"  p50 {1e6 * late['p50_s']:7.1f}  p99 {1e6 * late['p99_s']:8.1f}"
                    f"  max {1e6 * late['max_s']:8.1f} us"
                )
        for rate in (0.25e6, 2e6, 20e6, 100e6):
            error, gap = rate_error(rate, options.seconds, fresh())
            say(f"rate {rate / 1e6:6g} Mb/s: error {error:+.5f} %, gaps within {gap:.0f} us (99 %)")
        for hosts in (2, 100, 400):
            times = [start_and_end(hosts, Path(folder)) for _ in range(options.turns)]
            start, end = (statistics.median(one) for one in zip(*times, strict=True))
            say(f"{hosts} hosts: {start:.2f} s until the program starts, {end:.2f} s to the end")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        PROGRAMS[sys.argv[2]](*sys.argv[3:])
    else:
        main()
