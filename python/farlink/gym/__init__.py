"""Environments of Gymnasium in which a learning program is the congestion control of a flow."""

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsFloat

from farlink import _farlink, source, units
from farlink.checks import text_of, whole
from farlink.errors import ScenarioError
from farlink.extras import lacking
from farlink.gym.agent import Agent, made
from farlink.gym.quantities import OBSERVATIONS, REWARDS, Reward

try:
    import gymnasium
    import numpy as np
    from gymnasium import spaces
except ImportError as error:
    raise lacking("farlink.gym", "gym") from error

__all__ = ["ID", "OBSERVATIONS", "REWARDS", "Congestion"]

ID = "farlink/Congestion-v0"
"""Name of the environment for `gymnasium.make` and `gymnasium.make_vec`."""

_DEFAULT = ("throughput_ratio", "rtt_ratio", "rtt_gradient", "losses")
_FACTORS = (0.5, 0.8, 1.0, 1.25, 2.0)
_LEAST_INTERVAL = 1e-3
_LARGEST = 2**40
"""Largest window that an action reaches, in bytes."""

_Array = np.ndarray[Any, np.dtype[np.float32]]


class Congestion(gymnasium.Env[_Array, Any]):
    """Environment of one flow: an action sets its cwnd, and a step is an interval of the run.

    Parameters
    ----------
    scenario
        Name, path or mapping. Exactly one flow may lack a TCP of its own; the agent is its TCP.
    interval
        "rtt" (the smoothed RTT, at least 1 ms), or a time such as "100 ms".
    observe
        Names of `OBSERVATIONS`.
    history
        Number of intervals in an observation, the newest last.
    actions
        Factors of cwnd, one per discrete action; or "scale": one number from -1 to 1, and cwnd is
        multiplied by 2 to its power; or "window": one number, the cwnd in segments.
    reward
        Name of `REWARDS`, or a function of the quantities of an interval.
    max_steps
        Number of steps after which an episode is truncated.
    over
        TCP whose recovery, timer and receiver are used.
    overrides
        Values by path, as for `farlink.run`.

    `reset(seed=7)` begins run 0 of the scenario with seed 7, and each `reset()` after it the next
    run of that seed. Equal seeds and actions have equal episodes to the bit.

    Raises
    ------
    ScenarioError
        If the scenario or a parameter is wrong.

    Examples
    --------
    >>> env = gymnasium.make("farlink/Congestion-v0", scenario="geo-lossy")  # doctest: +SKIP
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        scenario: str | Path | Mapping[str, object],
        *,
        interval: str = "rtt",
        observe: Sequence[str] = _DEFAULT,
        history: int = 1,
        actions: Sequence[float] | str = _FACTORS,
        reward: str | Reward = "utility",
        max_steps: int = 1000,
        over: str = "sack",
        overrides: Mapping[str, object] | None = None,
    ) -> None:
        self._tree = _resolved(scenario, over, overrides)
        self._interval = _time(interval)
        self._observe = _known_names("observe", observe, OBSERVATIONS)
        self._mode = actions if isinstance(actions, str) else "factors"
        self._factors = () if isinstance(actions, str) else _factors(actions)
        self._reward = _reward_of(reward)
        self._max_steps = whole("max_steps", max_steps, 10**9)
        self._history = whole("history", history, 1000)
        self._past: deque[_Array] = deque(maxlen=self._history)
        parts = [OBSERVATIONS[name] for name in self._observe]
        self.observation_space = spaces.Box(
            np.array([item.low for item in parts] * self._history, dtype=np.float32),
            np.array([item.high for item in parts] * self._history, dtype=np.float32),
        )
        self.action_space = _space(self._mode, len(self._factors))
        self._steps: _farlink.Steps | None = None
        self._run = -1
        self._agents: list[Agent] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Array, dict[str, Any]]:
        """Begin an episode. Returns the first observation, and the quantities by name."""
        super().reset(seed=seed)
        self._run = 0 if seed is not None else self._run + 1
        if seed is not None:
            self._tree["seed"] = seed
        made.clear()
        self._steps = _farlink.Steps(json.dumps(self._tree), self._run)
        self._now, self._count, self._most, self._rtt = 0.0, 0, 0.0, 0.0
        self._open()
        for agent in made:
            agent.start()
        now = self._quantities(0.0)
        first = self._vector(now)
        self._past.extend([first] * self._history)
        return np.concatenate(self._past), self._info(now)

    def step(self, action: Any) -> tuple[_Array, SupportsFloat, bool, bool, dict[str, Any]]:  # noqa: ANN401 (as Gymnasium declares it)
        """Set the window, and advance the run by an interval."""
        if self._steps is None:
            raise ScenarioError("the episode is over; call reset")
        agent = self._agent
        agent.start()
        agent.cwnd = min(max(self._window(agent, action), agent.mss), _LARGEST)
        length = self._interval or max(agent.srtt or 0.0, _LEAST_INTERVAL)
        over = self._advance(length)
        now = self._quantities(length)
        self._count += 1
        self._past.append(self._vector(now))
        truncated = not over and self._count >= self._max_steps
        info = self._info(now)
        if over or truncated:
            info["measures"] = _measures(self._steps.finish())
            self._steps = None
        return np.concatenate(self._past), self._reward(now), over, truncated, info

    @property
    def _agent(self) -> Agent:
        """Agent of the end that sends the data."""
        return max(self._agents, key=lambda agent: agent.total)

    def _open(self) -> None:
        """Advance to the first ACK of data."""
        length, over = _LEAST_INTERVAL, False
        while not over and not any(agent.total for agent in made):
            over = self._advance(length)
        self._agents = list(made)
        if over:
            self._steps = None
            raise ScenarioError("the run ends before the first ACK of the agent's flow")

    def _advance(self, length: float) -> bool:
        assert self._steps is not None
        self._now += length
        over, _ = self._steps.until(self._now)
        return over

    def _window(self, agent: Agent, action: Any) -> float:  # noqa: ANN401 (of any action space)
        if self._factors:
            return agent.cwnd * self._factors[int(action)]
        value = float(np.asarray(action).reshape(-1)[0])
        if not math.isfinite(value):
            raise ScenarioError(f"action {value}: write a finite number")
        if self._mode == "window":
            return value * agent.mss
        return agent.cwnd * math.exp2(min(max(value, -1.0), 1.0))

    def _quantities(self, length: float) -> dict[str, float]:
        agent = self._agent
        throughput = 8e-6 * agent.acked / length if length else 0.0
        self._most = max(self._most, throughput)
        least = agent.min_rtt or agent.srtt or 0.0
        before = self._rtt or agent.srtt or least
        self._rtt = agent.rtts / agent.samples if agent.samples else before
        return {
            "throughput": throughput,
            "throughput_ratio": throughput / self._most if self._most else 0.0,
            "rtt": self._rtt,
            "min_rtt": least,
            "rtt_ratio": max(self._rtt / least, 1.0) if least else 1.0,
            "rtt_gradient": (self._rtt - before) / length if length else 0.0,
            "losses": float(agent.losses),
            "timeouts": float(agent.timeouts),
            "marks": float(agent.marks),
            "cwnd": agent.cwnd / agent.mss,
            "flight": agent.flight / agent.mss,
            "limited": float(agent.limited),
            "interval": length,
        }

    def _vector(self, now: Mapping[str, float]) -> _Array:
        return np.array([now[name] for name in self._observe], dtype=np.float32)

    def _info(self, now: Mapping[str, float]) -> dict[str, Any]:
        return {"time": self._now, "run": self._run, **now}


def _resolved(
    scenario: str | Path | Mapping[str, object], over: str, overrides: Mapping[str, object] | None
) -> dict[str, Any]:
    """Return the resolved scenario with the agent as TCP of its one flow."""
    cls = type("Agent", (Agent,), {"over": over, "__module__": Agent.__module__})
    changes = source.changes(overrides, None)
    (text,) = source.find(scenario).resolve([cls], changes).values()
    tree: dict[str, Any] = json.loads(text)
    own = [flow for flow in tree["flows"] if flow.get("app") not in ("cbr", "onoff", "xtp")]
    free = [flow for flow in own if not flow.get("tcp")]
    count = sum(int(flow.get("count", 1)) for flow in free)
    if count != 1:
        names = ", ".join(flow["name"] for flow in free) or "none"
        raise ScenarioError(
            f"{count} flows have no TCP of their own ({names}); an environment has one agent, so "
            'give the others a TCP, for example overrides={"flows.1.tcp": "linux-cubic"}'
        )
    return tree


def _time(interval: object) -> float | None:
    """Return an interval in seconds; None for the round-trip time."""
    if interval == "rtt":
        return None
    seconds = units.parse_time(interval) if isinstance(interval, str) else None
    if seconds is None or not _LEAST_INTERVAL <= seconds <= 1e6:
        raise ScenarioError(
            f'interval {text_of(interval)}: write "rtt", or a time from 1 ms, such as "100 ms"'
        )
    return seconds


def _known_names(what: str, names: object, known: Mapping[str, object]) -> tuple[str, ...]:
    given = (names,) if isinstance(names, str) else tuple(names)  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise ScenarioError(f"{what} {text_of(name)}: there are {', '.join(known)}")
    if not given or len(set(given)) < len(given):
        raise ScenarioError(f"{what} {text_of(given)}: name at least one, each once")
    return given


def _factors(actions: Sequence[float]) -> tuple[float, ...]:
    factors = tuple(float(factor) for factor in actions)
    if not factors or not all(0 < factor <= 1000 for factor in factors):
        raise ScenarioError(f"actions {text_of(actions)}: write factors of cwnd from 0 to 1000")
    return factors


def _space(mode: str, count: int) -> "spaces.Space[Any]":
    if mode == "factors":
        return spaces.Discrete(count)
    ends = {"scale": (-1.0, 1.0), "window": (1.0, 1e6)}
    if mode not in ends:
        raise ScenarioError(f"actions {text_of(mode)}: write scale, window, or factors of cwnd")
    low, high = ends[mode]
    return spaces.Box(np.float32(low), np.float32(high), (1,), np.float32)


def _reward_of(reward: object) -> Reward:
    if callable(reward):
        return reward
    (name,) = _known_names("reward", str(reward), REWARDS)
    return REWARDS[name]


def _measures(measures: "_farlink.Measures") -> dict[str, float | None]:
    """Return the measures of all flows, each as ``flow.measure``."""
    values: dict[str, float | None] = {}
    place = 0
    for scope, items, names in measures.groups:
        row = measures.row(0, place, place + len(items) * len(names))
        place += len(items) * len(names)
        if scope == "flow":
            keys = [f"{'.'.join(item)}.{name}" for item in items for name in names]
            values |= dict(zip(keys, row, strict=True))
    return values


if ID not in gymnasium.registry:
    gymnasium.register(ID, "farlink.gym:Congestion")
