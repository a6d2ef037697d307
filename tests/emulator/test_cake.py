"""Kernels' packets through CAKE: its shaper, its ACK filter, its classes and its fair shares."""

import json
from pathlib import Path
from typing import Any

from test_emulate import ECHO, pytestmark, python  # noqa: F401  (skips without the right)

import farlink as fl

BYTES = 1_500_000
SERVE = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", sys.argv[1])
        self.end_headers()
        self.wfile.write(bytes(int(sys.argv[1])))
http.server.ThreadingHTTPServer(("", 80), Handler).serve_forever()
"""
# Downloads a file, and sends a datagram each 50 ms meanwhile, of class EF.
DOWNLOAD = """
import json, socket, sys, threading, time, urllib.request
times, done = [], threading.Event()
def ping():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2)
    s.settimeout(2)
    while not done.is_set():
        at = time.monotonic()
        s.sendto(bytes(56), ("server", 7))
        s.recv(100)
        times.append(time.monotonic() - at)
        time.sleep(0.05)
thread = threading.Thread(target=ping)
thread.start()
at = time.monotonic()
body = urllib.request.urlopen("http://server/").read()
takes = time.monotonic() - at
done.set()
thread.join()
json.dump({"bytes": len(body), "takes": takes, "pings": times}, open(sys.argv[1], "w"))
"""


def path(up: dict[str, Any]) -> dict[str, Any]:
    down = {"method": "cake", "rate": "8 Mbit/s", "overhead": 44, "framing": "atm"}
    end = {"delay": "10 ms", "queue": {"packets": 1000}}
    return {
        "links": [
            {
                "name": "dsl",
                "between": ["server", "client"],
                "down": {"rate": "40 Mbit/s", "discipline": down, **end},
                "up": {
                    "rate": "50 kbit/s",
                    "discipline": {"method": "cake", "rate": "48 kbit/s", **up},
                    **end,
                },
            }
        ],
        "flows": [{"from": "server", "to": "client", "size": "1 MB"}],
    }


def run(up: dict[str, Any], tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the client measured, and the metrics of the uplink."""
    out = tmp_path / "out.json"
    done = fl.emulate(
        path(up),
        python(DOWNLOAD, str(out)),
        host="client",
        servers=[("server", python(ECHO)), ("server", python(SERVE, str(BYTES)))],
    )
    assert done.exit_code == 0
    links = {row["direction"]: row["metrics"] for row in done.data["links"]}
    return json.loads(out.read_text()), links["up"]


def test_download_has_the_rate_of_the_shaper_and_pings_do_not_wait(tmp_path: Path) -> None:
    client, up = run({"ack_filter": "aggressive"}, tmp_path)
    assert client["bytes"] == BYTES
    # 1448 bytes of data are 1500 bytes of IP, 1544 with overhead, and 33 cells of 53 bytes.
    at_rate = BYTES / 1448 * 33 * 53 * 8 / 8e6
    assert at_rate < client["takes"] < 2 * at_rate
    # Without classes and queues per flow a datagram would wait for hundreds of packets. 48 kbit/s
    # need 14 ms for a datagram and 9 ms for each ACK.
    pings = sorted(client["pings"])
    assert len(pings) > 10
    assert pings[0] > 0.033
    assert pings[len(pings) // 2] < 0.07
    # A kernel acknowledges every second segment; 50 kbit/s carry 120 ACKs of 52 bytes a second.
    assert up["drops_policy"] > 20


def test_filter_leaves_the_download_whole_and_drops_more_acks(tmp_path: Path) -> None:
    plain, all_acks = run({"ack_filter": "no"}, tmp_path)
    client, up = run({"ack_filter": "conservative"}, tmp_path)
    assert plain["bytes"] == client["bytes"] == BYTES
    assert up["packets"] < all_acks["packets"]
    assert up["drops_policy"] > all_acks["drops_policy"] == 0
