"""Claims judged at other readings of what the study leaves open.

The mean delay of the MAC, which was fitted, has its own settings (5, 15 and 20 ms); here
are the choices that were not.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from farlink.studies.lab import Cell
from farlink.studies.quantity import Verdict
from farlink.studies.study import Table
from farlink.studies.wong1998.model import REGISTRY, Options, Wong
from farlink.studies.wong1998.tables import amount

__all__ = ["CLAIMS", "READINGS", "Reading"]

Change = Callable[[dict[str, Any]], None]

FULL_FRAME_BITS = 8 * (128 + 6)
"""Bits of the frame of a full fragment, with its header."""


class Reading(Wong):
    """The study with another reading: what is said of each point, and done to its scenario."""

    def __init__(
        self, of: Wong, options: Options | None = None, change: Change | None = None
    ) -> None:
        super().__init__(of.lab, of.mac)
        self._options = options or {}
        self._change = change

    def cell(self, ll: str, per: float, **kw: Unpack[Options]) -> Cell:
        """Return the scenario of one point at this reading."""
        options: Options = {**self._options, **kw}
        cell = super().cell(ll, per, **options)
        if self._change is None:
            return cell
        scenario = copy.deepcopy(dict(cell.scenario))
        self._change(scenario)
        return replace(cell, scenario=scenario)


def _radio(scenario: dict[str, Any]) -> dict[str, Any]:
    radio: dict[str, Any] = scenario["links"][-1]
    return radio


def _clean_reverse(scenario: dict[str, Any]) -> None:
    radio = _radio(scenario)
    radio["up"] = {key: value for key, value in radio["down"].items() if key != "channel"}


def _by_bit(scenario: dict[str, Any]) -> None:
    down = _radio(scenario)["down"]
    if "channel" in down:
        loss = down["channel"]["loss"]
        down["channel"] = {"ber": 1 - (1 - loss) ** (1 / FULL_FRAME_BITS)}


def _from_start(scenario: dict[str, Any]) -> None:
    arq = _radio(scenario)["arq"]
    if arq["protocol"] == "rlp":
        frame = FULL_FRAME_BITS / amount(_radio(scenario)["down"]["rate"])
        left = amount(arq.get("min_interval", "300 ms")) - frame
        arq["min_interval"] = f"{1000 * left:.1f} ms"


def _from_first(scenario: dict[str, Any]) -> None:
    arq = _radio(scenario)["arq"]
    if arq["protocol"] in ("lapb", "mdlp"):
        arq["retry_from"] = "first-frame"


def _by_bit_from_start(scenario: dict[str, Any]) -> None:
    _by_bit(scenario)
    _from_start(scenario)


def _headers(size: int) -> Change:
    def change(scenario: dict[str, Any]) -> None:
        arq = _radio(scenario)["arq"]
        arq["header"] = f"{size} B"
        if arq["protocol"] == "rlp":
            arq["status"] = f"{size + 2} B"
        elif arq["protocol"] != "none":
            arq["supervisory"] = f"{size} B"

    return change


READINGS: Mapping[str, Callable[[Wong], Wong]] = {
    "as chosen": lambda w: w,
    "no MAC delay on the forward channel": lambda w: Reading(w, {"mac": "up"}),
    "data from the mobile host": lambda w: Reading(w, {"reverse": True}),
    "headers of 3 bytes": lambda w: Reading(w, change=_headers(3)),
    "headers of 12 bytes": lambda w: Reading(w, change=_headers(12)),
    "RLP's minimum from the start of a frame": lambda w: Reading(w, change=_from_start),
    "T1 and T200 from the first open frame": lambda w: Reading(w, change=_from_first),
    "no loss in the reverse direction": lambda w: Reading(w, change=_clean_reverse),
    "errors by bit: PER of a full frame": lambda w: Reading(w, change=_by_bit),
    "errors by bit, RLP's minimum from the start": lambda w: Reading(w, change=_by_bit_from_start),
}
"""What makes the study at each reading."""

CLAIMS = (
    "wong1998.fig4.17.rlp_best_high_per",
    "wong1998.fig4.17.rlp_lower_low_per",
    "wong1998.fig4.17.lapb_falls_fastest",
    "wong1998.fig4.18.mdlp_more_duplicates_than_rlp",
    "wong1998.fig5.2.gain_81_22_2_at_50pct",
    "wong1998.fig5.2.gain_diminishes",
    "wong1998.fig5.3.lld_same_at_low_per",
    "wong1998.fig5.3.lld_grows_with_mrd_at_high_per",
    "wong1998.fig5.4.rtt_saturates_mrd2",
    "wong1998.fig5.6.rto_like_rtt_rlp",
    "wong1998.fig5.7.rto_like_rtt_mdlp",
    "wong1998.fig5.8.mrd2_worst_high_per",
)
"""Strong claims that compare link protocols or their limits."""


@REGISTRY.table("sensitivity")
def _sensitivity(w: Wong) -> Table:
    from farlink.studies.wong1998 import STUDY  # made of this module's registry

    readings = {name: make(w) for name, make in READINGS.items()}
    rows = []
    for id in CLAIMS:  # noqa: A001
        verdicts = [REGISTRY.claims[id](one).verdict for one in readings.values()]
        rows.append(
            [STUDY.claims[id].where, STUDY.claims[id].title, *(_WORDS[one] for one in verdicts)]
        )
    counts = [
        sum(row[2 + place] == _WORDS[Verdict.REPRODUCED] for row in rows)
        for place in range(len(readings))
    ]
    rows.append(["", "claims that hold", *(f"{count} of {len(CLAIMS)}" for count in counts)])
    return Table(
        columns=["where", "claim", *readings],
        rows=rows,
        note="Strong claims that compare link protocols or their limits. Each column changes the "
        "model as chosen in what its title says.",
    )


_WORDS = {
    Verdict.REPRODUCED: "yes",
    Verdict.NOT_REPRODUCED: "no",
    Verdict.UNDECIDED: "undecided",
}
