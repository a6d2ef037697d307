"""Bulk transfer of fixed duration between two hosts of an emulation, for record_bulk.py.

python bulk.py MEMORY serve TCP
python bulk.py MEMORY fetch HOST SECONDS FILE

MEMORY is JSON with settings of net.ipv4. FILE receives the number of bytes that arrived.
"""

import json
import socket
import sys
import time
from pathlib import Path

PORT = 5001


def serve(tcp: str) -> None:
    """Send zeros to the first client."""
    with socket.create_server(("", PORT)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, tcp.encode())
        connection, _ = listener.accept()
        with connection:
            while True:
                connection.sendall(bytes(1 << 16))


def fetch(host: str, seconds: float, output: Path) -> None:
    """Receive for this many seconds, and write the number of bytes."""
    while True:
        try:
            connection = socket.create_connection((host, PORT))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    end, received = time.monotonic() + seconds, 0
    with connection:
        while (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            try:
                received += len(connection.recv(1 << 20))
            except TimeoutError:
                break
    output.write_text(str(received), encoding="utf-8")


if __name__ == "__main__":
    for name, value in json.loads(sys.argv[1]).items():
        Path("/proc/sys/net/ipv4", name).write_text(value, encoding="ascii")
    if sys.argv[2] == "serve":
        serve(sys.argv[3])
    else:
        fetch(sys.argv[3], float(sys.argv[4]), Path(sys.argv[5]))
