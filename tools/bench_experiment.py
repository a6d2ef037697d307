"""Measures the cost of experiments beside the engine, and answer times of a large store.

python tools/bench_experiment.py grid          2,400 runs on one and two threads, against the engine
python tools/bench_experiment.py two           two threads of the engine, beside two processes
python tools/bench_experiment.py kills         the 2,400 runs, killed ten times: the same numbers
python tools/bench_experiment.py task          what a task costs, on threads and on Dask
python tools/bench_experiment.py store ROWS    a store of so many rows, and three questions to it

docs/scale.md has the results.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import farlink as fl
from farlink import _farlink
from farlink.experiment import Experiment, Point, Store, plan
from farlink.experiment.numbers import Numbers

GRID: dict[str, Any] = {
    "scenario": "geo-lossy",
    "runs": 30,
    "set": {"flows.download.size": "2 MB", "tcp.receive_window": "1 MiB"},
    "factors": {
        "tcp": ["newreno", "sack", "cubic", "hybla"],
        "loss": {
            "path": "links.satellite.down.channel.ber",
            "values": [0, 1e-8, 1e-7, 1e-6, 3e-6],
        },
        "buffer": {
            "path": "links.satellite.down.queue",
            "values": [{"packets": n} for n in (20, 50, 100, 200)],
        },
    },
}


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def grid() -> None:
    """Compare an experiment with a store to the engine alone, on one thread and on two.

    Processor seconds are given beside clock seconds, because other processes disturb them less.
    """
    points = plan.read(GRID).points
    parts = [(point.text, list(range(30))) for point in points]
    for jobs in (1, 2):
        engine = _best(partial(_farlink.simulate, parts, jobs))
        layer = _best(partial(_layer, points, jobs))
        say(f"{jobs} threads: engine {engine[0]:.2f} s ({engine[1]:.2f} s of processors), "
            f"through the layer into a store {layer[0]:.2f} s ({layer[1]:.2f} s), "
            f"overhead {100 * (layer[1] / engine[1] - 1):.1f} % of them")  # fmt: skip


_ONE = """
import sys, time
sys.path.insert(0, sys.argv[1])
import bench_experiment as bench
parts = bench.some(8)
print(flush=True)
for line in sys.stdin:
    print(bench.timed(lambda: bench._farlink.simulate(parts, int(line))), flush=True)
"""


def some(runs: int) -> list[tuple[str, list[int]]]:
    """Return the points of the grid with this many runs each."""
    return [(point.text, list(range(runs))) for point in plan.read(GRID).points]


def two() -> None:
    """Compare, in turns, the gains from a second thread and from a second process.

    Two processes share only the machine, so their gain is the greatest possible one.
    """
    command = [sys.executable, "-c", _ONE, str(Path(__file__).parent)]
    both = [
        subprocess.Popen(  # noqa: S603 (this Python)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]

    def at_once(processes: Sequence["subprocess.Popen[str]"], threads: int) -> float:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(f"{threads}\n")
            process.stdin.flush()
        return max(
            float(process.stdout.readline()) for process in processes if process.stdout is not None
        )

    for side in both:
        assert side.stdout is not None
        side.stdout.readline()
    rows = [[at_once(both[:1], 1), at_once(both[:1], 2), at_once(both, 1)] for _ in range(20)]
    for side in both:
        side.communicate()
    alone, threads, processes = np.array(rows).T
    for what, gains in (("two threads", alone / threads), ("two processes", 2 * alone / processes)):
        low, middle, high = np.quantile(gains, (0.25, 0.5, 0.75))
        say(f"{what} do {middle:.2f} times as much as one (quartiles {low:.2f}, {high:.2f})")


def kills() -> None:
    """Ten times, kill the grid at a random moment, resume it, and compare it with a whole run."""
    work = f"import farlink as fl, sys; fl.sweep({GRID!r}, store=sys.argv[1])"
    with tempfile.TemporaryDirectory() as where:
        alone = Path(where) / "alone"
        command = [sys.executable, "-c", work]
        whole = timed(partial(subprocess.run, [*command, str(alone)], check=True))
        reference = fl.sweep(GRID, store=alone).frame
        rng = np.random.default_rng(1)
        for number in range(10):
            store = Path(where) / f"killed-{number}"
            going = subprocess.Popen([*command, str(store)])  # noqa: S603 (this Python)
            time.sleep(float(rng.uniform(0.3, 1.0)) * whole)
            going.kill()
            going.wait()
            ended = fl.sweep(GRID, store=store)
            say(f"killed with {2400 - ended.simulated_runs:,} of 2,400 runs kept, and ended; "
                f"the same to the bit: {ended.frame.equals(reference)}")  # fmt: skip


def _best(work: Callable[[], object]) -> tuple[float, float]:
    """Return the least clock seconds and the least processor seconds of several runs."""
    entries = []
    for _ in range(3):
        before = time.process_time()
        wall = timed(work)
        entries.append((wall, time.process_time() - before))
    return min(match for match, _ in entries), min(match for _, match in entries)


def _layer(points: Sequence[Point], jobs: int) -> None:
    with tempfile.TemporaryDirectory() as where:
        Experiment(Path(where) / "store", jobs=jobs).simulate([(point, 30) for point in points])


def task() -> None:
    """Time tasks that do almost nothing."""
    point = Point.of("geo-lossy", overrides={"flows.download.size": "1 B"})
    from farlink.experiment.work import Part, simulate

    part = [Part(point.key, point.text, [0])]
    from concurrent.futures import ThreadPoolExecutor

    count = 500
    alone = timed(lambda: [simulate(part, _farlink.engine()) for _ in range(count)]) / count
    with ThreadPoolExecutor(1) as pool:
        threads = timed(lambda: _all(pool, part, count)) / count
    say(f"a task: {1e6 * alone:.0f} us of work, {1e6 * threads:.0f} us on a thread")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        pool = client.get_executor()
        _all(pool, part, 20)
        say(f"on Dask: {1e6 * timed(lambda: _all(pool, part, count)) / count:.0f} us a task")


def _all(pool: Any, part: object, count: int) -> None:  # noqa: ANN401 (any executor)
    from farlink.experiment.work import simulate

    for item in [pool.submit(simulate, part, _farlink.engine()) for _ in range(count)]:
        item.result()


def store(rows: int) -> None:
    """Make a store with this many rows, ten measures per run and 100 points, and query it."""
    tcps, losses, buffers = ("newreno", "sack", "cubic", "hybla"), range(5), range(5)
    points = [
        Point.of("geo-lossy", tcp=tcp, seed=100 * loss + buffer,
                 factors={"tcp": tcp, "loss": loss, "buffer": buffer})
        for tcp in tcps for loss in losses for buffer in buffers
    ]  # fmt: skip
    names = [
        *("goodput", "duration", "timeouts", "rtt_mean", "segments_sent"),
        *("segments_retransmitted", "fast_retransmits", "bytes_delivered", "rtt_p99", "cwnd_mean"),
    ]
    layout = tuple(("flow", "download", name) for name in sorted(names))
    runs = rows // len(points) // len(layout)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as where:
        kept = Store(Path(where) / "store")
        kept.describe("bench", points)
        wrote = 0.0
        step = max(1, runs // 20)
        for first in range(0, runs, step):
            some = np.arange(first, min(first + step, runs))
            parts = [
                Numbers(point.key, layout, some, rng.normal(1e6, 1e5, (len(some), len(layout))))
                for point in points
            ]
            wrote += timed(partial(kept.add, parts))
        merged = timed(partial(kept.tidy, at_least=2))
        size = sum(path.stat().st_size for path in kept.path.iterdir())
        total = runs * len(points) * len(layout)
        say(f"{total:,} rows, {runs * len(points):,} runs: {size / 1e6:.0f} MB, "
            f"{size / total:.1f} B a row; written in {wrote:.1f} s, "
            f"merged in {merged:.1f} s")  # fmt: skip
        for what, sql in QUERIES.items():
            fresh = Store(kept.path)
            best = min(timed(partial(fresh.query, sql)) for _ in range(3))
            say(f"  {what}: {best:.2f} s")


QUERIES = {
    "mean of goodput by three factors": (
        "with means as (select point, avg(value) mean, count(value) n from results "
        "where measure = 'goodput' group by point) "
        "select factors['tcp'] tcp, factors['loss'] loss, factors['buffer'] buffer, "
        "sum(mean * n) / sum(n) mean from means join points using (point) group by all"
    ),
    "99 % quantile of duration by TCP": (
        "select factors['tcp'] tcp, quantile_cont(value, 0.99) from results "
        "join (select point, factors from points) using (point) "
        "where measure = 'duration' group by all"
    ),
    "paired difference of two points, run by run": (
        "with two as (select min(point) a, max(point) b from points) "
        "select avg(x.value - y.value), stddev(x.value - y.value) from results x, results y, two "
        "where x.measure = 'goodput' and y.measure = 'goodput' and x.run = y.run "
        "and x.point = two.a and y.point = two.b"
    ),
}


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked == ["grid"]:
        grid()
    elif asked == ["two"]:
        two()
    elif asked == ["kills"]:
        kills()
    elif asked == ["task"]:
        task()
    elif len(asked) == 2 and asked[0] == "store":
        store(int(asked[1]))
    else:
        sys.exit(__doc__)
