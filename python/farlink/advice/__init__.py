"""What to set on a link, how sure that is, and what a proxy or a repairing link would give."""

import json
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from farlink import api, limits, source, units
from farlink.advice.path import Bottleneck, bottleneck, with_arq, with_call, with_proxy
from farlink.checks import whole
from farlink.errors import ScenarioError
from farlink.experiment import Experiment, Point
from farlink.stats import Estimate, mean_ci95, paired_difference

__all__ = ["Advice", "Option", "advise"]

CANDIDATES = ("linux-cubic", "linux-bbr", "linux-reno", "linux-hybla", "linux-westwood")
"""TCPs that a Linux has without building a kernel."""

_INITIAL_WINDOWS = (10, 20, 40)
_WINDOW_SHARES = (0.5, 1.0, 2.0, 4.0)
"""Receive windows in parts of what the path holds: its bandwidth-delay product and its queue."""

_CALL = "call"
"""Name of the small flow of datagrams that shows what the queue does to others."""


@dataclass(frozen=True)
class Option:
    """One thing that could be done: what, its goodput, and the gain above what is now."""

    what: str
    tcp: str
    overrides: Mapping[str, str | int]
    goodput: Estimate
    gain: Estimate
    """Run by run, above the present setting."""
    round_trip: Estimate
    """Mean of a run's round trips."""
    retransmitted: Estimate
    command: str = ""

    @property
    def verdict(self) -> str:
        """What the interval of the gain says."""
        if self.gain.low is None or self.gain.high is None:
            return ""
        return "more" if self.gain.low > 0 else "less" if self.gain.high < 0 else "not told apart"


@dataclass(frozen=True)
class Advice:
    """All of the page; `markdown` and `html` write it."""

    name: str
    scenario: Mapping[str, Any]
    seed: int
    runs: int
    path: Bottleneck
    present: Option
    limited: tuple[str, ...]
    tcps: tuple[Option, ...]
    best: Option
    remedies: tuple[Option, ...]
    """Link ARQ and proxy, with the best TCP."""
    delays: Mapping[str, tuple[Estimate, Estimate]]
    """Of the call beside each: its mean and 99 % delay; "nothing else" is the empty link."""
    window: int
    """Bytes of the receive window that is advised."""
    initial_window: int
    notes: tuple[str, ...]
    commands: tuple[str, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<farlink.Advice {self.name}: {self.best.what}>"

    def _repr_html_(self) -> str:
        """Show the page in notebooks."""
        from farlink.advice.page import body

        return body(self)

    @property
    def markdown(self) -> str:
        """The page in Markdown."""
        from farlink.advice.page import markdown

        return markdown(self)

    @property
    def html(self) -> str:
        """The page as a file that needs no other."""
        from farlink.advice.page import html

        return html(self)


def advise(
    scenario: str | Path | Mapping[str, object],
    *,
    tcp: str | None = None,
    runs: int = 20,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    lab: Experiment | None = None,
    notes: Sequence[str] = (),
    name: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> Advice:
    """Find out what limits a link's transfers, and what would help.

    Choices are made on `runs` runs; all numbers that are told are of as many fresh runs, so that
    what was chosen is not told with the luck that made it chosen.

    Parameters
    ----------
    scenario, overrides, seed
        As for `run`; `farlink.captures.path.fit_path(...).scenario()` makes one of a capture.
    tcp
        What is in use now; by default what the scenario says, and "linux-cubic" where it says
        nothing.
    runs
        Runs to choose by, and again to confirm.
    lab
        Who simulates, and keeps the numbers.
    notes
        What else is to be known of where the path comes from.
    name
        How commands name the scenario.
    tell
        Called with a line before each step.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, or has no flow over TCP.
    """
    whole("runs", runs, 10_000, least=3)
    work = _Work(scenario, dict(overrides or {}), seed, runs, lab or Experiment(), name, tell)
    return work.advice(tcp, tuple(notes))


@dataclass
class _Work:
    given: str | Path | Mapping[str, object]
    overrides: dict[str, object]
    seed: int | None
    runs: int
    lab: Experiment
    called: str | None
    tell: Callable[[str], None] | None

    def advice(self, tcp: str | None, notes: tuple[str, ...]) -> Advice:
        first = Point.of(self.given, overrides=self.overrides, seed=self.seed)
        self.tree = {key: one for key, one in first.scenario.items() if key != "resolved_tcp"}
        resolved = first.scenario["resolved_tcp"]
        if not any(resolved):
            raise ScenarioError("advise is for TCP: the scenario has no flow over it")
        self.path = bottleneck(self.tree)
        self.now = tcp or _own_tcp(self.given, first) or "linux-cubic"
        several = len([one for one in self.tree["flows"] if one.get("app") != "cbr"]) > 1
        several |= any(int(one.get("count", 1)) > 1 for one in self.tree["flows"])
        self.measure = "goodput_over_run" if several else "goodput"
        self.name = self.called or _name(self.given, self.tree)

        self._say(f"what limits {self.now} now")
        present = self._point(self.now, {})
        limited = self._limits()

        self._say(f"{len(CANDIDATES)} TCPs")
        holds = self.path.holds
        tcps = [one for one in dict.fromkeys((self.now, *CANDIDATES)) if one]
        points = {one: self._point(one, {}) for one in tcps}
        self._simulate(points.values(), self.runs)
        order = sorted(CANDIDATES, key=lambda one: -self._chosen_by(points[one]))

        self._say("windows")
        settings = self._settings(order[:2], holds)
        self._simulate([point for _, _, point in settings], self.runs)
        ranked = sorted(settings, key=lambda one: -self._chosen_by(one[2]))
        # Of settings that are not told apart take the least: a smaller window is kinder.
        near = [one for one in ranked if self._near(one[2], ranked[0][2])]
        best_tcp, best_set, best_point = min(
            near, key=lambda one: (_size(one[1]), ranked.index(one))
        )

        self._say("link repair and proxy")
        others = self._remedies(best_tcp, best_set)
        fresh = [present, best_point, *points.values(), *(point for _, point in others)]
        self._simulate(fresh, 2 * self.runs)

        options = tuple(
            self._option(one, one, {}, points[one], present)
            for one in sorted(tcps, key=lambda one: -self._fresh_mean(points[one]))
        )
        best = self._option("the setting advised", best_tcp, best_set, best_point, present)
        remedies = tuple(
            self._option(what, best_tcp, best_set, point, best_point) for what, point in others
        )
        self._say("the delay of others")
        delays = self._delays([self.now, best_tcp, *order], best_tcp, best_set)
        return Advice(
            self.name,
            self.tree,
            int(self.tree["seed"]),
            self.runs,
            self.path,
            self._option("now", self.now, {}, present, present),
            limited,
            options,
            best,
            remedies,
            delays,
            int(units.whole_size(str(best_set.get("tcp.receive_window", ""))) or holds),
            int(best_set.get("tcp.initial_window", 10)),
            (*notes, *_waste(best, options), *self._left_out()),
            self._commands(best),
            {"now": self.now},
        )

    def _point(
        self, tcp: str, changes: Mapping[str, str | int], tree: Mapping[str, Any] | None = None
    ) -> Point:
        return Point.of(
            tree if tree is not None else self.tree,
            tcp=tcp,
            overrides=dict(changes),
            factors={"tcp": tcp, **changes},
        )

    def _say(self, line: str) -> None:
        if self.tell:
            self.tell(line)

    def _simulate(self, points: Any, runs: int) -> None:  # noqa: ANN401 (an iterable)
        self.lab.simulate([(one, runs) for one in points])

    def _values(self, point: Point, measure: str) -> list[float | None]:
        """Return a measure over the fresh runs."""
        values = self.lab.values(point, measure, 2 * self.runs)[self.runs :]
        return [float(one) if np.isfinite(one) else None for one in values]

    def _chosen_by(self, point: Point) -> float:
        return float(np.nanmean(self.lab.values(point, self.measure, self.runs)))

    def _fresh_mean(self, point: Point) -> float:
        return mean_ci95(self._values(point, self.measure)).mean or 0.0

    def _near(self, point: Point, best: Point) -> bool:
        """Whether the runs do not tell a setting from the best, or only within 1 %."""
        ours, theirs = (
            self.lab.values(one, self.measure, self.runs).tolist() for one in (point, best)
        )
        apart = paired_difference(theirs, ours)
        mean = mean_ci95(theirs).mean or 0.0
        return apart.low is None or apart.low <= 0 or (apart.mean or 0.0) <= 0.01 * mean

    def _option(
        self, what: str, tcp: str, changes: Mapping[str, str | int], point: Point, base: Point
    ) -> Option:
        ours, theirs = (self._values(one, self.measure) for one in (point, base))
        return Option(
            what,
            tcp,
            dict(changes),
            mean_ci95(ours),
            paired_difference(ours, theirs),
            mean_ci95(self._values(point, "rtt_mean")),
            mean_ci95(self._values(point, "retransmitted_share")),
            self._command(tcp, changes),
        )

    def _settings(
        self, tcps: Sequence[str], holds: int
    ) -> list[tuple[str, dict[str, str | int], Point]]:
        found = []
        for tcp in tcps:
            for share in _WINDOW_SHARES:
                for initial in _INITIAL_WINDOWS:
                    window = _rounded(share * holds)
                    changes: dict[str, str | int] = {
                        "tcp.receive_window": f"{window // 1024} KiB",
                        "tcp.initial_window": initial,
                    }
                    try:
                        found.append((tcp, changes, self._point(tcp, changes)))
                    except ScenarioError:
                        continue  # a window that this TCP cannot have
        if not found:
            raise ScenarioError("none of the windows to try suits this scenario")
        return found

    def _remedies(self, tcp: str, changes: Mapping[str, str | int]) -> list[tuple[str, Point]]:
        found = []
        for what, tree in (*with_arq(self.tree, self.path), *with_proxy(self.tree, self.path)):
            try:
                found.append((what, self._point(tcp, changes, tree)))
            except ScenarioError as error:
                self._refused = (*getattr(self, "_refused", ()), f"{what}: {error}")
        return found

    def _limits(self) -> tuple[str, ...]:
        result = api.run(self.tree, tcp=self.now, runs=min(self.runs, 10))
        used = {}
        busiest = ""
        rows = [one for one in result.data["links"] if one["metrics"]["utilisation"]["mean"]]
        if rows:
            most = max(rows, key=lambda one: one["metrics"]["utilisation"]["mean"])
            busiest = f"{most['link']}, {most['direction']}"
            used = {self.now: float(most["metrics"]["utilisation"]["mean"])}
        said = limits.sentences(result, busiest, used)
        flow = next(one for one in result.data["results"] if one["tcp"] == self.now)
        shares = {
            key.removeprefix("limited_").replace("_", " "): one["mean"]
            for key, one in flow["metrics"].items()
            if key.startswith("limited_") and one["mean"]
        }
        parts = sorted(shares.items(), key=lambda one: -one[1])[:4]
        told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in parts)
        return (*said, f"of its time: {told}" if told else "")

    def _delays(
        self, tcps: Sequence[str], best: str, changes: Mapping[str, str | int]
    ) -> dict[str, tuple[Estimate, Estimate]]:
        """Return what a small call sees beside the transfer, and alone."""
        beside, alone = with_call(self.tree, self.path, _CALL)
        wanted = {"nothing else": Point.of(alone)}
        for one in dict.fromkeys(tcps[:2]):
            wanted[f"{one}, as it is"] = self._point(one, {}, beside)
        wanted[f"{best}, as advised"] = self._point(best, changes, beside)
        self._simulate(wanted.values(), self.runs)
        found = {}
        for what, point in wanted.items():
            values = [
                self.lab.values(point, f"{_CALL}.{measure}", self.runs).tolist()
                for measure in ("delay_mean", "delay_p99")
            ]
            found[what] = (mean_ci95(values[0]), mean_ci95(values[1]))
        return found

    def _left_out(self) -> tuple[str, ...]:
        lines = [
            "Intervals are of this model with these parameters: they say nothing of rain, other "
            "traffic or changes of the path that the scenario does not have.",
            "Kernels differ in details from their profiles here; `farlink compare` puts your own "
            "kernel beside, over the same path.",
        ]
        flows = self.tree["flows"]
        if len(flows) == 1 and int(flows[0].get("count", 1)) == 1:
            lines.append(
                "One transfer is alone on the path. BBR beside flows that go by losses takes more "
                "than its share of a small queue: try it with several flows before you switch it "
                "on for many."
            )
        if self.path.queue is None:
            lines.append(
                "The buffer of the slowest link has no limit here. Real ones have: with it losses "
                "come earlier, and delays are shorter."
            )
        lines += [f"Not simulated: {one}" for one in getattr(self, "_refused", ())]
        return tuple(lines)

    def _command(self, tcp: str, changes: Mapping[str, str | int]) -> str:
        parts = ["farlink", "run", self.name, "--tcp", tcp, "--runs", str(2 * self.runs)]
        for path, value in {**self.overrides, **changes}.items():
            parts += ["--set", f"{path}={value}"]
        if self.seed is not None:
            parts += ["--seed", str(self.seed)]
        return shlex.join(parts)

    def _commands(self, best: Option) -> tuple[str, ...]:
        names = ",".join(dict.fromkeys((self.now, *CANDIDATES)))
        return (self._command(names, {}), best.command)


def _waste(best: Option, options: Sequence[Option]) -> tuple[str, ...]:
    """Say so where the setting was chosen by its goodput alone, and others pay for it."""
    again = best.retransmitted.mean or 0.0
    if again <= _MUCH_AGAIN:
        return ()
    line = (
        f"The setting advised sends {100 * again:.0f} % of its segments again, which takes room "
        "from others on the link."
    )
    low = best.goodput.low or 0.0
    for one in options:
        share = one.retransmitted.mean or 0.0
        if share < again / 2 and (one.goodput.high or 0.0) >= low:
            line += (
                f" {one.tcp} as it is, whose goodput is not told apart from it by their intervals, "
                f"sends {100 * share:.1f} % again."
            )
            break
    return (line,)


_MUCH_AGAIN = 0.1
"""Share of segments sent again from which on the page says so."""


def _own_tcp(given: str | Path | Mapping[str, object], point: Point) -> str | None:
    """Return the name of the TCP that a scenario itself asks for; the default is none that it is.

    What it leaves open is what the machines have, and not the default of a simulation.
    """
    row = point.scenario["resolved_tcp"][0]
    where = source.find(given)
    read = json.loads if where.text.lstrip().startswith("{") else tomllib.loads
    says = row if where.saved else read(where.text).get("tcp", {})
    if not isinstance(says, Mapping) or "variant" not in says:
        return None
    profile, variant = row.get("profile", "rfc"), str(row["variant"])
    return variant if profile == "rfc" else f"{profile}-{variant}"


def _name(given: object, tree: Mapping[str, Any]) -> str:
    return str(given) if isinstance(given, str | Path) else str(tree.get("name") or "scenario.toml")


def _rounded(size: float) -> int:
    """Round up to a power of two of at least 64 KiB."""
    return 1 << max(16, (max(int(size), 1) - 1).bit_length())


def _size(changes: Mapping[str, str | int]) -> float:
    window = units.parse_size(str(changes["tcp.receive_window"])) or 0.0
    return window + 1460.0 * int(changes["tcp.initial_window"])


def data(advice: Advice) -> dict[str, Any]:
    """Return the numbers of the page as what JSON can hold."""

    def estimate(one: Estimate) -> list[float | None]:
        return [one.mean, one.low, one.high]

    def option(one: Option) -> dict[str, Any]:
        return {
            "what": one.what,
            "tcp": one.tcp,
            "overrides": dict(one.overrides),
            "goodput": estimate(one.goodput),
            "gain": estimate(one.gain),
            "verdict": one.verdict,
            "round_trip": estimate(one.round_trip),
            "retransmitted_share": estimate(one.retransmitted),
            "command": one.command,
        }

    found: dict[str, Any] = json.loads(
        json.dumps(
            {
                "format": "farlink-advice/1",
                "scenario": advice.name,
                "seed": advice.seed,
                "runs": advice.runs,
                "now": option(advice.present),
                "limits": list(advice.limited),
                "tcps": [option(one) for one in advice.tcps],
                "best": option(advice.best),
                "remedies": [option(one) for one in advice.remedies],
                "call": {
                    what: {"mean": estimate(mean), "p99": estimate(p99)}
                    for what, (mean, p99) in advice.delays.items()
                },
                "window": advice.window,
                "initial_window": advice.initial_window,
                "notes": list(advice.notes),
                "commands": list(advice.commands),
            }
        )
    )
    return found
