"""Result of a run: its numbers, and access to its traces and plots."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from farlink import _farlink, columns, files, folder, measures, registry, resultfile, tracefiles
from farlink.checks import text_of, whole
from farlink.errors import RunError, ScenarioError
from farlink.measures import AGENT, Row, unit_of, values_of
from farlink.processes import FileTask, write_all
from farlink.stats import Estimate, mean_ci95, median_ci95, paired_difference
from farlink.trace import NAMES, PACKETS, Trace

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from farlink._farlink import Measures
    from farlink.api import Progress
    from farlink.paper import Fonts, Size
    from farlink.plot import Plots
    from farlink.tracefiles import Written

__all__ = ["MOST_SNAPLEN", "Result", "save_captures"]

MOST_SNAPLEN = 65_535
"""Longest IPv4 packet, in bytes."""

_ABSENT = {"mean": None, "ci95": [None, None], "n": 0}
"""Metric of a counter that an agent's kind lacks."""

_UNKNOWN = registry.Measure("", "flow", "", "ratio", "mean", [], "")
"""Measure used for metrics in results of other versions that this version does not know."""


class Result:
    """Numbers of all runs, with the whole scenario that produced them."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.__dict__["data"] = data
        self._head: Mapping[str, Any] = data
        self._measures: Mapping[str, Measures] = {}
        self._rows: dict[str, Sequence[Row]] = {}
        self._traces: dict[tuple[str, int], Trace] = {}
        self._snaplens: dict[tuple[str, int], int | None] = {}
        self.notes: dict[str, str] = {}
        """Parts of the network by TCP, or the reason for one part, of runs with `threads`."""

    @classmethod
    def of_runs(
        cls,
        scenarios: Mapping[str, dict[str, Any]],
        runs: "Mapping[str, Measures]",
        wall_s: float,
    ) -> "Result":
        """Return the result of simulated runs, by TCP."""
        first = next(iter(scenarios.values()))
        result = cls({
            "format": resultfile.FORMAT,
            "version": _farlink.version(),
            "seed": first["seed"],
            "runs": len(next(iter(runs.values()))),
            "tcp": list(scenarios),
            "events": sum(run.events for run in runs.values()),
            "wall_s": wall_s,
            "scenario": first,
            "scenarios": dict(scenarios),
        })  # fmt: skip
        # The document is many times larger than the numbers, so it is built only when it is read.
        del result.__dict__["data"]
        result._measures = runs
        return result

    @cached_property
    def data(self) -> dict[str, Any]:
        """Document that `to_json` writes; docs/results.md describes it."""
        document: dict[str, Any] = json.loads(self.text)
        return document

    def rows(self, part: str) -> Sequence[Row]:
        """Return the rows of one part of `data` ("results", "links", ...) alone.

        The rest of `data` is not built.
        """
        if not self._measures:
            return self._head.get(part) or []
        if part not in self._rows:
            self._rows[part] = measures.rows_of(self._measures, part)
        return self._rows[part]

    def __repr__(self) -> str:
        tcp = ", ".join(self.tcp)
        return f"<farlink.Result {self.name}: {tcp}; runs {self.runs}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show, with the text that the command prints."""
        from farlink.views import page
        from farlink.views.table import show

        return page.as_html(lambda out: show(self, out))

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self._head["scenario"].get("name") or "scenario")

    @property
    def tcp(self) -> list[str]:
        """Names of the TCPs, in the order of the request."""
        return list(self._head["tcp"])

    @property
    def runs(self) -> int:
        """Runs per TCP."""
        return int(self._head["runs"])

    @property
    def events(self) -> int:
        """Events of all runs together."""
        return int(self._head["events"])

    @property
    def wall_s(self) -> float:
        """Wall time of all runs (s)."""
        return float(self._head["wall_s"])

    @property
    def seed(self) -> int:
        """Seed of the scenario."""
        return int(self._head["seed"])

    def scenario(self, tcp: str | None = None) -> dict[str, Any]:
        """Return the resolved scenario of a TCP (by default of the first)."""
        scenario: dict[str, Any] = self._head["scenarios"][self._one_tcp(tcp)]
        return scenario

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """Flow metrics: one row per TCP and flow, and four columns per metric.

        The columns are (metric, "mean"), (metric, "ci95_low"), (metric,
        "ci95_high") and (metric, "n"); `attrs["units"]` has the unit of each
        metric. Without a second run the interval is NaN.
        """
        return _frame(self.rows("results"), ["tcp", "flow"])

    @cached_property
    def links(self) -> "pd.DataFrame":
        """Link metrics: like `summary`, with one row per TCP, link and direction."""
        return _frame(self.rows("links"), ["tcp", "link", "direction"])

    @cached_property
    def agents(self) -> "pd.DataFrame":
        """Counters of agents: like `summary`, with one row per TCP, agent, its node and link.

        Agents of different kinds have different counters. Without agents the table is empty.
        """
        import pandas as pd

        rows = self.rows("agents")
        return _frame(rows, ["tcp", *AGENT]) if rows else pd.DataFrame()

    @cached_property
    def handoffs(self) -> "pd.DataFrame":
        """Costs of handoffs: like `summary`, with one row per TCP and moving host.

        Without a moving host the table is empty.
        """
        import pandas as pd

        rows = self.rows("handoffs")
        return _frame(rows, ["tcp", "host"]) if rows else pd.DataFrame()

    @cached_property
    def fairness(self) -> "pd.DataFrame":
        """Fairness over the flows of a run: like `summary`, with one row per TCP.

        The metric is `jain`, NaN for a single flow.
        """
        return _frame(self.rows("fairness"), ["tcp"])

    @cached_property
    def values(self) -> "pd.DataFrame":
        """Flow metrics of each run: one row per TCP, flow and run."""
        import pandas as pd

        table: dict[str, Any] = {"tcp": [], "flow": [], "run": []}
        rows = self.rows("results")
        for row in rows:
            table["tcp"] += [row["tcp"]] * self.runs
            table["flow"] += [row["flow"]] * self.runs
            table["run"] += range(self.runs)
        table |= self._columns(list(_units(rows)))
        frame = pd.DataFrame(table).set_index(["tcp", "flow", "run"]).astype("float64")
        frame.attrs["units"] = _units(rows)
        return frame

    def _columns(self, metrics: Sequence[str]) -> "dict[str, Any]":
        """Return flow metrics as columns, ordered by TCP, then flow, then run."""
        import numpy as np

        if self._measures:
            tables = [measure.table("flow") for measure in self._measures.values()]
            return {
                name: np.concatenate([columns.numbers(table, name) for table in tables])
                for name in metrics
            }
        rows = self.rows("results")
        return {name: [v for row in rows for v in values_of(row, name)] for name in metrics}

    def total(self, metric: str, tcp: str, *, udp: bool | None = None) -> Estimate:
        """Estimate a flow metric over all flows of a TCP.

        Goodput, bytes and counts are summed over the flows of each run. `loss_rate` is that of all
        datagrams together, and other metrics are averaged. The estimate is over the runs. `udp`
        restricts it to datagram flows (True) or TCP flows (False); without such a flow the estimate
        is empty.
        """
        return mean_ci95(self._totals(metric, tcp, udp=udp))

    @cached_property
    def runs_are_alike(self) -> bool:
        """Whether several runs gave equal numbers, as in a scenario without randomness."""
        return self.runs > 1 and all(
            len(set(values_of(row, name))) == 1
            for part in ("results", "links")
            for row in self.rows(part)
            for name in row["metrics"]
        )

    def udp_flows(self) -> list[str]:
        """Return the names of the flows of datagrams, in the order of the scenario."""
        rows = [row for row in self.rows("results") if row["tcp"] == self.tcp[0]]
        return [str(row["flow"]) for row in rows if _is_udp(row)]

    def tcp_flows(self) -> list[str]:
        """Return the names of the flows over TCP, in the order of the scenario."""
        rows = [row for row in self.rows("results") if row["tcp"] == self.tcp[0]]
        return [str(row["flow"]) for row in rows if not _is_udp(row)]

    def connections(self) -> list[str]:
        """Return the names of the flows over TCP without further subflows of a connection."""
        rows = [row for row in self.rows("results") if row["tcp"] == self.tcp[0]]
        return [
            str(row["flow"]) for row in rows if not _is_udp(row) and not _is_further_subflow(row)
        ]

    @property
    def goodput_to_add(self) -> str:
        """Name of the goodput metric that can be summed over TCP flows.

        With several connections the metric is `goodput_over_run`, because goodputs over each
        flow's own duration do not add up to the throughput of the path.
        """
        known = self.rows("results")[0]["metrics"]
        several = len(self.connections()) > 1
        return "goodput_over_run" if several and "goodput_over_run" in known else "goodput"

    def difference(self, metric: str, a: str, b: str, *, udp: bool | None = None) -> Estimate:
        """Estimate by how much TCP `a` exceeds TCP `b`, run by run.

        Run k of both TCPs has the same channel, so the interval is that of the paired differences
        (see `stats.paired_difference`). `udp` is as in `total`.
        """
        return paired_difference(self._totals(metric, a, udp=udp), self._totals(metric, b, udp=udp))

    def median(self, metric: str, tcp: str, *, udp: bool | None = None) -> Estimate:
        """Estimate the median over the runs of a flow metric of all flows of a TCP.

        Flows are combined as in `total`. The median is in `mean`; see `stats.median_ci95`.
        """
        return median_ci95(self._totals(metric, tcp, udp=udp))

    def per_run(self, metric: str, tcp: str, *, udp: bool | None = None) -> list[float | None]:
        """Return a flow metric of all flows of a TCP, run by run (see `total`)."""
        return self._totals(metric, tcp, udp=udp)

    @property
    def trace_names(self) -> tuple[str, ...]:
        """Names of the available traces (docs/results.md describes each)."""
        return NAMES

    def trace(
        self, name: str, tcp: str | None = None, run: int = 0, *, bin_s: float | None = None
    ) -> "pd.DataFrame":
        """Return a trace as a table with `time` in seconds and units in `attrs["units"]`.

        Runs can be repeated exactly. The first call for a TCP and run therefore simulates that run
        again with traces, and stores the tables. The trace "packets" is collected only on request,
        because it has a row for each packet and link.

        Parameters
        ----------
        name
            Name in `trace_names`, such as cwnd, segments, drops or throughput.
        tcp
            TCPs of the trace, in the column `tcp`; by default all.
        run
            Number of the run, from 0.
        bin_s
            For throughput: width of a bin in seconds (default: a round number
            near 1/100 of the time simulated).
        """
        import numpy as np
        import pandas as pd

        names = self.tcp if tcp is None else [self._one_tcp(tcp)]
        packets = name == PACKETS
        probes = [self.probe(item, run, packets=packets) for item in names]
        tables = [probe.table(name, bin_s=bin_s) for probe in probes]
        units = tables[0].attrs["units"]
        table = pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0].copy()
        counts = [len(item) for item in tables]
        codes = np.repeat(np.arange(len(counts)), counts)
        category = pd.Categorical.from_codes(codes, categories=pd.Index(names))
        table.insert(0, "tcp", pd.Series(category))
        table.attrs["units"] = dict(units)
        return table

    def story(self, tcp: str | None = None, run: int = 0) -> "pd.DataFrame":
        """Return a sentence for each event of a run: time (s), flow, side, text, packet.

        `side` is the end of the flow with the event. `packet` is the number of the packet in the
        trace packets, if there is one.
        """
        return self.probe(tcp, run, packets=True).story.copy()

    def phases(
        self,
        tcp: str | None = None,
        run: int = 0,
        *,
        interval: float | None = None,
        first: float = 0.0,
    ) -> "pd.DataFrame":
        """Return statistics of each flow over TCP or QUIC by phase of its path.

        Phases end where a path of the scenario changes: at the changes of `reconfiguration`, and
        where the column phase of a trace changes. With `interval` (s) they end at `first` plus
        multiples of it. docs/moving-paths.md describes each column; `attrs["units"]` has the units.

        Raises
        ------
        ScenarioError
            If no change of a path is known, and no interval is given.
        """
        import pandas as pd

        from farlink import phases, phasetable

        tables = []
        for name in self.tcp if tcp is None else [self._one_tcp(tcp)]:
            probe = self.probe(name, run)
            until = probe.simulated_s
            if interval is None:
                changes = phases.boundaries(self.scenario(name), until)
            else:
                changes = phases.grid(interval, first, until)
            tables.append(phasetable.table(probe, changes, self.tcp_flows()))
            tables[-1].insert(0, "tcp", name)
        table = pd.concat(tables, ignore_index=True)
        table.attrs["units"] = {"tcp": "", **phasetable.UNITS}
        return table

    def arrays(
        self,
        name: str,
        tcp: str,
        run: int = 0,
        *,
        bin_s: float | None = None,
        where: Mapping[str, str] | None = None,
    ) -> "dict[str, np.ndarray[Any, Any]]":
        """Return a trace of a TCP as arrays; `where` selects rows (see `Trace.arrays`)."""
        probe = self.probe(tcp, run, packets=name == PACKETS)
        return probe.arrays(name, bin_s=bin_s, where=where)

    def probe(
        self,
        tcp: str | None = None,
        run: int = 0,
        *,
        snaplen: int | None = None,
        packets: bool = False,
        progress: "Progress | None" = None,
    ) -> Trace:
        """Return all traces of one run, which is simulated again with traces on.

        With `packets` the traces include "packets". With `snaplen` they include the packets of
        each capture point as pcapng, with at most that many bytes per packet (0: whole packets).

        Raises
        ------
        RunError
            If the run does not reproduce the saved numbers, because another version made the
            result.
        """
        run = whole("run", run, resultfile.MOST_RUNS, least=0)
        key = (self._one_tcp(tcp), run)
        if run not in range(self.runs):
            raise ScenarioError(
                f"run {text_of(run)} is not there; this result has 0 to {self.runs - 1}"
            )
        if snaplen is not None:
            snaplen = whole("snaplen", snaplen, MOST_SNAPLEN, least=0)
        known = self._traces.get(key)
        other = snaplen is not None and self._snaplens.get(key) != snaplen
        if known is None or other or (packets and PACKETS not in known.names):
            # Data that an earlier call asked for stays.
            snaplen = self._snaplens.get(key) if snaplen is None else snaplen
            packets = packets or (known is not None and PACKETS in known.names)
            text = json.dumps(self._head["scenarios"][key[0]])
            known = Trace(_farlink.trace(text, run, snaplen, packets=packets, progress=progress))
            self._check_same(key[0], run, known.measures)
            self._traces[key] = known
            self._snaplens[key] = snaplen
        return known

    def probe_all(
        self,
        run: int = 0,
        *,
        snaplen: int | None = None,
        packets: bool = False,
        progress: "Progress | None" = None,
        jobs: int = 1,
    ) -> None:
        """Simulate one run of every TCP with its traces on, at most `jobs` at a time.

        A later `probe` of these runs returns the stored traces.
        """

        def simulate(tcp: str, report: "Progress | None") -> None:
            self.probe(tcp, run, snaplen=snaplen, packets=packets, progress=report)

        self._each_tcp(simulate, progress, jobs)

    def _stream(
        self, directory: Path, snaplen: int | None, progress: "Progress | None", jobs: int
    ) -> list[Path]:
        """Write the traces of run 0 of every TCP while the runs go on."""
        written: dict[str, list[Path]] = {}

        def simulate(tcp: str, report: "Progress | None") -> None:
            place = files.inside(directory, tcp)
            place.mkdir(parents=True)
            text = json.dumps(self._head["scenarios"][tcp])
            traced = tracefiles.write(text, place, snaplen=snaplen, progress=report)
            self._check_same(tcp, 0, traced.measures)
            written[tcp] = [*save_captures(place, traced), *traced.paths]

        self._each_tcp(simulate, progress, jobs)
        return [path for tcp in self.tcp for path in written[tcp]]

    def _each_tcp(
        self,
        simulate: "Callable[[str, Progress | None], None]",
        progress: "Progress | None",
        jobs: int,
    ) -> None:
        """Call `simulate` for every TCP, at most `jobs` at a time."""
        waiting = iter(self.tcp)
        stop = threading.Event()

        def beside(*state: Any) -> None:  # noqa: ANN401 (what a Progress is told)
            if stop.is_set():
                raise InterruptedError
            if progress is not None:
                progress(*state)

        def work(report: "Progress | None") -> None:
            for tcp in waiting:  # An iterator over a list gives each name to exactly one thread.
                simulate(tcp, report)

        # Only this thread receives signals. It simulates too, and asks the other threads to stop.
        others = max(min(jobs, len(self.tcp)) - 1, 0)
        with ThreadPoolExecutor(max(others, 1)) as pool:
            helpers = [pool.submit(work, beside) for _ in range(others)]
            try:
                work(progress)
            except BaseException:
                stop.set()
                raise
            for helper in helpers:
                helper.result()

    @cached_property
    def plot(self) -> "Plots":
        """Figures: `.sequence()`, `.cwnd()`, `.throughput()`, `.queue()`, `.delay()`, ..."""
        from farlink.plot import Plots

        return Plots(self)

    def to_json(self, path: str | Path) -> None:
        """Write the result file, completely or not at all."""
        files.write_pieces(Path(path), self.pieces())

    @property
    def text(self) -> str:
        """The result file, in the form that `to_json` writes."""
        return "".join(self.pieces())

    def pieces(self) -> Iterator[str]:
        """Yield the result file in pieces, so that a large file is never in memory as a whole."""
        if not self._measures:
            yield json.dumps(self.data, indent=1, allow_nan=False) + "\n"
            return
        parts = ["format", "version", "seed", "runs", "tcp"]
        yield json.dumps({key: self._head[key] for key in parts}, indent=1)[:-2]
        for part in measures.PARTS:
            if rows := self.rows(part):
                yield f',\n "{part}": ['
                for number, row in enumerate(rows):
                    yield ("," if number else "") + "\n" + measures.text_of(row)
                yield "\n ]"
        rest = {key: self._head[key] for key in self._head if key not in parts}
        yield "," + json.dumps(rest, indent=1, allow_nan=False)[1:] + "\n"

    def save(
        self,
        directory: str | Path,
        *,
        table_format: str = "parquet",
        plots: bool = False,
        figure: str | None = None,
        packets: bool = False,
        snaplen: int | None = None,
        phases: tuple[float | None, float] | None = None,
        jobs: int = 1,
        size: "Size | None" = None,
        fonts: "Fonts | None" = None,
        tell: "Callable[[str], None] | None" = None,
        progress: "Progress | None" = None,
    ) -> list[Path]:
        """Write the result and the traces of run 0 of every TCP to a directory.

        The files are result.json, <tcp>/<trace>.parquet (or .csv), with `snaplen` <tcp>/<capture
        point>.pcapng, and with `plots` plots/*.png and plots/*.svg. `figure` adds the figures of
        one kind, such as ladder, and `packets` the trace packets. `phases` adds the tables of
        `Result.phases` with these arguments `interval` and `first`. Returns their paths. Either all
        files are put into the directory or none. Files of an earlier call are removed, and files of
        other programs are kept (a list in the directory distinguishes them). A figure that cannot
        be drawn is omitted with a `FigureWarning`. Up to `jobs` processes draw, with `size` and
        `fonts` as in `plot.save`. `tell` is called with the name of each part before it is written,
        and `progress` while runs are simulated again.

        Parquet files of traces alone are written while their run goes on, up to `jobs` runs at a
        time, and memory does not grow with the length of a run. Captures, plots and the trace
        packets are in memory as a whole.
        """
        base = Path(directory)
        with folder.filling(base, last="result.json") as stage:
            written = [stage / "result.json"]
            self.to_json(written[0])
            written += self.save_run(
                stage,
                table_format=table_format,
                plots=plots,
                figure=figure,
                packets=packets,
                snaplen=snaplen,
                phases=phases,
                jobs=jobs,
                size=size,
                fonts=fonts,
                tell=tell,
                progress=progress,
            )
        return [base / path.relative_to(stage) for path in written]

    def save_run(
        self,
        directory: Path,
        *,
        table_format: str | None = None,
        plots: bool = False,
        figure: str | None = None,
        packets: bool = False,
        snaplen: int | None = None,
        phases: tuple[float | None, float] | None = None,
        jobs: int = 1,
        size: "Size | None" = None,
        fonts: "Fonts | None" = None,
        tell: "Callable[[str], None] | None" = None,
        progress: "Progress | None" = None,
    ) -> list[Path]:
        """Write the files of `save` except the result; no traces without `table_format`."""
        whole = plots or packets or figure is not None or phases is not None or bool(self._traces)
        if table_format == "parquet" and not whole:
            return self._stream(directory, snaplen, progress, jobs)
        packets_too = packets or figure == "ladder"
        self.probe_all(snaplen=snaplen, packets=packets_too, progress=progress, jobs=jobs)
        tasks: list[FileTask] = []
        if plots:
            tasks += self.plot.tasks(directory / "plots", size=size, fonts=fonts)
        if figure is not None:
            chosen = self.plot.tasks(directory / "plots", only=figure, size=size, fonts=fonts)
            drawn = {name for name, _ in tasks}
            tasks += [task for task in chosen if task[0] not in drawn]
        if table_format is not None:
            tasks += [
                (
                    f"traces of {tcp}",
                    partial(
                        self.probe(tcp).write,
                        files.inside(directory, tcp),
                        table_format,
                        packets=packets,
                    ),
                )
                for tcp in self.tcp
            ]
        if table_format is not None and phases is not None:
            from farlink.phasetable import write as write_phases

            interval, first = phases
            tables = {tcp: self.phases(tcp, interval=interval, first=first) for tcp in self.tcp}
            tasks += [
                (
                    f"phases of {tcp}",
                    partial(write_phases, table, files.inside(directory, tcp), table_format),
                )
                for tcp, table in tables.items()
            ]
        written = [] if snaplen is None else self.save_pcaps(directory, snaplen)
        return written + write_all(tasks, jobs, tell, figure)

    def save_pcaps(self, directory: str | Path, snaplen: int = 0) -> list[Path]:
        """Write the packets of run 0 of every TCP as <tcp>/<capture point>.pcapng.

        For QUIC, <tcp>/keys.log has the secrets with which Wireshark decrypts them, and
        <tcp>/<flow>-client.sqlog and -server.sqlog have the logs of both ends (qlog).
        """
        written = []
        for tcp in self.tcp:
            probed = self.probe(tcp, snaplen=snaplen)
            folder = files.inside(Path(directory), tcp)
            written += save_captures(folder, probed)
        return written

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Read a result that `to_json` wrote.

        Raises
        ------
        ScenarioError
            If the file cannot be read or is not a result.
        """
        return cls(resultfile.read(Path(path)))

    def _one_tcp(self, tcp: str | None) -> str:
        if tcp is None:
            return self.tcp[0]
        if tcp not in self.tcp:
            raise ScenarioError(
                f"tcp {text_of(tcp)} is not in this result; it has {', '.join(self.tcp)}"
            )
        return tcp

    def _totals(self, metric: str, tcp: str, *, udp: bool | None = None) -> list[float | None]:
        rows = [row for row in self.rows("results") if row["tcp"] == self._one_tcp(tcp)]
        known = rows[0]["metrics"]
        if metric not in known:
            raise ScenarioError(
                f"metric {text_of(metric)} is not known; there are {', '.join(known)}"
            )
        rows = [row for row in rows if udp is None or _is_udp(row) == udp]
        if not rows:
            return [None] * self.runs
        measure = registry.measures("flow").get(metric, _UNKNOWN)
        if measure.pooled:
            part, rest = (_summed(rows, name) for name in measure.pooled)
            pairs = zip(part, rest, strict=True)
            return [pair / (pair + other) if pair + other > 0 else None for pair, other in pairs]
        per_run = zip(*(values_of(row, metric) for row in rows), strict=True)
        return [measure.of_all(values) for values in per_run]

    def _check_same(self, tcp: str, run: int, measured: "Measures") -> None:
        saved = {
            row["flow"]: [(name, values_of(row, name)[run]) for name in row["metrics"]]
            for row in self.rows("results")
            if row["tcp"] == tcp
        }
        again = {
            row["flow"]: [(name, values_of(row, name)[0]) for name in row["metrics"]]
            for row in measures.rows_of({tcp: measured}, "results")
        }
        if saved != again:
            raise RunError(
                f"{self.name}: run {run} of {tcp} does not repeat: the result is of farlink "
                f"{self._head['version']} and this is {_farlink.version()}; run the scenario again"
            )


def save_captures(directory: Path, traced: "Trace | Written") -> list[Path]:
    """Write captures as <capture point>.pcapng, and for QUIC keys.log and <flow>-<role>.sqlog."""
    written = []
    texts = {"keys.log": traced.secrets} if traced.secrets else {}
    for name, text in (texts | traced.qlogs).items():
        written.append(directory / name)
        files.write_bytes(written[-1], text.encode())
    for point, data in traced.pcaps.items():
        # The capture point beside an agent is NODE@LINK-wired or -wireless.
        for part in point.split("@"):
            files.check_name(part)
        path = directory / f"{point}.pcapng"
        files.write_bytes(path, data)
        written.append(path)
    return written


def _frame(rows: Sequence[Row], keys: list[str]) -> "pd.DataFrame":
    import pandas as pd

    labels = [[row[key] for row in rows] for key in keys]
    index = (
        pd.MultiIndex.from_arrays(labels, names=keys)
        if len(keys) > 1
        else pd.Index(labels[0], name=keys[0])
    )
    by_metric = {}
    for name in _units(rows):
        metrics = [row["metrics"].get(name, _ABSENT) for row in rows]
        by_metric[name, "mean"] = [metric["mean"] for metric in metrics]
        by_metric[name, "ci95_low"] = [metric["ci95"][0] for metric in metrics]
        by_metric[name, "ci95_high"] = [metric["ci95"][1] for metric in metrics]
        by_metric[name, "n"] = [metric["n"] for metric in metrics]
    table = pd.DataFrame(by_metric, index=index)
    table.columns.names = ["metric", None]
    counts = [column for column in by_metric if column[1] == "n"]
    table = table.astype(
        {column: "int64" if column in counts else "float64" for column in by_metric}
    )
    table.attrs["units"] = _units(rows)
    return table


def _units(rows: Sequence[Row]) -> dict[str, str]:
    units: dict[str, str] = {}
    for row in rows:
        for name in row["metrics"]:
            if name not in units:
                units[name] = unit_of(row, name)
    return units


def _is_udp(row: Row) -> bool:
    """Return whether a row of flow metrics belongs to a flow of datagrams."""
    name = "datagrams_sent"
    return name in row["metrics"] and any(v is not None for v in values_of(row, name))


def _is_further_subflow(row: Row) -> bool:
    """Return whether a row belongs to a subflow of a connection that another row has."""
    carried, goodput = (
        name in row["metrics"] and any(v is not None for v in values_of(row, name))
        for name in ("subflow_bytes", "goodput_over_run")
    )
    return carried and not goodput


def _summed(rows: Sequence[Row], metric: str) -> list[float]:
    """Sum a metric over rows, run by run."""
    runs = zip(*(values_of(row, metric) for row in rows), strict=True)
    return [sum(value or 0.0 for value in values) for values in runs]
