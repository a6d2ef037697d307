"""Measures cost and exactness of an emulation: `make bench-emu` (Linux, root).

The reference is the bare cost of the devices: a loop without an engine that reads packets from a
TUN device and writes them to another. On a busy machine only ratios are meaningful; both sides of a
ratio are measured in turns.
"""

import argparse
import ctypes
import fcntl
import itertools
import json
import math
import os
import select
import shlex
import shutil
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
# Software time stamps of sending, with numbers, without the packet (linux/net_tstamp.h).
TX_STAMPS = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 11
IP_RECVERR = 11
PORT = 5300
SERVER, CLIENT = "10.0.0.1", "10.0.0.2"
MAHIMAHI_OUTSIDE = "100.64.0.1"
"""Address of Mahimahi's outer end, if it is the first on the machine."""
NOBODY = "65534"
BLOCK = 1 << 20
PAYLOAD = 1472
"""UDP payload of a packet of 1500 bytes."""
DELAY_MS = 50
GAP_NS = 4_700_000
"""From packet to packet; the delay is no multiple of it, or each packet would come at the time
at which another leaves, when the engine is awake anyway."""
RATES = (0.25e6, 2e6, 20e6, 100e6)
PRIORITIES = (("default", None), ("--no-realtime", False), ("--realtime", True))
VATNE_RATE, VATNE_DELAY_MS = 0.25e6, 10
"""The link of the preset vatne2006."""


@dataclass(frozen=True)
class Load:
    """Traffic on the path whose delay is measured."""

    name: str
    size: int = 100
    """Payload of a datagram, in bytes."""
    gap_ns: int = GAP_NS
    hosts: int = 2
    """Number of hosts, of which two send and receive."""


LOADS = (
    Load("100 B, each 4.7 ms"),
    Load("1472 B", size=PAYLOAD),
    Load("each 0.47 ms", gap_ns=GAP_NS // 10),
    Load("among 100 hosts", hosts=100),
)


Row = tuple[int, int, int]
"""A packet: its number, the time it was sent and the time it was received, in ns."""


def path(rate: float, delay_ms: int, hosts: int = 2) -> dict[str, Any]:
    """Return two hosts and a link, and idle hosts."""
    way = {
        "rate": f"{rate:.0f} bit/s",
        "delay": f"{delay_ms} ms",
        "queue": {"packets": 10000},
    }
    idle = [(f"a{number}", f"b{number}") for number in range(hosts // 2 - 1)]
    pairs = [("server", "client"), *idle]
    return {
        "links": [{"between": pair, "down": way, "up": way} for pair in pairs],
        "flows": [{"from": a, "to": b, "size": "1 MB"} for a, b in pairs],
    }


# Programs that run in the hosts.


def reno(connection: socket.socket) -> None:
    """Select Reno, which does not pace."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def tcp_serve(seconds: str) -> None:
    """Send as fast as TCP allows."""
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
    """Receive until the sender closes the connection; write the throughput in bit/s."""
    with socket.create_connection((server, PORT), timeout=10) as connection:
        connection.settimeout(None)
        began, count, buffer = time.monotonic(), 0, bytearray(BLOCK)
        while n := connection.recv_into(buffer):
            count += n
        Path(out).write_text(json.dumps(8 * count / (time.monotonic() - began)))


def first() -> None:
    """Run before programs of normal priority, so that this program does not affect results."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))


def left(s: socket.socket, packets: int) -> dict[int, int]:
    """Collect the kernel's time at which each packet reached the device."""
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
    """When asked, send this many numbered packets, and write the time at which each left."""
    first()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", PORT))
        # The stamps are read at the end, because reading each at once would take processor time
        # from the engine.
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
    """Ask, and write (number, sent, received) of each packet, with the kernel's times."""
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
    """Return the command that runs this file as the program `name`."""
    return [sys.executable, str(Path(__file__)), "run", name, *map(str, arguments)]


def sent(out: Path) -> Path:
    """Return the file in which a sender writes the times of its packets."""
    return out.with_name("sent")


# The bare devices.


def bare_host(address: str, command: list[str], link: socket.socket, *, offload: bool) -> None:
    """In a child process create a namespace with a device, and send its descriptor to `link`."""
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
    """Start two programs in namespaces, and yield their devices and the client's process."""
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
                    continue  # the device is not up yet
    poll.close()


# Measurements.


def read(out: Path) -> Any:  # noqa: ANN401  (JSON)
    """Return the output file of a program, if it exists."""
    if not out.exists():
        raise SystemExit("bench-emu: a program in a host failed")
    return json.loads(out.read_text())


def bare_throughput(seconds: float, out: Path, *, offload: bool) -> float:
    """Return the throughput without an engine in Gb/s."""
    server, client = program("tcp-serve", seconds), program("tcp-fetch", SERVER, out)
    with bare(server, client, offload=offload) as (a, b, child):
        forward(a, b, child)
    return float(read(out)) / 1e9


def throughput(seconds: float, out: Path, *, plain: bool) -> tuple[float, float]:
    """Return the engine's throughput in Gb/s, each packet modelled, and its events per second."""
    done = fl.emulate(
        path(40e9, 0),
        program("tcp-fetch", "server", out),
        host="client",
        servers=[("server", program("tcp-serve", seconds))],
        plain=plain,
    )
    return float(read(out)) / 1e9, done.data["events"] / seconds


def spread(values: list[float]) -> str:
    """Return least, mean, median, 99 % quantile and greatest of values, in us."""
    ordered = sorted(values)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return (
        f"min {ordered[0]:7.1f}  mean {statistics.fmean(ordered):7.1f}"
        f"  p50 {statistics.median(ordered):7.1f}"
        f"  p99 {p99:8.1f}  max {ordered[-1]:8.1f} us"
    )


def bare_delay(packets: int, out: Path) -> list[float]:
    """Return the delays without an engine in us: those of the devices and the kernel."""
    server = program("udp-serve", packets, GAP_NS, 100, sent(out))
    client = program("udp-fetch", SERVER, packets, sent(out), out)
    with bare(server, client, offload=False) as (a, b, child):
        forward(a, b, child)
    return [(came - went) / 1e3 for _, went, came in read(out)]


def carried(
    network: dict[str, Any], load: Load, packets: int, out: Path, *, realtime: bool | None
) -> tuple[list[Row], Any]:
    """Send packets over a link of farlink; return the packets and the report of the run."""
    serve = program("udp-serve", packets, load.gap_ns, load.size, sent(out))
    done = fl.emulate(
        network,
        program("udp-fetch", "server", packets, sent(out), out),
        host="client",
        servers=[("server", serve)],
        realtime=realtime,
    )
    return read(out), done.data


def errors(rows: list[Row], due_us: float) -> list[float]:
    """Return the errors of the delay between the devices in us, by the kernel's clock."""
    return [(came - went) / 1e3 - due_us for _, went, came in rows]


def wire_us(load: Load, rate: float) -> float:
    """Return the transmission time of a packet in us."""
    return 8e6 * (load.size + 28) / rate


def faster(rate: float) -> Load:
    """Send at 1.5 times the rate of the link, so that the link is always busy."""
    return Load("faster", size=PAYLOAD, gap_ns=int(8e9 * (PAYLOAD + 28) / rate / 1.5))


def packets_of(seconds: float, rate: float) -> int:
    """Return the packets that a link sends in a time, at least enough for a drift."""
    return max(20, int(seconds * rate / (8 * (PAYLOAD + 28))))


def rate_error(rows: list[Row], rate: float, size: int = PAYLOAD) -> tuple[float, float]:
    """Return the error of a link's rate in %, and the 99 % quantile of gap errors in us.

    Packet i is due at i times the transmission time. The drift from that schedule is the difference
    between the first and the last third of the packets. It uses medians, which late packets do not
    move.
    """
    duration = 8 * (size + 28) / rate * 1e9
    drift = [came - number * duration for number, _, came in rows]
    third = len(drift) // 3
    elapsed = duration * (rows[-1][0] - rows[0][0]) * (1 - third / len(drift))
    change = statistics.median(drift[-third:]) - statistics.median(drift[:third])
    gaps = sorted(abs(b[2] - a[2] - duration) / 1e3 for a, b in itertools.pairwise(rows))
    # If packets take too long, the rate is too low.
    return -100 * change / elapsed, gaps[int(0.99 * len(gaps))]


@contextmanager
def mahimahi(shell: list[str], *, fifo: bool) -> Iterator[tuple[int, int]]:
    """Start a shell of Mahimahi in its own namespace; return a process outside and one inside.

    Programs join these namespaces from here, because programs started by the shell do not run as
    root.
    """
    nobody = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    # Router solicitations would use a part of the link's rate.
    settings = "echo 1 >ipv4/ip_forward && echo 1 >ipv6/conf/default/disable_ipv6"
    prepare = ["sh", "-c", f'cd /proc/sys/net && {settings} && exec "$@"', "sh"]
    started = ["sh", "-c", "echo $$ && exec cat"]  # until its standard input ends
    before = ["chrt", "--fifo", "10"] if fifo else []
    command = [*before, "unshare", "--net", *prepare, *nobody, *shell, *started]
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as outside:
        assert outside.stdout
        inside = outside.stdout.readline()
        if not inside:
            raise SystemExit(f"bench-emu: {shlex.join(shell)} failed")
        yield outside.pid, int(inside)


def mahimahi_carried(
    shell: list[str], load: Load, packets: int, out: Path, *, fifo: bool = False
) -> list[Row]:
    """Send packets into a shell of Mahimahi."""
    serve = program("udp-serve", packets, load.gap_ns, load.size, sent(out))
    fetch = program("udp-fetch", MAHIMAHI_OUTSIDE, packets, sent(out), out)
    join = ["nsenter", "--net", "--target"]
    with mahimahi(shell, fifo=fifo) as (outside, inside):
        server = subprocess.Popen([*join, str(outside), *serve])  # noqa: S603
        try:
            time.sleep(0.5)
            subprocess.run([*join, str(inside), *fetch], check=True)  # noqa: S603
        finally:
            server.kill()
            server.wait()
    rows: list[Row] = read(out)
    return rows


def opportunities(rate: float, file: Path) -> str:
    """Write the times in whole ms at which a link may send 1500 bytes, in mm-link's format."""
    gap_ms = 12e3 / rate * 1e3
    count = next(n for n in range(1, 10_000) if math.isclose(n * gap_ms, round(n * gap_ms)))
    file.write_text("".join(f"{max(1, round(n * gap_ms))}\n" for n in range(1, count + 1)))
    file.chmod(0o644)
    return str(file)


def start_and_end(hosts: int, folder: Path) -> tuple[float, float]:
    """Return the seconds from `farlink emulate` to its program, and from there to the end."""
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


Say = Callable[[str], None]
Fresh = Callable[[], Path]


def load_average() -> str:
    """Return the load of the machine, which limits the meaning of all results."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"


def alone(options: argparse.Namespace, fresh: Fresh, say: Say) -> None:
    """Measure farlink against the bare devices."""
    for name, plain in (("one packet to a write", True), ("split and merged", False)):
        without = []
        through = []
        for _ in range(options.turns):
            without.append(bare_throughput(options.seconds, fresh(), offload=not plain))
            through.append(throughput(options.seconds, fresh(), plain=plain))
        a = statistics.median(bits for bits, _ in through)
        b = statistics.median(without)
        events = statistics.median(events for _, events in through)
        say(f"throughput, {name}: {a:.2f} Gb/s, bare devices {b:.2f} Gb/s, ratio {a / b:.2f}")
        say(f"  events of the engine a second: {events:,.0f}")
    say(load_average())
    packets = int(options.seconds * 1e9 / GAP_NS)
    say(f"delay, bare devices:           {spread(bare_delay(packets, fresh()))}")
    for name, realtime in PRIORITIES:
        say(f"error of {DELAY_MS} ms, {name}:")
        for load in LOADS if realtime is not False else LOADS[:1]:
            network = path(1e9, DELAY_MS, load.hosts)
            packets = int(options.seconds * 1e9 / load.gap_ns)
            rows, report = carried(network, load, packets, fresh(), realtime=realtime)
            late = report["lateness"]
            due_us = 1e3 * DELAY_MS + wire_us(load, 1e9)
            say(f"  {load.name:18}:          {spread(errors(rows, due_us))}")
            say(
                f"    of which the engine:       mean {1e6 * late['mean_s']:7.1f}"
                f"  p50 {1e6 * late['p50_s']:7.1f}  p99 {1e6 * late['p99_s']:8.1f}"
                f"  max {1e6 * late['max_s']:8.1f} us"
            )
    for rate in RATES:
        packets = packets_of(options.seconds, rate)
        rows, _ = carried(path(rate, 10), faster(rate), packets, fresh(), realtime=None)
        say(rate_line("farlink", rate, rows))
    for hosts in (2, 100, 400):
        times = [start_and_end(hosts, fresh().parent) for _ in range(options.turns)]
        start, end = (statistics.median(item) for item in zip(*times, strict=True))
        say(f"{hosts} hosts: {start:.2f} s until the program starts, {end:.2f} s to the end")


def rate_line(name: str, rate: float, rows: list[Row], size: int = PAYLOAD) -> str:
    """Return the line about the rate of a link."""
    error, gap = rate_error(rows, rate, size)
    return (
        f"rate {rate / 1e6:6g} Mb/s, {name}: error {error:+.5f} %, gaps within {gap:.0f} us (99 %)"
    )


def beside(options: argparse.Namespace, fresh: Fresh, say: Say) -> None:
    """Measure on the link of vatne2006, in turns with Mahimahi if it is installed."""
    network = path(VATNE_RATE, VATNE_DELAY_MS)
    load, small = LOADS[0], Load("small", gap_ns=int(wire_us(LOADS[0], VATNE_RATE) / 1.5 * 1e3))
    packets = int(options.seconds * 1e9 / GAP_NS)
    delay_us = 1e3 * VATNE_DELAY_MS
    wired_us = delay_us + wire_us(load, VATNE_RATE)
    delay = ["mm-delay", str(VATNE_DELAY_MS)]
    there = shutil.which(delay[0]) and shutil.which("mm-link")
    traces = fresh().parent / "trace"
    traces.parent.chmod(0o755)

    def link(rate: float) -> list[str]:
        return ["mm-link", *2 * [opportunities(rate, traces)]]

    for _ in range(options.turns):
        say(load_average())
        for name, realtime in PRIORITIES[:2]:
            rows, _ = carried(network, load, packets, fresh(), realtime=realtime)
            say(f"delay, farlink, {name:14}: {spread(errors(rows, wired_us))}")
        if there:
            shells = (
                ("mm-delay", delay, delay_us, False),
                ("mm-delay, SCHED_FIFO", delay, delay_us, True),
                ("mm-link", link(VATNE_RATE), wired_us - delay_us, False),
            )
            for name, shell, due_us, fifo in shells:
                rows = mahimahi_carried(shell, load, packets, fresh(), fifo=fifo)
                say(f"delay, {name:23}: {spread(errors(rows, due_us))}")
        for rate in RATES[:3]:
            many = packets_of(options.seconds, rate)
            for name, realtime in PRIORITIES[:2]:
                rows, _ = carried(path(rate, 10), faster(rate), many, fresh(), realtime=realtime)
                say(rate_line(f"farlink, {name}", rate, rows))
            if there:
                rows = mahimahi_carried(link(rate), faster(rate), many, fresh())
                say(rate_line("mm-link", rate, rows))
        rows, _ = carried(network, small, packets, fresh(), realtime=None)
        say(rate_line("farlink, 128 bytes", VATNE_RATE, rows, small.size))
        if there:
            rows = mahimahi_carried(link(VATNE_RATE), small, packets, fresh())
            say(rate_line("mm-link, 128 bytes", VATNE_RATE, rows, small.size))


def main() -> None:
    """Make all measurements, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--turns", type=int, default=3, help="of both sides of a ratio")
    parser.add_argument(
        "--beside",
        action="store_true",
        help="on the link of vatne2006 instead, in turns with Mahimahi if that is installed",
    )
    options = parser.parse_args()
    say: Say = lambda line: print(line, flush=True)  # noqa: E731, T201
    with tempfile.TemporaryDirectory() as folder:

        def fresh() -> Path:
            out = Path(folder) / "out"
            for old in (out, sent(out)):
                old.unlink(missing_ok=True)
            return out

        (beside if options.beside else alone)(options, fresh, say)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        PROGRAMS[sys.argv[2]](*sys.argv[3:])
    else:
        main()
