"""Environments for learning programs."""

import math
import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import farlink as fl
import farlink.gym

EXAMPLE = Path(__file__).parents[2] / "examples" / "learning" / "bandit.py"

PATH: dict[str, Any] = {
    "links": [
        {
            "name": "satellite",
            "between": ["server", "client"],
            "down": {"rate": "10 Mbit/s", "delay": "250 ms", "queue": {"packets": 1000}},
        }
    ],
    "flows": [{"name": "f", "from": "server", "to": "client", "app": "file", "size": "100 MB"}],
    "tcp": {"receive_window": "16 MiB", "mss": "1460 B", "delayed_ack": "off"},
}


def make(**changes: Any) -> farlink.gym.Congestion:  # noqa: ANN401 (any parameter)
    return farlink.gym.Congestion(**({"scenario": PATH} | changes))


def episode(env: farlink.gym.Congestion, seed: int | None, action: Any, steps: int) -> list[Any]:  # noqa: ANN401 (of any space)
    seen = [env.reset(seed=seed)]
    seen += [env.step(action) for _ in range(steps)]  # type: ignore[misc]
    return seen


def test_it_keeps_the_interface_of_gymnasium() -> None:
    for actions in ((0.5, 1.0, 2.0), "scale", "window"):
        env = gymnasium.make(farlink.gym.ID, scenario="geo-lossy", actions=actions, max_steps=20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # It warns of observations without a bound.
            check_env(env.unwrapped)


@pytest.mark.parametrize("window", [2, 20, 200])
def test_a_constant_window_has_the_throughput_of_its_formula(window: int) -> None:
    env = make(actions="window", interval="1 s", max_steps=20)
    now = episode(env, 1, [window], 10)[-1][-1]
    base = 0.5 + 1500 * 8 / 10e6
    assert now["cwnd"] == window
    # Each interval of 1 s has a whole number of segments, of W / RTT on average.
    per_second = window / base
    assert now["throughput"] * 1e6 / (8 * 1460) == pytest.approx(per_second, abs=window)
    assert now["rtt_ratio"] == pytest.approx(1, abs=0.01)
    assert (now["losses"], now["timeouts"], now["limited"]) == (0, 0, 1)


def test_a_window_above_the_path_fills_the_queue() -> None:
    now = episode(make(actions="window", interval="1 s"), 1, [800], 20)[-1][-1]
    goodput = 10 * 1460 / 1500
    assert now["throughput"] == pytest.approx(goodput, rel=0.01)
    assert now["rtt"] == pytest.approx(800 * 1500 * 8 / 10e6, rel=0.02)  # W / C
    assert now["throughput_ratio"] == pytest.approx(1, abs=0.02)


def test_a_factor_multiplies_the_window_and_a_scale_is_a_power_of_two() -> None:
    env = make(actions=(0.5, 3.0))
    (_, start), (_, _, _, _, after) = episode(env, 1, 1, 1)
    assert after["cwnd"] == 3 * start["cwnd"]
    (_, start), (_, _, _, _, after) = episode(make(actions="scale"), 1, [1.0], 1)
    assert after["cwnd"] == 2 * start["cwnd"]


def test_the_window_has_one_segment_at_least() -> None:
    assert episode(make(actions=(0.001,)), 1, 0, 5)[-1][-1]["cwnd"] == 1


def test_an_interval_is_a_round_trip_or_a_time() -> None:
    *_, now = episode(make(actions=(1.0,)), 1, 0, 1)[-1]
    assert now["interval"] == pytest.approx(0.5012, abs=0.01)
    first, second = (item[-1] for item in episode(make(interval="300 ms"), 1, 2, 1))
    assert second["time"] - first["time"] == pytest.approx(0.3)


def test_equal_seeds_and_actions_are_equal_to_the_bit_and_others_differ() -> None:
    lossy = {"scenario": "geo-lossy", "actions": "window", "max_steps": 50}
    first, same = (episode(make(**lossy), 5, [60], 50) for _ in range(2))
    other = episode(make(**lossy), 6, [60], 50)
    assert str(first) == str(same)
    assert first[-1][-1]["measures"] != other[-1][-1]["measures"]


def test_two_environments_do_not_disturb_each_other() -> None:
    lossy = {"scenario": "geo-lossy", "actions": "window", "max_steps": 50}
    alone = episode(make(**lossy), 5, [60], 30)
    first, second = make(**lossy), make(**lossy)
    mixed = [first.reset(seed=5)]
    second.reset(seed=9)
    for _ in range(30):
        mixed.append(first.step([60]))  # type: ignore[arg-type]
        second.step([30])
    assert str(alone) == str(mixed)


def test_reset_without_a_seed_begins_the_next_run() -> None:
    env = make(scenario="geo-lossy", actions="window", max_steps=60)
    runs = [episode(env, seed, [60], 60)[-1][-1] for seed in (5, None, 5)]
    assert [now["run"] for now in runs] == [0, 1, 0]
    assert runs[0]["measures"] == runs[2]["measures"] != runs[1]["measures"]


def test_history_stacks_observations_with_the_newest_last() -> None:
    env = make(observe=("cwnd",), history=3, actions=(2.0,))
    seen = [item[0].tolist() for item in episode(env, 1, 0, 2)]
    start = seen[0][0]
    assert seen == [[start] * 3, [start, start, 2 * start], [start, 2 * start, 4 * start]]
    assert env.observation_space.shape == (3,)


def test_rewards_are_those_of_their_formulas() -> None:
    formulas: dict[str, Callable[[Any], float]] = {
        "throughput": lambda now: float(now["throughput"]),
        "power": lambda now: float(now["throughput"] / now["rtt_ratio"]),
        "utility": lambda now: math.log(now["throughput"]) - math.log(now["rtt_ratio"]),
    }
    for name, formula in formulas.items():
        env = make(actions="window", reward=name, interval="1 s")
        _, reward, _, _, now = episode(env, 1, [700], 6)[-1]
        assert now["rtt_ratio"] > 1.2
        assert reward == pytest.approx(formula(now))
    _, reward, *_ = episode(make(reward=lambda now: now["interval"], interval="1 s"), 1, 2, 1)[-1]
    assert reward == 1.0


def test_an_episode_ends_with_its_flow_or_its_steps() -> None:
    env = make(overrides={"flows.0.size": "100 kB"}, actions="window")
    env.reset(seed=1)
    count, over = 0, False
    while not over:
        _, _, over, truncated, info = env.step(np.array([100.0]))
        assert not truncated
        count += 1
    assert 1 < count < 5
    assert info["measures"]["f.goodput"] > 0
    with pytest.raises(fl.ScenarioError, match="call reset"):
        env.step(np.array([100.0]))
    limited = make(actions="window", max_steps=2)
    assert [item[3] for item in episode(limited, 1, [10], 2)[1:]] == [False, True]


def test_a_window_for_the_whole_file_beats_slow_start() -> None:
    env = make(overrides={"flows.0.size": "100 kB"}, actions="window", interval="10 s")
    env.reset(seed=3)
    *_, info = env.step(np.array([1000.0]))
    run = fl.run(PATH, tcp="sack", seed=3, overrides={"flows.0.size": "100 kB"})
    (usual,) = run.per_run("goodput", "sack")
    assert info["measures"]["f.goodput"] > 1.2 * (usual or 0.0)


def test_another_flow_keeps_its_tcp() -> None:
    second = {"from": "server", "to": "client", "app": "bulk", "name": "g", "duration": "60 s"}
    flows = [*PATH["flows"], second]
    with pytest.raises(fl.ScenarioError, match=r"2 flows have no TCP of their own \(f, g\)"):
        make(scenario={**PATH, "flows": flows})
    env = make(
        scenario={**PATH, "flows": flows},
        overrides={"flows.1.tcp": "linux-cubic", "duration": "60 s"},
        actions="window",
        interval="1 s",
    )
    over = False
    env.reset(seed=1)
    while not over:
        _, _, over, _, info = env.step(np.array([100.0]))
    share = {name: info["measures"][f"{name}.goodput"] / 1e6 for name in "fg"}
    assert 0.5 < share["f"] < 2.4
    assert share["g"] > 2.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interval": "soon"}, "interval 'soon': write \"rtt\", or a time from 1 ms"),
        ({"observe": ("luck",)}, "observe 'luck': there are throughput, "),
        ({"observe": ()}, "name at least one, each once"),
        ({"actions": "jump"}, "actions 'jump': write scale, window, or factors of cwnd"),
        ({"actions": (0.0,)}, "write factors of cwnd from 0 to 1000"),
        ({"reward": "fame"}, "reward 'fame': there are throughput, power, utility"),
        ({"history": 0}, "history is 0; write 1 to 1000"),
        ({"scenario": "nowhere"}, "nowhere"),
        ({"over": "nothing"}, "tcp 'nothing' is not known"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(fl.ScenarioError) as error:
        make(**changes)
    assert message in str(error.value)


def test_a_step_without_an_episode_is_refused() -> None:
    with pytest.raises(fl.ScenarioError, match="call reset"):
        make().step(0)
    env = make(actions="window")
    env.reset(seed=1)
    with pytest.raises(fl.ScenarioError, match="write a finite number"):
        env.step(np.array([np.nan]))


def test_many_environments_step_together() -> None:
    envs = gymnasium.make_vec(
        farlink.gym.ID, num_envs=3, vectorization_mode="async", scenario="geo-lossy"
    )
    try:
        envs.reset(seed=[1, 2, 1])  # type: ignore[arg-type]
        for _ in range(20):
            observation, *_ = envs.step(np.array([3, 3, 3]))
    finally:
        envs.close()
    assert observation[0].tolist() == observation[2].tolist()


def test_the_bandit_wins_at_home_and_loses_on_other_paths() -> None:
    bandit = runpy.run_path(str(EXAMPLE))
    values = bandit["train"](range(1, 11))
    goodput = {}
    for name, overrides in bandit["PATHS"].items():
        env = bandit["make"](overrides)
        goodput[name] = np.mean([bandit["episode"](env, values, seed) for seed in (1001, 1002)])
    cubic = {name: bandit["beside"]("cubic", path)[0] for name, path in bandit["PATHS"].items()}
    assert goodput["as trained"] > 1.3 * cubic["as trained"]
    assert goodput["5 times the rate"] < 0.5 * cubic["5 times the rate"]
