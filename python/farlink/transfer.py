"""Transfer of checked data between two hosts, for emulations without a program.

The file runs without the package, so that no other module is loaded:

    python transfer.py [--counters FILE] [--ip v6] [--memory JSON] serve BYTES [TCP]
    python transfer.py [--output FILE] [--counters FILE] [--memory JSON] fetch HOST BYTES [TCP]

TCP is the kernel's congestion control for this connection. With --memory the settings of net.ipv4
are written first (`{"tcp_wmem": "4096 16384 4194304"}`); each host has its own settings. The server
listens for IPv4, or with --ip v6 for IPv6. With --counters the server writes the counters of its
kernel (/proc/net/snmp and netstat) at the end. The client waits for this file, because the server
is killed when the client ends.

The data is SHA-256 in counter mode, so the receiver can compute every byte. `fetch` prints one line
of JSON (or writes it to FILE), and fails if a byte is wrong or missing.
"""

import hashlib
import json
import signal
import socket
import sys
import time
from pathlib import Path

PORT = 5001
BLOCK = 1 << 16
PATIENCE_S = 10.0
"""Seconds for which `fetch` tries to connect, and waits for the end of its connection."""
CLOSED = 7
"""State of a closed connection (TCP_CLOSE of the kernel's tcp_states.h)."""


def block(number: int) -> bytes:
    """Block `number` of the data."""
    return hashlib.sha256(number.to_bytes(8, "big")).digest() * (BLOCK // 32)


def use(control: str, connection: socket.socket) -> None:
    """Set the congestion control of a connection, or of connections that a listener will accept."""
    if control:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())


def set_memory(settings: dict[str, str]) -> None:
    """Write settings of net.ipv4 of this namespace."""
    for name, value in settings.items():
        Path("/proc/sys/net/ipv4", name).write_text(value, encoding="ascii")


def serve(size: int, control: str, counters: str, ip: str) -> None:
    """Send the data to the first client that connects."""
    family = socket.AF_INET6 if ip == "v6" else socket.AF_INET
    with socket.create_server(("", PORT), family=family) as listener:
        use(control, listener)
        connection, _ = listener.accept()
        with connection:
            for start in range(0, size, BLOCK):
                connection.sendall(block(start // BLOCK)[: size - start])
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
            if counters:
                # The file gets its final name when it is complete, because its reader waits for
                # that name.
                part = Path(counters + ".part")
                part.write_text(json.dumps(counted()), encoding="utf-8")
                part.rename(counters)


def counted() -> dict[str, dict[str, int]]:
    """Return the counters of the kernel's TCP in this namespace, by group and name."""
    groups: dict[str, dict[str, int]] = {}
    for name in ("snmp", "netstat"):
        lines = Path("/proc/self/net", name).read_text(encoding="ascii").splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group, *keys = names.split()
            numbers = [int(value) for value in values.split()[1:]]
            groups[group.rstrip(":")] = dict(zip(keys, numbers, strict=True))
    return groups


def fetch(host: str, size: int, control: str, output: str, counters: str) -> int:
    """Receive the data, compare each byte, and report."""
    began = time.monotonic()
    while True:
        began_attempt = time.monotonic()
        try:
            connection = socket.create_connection((host, PORT))
            break
        except ConnectionRefusedError:
            if time.monotonic() - began > PATIENCE_S:
                raise
            time.sleep(0.05)
    use(control, connection)
    received = 0
    correct = True
    with connection:
        while data := connection.recv(1 << 20):
            while data:
                offset = received % BLOCK
                wanted = block(received // BLOCK)[offset : offset + len(data)]
                correct &= data[: len(wanted)] == wanted
                received += len(wanted)
                data = data[len(wanted) :]
        seconds = time.monotonic() - began_attempt
        wait_for_the_end(connection)
    ends = time.monotonic() + PATIENCE_S
    while counters and not Path(counters).exists() and time.monotonic() < ends:
        time.sleep(0.005)
    correct &= received == size
    report = {
        "bytes": received,
        "seconds": seconds,
        "goodput_bit_s": 8 * received / seconds,
        "correct": correct,
    }
    line = json.dumps(report) + "\n"
    if output:
        Path(output).write_text(line, encoding="utf-8")
    else:
        sys.stdout.write(line)
        sys.stdout.flush()
    return 0 if correct else 1


def wait_for_the_end(connection: socket.socket) -> None:
    """Close the connection and wait until the sender has acknowledged the FIN.

    Otherwise the network would end with this program while the last ACKs are in flight, and
    captures at the sender would lack them.
    """
    connection.shutdown(socket.SHUT_WR)
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE_S:
        state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        if state == CLOSED:
            return
        time.sleep(0.005)


def main(arguments: list[str]) -> int:
    """Run the server or the client of the command line."""
    # Ctrl-C ends this program silently, because the emulation reports it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = {"--output": "", "--counters": "", "--ip": "", "--memory": ""}
    while arguments[0] in options:
        options[arguments[0]], arguments = arguments[1], arguments[2:]
    output, counters, ip, memory = options.values()
    if memory:
        set_memory(json.loads(memory))
    if arguments[0] == "serve":
        serve(int(arguments[1]), arguments[2] if len(arguments) > 2 else "", counters, ip)
        return 0
    control = arguments[3] if len(arguments) > 3 else ""
    return fetch(arguments[1], int(arguments[2]), control, output, counters)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
