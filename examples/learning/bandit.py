"""Train a contextual bandit as congestion control, and judge it on paths that it never saw.

The state is the ratio of the RTT to its least value, in three ranges. The bandit learns the mean
reward of five factors of cwnd in each range. Run `python examples/learning/bandit.py`; it takes
some seconds.
"""

from collections.abc import Mapping

import gymnasium
import numpy as np

import farlink as fl
import farlink.gym  # registers the environment
from farlink.stats import mean_ci95, paired_difference

SCENARIO = "geo-lossy"
FACTORS = (0.5, 0.8, 1.0, 1.25, 2.0)
RANGES = (1.05, 1.3)
"""Ends of the ranges of rtt_ratio."""
STEPS = 160
INTERVAL = "500 ms"
TRAINING = range(1, 21)
HELD_OUT = range(1001, 1021)
PATHS: Mapping[str, Mapping[str, object]] = {
    "as trained": {},
    "10 times the bit errors": {"links.satellite.down.channel.ber": 1e-5},
    "a tenth of the delay": {
        "links.satellite.down.delay": "25 ms",
        "links.satellite.up.delay": "25 ms",
    },
    "5 times the rate": {"links.satellite.down.rate": "10 Mbit/s"},
}


def make(overrides: Mapping[str, object]) -> gymnasium.Env[np.ndarray, int]:
    """Return the environment of a path."""
    return gymnasium.make(
        farlink.gym.ID,
        scenario=SCENARIO,
        actions=FACTORS,
        observe=("rtt_ratio",),
        interval=INTERVAL,
        max_steps=STEPS,
        reward="power",
        overrides={"tcp.receive_window": "4 MiB", **overrides},
    )


def train(seeds: range, explore: float = 0.2) -> np.ndarray:
    """Return the mean reward of each factor in each range, learned by epsilon-greedy choice."""
    env = make({})
    rng = np.random.default_rng(0)
    values, counts = np.zeros((3, len(FACTORS))), np.zeros((3, len(FACTORS)))
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        before: tuple[int, int] | None = None
        done = False
        while not done:
            state = int(np.searchsorted(RANGES, observation[-1], side="right"))
            greedy = rng.random() >= explore
            action = int(np.argmax(values[state])) if greedy else int(rng.integers(len(FACTORS)))
            observation, reward, terminated, truncated, _ = env.step(action)
            done = terminated or truncated
            if before is not None:
                # ACKs of an interval answer the window of the interval before.
                counts[before] += 1
                values[before] += (float(reward) - values[before]) / counts[before]
            before = (state, action)
    return values


def episode(env: gymnasium.Env[np.ndarray, int], values: np.ndarray, seed: int) -> float:
    """Return the goodput (kbit/s) of an episode with the best factors."""
    observation, _ = env.reset(seed=seed)
    done, info = False, {}
    while not done:
        state = int(np.searchsorted(RANGES, observation[-1], side="right"))
        observation, _, terminated, truncated, info = env.step(int(np.argmax(values[state])))
        done = terminated or truncated
    return float(info["measures"]["download.goodput"]) / 1e3


def beside(tcp: str, overrides: Mapping[str, object]) -> list[float]:
    """Return the goodput (kbit/s) of a TCP on the held-out seeds, over the time of an episode."""
    changes = {"tcp.receive_window": "4 MiB", "duration": "81 s", **overrides}
    values = []
    for seed in HELD_OUT:
        result = fl.run(SCENARIO, tcp=tcp, runs=1, seed=seed, overrides=changes)
        (goodput,) = result.per_run("goodput", tcp)
        values.append((goodput or 0.0) / 1e3)
    return values


def main() -> None:
    """Train on seeds 1 to 20, and print goodput on other seeds and paths with 95 % intervals."""
    values = train(TRAINING)
    for state, row in zip(("low", "middle", "high"), values, strict=True):
        print(f"rtt_ratio {state}: cwnd times {FACTORS[int(np.argmax(row))]:g}")
    print(f"{'goodput (kbit/s)':24} {'bandit':>12} {'cubic':>12} {'bandit - cubic':>16}")
    for name, overrides in PATHS.items():
        env = make(overrides)
        ours = [episode(env, values, seed) for seed in HELD_OUT]
        cubic = beside("cubic", overrides)
        parts = [mean_ci95(ours), mean_ci95(cubic), paired_difference(ours, cubic)]
        cells = [f"{part.mean:.0f} ±{part.half_width:.0f}" for part in parts]
        print(f"{name:24} {cells[0]:>12} {cells[1]:>12} {cells[2]:>16}")


if __name__ == "__main__":
    main()
