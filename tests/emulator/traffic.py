# ruff: noqa: S311 (random traffic is no secret)
"""Mixed traffic between two hosts of an emulation, run there as a file of its own.

python traffic.py serve
python traffic.py load SERVER SECONDS OUT ADDRESS...

`load` keeps two TCP downloads and an upload going, which a reset ends now and then. It opens short
connections one after the other, and checks their data. It sends datagrams of up to 3000 bytes to an
echo server, pings the ADDRESSes with few hops, and writes bytes that are no packet to its device.
At the end it writes its counts to OUT, and waits until the network is empty.
"""

import json
import random
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

SOURCE, SINK, SHORT, ECHO = 9001, 9002, 9003, 9004
BLOCK = 1 << 14
LINGER_NOT = struct.pack("ii", 1, 0)
"""Value of SO_LINGER with which a close resets the connection."""
TIME_EXCEEDED, UNREACHABLE = 11, 3

COUNTED: Counter[str] = Counter()
OVER = threading.Event()


def accept(port: int, answer: Callable[[socket.socket], None]) -> None:
    """Accept connections to a port, and answer each on its own thread."""

    def serve(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(60)
            try:
                answer(connection)
            except OSError:
                COUNTED["broken"] += 1

    with socket.create_server(("", port), backlog=100) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


def source(connection: socket.socket) -> None:
    """Send until the peer has enough."""
    while True:
        connection.sendall(bytes(BLOCK))


def sink(connection: socket.socket) -> None:
    """Receive until the peer closes the connection."""
    while connection.recv(BLOCK):
        pass


def short(connection: socket.socket) -> None:
    """Send as many random bytes as the peer asks for."""
    size, seed = struct.unpack("!II", connection.recv(8, socket.MSG_WAITALL))
    connection.sendall(random.Random(seed).randbytes(size))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)


def serve() -> None:
    """Serve all ports."""
    for port, answer in ((SOURCE, source), (SINK, sink), (SHORT, short)):
        threading.Thread(target=accept, args=(port, answer), daemon=True).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", ECHO))
        while True:
            data, to = s.recvfrom(4096)
            s.sendto(data, to)


def download(server: str) -> None:
    """Receive data for some seconds; reset every second connection."""
    seconds = random.uniform(2, 15)
    end = time.monotonic() + seconds
    with socket.create_connection((server, SOURCE), timeout=20) as s:
        while time.monotonic() < end and not OVER.is_set():
            COUNTED["bulk_bytes"] += len(s.recv(1 << 16))
        if int(seconds * 1000) % 2:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        COUNTED["bulk"] += 1


def upload(server: str) -> None:
    """Send data for some seconds."""
    end = time.monotonic() + random.uniform(2, 15)
    with socket.create_connection((server, SINK), timeout=20) as s:
        while time.monotonic() < end and not OVER.is_set():
            COUNTED["upload_bytes"] += s.send(bytes(BLOCK))
        COUNTED["upload"] += 1


def ask(server: str) -> None:
    """Fetch a few bytes over a connection, and check each byte."""
    size, seed = random.randrange(1, 20_000), random.randrange(1 << 32)
    with socket.create_connection((server, SHORT), timeout=20) as s:
        s.sendall(struct.pack("!II", size, seed))
        data = b""
        while more := s.recv(1 << 16):
            data += more
    right = data == random.Random(seed).randbytes(size)
    COUNTED["short" if right else "wrong"] += 1
    time.sleep(0.1)


def datagrams(server: str) -> None:
    """Send datagrams, some larger than the path MTU, and count the echoes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.05)
        # Routers fragment the datagrams of every second socket.
        COUNTED["sockets"] += 1
        s.setsockopt(socket.IPPROTO_IP, 10, 2 * (COUNTED["sockets"] % 2))  # IP_MTU_DISCOVER
        for _ in range(50):
            try:
                s.sendto(bytes(random.randrange(1, 3000)), (server, ECHO))
                COUNTED["datagrams"] += 1
                COUNTED["echoes"] += bool(s.recv(4096))
            except TimeoutError:
                pass
            except OSError as error:  # EMSGSIZE, once the kernel knows the path MTU
                COUNTED[f"datagram: {error.strerror}"] += 1


def checksum(data: bytes) -> bytes:
    """Return the checksum of the Internet protocols (RFC 1071)."""
    words = struct.unpack(f"!{len(data) // 2}H", data)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def pings(addresses: list[str]) -> None:
    """Ping hosts and routers with few hops, and count the kinds of answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
        s.settimeout(0.1)
        for number in range(50):
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, number % 4 + 1)
            data = bytes(2 * (number * 7 % 300))
            message = struct.pack("!BBHHH", 8, 0, 0, 77, number) + data
            message = message[:2] + checksum(message) + message[4:]
            try:
                s.sendto(message, (addresses[number // 4 % len(addresses)], 0))
                COUNTED["pings"] += 1
                answer = s.recv(4096)
                COUNTED[f"icmp {answer[20]}"] += 1
            except TimeoutError:
                pass


def noise() -> None:
    """Write bytes to the device that are no packet, or almost a packet."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0800) as s:
        to = ("farlink0", 0x0800)
        for _ in range(50):
            size = random.choice((1, 19, 20, 40, 60, 1400, 1500))
            data = bytearray(random.randbytes(size))
            if size >= 20 and random.random() < 0.5:
                # A valid header to a near address, in front of random bytes.
                data[:4] = struct.pack("!BBH", 0x45, data[1], size)
                data[10:20] = bytes(2) + bytes((10, 0, 0, 4)) + bytes((10, 0, 0, data[19] % 8))
                data[10:12] = checksum(bytes(data[:20]))
            s.sendto(bytes(data), to)
            COUNTED["noise"] += 1
            time.sleep(0.02)


def load(server: str, seconds: float, out: str, addresses: list[str]) -> None:
    """Make traffic, and write the counts."""

    def again(work: Callable[[], None]) -> None:
        while not OVER.is_set():
            try:
                work()
            except OSError as error:
                COUNTED[f"{type(error).__name__}"] += 1
                time.sleep(0.2)

    works: list[Callable[[], None]] = [
        lambda: download(server),
        lambda: download(server),
        lambda: upload(server),
        lambda: ask(server),
        lambda: ask(server),
        lambda: datagrams(server),
        lambda: pings(addresses),
        noise,
    ]
    threads = [threading.Thread(target=again, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    OVER.set()
    for thread in threads:
        thread.join(30)
    COUNTED["hung"] = sum(thread.is_alive() for thread in threads)
    Path(out).write_text(json.dumps(COUNTED))
    time.sleep(5)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        load(sys.argv[2], float(sys.argv[3]), sys.argv[4], sys.argv[5:])
