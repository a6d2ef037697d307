"""The paths of the validation cases, as scenarios."""

from typing import Any

__all__ = ["geo", "random_loss", "terrestrial"]

Scenario = dict[str, Any]


def geo(tcp: Scenario, size: str, *, ber: float = 0.0, overhead: str = "0 B") -> Scenario:
    """A download over a geostationary satellite.

    The first link has 10 Mbit/s and 10 ms. The satellite link has 2048 kbit/s down, 256 kbit/s up,
    and 250 ms each way. Queues are unlimited.
    """
    satellite: Scenario = {"delay": "250 ms", "overhead": overhead}
    if ber > 0:
        satellite["channel"] = {"ber": ber}
    return {
        "tcp": {"mss": "1460 B", **tcp},
        "links": [
            {
                "name": "lan",
                "between": ["server", "gateway"],
                "down": {"rate": "10 Mbit/s", "delay": "10 ms", "overhead": overhead},
            },
            {
                "name": "satellite",
                "between": ["gateway", "client"],
                "down": {"rate": "2048 kbit/s", **satellite},
                "up": {"rate": "256 kbit/s", **satellite},
            },
        ],
        "flows": [{"name": "download", "from": "server", "to": "client", "size": size}],
    }


def terrestrial(
    tcp: Scenario, flow: Scenario, *, delay: str, queue: int, loss: float, overhead: str
) -> Scenario:
    """A path of 100 Mbit/s without delay, then 10 Mbit/s in both directions.

    The queue towards the receiver is drop-tail, and each data packet is lost at random.
    """
    bottleneck: Scenario = {"rate": "10 Mbit/s", "delay": delay, "overhead": overhead}
    down = {**bottleneck, "queue": {"packets": queue}}
    if loss > 0:
        down["channel"] = {"loss": loss}
    return {
        "tcp": {"mss": "1460 B", **tcp},
        "links": [
            {
                "name": "lan",
                "between": ["server", "gateway"],
                "down": {"rate": "100 Mbit/s", "delay": "0 s", "overhead": overhead},
            },
            {
                "name": "bottleneck",
                "between": ["gateway", "client"],
                "down": down,
                "up": bottleneck,
            },
        ],
        "flows": [{"name": "download", "from": "server", "to": "client", **flow}],
    }


def random_loss(tcp: Scenario, loss: float, *, seconds: int, first_window: int) -> Scenario:
    """Return a bulk flow to which the formulas for random loss apply.

    The rate of 1 Gbit/s prevents queues, the round trip takes 100 ms, the window is no limit, and
    only data packets are lost.

    The first slow-start threshold is `first_window` segments. A run therefore starts near its later
    window instead of in a slow start, which the formulas do not cover.
    """
    direction = {"rate": "1 Gbit/s", "delay": "50 ms"}
    return {
        "duration": f"{seconds} s",
        "tcp": {
            "mss": "1460 B",
            "receive_window": "16 MiB",
            "initial_window": 2,
            "initial_ssthresh": f"{first_window * 1460} B",
            **tcp,
        },
        "links": [
            {
                "name": "path",
                "between": ["sender", "receiver"],
                "down": {**direction, "channel": {"loss": loss}},
                "up": direction,
            }
        ],
        "flows": [
            {
                "name": "bulk",
                "from": "sender",
                "to": "receiver",
                "app": "bulk",
                "duration": f"{seconds} s",
            }
        ],
    }
