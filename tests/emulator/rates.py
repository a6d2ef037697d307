"""Measures rate and loss over a link, as iperf3 does; runs in hosts of an emulation.

python rates.py tcp-send SECONDS
python rates.py tcp-receive SERVER OUT
python rates.py udp-send CLIENT PACKETS INTERVAL_NS LEAST_NS OUT
python rates.py udp-receive OUT

The receiving commands write a pair (time in ns, bytes so far) for every read to OUT. `udp-send`
writes two numbers: the seconds from the first to the last datagram, and the part of them in which
the sender was held up. The second number is the larger of two sums: pauses beyond 100 ms, and the
greatest delay behind schedule beyond 100 ms.
"""

import json
import socket
import struct
import sys
import time
from pathlib import Path

PORT = 5201
PAYLOAD = 1472
"""UDP payload of a packet of 1500 bytes."""
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
PAUSE_NS = 100_000_000
PATIENCE_S = 3.0
"""Seconds that a receiver waits for the next packet."""


def reno(connection: socket.socket) -> None:
    """Select Reno, which does not pace itself below the rate of the link."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def tcp_send(seconds: float) -> None:
    """Send to the first client for this many seconds."""
    with socket.create_server(("", PORT)) as listener:
        reno(listener)
        connection, _ = listener.accept()
        with connection:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                connection.sendall(bytes(1 << 14))


def came(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Return the time at which the kernel received the packet that was just read."""
    for _, kind, data in ancillary:
        if kind == SO_TIMESTAMPNS:
            seconds, nanos = struct.unpack_from("@qq", data)
            return int(seconds) * 1_000_000_000 + int(nanos)
    return time.time_ns()


def tcp_receive(server: str, out: str) -> None:
    """Receive until the sender closes the connection."""
    looks: list[tuple[int, int]] = []
    total = 0
    with socket.create_connection((server, PORT), timeout=10) as connection:
        connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        try:
            while True:
                data, ancillary, _, _ = connection.recvmsg(1 << 16, 256)
                if not data:
                    break
                total += len(data)
                looks.append((came(ancillary), total))
        except ConnectionResetError:
            pass
    Path(out).write_text(json.dumps(looks))


def udp_send(client: str, packets: int, interval_ns: int, least_ns: int, out: str) -> None:
    """Send numbered datagrams, each when it is due, with a least distance between two of them."""
    held_up = behind = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        began = last = time.monotonic_ns()
        for number in range(packets):
            due = max(began + number * interval_ns, last + least_ns)
            while (now := time.monotonic_ns()) < due:
                time.sleep((due - now) / 1e9)
            s.sendto(struct.pack("!Q", number).ljust(PAYLOAD, b"\0"), (client, PORT))
            held_up += max(0, now - last - max(PAUSE_NS, interval_ns))
            behind = max(behind, now - began - number * interval_ns - PAUSE_NS)
            last = now
    Path(out).write_text(json.dumps([(last - began) / 1e9, max(held_up, behind) / 1e9]))
    time.sleep(PATIENCE_S)


def udp_receive(out: str) -> None:
    """Receive until no datagram has come for 30 s."""
    looks: list[tuple[int, int]] = []
    total = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        s.bind(("", PORT))
        s.settimeout(30)
        try:
            while True:
                data, ancillary, _, _ = s.recvmsg(2048, 256)
                total += len(data)
                looks.append((came(ancillary), total))
                s.settimeout(PATIENCE_S / 3)
        except TimeoutError:
            pass
    part = Path(out + ".part")
    part.write_text(json.dumps(looks))
    part.rename(out)
    time.sleep(60)


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    if name == "tcp-send":
        tcp_send(float(arguments[0]))
    elif name == "tcp-receive":
        tcp_receive(*arguments)
    elif name == "udp-send":
        client, packets, interval, least, file = arguments
        udp_send(client, int(packets), int(interval), int(least), file)
    else:
        udp_receive(*arguments)
