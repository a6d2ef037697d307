"""Simulations behind a page of advice, and the choice of settings."""

import json
import math
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from farlink import api, limits, source, units
from farlink.advice import moving
from farlink.advice.answer import Advice, Beside, Option, SizeResult
from farlink.advice.path import (
    Size,
    anywhere,
    bottleneck,
    sizes,
    with_arq,
    with_call,
    with_proxy,
    with_traffic,
)
from farlink.advice.queues import QueueChoice, with_disciplines
from farlink.errors import ScenarioError
from farlink.experiment import Experiment, Point
from farlink.stats import Estimate, mean_ci95, paired_difference

__all__ = ["CANDIDATES", "Advisor", "server_name"]

CANDIDATES = ("linux-cubic", "linux-bbr", "linux-reno", "linux-hybla", "linux-westwood")
"""TCPs that a standard Linux kernel offers without being rebuilt."""

_INITIAL_WINDOWS = (10, 20, 40)
_WINDOW_SHARES = (0.5, 1.0, 2.0, 4.0)
"""Receive windows to try, as multiples of `Bottleneck.holds` (path and queue)."""

_OTHER = "linux-cubic"
"""TCP of the transfer that shares the path: the default of most machines."""

_FIRST = 4
"""Number of runs after which a setting may be dropped."""

_SURE = 0.995
"""Confidence level of the intervals that drop a setting; above 95 % because tests are repeated."""

_HARM = 0.02
"""Significant loss of goodput (as a share) above which a setting counts as harmful at a size."""

Changes = dict[str, str | int]


@dataclass(frozen=True)
class Setting:
    """TCP with changed keys, and the design point of each transfer size."""

    tcp: str
    changes: Changes
    points: tuple[Point, ...]

    @property
    def size(self) -> float:
        """Window sizes of the setting (bytes); the choice prefers the smallest."""
        window = units.parse_size(str(self.changes.get("tcp.receive_window", ""))) or 0.0
        return window + 1460.0 * int(self.changes.get("tcp.initial_window", 10))


@dataclass
class Advisor:
    """State of one call of `advise`."""

    given: str | Path | Mapping[str, object]
    overrides: dict[str, object]
    seed: int | None
    runs: int
    lab: Experiment
    called: str | None
    tell: Callable[[str], None] | None
    asked: Sequence[str] = ()
    fixed: str | None = None
    """TCP of hosts whose settings cannot be changed; None if they can."""
    refused: list[str] = field(default_factory=list)

    def advice(self, tcp: str | None, notes: tuple[str, ...]) -> Advice:
        """Simulate, choose a setting and return the page's content."""
        self._read(tcp)
        self._say(f"what limits {self.now} now")
        present = self._setting(self.now, {})
        self._count_runs(present)
        limited = self._limits()
        if self.fixed:
            tcps: list[Setting] = []
            best = present
            champions: dict[int, tuple[Setting, str]] = {}
        else:
            tcps, best, champions = self._choose(present)

        self._say("link repair and proxies")
        kept = self._remedies(present)
        added = [] if self.fixed or best is present else self._remedies(best)
        lines = [present, best, *tcps]
        self._simulate([line.points[0] for line in lines], 2 * self.runs)
        options = [self._option(item.tcp, item, present) for item in tcps]
        options.sort(key=lambda item: -(item.goodput.mean or 0.0))
        fixed = self._screen(kept, present)
        advised = self._option("the setting advised", best, present)
        extra: list[tuple[str, Setting]] = []
        if fixed:
            place = max(range(len(fixed)), key=lambda i: fixed[i].goodput.mean or 0.0)
            what = fixed[place].what.partition(" (")[0]
            extra = [(f"{self.now}, {what}", kept[place][1])]
            if self.fixed and fixed[place].verdict == "more":
                best, advised = kept[place][1], fixed[place]

        self._say("sizes of transfers")
        by_size = self._sizes(present, best, champions, extra)
        self._say(f"{_OTHER} beside, and the delay of others")
        beside = self._beside(present, best, champions)
        order = [option.tcp for option in options]
        delays = self._delays([self.now, best.tcp, *order], best)
        queues = self._queues()
        changes = best.changes
        return Advice(
            self.name,
            self.tree,
            int(self.tree["seed"]),
            self.runs,
            self.path,
            self._option("now", present, present),
            limited,
            tuple(options),
            advised,
            tuple(self._screen(added, best)),
            tuple(fixed),
            by_size,
            beside,
            _OTHER,
            delays,
            queues,
            int(units.whole_size(str(changes.get("tcp.receive_window", ""))) or self.path.holds),
            int(changes.get("tcp.initial_window", 10)),
            (*notes, *_waste(advised, options), *self._left_out()),
            self._commands(advised),
            {"now": self.now, "fixed": bool(self.fixed), "random": self.is_random},
        )

    def _read(self, tcp: str | None) -> None:
        first = Point.of(self.given, overrides=self.overrides, seed=self.seed)
        if not any(first.scenario["resolved_tcp"]):
            raise ScenarioError("advise is for TCP: the scenario has no flow over it")
        self.tree_given = first.scenario
        if changes := anywhere(first.scenario):
            self.overrides |= changes
            first = Point.of(self.given, overrides=self.overrides, seed=self.seed)
        self.begins_anywhere = bool(changes)
        if self.asked:
            bulk = [i for i, flow in enumerate(first.scenario["flows"]) if _is_tcp(flow)]
            sizes(first.scenario, bottleneck(first.scenario), self.asked)
            self.overrides[f"flows.{bulk[0]}.size"] = self.asked[0]
            first = Point.of(self.given, overrides=self.overrides, seed=self.seed)
        self.tree = {key: item for key, item in first.scenario.items() if key != "resolved_tcp"}
        self.path = bottleneck(self.tree)
        # The small flow of datagrams that measures the delay of others needs a name of its own.
        taken = {str(flow.get("name")) for flow in self.tree["flows"]}
        names = ("call", *(f"call-{number}" for number in range(2, len(taken) + 3)))
        self.call = next(name for name in names if name not in taken)
        self.now = self.fixed or tcp or _own_tcp(self.given, first) or "linux-cubic"
        several = len([flow for flow in self.tree["flows"] if flow.get("app") != "cbr"]) > 1
        several |= any(int(flow.get("count", 1)) > 1 for flow in self.tree["flows"])
        self.measure = "goodput_over_run" if several else "goodput"
        self.name = self.called or _name(self.given, self.tree)
        deciding, beside = sizes(self.tree, self.path, self.asked)
        # The scenario's own size comes first, because its numbers are those of the printed
        # commands.
        own = next((i for i, item in enumerate(deciding) if item.label == "the scenario's"), 0)
        scenario = Size(deciding[own].label, deciding[own].bytes, self.tree)
        self.deciding = [scenario, *deciding[:own], *deciding[own + 1 :]]
        self.beside = beside

    def _count_runs(self, present: Setting) -> None:
        """Reduce `runs` to three if the first four runs are identical at every size."""
        self._simulate(present.points, _FIRST)
        measures = (self.measure, "rtt_mean", "retransmitted_share")
        self.is_random = any(
            len({float(x) for x in self.lab.values(point, measure, _FIRST) if np.isfinite(x)}) > 1
            for point in present.points
            for measure in measures
        )
        if not self.is_random:
            self.runs = min(self.runs, 3)

    def _choose(
        self, present: Setting
    ) -> tuple[list[Setting], Setting, dict[int, tuple[Setting, str]]]:
        """Return the TCPs with default settings, the advised setting, and the best TCP per size."""
        self._say(f"{len(CANDIDATES)} TCPs")
        names = [item for item in dict.fromkeys((self.now, *CANDIDATES)) if item]
        tcps = [present if name == self.now else self._setting(name, {}) for name in names]
        self._simulate([point for tcp in tcps for point in tcp.points], min(_FIRST, self.runs))
        self.tcps = tcps
        ranked = self._race([tcp for tcp in tcps if tcp.tcp in CANDIDATES], present)
        champions: dict[int, tuple[Setting, str]] = {}
        for place, size in enumerate(self.deciding):
            above = [item for item in ranked if self._gain(item, present, place)[0] > 0]
            if above:
                most = max(above, key=lambda item: self._gain(item, present, place)[1])
                champions[place] = (most, str(size))

        self._say("windows")
        kind = [item for item in ranked if not self._harms(item, present)]
        gains = kind and self._better(kind[0], present)
        pool = (kind if gains else ranked)[:2]
        settings = self._race(self._settings(pool), present, (self.runs + 1) // 2)
        kind = [setting for setting in settings if not self._harms(setting, present)] or settings
        best = kind[0]
        # Among settings without a significant difference the smallest window wins.
        near = [item for item in kind if self._near(item, best)]
        return tcps, min(near, key=lambda item: (item.size, kind.index(item))), champions

    def _race(
        self, settings: Sequence[Setting], present: Setting, most: int | None = None
    ) -> list[Setting]:
        """Order settings by score, best first, and drop significantly worse settings early."""
        most = most or self.runs
        alive = list(settings)
        out: list[Setting] = []
        few = min(_FIRST, most)
        for runs in dict.fromkeys((few, (most + few) // 2, most)):
            self._simulate([point for item in (*alive, present) for point in item.points], runs)
            alive.sort(key=lambda item: -self._score(item, runs).mean())
            first = self._score(alive[0], runs).tolist()
            for item in alive[1:]:
                apart = paired_difference(first, self._score(item, runs).tolist(), _SURE)
                if apart.low is not None and apart.low > 0 and self.is_random:
                    alive.remove(item)
                    out.insert(0, item)
        return [*alive, *out]

    def _score(self, setting: Setting, runs: int) -> Any:  # noqa: ANN401 (an array)
        """Return ln(goodput), averaged over the sizes, for each run."""
        values = [self.lab.values(point, self.measure, runs) for point in setting.points]
        return np.mean([np.log(np.fmax(np.nan_to_num(value), 1.0)) for value in values], axis=0)

    def _common(self, setting: Setting, other: Setting) -> tuple[list[float], list[float]]:
        """Return the scores of two settings for their common runs."""
        runs = min(
            len(self.lab.values(point, self.measure)) for point in (*setting.points, *other.points)
        )
        runs = min(runs, self.runs)
        return self._score(setting, runs).tolist(), self._score(other, runs).tolist()

    def _better(self, setting: Setting, other: Setting) -> bool:
        apart = paired_difference(*self._common(setting, other))
        return apart.low is not None and apart.low > 0

    def _near(self, setting: Setting, best: Setting) -> bool:
        """Return whether a setting is less than 1 %, or insignificantly, worse than the best."""
        ours, theirs = self._common(setting, best)
        apart = paired_difference(theirs, ours)
        return apart.low is None or apart.low <= 0 or (apart.mean or 0.0) <= math.log(1.01)

    def _harms(self, setting: Setting, present: Setting) -> bool:
        """Return whether any size is significantly slower than at present, by more than `_HARM`."""
        places = range(len(self.deciding))
        return any(self._gain(setting, present, place)[2] < -_HARM for place in places)

    def _gain(self, setting: Setting, present: Setting, place: int) -> tuple[float, float, float]:
        """Return low, mean and high of the gain at a size, relative to the present goodput."""
        points = (setting.points[place], present.points[place])
        results = [self.lab.values(point, self.measure) for point in points]
        runs = min(len(results[0]), len(results[1]), self.runs)
        ours, theirs = (np.nan_to_num(values[:runs]) for values in results)
        apart = paired_difference(ours.tolist(), theirs.tolist())
        mean = float(theirs.mean()) or 1.0
        low, middle, high = (x or 0.0 for x in (apart.low, apart.mean, apart.high))
        return low / mean, middle / mean, high / mean

    def _setting(
        self, tcp: str, changes: Changes, change: Callable[[Mapping[str, Any]], Any] | None = None
    ) -> Setting:
        trees = [item.tree if change is None else change(item.tree) for item in self.deciding]
        return Setting(tcp, changes, tuple(self._point(tcp, changes, tree) for tree in trees))

    def _point(self, tcp: str, changes: Mapping[str, str | int], tree: Mapping[str, Any]) -> Point:
        return Point.of(tree, tcp=tcp, overrides=dict(changes), factors={"tcp": tcp, **changes})

    def _say(self, line: str) -> None:
        if self.tell:
            self.tell(line)

    def _simulate(self, points: Any, runs: int) -> None:  # noqa: ANN401 (an iterable)
        self.lab.simulate([(point, runs) for point in points])

    def _values(self, point: Point, measure: str, runs: int | None = None) -> list[float | None]:
        """Return a measure of the fresh runs, which did not take part in the choice."""
        count = self.runs + (runs or self.runs)
        values = self.lab.values(point, measure, count)[self.runs :]
        return _known(values)

    def _option(
        self, what: str, setting: Setting, base: Setting, place: int = 0, runs: int | None = None
    ) -> Option:
        return self._of_points(what, setting, setting.points[place], base.points[place], runs)

    def _of_points(
        self, what: str, setting: Setting, point: Point, base: Point, runs: int | None
    ) -> Option:
        def values(of: Point, measure: str) -> list[float | None]:
            return self._values(of, measure, runs)

        return self._compared(what, setting, point, base, values)

    def _compared(
        self,
        what: str,
        setting: Setting,
        point: Point,
        base: Point,
        values: Callable[[Point, str], list[float | None]],
    ) -> Option:
        """Compare a setting at a point with a base, over the runs that `values` returns."""
        ours, theirs = (values(of, self.measure) for of in (point, base))
        return Option(
            what,
            setting.tcp,
            dict(setting.changes),
            mean_ci95(ours),
            paired_difference(ours, theirs),
            mean_ci95(values(point, "rtt_mean")),
            mean_ci95(values(point, "retransmitted_share")),
            self._command(setting.tcp, setting.changes),
        )

    def _settings(self, pool: Sequence[Setting]) -> list[Setting]:
        entries = []
        for item in pool:
            for share in _WINDOW_SHARES:
                for initial in _INITIAL_WINDOWS:
                    window = _rounded(share * self.path.holds)
                    changes: Changes = {
                        "tcp.receive_window": f"{window // 1024} KiB",
                        "tcp.initial_window": initial,
                    }
                    try:
                        entries.append(self._setting(item.tcp, changes))
                    except ScenarioError:
                        continue  # The TCP cannot have a window of this size.
        if not entries:
            raise ScenarioError("none of the windows to try suits this scenario")
        return entries

    def _remedies(self, setting: Setting) -> list[tuple[str, Setting]]:
        """Return the variants of a setting with link ARQ, proxies or snoop, by name."""
        entries = []
        trees = [list(self._with(size.tree)) for size in (*self.deciding, *self.beside)]
        for place, (what, _) in enumerate(trees[0]):
            try:
                points = [
                    self._point(setting.tcp, setting.changes, rows[place][1]) for rows in trees
                ]
            except ScenarioError as error:
                line = f"{what}: {error}"
                if line not in self.refused:
                    self.refused.append(line)
                continue
            entries.append((what, Setting(setting.tcp, setting.changes, tuple(points))))
        return entries

    def _screen(self, rows: Sequence[tuple[str, Setting]], base: Setting) -> list[Option]:
        """Compare remedies with the base; significantly worse ones get only the first few runs."""
        few, more = min(_FIRST, self.runs), max(3, self.runs // 2)
        self._simulate([row.points[0] for _, row in rows], few)
        entries = []
        for what, row in rows:
            option = self._early(what, row, base, few)
            if not (self.is_random and option.gain.high is not None and option.verdict == "less"):
                self._simulate([row.points[0]], more)
                option = self._early(what, row, base, more)
            entries.append(option)
        return entries

    def _early(self, what: str, item: Setting, base: Setting, runs: int) -> Option:
        """Compare a remedy over the first runs, which did not influence its choice."""

        def values(of: Point, measure: str) -> list[float | None]:
            return _known(self.lab.values(of, measure, runs))

        return self._compared(what, item, item.points[0], base.points[0], values)

    def _with(self, tree: Mapping[str, Any]) -> Any:  # noqa: ANN401 (an iterator)
        yield from with_arq(tree, self.path)
        yield from with_proxy(tree, self.path)
        yield from moving.with_path(tree)

    def _sizes(
        self,
        present: Setting,
        best: Setting,
        champions: Mapping[int, tuple[Setting, str]],
        extra: Sequence[tuple[str, Setting]],
    ) -> tuple[SizeResult, ...]:
        """Compare the present, the advised and the best TCPs at each size, over fresh runs."""
        rows: list[tuple[str, Setting]] = [("now", present)]
        is_end = not any(best is item for _, item in extra)
        if best is not present and is_end:
            rows.append(("advised", best))
        for item in dict.fromkeys(id(item) for item, _ in champions.values()):
            champion = next(x for x, _ in champions.values() if id(x) == item)
            if champion is not present:
                rows.append((f"{champion.tcp}, as it is", champion))
        rows += extra
        runs = max(3, self.runs // 2)
        every = [*self.deciding, *self.beside]
        entries = []
        for place, size in enumerate(every):
            points = [
                row.points[place]
                if place < len(row.points)
                else self._point(row.tcp, row.changes, size.tree)
                for _, row in rows
            ]
            self._simulate(points, self.runs + runs)
            options = tuple(
                self._of_points(what, row, point, points[0], runs)
                for (what, row), point in zip(rows, points, strict=True)
            )
            decides = place < len(self.deciding)
            tried = {}
            for item in getattr(self, "tcps", []) if decides else []:
                values = self.lab.values(item.points[place], self.measure)[: self.runs]
                tried[item.tcp] = mean_ci95(np.nan_to_num(values).tolist())
            entries.append(SizeResult(size.label, size.bytes, decides, options, tried))
        return tuple(sorted(entries, key=lambda item: item.bytes or 2**60))

    def _beside(
        self, present: Setting, best: Setting, champions: Mapping[int, tuple[Setting, str]]
    ) -> tuple[Beside, ...]:
        """Compare each setting while it shares the path with an endless CUBIC transfer."""
        if self.fixed:
            return ()
        rows = {f"{self.now}, as it is": present, "as advised": best}
        for champion, _ in champions.values():
            rows.setdefault(f"{champion.tcp}, as it is", champion)
        if best is present:
            rows.pop("as advised")
        names = ("transfer", "other")
        runs = max(3, self.runs // 2)
        points = {}
        for what, row in rows.items():
            tree = with_traffic(self.tree, self.path, names, (row.tcp, row.changes), _OTHER)
            points[what] = Point.of(tree)
        self._simulate(points.values(), runs)
        values = {
            what: [
                np.nan_to_num(self.lab.values(point, f"{name}.goodput", runs)).tolist()
                for name in names
            ]
            for what, point in points.items()
        }
        base = next(iter(values.values()))[1]
        return tuple(
            Beside(what, mean_ci95(ours), mean_ci95(other), paired_difference(other, base))
            for what, (ours, other) in values.items()
        )

    def _limits(self) -> tuple[str, ...]:
        result = api.run(self.tree, tcp=self.now, runs=min(self.runs, 10))
        (name,) = result.tcp
        used = {}
        busiest = ""
        rows = [link for link in result.data["links"] if link["metrics"]["utilisation"]["mean"]]
        if rows:
            most = max(rows, key=lambda item: item["metrics"]["utilisation"]["mean"])
            busiest = f"{most['link']}, {most['direction']}"
            used = {name: float(most["metrics"]["utilisation"]["mean"])}
        sentences = limits.sentences(result, busiest, used)
        flow = next(item for item in result.data["results"] if item["tcp"] == name)
        shares = {
            key.removeprefix("limited_").replace("_", " "): metric["mean"]
            for key, metric in flow["metrics"].items()
            if key.startswith("limited_") and metric["mean"]
        }
        parts = sorted(shares.items(), key=lambda item: -item[1])[:4]
        text = ", ".join(f"{name} {100 * share:.0f} %" for name, share in parts)
        return (*sentences, f"of its time: {text}" if text else "")

    def _delays(self, tcps: Sequence[str], best: Setting) -> dict[str, tuple[Estimate, Estimate]]:
        """Return mean and 99 % delay of a small call, beside each transfer and alone."""
        beside, alone = with_call(self.tree, self.path, self.call)
        runs = max(3, self.runs // 2)
        wanted = {"nothing else": Point.of(alone)}
        for tcp in dict.fromkeys(tcps[:2]):
            wanted[f"{tcp}, as it is"] = self._point(tcp, {}, beside)
        if best.changes:
            wanted[f"{best.tcp}, as advised"] = self._point(best.tcp, best.changes, beside)
        self._simulate(wanted.values(), runs)
        table = {}
        for what, point in wanted.items():
            # A run in which no datagram of the call arrived has no delay.
            values = [
                _known(self.lab.values(point, f"{self.call}.{measure}", runs))
                for measure in ("delay_mean", "delay_p99")
            ]
            table[what] = (mean_ci95(values[0]), mean_ci95(values[1]))
        return table

    def _queues(self) -> tuple[QueueChoice, ...]:
        """Return delay of a call and goodput beside it under each queue discipline."""
        beside, _ = with_call(self.tree, self.path, self.call)
        runs = max(3, self.runs // 2)
        wanted = {"the queue as it is": self._point(self.now, {}, beside)}
        for what, tree in with_disciplines(beside, self.path):
            try:
                wanted[what] = self._point(self.now, {}, tree)
            except ScenarioError as error:
                self.refused.append(f"{what}: {error}")
        self._simulate(wanted.values(), runs)
        measures = (f"{self.call}.delay_mean", f"{self.call}.delay_p99", "goodput_over_run")
        values = {
            what: [_known(self.lab.values(point, measure, runs)) for measure in measures]
            for what, point in wanted.items()
        }
        base = next(iter(values.values()))
        return tuple(
            QueueChoice(
                what,
                mean_ci95(rows[0]),
                mean_ci95(rows[1]),
                mean_ci95(rows[2]),
                paired_difference(rows[0], base[0]),
                paired_difference(rows[2], base[2]),
            )
            for what, rows in values.items()
        )

    def _left_out(self) -> tuple[str, ...]:
        lines = [
            "Intervals are of this model with these parameters: they say nothing of rain, "
            "traffic or changes of the path that the scenario does not have.",
            "Kernels differ in details from their profiles here; `farlink compare` puts your own "
            "kernel beside, over the same path.",
        ]
        flows = self.tree["flows"]
        if len(flows) == 1 and int(flows[0].get("count", 1)) == 1:
            lines.append(
                "Of other traffic one transfer and one call were tried. BBR beside many flows that "
                "go by losses takes more than its share of a small queue: write the flows into the "
                "scenario before you switch it on for many."
            )
        if self.path.queue is None:
            lines.append(
                "The buffer of the slowest link has no limit here. Real ones have: with it losses "
                "come earlier, and delays are shorter."
            )
        if not self.is_random:
            lines.append("Nothing on this path is random: all runs of a setting are the same.")
        if self.begins_anywhere:
            lines.append(
                "Each run begins at a place of its own in its traces (random_offset), "
                "which begin again at their end."
            )
        if changes := moving.note(self.tree_given):
            lines.append(changes)
        lines += [f"Not simulated: {item}" for item in self.refused]
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
    """Return a warning if the advised setting retransmits more than 10 % of its segments."""
    again = best.retransmitted.mean or 0.0
    if again <= _MUCH_AGAIN:
        return ()
    line = (
        f"The setting advised sends {100 * again:.0f} % of its segments again, which takes room "
        "from others on the link."
    )
    low = best.goodput.low or 0.0
    for option in options:
        share = option.retransmitted.mean or 0.0
        if share < again / 2 and (option.goodput.high or 0.0) >= low:
            line += (
                f" {option.tcp} as it is, whose goodput is not told apart from it by their "
                f"intervals, "
                f"sends {100 * share:.1f} % again."
            )
            break
    return (line,)


_MUCH_AGAIN = 0.1
"""Share of retransmitted segments above which the page has a warning."""


def _own_tcp(given: str | Path | Mapping[str, object], point: Point) -> str | None:
    """Return the TCP that the scenario names explicitly; None if it leaves the TCP open.

    The default of the machines (Linux CUBIC) replaces an open TCP, not the simulator's default.
    """
    row = point.scenario["resolved_tcp"][0]
    where = source.find(given)
    read = json.loads if where.text.lstrip().startswith("{") else tomllib.loads
    tcp = row if where.saved else read(where.text).get("tcp", {})
    if not isinstance(tcp, Mapping) or "variant" not in tcp:
        return None
    profile, variant = row.get("profile", "rfc"), str(row["variant"])
    return variant if profile == "rfc" else f"{profile}-{variant}"


def _name(given: object, tree: Mapping[str, Any]) -> str:
    return str(given) if isinstance(given, str | Path) else str(tree.get("name") or "scenario.toml")


def _rounded(size: float) -> int:
    """Round up to a power of two of at least 64 KiB."""
    return 1 << max(16, (max(int(size), 1) - 1).bit_length())


def _known(values: Any) -> list[float | None]:  # noqa: ANN401 (an array)
    """Return numbers as a list, with NaN replaced by None."""
    return [float(value) if np.isfinite(value) else None for value in values]


def _is_tcp(flow: Mapping[str, Any]) -> bool:
    return flow.get("app") not in ("cbr", "onoff", "xtp")


def server_name(name: str) -> str:
    """Return the full name of the TCP that `--server` names: "cubic" is "linux-cubic".

    A name that contains a profile, or that Linux lacks, is returned unchanged.
    """
    profile, variant = source.split(name)
    known = source.profiles()["linux"]["tcp"]
    return f"linux-{variant}" if profile is None and variant in known else name
