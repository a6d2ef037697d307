"""The state of the kernel's TCP in an emulation, in the columns of simulated flows."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from farlink import files
from farlink.emulation import Emulated
from farlink.errors import ScenarioError

if TYPE_CHECKING:
    import pandas as pd

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
}

NAMES = tuple(_UNITS)
"""Names of the traces: those of a simulated run that TCP_INFO has, and the count of segments
sent again, which a simulated run has one by one in its trace `segments`."""


class KernelTrace:
    """What the kernel's TCP told of itself every 50 ms, of every connection of every host.

    A flow is named after the ends of its connection ("10.0.0.1:5001-10.0.0.3:40000"); its side
    "from" is the end that sent more.
    """

    def __init__(self, samples: "pd.DataFrame") -> None:
        self._samples = samples

    @classmethod
    def of(cls, done: Emulated) -> "KernelTrace":
        """Take the samples of an emulation that was run with `sample`."""
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
                }
            )
        )

    def table(self, name: str) -> "pd.DataFrame":
        """Return one trace: a row where the value differs from the one before of its end.

        Raises
        ------
        ScenarioError
            If the kernel tells no such thing.
        """
        if name not in _UNITS:
            raise ScenarioError(f"trace {name!r} is not known; there are {', '.join(NAMES)}")
        table = self._samples[list(_UNITS[name])]
        value = table.columns[-1]
        before = table.groupby(["flow", "side"], observed=True)[value].shift()
        table = table[~((table[value] == before) | (table[value].isna() & before.isna()))]
        table = table.dropna().reset_index(drop=True)
        table.attrs["units"] = dict(_UNITS[name])
        return table

    def write(self, directory: Path) -> list[Path]:
        """Write every trace to `directory` as Parquet, each file whole or not at all."""
        written = []
        for name in NAMES:
            path = directory / f"{name}.parquet"
            with files.replacing(path) as temporary:
                self.table(name).to_parquet(temporary, index=False)
            written.append(path)
        return written
