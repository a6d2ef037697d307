"""State of a kernel's TCP in an emulation, as traces with the columns of simulated flows."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from farlink import files
from farlink.emulation import Emulated
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from farlink.plot import Plots
    from farlink.result import Result

__all__ = ["NAMES", "KernelTrace"]

_AT = {"time": "s", "flow": "", "side": "", "host": ""}

_UNITS = {
    "cwnd": {**_AT, "cwnd": "B"},
    "ssthresh": {**_AT, "ssthresh": "B"},
    "flight": {**_AT, "flight": "B"},
    "srtt": {**_AT, "srtt": "s"},
    "rto": {**_AT, "rto": "s"},
    "retransmissions": {**_AT, "retransmissions": "segments"},
    "delivered": {**_AT, "bytes": "B"},
    "marks": {**_AT, "kind": ""},
}

NAMES = tuple(_UNITS)
"""Names of the traces that TCP_INFO provides, and the count of retransmitted segments, which a
simulated run has one by one in its trace `segments`.
"""

_RECOVERY, _LOSS = 3, 4
"""States of the kernel's congestion control after a fast retransmit and after an RTO."""


class KernelTrace:
    """State of the kernel's TCP every 50 ms, for every connection of every host.

    The name of a flow has both ends of its connection ("10.0.0.1:5001-10.0.0.3:40000"). The side
    "from" is the end that sent more data.
    """

    def __init__(self, samples: "pd.DataFrame", done: Emulated) -> None:
        self._samples = samples
        self._done = done

    @classmethod
    def of(cls, done: Emulated) -> "KernelTrace":
        """Return the samples of an emulation that ran with `sample`."""
        import numpy as np
        import pandas as pd

        if "sockets" not in done.data:
            raise ScenarioError("this emulation has no samples: run it with sample=True")
        raw = pd.DataFrame(done.data["sockets"])
        hosts = [row["host"] for row in done.data["hosts"]]
        sent = raw.groupby(["local", "peer"])["acked"].max()
        pairs = list(zip(raw["local"], raw["peer"], strict=True))
        forward = [
            (sent[pair], pair[1]) >= (sent.get((pair[1], pair[0]), 0), pair[0]) for pair in pairs
        ]
        ordered = [
            pair if ahead else pair[::-1] for pair, ahead in zip(pairs, forward, strict=True)
        ]
        seconds = raw["time_ns"].astype("float64") / 1e9
        srtt = raw["srtt_us"].astype("float64") / 1e6
        return cls(
            pd.DataFrame(
                {
                    "time": seconds,
                    "flow": pd.Categorical([f"{a}-{b}" for a, b in ordered]),
                    "side": pd.Categorical(
                        ["from" if ahead else "to" for ahead in forward], categories=["from", "to"]
                    ),
                    "host": pd.Categorical([hosts[number] for number in raw["host"]]),
                    "cwnd": raw["cwnd"].astype("float64"),
                    "ssthresh": raw["ssthresh"].astype("float64").fillna(math.inf),
                    "flight": raw["flight"].astype("int64"),
                    "srtt": np.where(srtt > 0, srtt, math.nan),
                    "rto": raw["rto_us"].astype("float64") / 1e6,
                    "retransmissions": raw["retransmissions"].astype("int64"),
                    "bytes": raw["received"].astype("int64"),
                    "acked": raw["acked"].astype("int64"),
                    "state": raw["ca_state"].astype("int64"),
                }
            ),
            done,
        )

    def table(self, name: str) -> "pd.DataFrame":
        """Return one trace: a row for each change of the value at an end.

        Raises
        ------
        ScenarioError
            If the kernel reports no such trace.
        """
        if name not in _UNITS:
            raise ScenarioError(f"trace {name!r} is not known; there are {', '.join(NAMES)}")
        if name == "marks":
            return self._marks()
        table = self._samples[list(_UNITS[name])]
        value = table.columns[-1]
        before = table.groupby(["flow", "side"], observed=True)[value].shift()
        table = table[~((table[value] == before) | (table[value].isna() & before.isna()))]
        table = table.dropna().reset_index(drop=True)
        table.attrs["units"] = dict(_UNITS[name])
        return table

    def _marks(self) -> "pd.DataFrame":
        import pandas as pd

        state = self._samples["state"]
        before = self._samples.groupby(["flow", "side"], observed=True)["state"].shift()
        chosen = (state != before) & state.isin([_RECOVERY, _LOSS])
        table = self._samples.loc[chosen, list(_AT)].reset_index(drop=True)
        names = state[chosen].map({_RECOVERY: "fast_retransmit", _LOSS: "timeout"})
        table["kind"] = pd.Categorical(names.to_numpy(), categories=["timeout", "fast_retransmit"])
        table.attrs["units"] = dict(_UNITS["marks"])
        return table

    @property
    def flows(self) -> list[str]:
        """Names of the connections, by decreasing amount of data.

        The amount is read at either end, because an end that also listens for IPv6 is not sampled.
        """
        carried = self._samples[["bytes", "acked"]].max(axis=1)
        most = carried.groupby(self._samples["flow"], observed=True).max()
        return [str(name) for name in most.sort_values(ascending=False).index]

    def plots(self, tcp: str = "kernel", pcap: Path | None = None) -> "Plots":
        """Return the figures of a result for these samples.

        `cwnd` needs only the samples. `sequence` and `first_loss` need the captures of the run in
        the directory `pcap`. `tcp` is the name of the kernel's TCP in the figures.
        """
        from farlink.plot import Plots

        # Figures are made for a `Result` of simulated runs. `_Observed` has the parts of a `Result`
        # that they use.
        return Plots(cast("Result", _Observed(self, self._done, tcp, pcap)))

    def write(self, directory: Path) -> list[Path]:
        """Write every trace to `directory` as Parquet, each file completely or not at all."""
        written = []
        for name in NAMES:
            path = directory / f"{name}.parquet"
            with files.replacing(path) as temporary:
                self.table(name).to_parquet(temporary, index=False)
            written.append(path)
        return written


class _Observed:
    """Emulated run with the interface of a `Result` that figures need."""

    def __init__(self, trace: KernelTrace, done: Emulated, tcp: str, pcap: Path | None) -> None:
        self.name = f"{done.data['scenario']}, emulated"
        self.seed = done.data["seed"]
        self.tcp = (tcp,)
        self.simulated_s = float(done.data["duration_s"])
        self._rows = {
            "results": [{"flow": flow, "tcp": tcp} for flow in trace.flows],
            "links": [{**row, "tcp": tcp} for row in done.data["links"]],
        }
        self._trace = trace
        self._hosts = {row["address"]: row["host"] for row in done.data["hosts"]}
        self._pcap = pcap
        self._captured: dict[str, pd.DataFrame] = {}

    @property
    def trace_names(self) -> tuple[str, ...]:
        from farlink import captured

        return (*NAMES, *captured.COLUMNS)

    def probe(self, _tcp: str, _run: int) -> "_Observed":
        return self

    def rows(self, part: str) -> list[dict[str, Any]]:
        return self._rows[part]

    def udp_flows(self) -> list[str]:
        return []

    def scenario(self) -> dict[str, Any]:
        return {"links": []}

    def trace(self, name: str, _tcp: str, _run: int) -> "pd.DataFrame":
        from farlink import captured

        if name in NAMES:
            return self._trace.table(name)
        if name in captured.COLUMNS:
            return self._packets()[name]
        if name == "drops":
            return _empty("flow", "seq", "time")
        raise ScenarioError(f"trace {name!r} is not of emulated runs")

    def arrays(
        self, name: str, tcp: str, run: int, *, where: Mapping[str, str] | None = None
    ) -> "dict[str, np.ndarray[Any, Any]]":
        from farlink.plot.data import Columns

        return Columns.of(self.trace(name, tcp, run)).equal(**(where or {})).arrays

    def _packets(self) -> "dict[str, pd.DataFrame]":
        """Read the capture of the host that sends on the connection with the most data."""
        from farlink import captured

        if self._pcap is None:
            return {
                name: _empty("flow", "side", *columns) for name, columns in captured.COLUMNS.items()
            }
        import pandas as pd

        def same(text: str, table: "pd.DataFrame") -> "pd.Series[Any]":
            return pd.Series(text, index=table.index, dtype="category")

        if not self._captured and self._trace.flows:
            flow = self._trace.flows[0]
            near, far = flow.split("-")
            address, port = near.split(":")
            there, there_port = far.split(":")
            path = self._pcap / f"{self._hosts[address]}.pcapng"
            tables = captured.tables(path, address, (int(port), there, int(there_port)))
            self._captured = {
                name: table.assign(flow=same(flow, table), side=same("from", table))
                for name, table in tables.items()
            }
        return self._captured


def _empty(*columns: str) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype="float64") for name in columns})
