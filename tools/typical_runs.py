"""Run common scenarios, so that `make build-pgo` can profile the engine."""

import farlink as fl

SHORT = {"duration": "2 s", "flows.0.duration": "2 s"}
"""Short durations for dumbbells, which do nothing new after their first seconds."""


def main() -> None:
    """Simulate long transfers with and without losses, delayed ACK and many flows."""
    tcps = ["reno", "newreno", "sack", "cubic", "bbr", "vegas", "westwood"]
    lossless = fl.run("geo-omueti2007", tcp=tcps)
    lossless.probe("sack", snaplen=96)
    fl.run("geo-omueti2007", tcp=["sack", "cubic"], overrides={"tcp.delayed_ack": "200 ms"})
    fl.run("geo-lossy", tcp=tcps, runs=5)
    fl.run("cdpd-rlp-wong1998", runs=5)
    fl.run("gigabit-cubic", overrides={"duration": "5 s", "flows.0.duration": "5 s"})
    for each in ("off", "200 ms"):
        fl.run("dumbbell-100", overrides={**SHORT, "tcp.delayed_ack": each})
        fl.run("dumbbell-1000-pairs", overrides={**SHORT, "tcp.delayed_ack": each})


if __name__ == "__main__":
    main()
