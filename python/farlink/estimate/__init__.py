"""Estimation of a channel (loss, bursts, delay) from captures or tables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink.errors import ScenarioError
from farlink.estimate import read
from farlink.estimate.delay import DelayFit, fit_delay
from farlink.estimate.loss import LossFit, fit_chain, fit_full, fit_independent, fit_time
from farlink.stats import Estimate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MODELS", "Fit", "fit", "fit_independent", "in_toml"]

MODELS = ("auto", "loss", "gilbert", "time", "full")
"""Loss models: "auto" (chosen by Akaike's criterion), "loss" (independent), "gilbert" (simple
Gilbert chain per packet), "time" (simple Gilbert process in time), "full" (Gilbert-Elliott with
four probabilities).
"""

_FEWEST = 20
_CAPTURES = (".pcap", ".pcapng", ".cap")


@dataclass(frozen=True)
class Fit:
    """Estimated channel, ready for a scenario."""

    observed: read.Observed
    loss: LossFit
    alternatives: list[LossFit]
    delay: DelayFit | None

    def __repr__(self) -> str:
        return f"<farlink.Fit {self.observed.source}: {len(self):,} packets, {self.loss.model}>"

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show: the table that the command prints."""
        from farlink.views import page
        from farlink.views.fit import show

        return page.as_html(lambda out: show(self, out))

    def __len__(self) -> int:
        return len(self.observed.lost)

    @property
    def channel(self) -> dict[str, Any]:
        """The channel as the value of a link's key `channel`."""
        stages: dict[str, Any] = dict(self.loss.stage) if self.observed.lost.any() else {}
        if self.delay is not None and self.delay.stage is not None:
            stages["jitter"] = self.delay.stage
        return stages

    @property
    def stanza(self) -> str:
        """TOML lines for `[links.down]` (or `up`) of a scenario."""
        lines = [f"# {len(self):,} packets of {self.observed.source}"]
        if self.delay is not None and self.delay.base_s >= 0:
            lines.append(f'delay = "{round(1e3 * self.delay.base_s, 6):.10g} ms"')
        lines.append(f"channel = {in_toml(self.channel)}")
        return "\n".join(lines) + "\n"

    @cached_property
    def rows(self) -> list[tuple[str, str, Estimate]]:
        """All parameters: name, unit, and estimate with its 95 % interval."""
        units = {"burst": "packets", "burst_s": "s"}
        rows = [
            (name, units.get(name, ""), parameter)
            for name, parameter in self.loss.parameters.items()
        ]
        if self.delay is not None:
            n = int((~self.observed.lost).sum())
            rows.append(("least delay", "s", Estimate(self.delay.base_s, None, None, n)))
            rows += [
                (f"jitter {name}", "s", estimate)
                for name, estimate in self.delay.parameters.items()
            ]
        return rows

    @property
    def notes(self) -> list[str]:
        """Notes on the source of the estimate and its uncertainty."""
        notes = [*self.observed.notes, *self.loss.notes]
        others = [alternative for alternative in self.alternatives if alternative is not self.loss]
        if others:
            best = ", ".join(f"{item.model} {item.aic:,.1f}" for item in [self.loss, *others])
            notes.append(f"Akaike's criterion, smaller is better: {best}")
        if self.delay is not None and self.delay.distribution is not None:
            notes.append(
                f"jitter: the {self.delay.distribution} distribution differs by "
                f"{self.delay.distance:.3f} at most from the one measured; intervals suppose "
                "independent delays"
            )
            if self.delay.distance > 0.1:
                notes.append(
                    "none of the three distributions fits well: look at the delays themselves"
                )
        return notes

    @property
    def summary(self) -> "pd.DataFrame":
        """The parameters as a data frame."""
        import pandas as pd

        table = pd.DataFrame(
            [[unit, row.mean, row.low, row.high] for _, unit, row in self.rows],
            columns=["unit", "estimate", "ci95_low", "ci95_high"],
            index=pd.Index([name for name, _, _ in self.rows], name="parameter"),
        )
        numbers = ["estimate", "ci95_low", "ci95_high"]
        return table.astype(dict.fromkeys(numbers, "float64"))

    @property
    def data(self) -> dict[str, Any]:
        """The estimate as JSON-compatible values."""
        return {
            "source": self.observed.source,
            "packets": len(self),
            "lost": int(self.observed.lost.sum()),
            "model": self.loss.model,
            "parameters": [
                {"name": name, "unit": unit, "estimate": row.mean, "ci95": [row.low, row.high]}
                for name, unit, row in self.rows
            ],
            "channel": self.channel,
            "notes": self.notes,
        }


def fit(
    measured: "str | Path | pd.DataFrame | np.ndarray[Any, np.dtype[Any]]",
    receiver: str | Path | None = None,
    *,
    model: str = "auto",
    source: str | None = None,
) -> Fit:
    """Estimate a channel from measurements.

    Parameters
    ----------
    measured
        A CSV or a DataFrame with a row per packet and the columns `sent` and `received` (s; empty
        if lost), or `lost`. An array of losses in the order sent. The capture before the channel,
        if `receiver` is given. Or a capture at a TCP receiver.
    receiver
        Capture behind the channel, at the receiver.
    model
        Name in `MODELS`. "auto" chooses independent losses or the simple Gilbert chain by Akaike's
        criterion.
    source
        Source IP address of the packets to match in two captures. By default the address that sent
        most of the bytes found in both.

    Raises
    ------
    ScenarioError
        If a file cannot be read, or has too few packets.
    """
    if model not in MODELS:
        raise ScenarioError(f"model {model!r}: write one of {', '.join(MODELS)}")
    observed = _observed(measured, receiver, source)
    lost = observed.lost
    if len(lost) < _FEWEST:
        raise ScenarioError(
            f"{observed.source}: {len(lost)} packet{'s are' if len(lost) != 1 else ' is'} too few; "
            f"{_FEWEST} are the least, and thousands make intervals that say something"
        )
    if lost.all():
        raise ScenarioError(f"{observed.source}: every packet is lost; that fits no channel")
    chosen, alternatives = _loss(observed, model)
    delay = None
    if observed.sent is not None and observed.received is not None:
        delay = fit_delay(observed.sent[~lost], observed.received[~lost])
    return Fit(observed, chosen, alternatives, delay)


def _observed(measured: Any, receiver: str | Path | None, source: str | None) -> read.Observed:  # noqa: ANN401 (of several types)
    if not isinstance(measured, str | Path):
        if receiver is not None:
            raise ScenarioError("a receiver beside a table has no effect; leave it out")
        return _columns(measured)
    path = Path(measured)
    if path.suffix.lower() == ".csv":
        if receiver is not None or source is not None:
            raise ScenarioError(f"{path} is a CSV; a second file or an address has no effect")
        return read.table(path)
    if path.suffix.lower() not in _CAPTURES:
        raise ScenarioError(f"{path}: write a .csv, .pcap or .pcapng file")
    if receiver is None:
        if source is not None:
            raise ScenarioError("an address has no effect with one capture; leave it out")
        return read.one_end(path)
    return read.both_ends(path, Path(receiver), source)


def _columns(measured: Any) -> read.Observed:  # noqa: ANN401 (a DataFrame or an array)
    if isinstance(measured, np.ndarray):
        return read.Observed("array", measured.astype(bool))
    names = list(measured.columns)
    if "sent" in names and "received" in names:
        table = measured.sort_values("sent", kind="stable")
        sent = table["sent"].to_numpy(dtype=np.float64)
        received = table["received"].to_numpy(dtype=np.float64)
        return read.Observed("table", np.isnan(received), sent, received)
    if "lost" in names:
        sent = measured["sent"].to_numpy(dtype=np.float64) if "sent" in names else None
        return read.Observed("table", measured["lost"].to_numpy().astype(bool), sent)
    raise ScenarioError(
        f"the table has the columns {', '.join(map(str, names))}; it needs sent and received, or "
        "lost"
    )


def _loss(observed: read.Observed, model: str) -> tuple[LossFit, list[LossFit]]:
    lost = observed.lost
    independent = fit_independent(lost)
    moves = int((~lost[:-1] & lost[1:]).sum()), int((lost[:-1] & ~lost[1:]).sum())
    if min(moves) < 2:
        if model in ("gilbert", "time", "full"):
            raise ScenarioError(
                f"{observed.source}: {sum(lost)} losses in {moves[1]} bursts are too few for a "
                "chain; measure for longer, or take model loss"
            )
        note = "too few losses for bursts: they are taken as independent" if lost.any() else ""
        if note:
            independent.notes.append(note)
        return independent, [independent]
    chain = fit_chain(lost)
    fits = [independent, chain]
    if model == "time":
        if observed.sent is None:
            raise ScenarioError(f"{observed.source}: bursts in time need the times of sending")
        fits.append(fit_time(lost, observed.sent))
        return fits[-1], fits
    if model == "full":
        fits.append(fit_full(lost))
        return fits[-1], fits
    if model == "loss":
        return independent, fits
    # A burst model is needed only if the mean burst is longer than that of independent losses.
    longer = (chain.parameters["burst"].mean or 1.0) > 1 / (
        1 - (independent.parameters["loss"].mean or 0)
    )
    bursts = model == "gilbert" or (chain.aic < independent.aic and longer)
    return (chain if bursts else independent), fits


def in_toml(value: object) -> str:
    """Format a channel as TOML, with six significant digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {in_toml(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(value)
