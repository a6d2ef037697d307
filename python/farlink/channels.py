"""Sample of a channel without TCP: the fate of each packet, and the closed form of the process."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from farlink import _farlink, columns, source, units
from farlink.errors import ScenarioError
from farlink.probability import gamma_quantile
from farlink.stats import Estimate, clopper_pearson, mean_ci95, t_quantile

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Asked", "ChannelSample", "Row", "channel", "preset_map", "sample", "stages"]

Array = np.ndarray[Any, np.dtype[Any]]

_BATCHES = 100
"""Number of batches of a sample, from whose means the variance is estimated."""
_DIVISIONS = ((_BATCHES, 0.3), (20, 0.3))
"""Numbers of batches to try, each with the greatest autocorrelation of batch means that still
counts as independent: 3 and 1.5 standard errors of independent means.
"""
_FEW, _FEW_BURSTS = 30, 10
"""Numbers of losses and of bursts below which batch means do not give an interval of the loss rate.
"""
_DELIVERED, _CORRUPT, _DROPPED = 0, 1, 2
_DEFAULT_SPACING = "1 ms"
_QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Row:
    """Quantity of a channel: sampled with its 95 % interval, and in theory."""

    quantity: str
    unit: str
    sampled: Estimate
    theory: float | None

    @property
    def agrees(self) -> bool | None:
        """Whether the closed form is inside the interval; None without both."""
        if self.theory is None or self.sampled.low is None or self.sampled.high is None:
            return None
        slack = 1e-9 * max(abs(self.theory), 1e-12)
        return self.sampled.low - slack <= self.theory <= self.sampled.high + slack


class ChannelSample:
    """Fate of consecutive packets of one length at constant spacing.

    Attributes
    ----------
    name
        Link and direction.
    lost
        Whether each packet was dropped or came with changed bits.
    delay
        Extra delay of each packet beyond that of the link in seconds; NaN for a dropped packet.
    fate
        Fate of each packet: 0 delivered, 1 delivered corrupt, 2 + n dropped for cause n of
        `causes`.
    copies
        Number of copies that arrived beside each packet.
    spacing_s, bytes
        Seconds between packets; bytes of each on the wire, overhead included.
    rate
        Mean, least and greatest rate of the link's transmitter in bit/s.
    theory
        Closed form: loss, burst and gap (packets), autocorrelation (lags 1, 2, ...), delay (mean,
        deviation, quantiles in seconds). None without a closed form.
    derived
        Quantities that follow from the parameters: stage, name, unit, value, source.
    scenario
        The resolved scenario that the channel is of.
    """

    def __init__(
        self, name: str, scenario: dict[str, Any], sampled: Mapping[str, Any], run: int
    ) -> None:
        data = json.loads(sampled["told"])
        fate, copies, delay = (
            columns.numbers(sampled["columns"], name) for name in ("fate", "copies", "delay")
        )
        self.name = name
        self.scenario = scenario
        self.run = run
        self.fate: Array = fate.astype(np.int64)
        self.copies: Array = copies.astype(np.int64)
        self.lost: Array = self.fate != _DELIVERED
        dropped = self.fate >= _DROPPED
        self.delay: Array = np.where(dropped, np.nan, delay / 1e9)
        self.causes: list[str] = data["causes"]
        self.spacing_s = float(data["spacing_s"])
        self.bytes = int(data["bytes"])
        self.rate: tuple[int, int, int] = tuple(data["rate"])
        self.theory: dict[str, Any] = data["theory"]
        self.derived: list[dict[str, Any]] = data["derived"]

    def __repr__(self) -> str:
        loss = self.loss.mean or 0.0
        return f"<farlink.ChannelSample {self.name}: {len(self):,} packets, {loss:.4g} lost>"

    def __len__(self) -> int:
        return len(self.lost)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show, with the text that the command prints."""
        from farlink.views import page
        from farlink.views.channel import show

        return page.as_html(lambda out: show(self, out))

    @cached_property
    def loss(self) -> Estimate:
        """Share of lost packets.

        The interval comes from batch means, which allow for losses in bursts. For fewer than 30
        independent losses the interval is that of Clopper and Pearson. For fewer than ten bursts it
        is the interval of a Poisson number of bursts (Garwood 1936), times the sampled or
        theoretical mean burst.
        """
        n, losses = len(self), int(self.lost.sum())
        rate, known = losses / n, self.theory["autocorrelation"]
        independent = self.theory["loss"] == 0 or (known is not None and not any(known))
        if losses < _FEW and independent:
            low, high = clopper_pearson(losses, n)
            return Estimate(rate, low, high, n)
        starts = int(self.lost[0]) + int((~self.lost[:-1] & self.lost[1:]).sum())
        if starts < _FEW_BURSTS:
            lengths = [losses / starts] if starts else []
            lengths += [self.theory["burst"]] if self.theory["burst"] is not None else []
            if not lengths:
                return Estimate(rate, None, None, n)
            fewest, most = _poisson(starts)
            low, high = fewest * min(lengths) / n, min(most * max(lengths) / n, 1.0)
            return Estimate(rate, low, high, n)
        estimate = _batch_means(self.lost.astype(np.float64))
        return Estimate(rate, estimate.low, estimate.high, n)

    @cached_property
    def bursts(self) -> Array:
        """Lengths of the runs of consecutive lost packets.

        Runs that are cut off at an end of the sample are omitted.
        """
        return _runs(self.lost, of=True)

    @cached_property
    def gaps(self) -> Array:
        """Lengths of the runs of consecutive delivered packets.

        Runs that are cut off at an end of the sample are omitted.
        """
        return _runs(self.lost, of=False)

    def autocorrelation(self, lags: int = 50) -> Array:
        """Return the autocorrelation of the loss indicator at lags 1 to `lags` packets."""
        mean = float(self.lost.mean())
        if mean in (0.0, 1.0):
            return np.zeros(lags)
        centred = self.lost - mean
        variance = mean * (1 - mean)
        n = len(self)
        return np.array(
            [
                float(np.dot(centred[:-lag], centred[lag:])) / (n - lag) / variance
                if lag < n
                else np.nan
                for lag in range(1, lags + 1)
            ]
        )

    @cached_property
    def rows(self) -> list[Row]:
        """Return every quantity, from the sample and in theory."""
        theory = self.theory
        rows = [Row("mean loss", "", self.loss, theory["loss"])]
        if self.lost.any() or theory["burst"] is not None:
            rows += [
                Row("mean burst", "packets", _mean_of_runs(self.bursts), theory["burst"]),
                Row("mean gap", "packets", _mean_of_runs(self.gaps), theory["gap"]),
            ]
            rows += [self._lag(lag) for lag in (1, 2, 5, 10, 50)]
        if self.has_delays:
            rows += self._delay_rows()
        if self.copies.any():
            rows.append(Row("mean copies", "", _batch_means(self.copies * 1.0), None))
        return rows

    def outside(self) -> list[str]:
        """Return the quantities whose closed form is outside the 95 % interval."""
        return [row.quantity for row in self.rows if row.agrees is False]

    @property
    def has_delays(self) -> bool:
        """Whether the channel delayed a packet, or could have done so."""
        distribution = self.theory["delay"]
        return bool(np.nanmax(self.delay, initial=0.0) > 0) or bool(
            distribution and distribution["mean"] > 0
        )

    @cached_property
    def summary(self) -> "pd.DataFrame":
        """A row per quantity: sampled, its 95 % interval, theory, whether they agree."""
        import pandas as pd

        table = pd.DataFrame(
            {
                "unit": [row.unit for row in self.rows],
                "sampled": [_number(row.sampled.mean) for row in self.rows],
                "ci95_low": [_number(row.sampled.low) for row in self.rows],
                "ci95_high": [_number(row.sampled.high) for row in self.rows],
                "theory": [_number(row.theory) for row in self.rows],
                "agrees": [row.agrees for row in self.rows],
            },
            index=pd.Index([row.quantity for row in self.rows], name="quantity"),
        )
        table.attrs["packets"] = len(self)
        return table

    @property
    def data(self) -> dict[str, Any]:
        """Numbers of the sample without the packets, as JSON values."""
        return {
            "channel": self.name,
            "packets": len(self),
            "bytes": self.bytes,
            "spacing_s": self.spacing_s,
            "seed": self.scenario["seed"],
            "run": self.run,
            "quantities": [
                {
                    "quantity": row.quantity,
                    "unit": row.unit,
                    "sampled": row.sampled.mean,
                    "ci95": [row.sampled.low, row.sampled.high],
                    "theory": row.theory,
                }
                for row in self.rows
            ],
            "lost_by_cause": self.by_cause(),
            "theory": self.theory,
            "derived": self.derived,
            "scenario": self.scenario,
        }

    def by_cause(self) -> dict[str, int]:
        """Return the number of lost packets by cause.

        The key `corrupt` counts packets that arrived with changed bits.
        """
        counts = np.bincount(self.fate, minlength=_DROPPED + len(self.causes))
        table = {"corrupt": int(counts[_CORRUPT])}
        table |= {name: int(counts[_DROPPED + i]) for i, name in enumerate(self.causes)}
        return {name: count for name, count in table.items() if count}

    def plot(self) -> "Figure":
        """Draw a sample path, the bursts and gaps, the autocorrelation and the delays."""
        from farlink.plot.channel import draw_channel

        return draw_channel(self)

    def save(self, stem: str | Path) -> list[Path]:
        """Write the figure as stem.png and stem.svg; return their paths."""
        from farlink.plot.style import save

        return save(self.plot(), Path(stem))

    def _lag(self, lag: int) -> Row:
        known = self.theory["autocorrelation"]
        theory = known[lag - 1] if known is not None and lag <= len(known) else None
        mean = float(self.lost.mean())
        n = len(self)
        if mean in (0.0, 1.0) or n < 10 * _BATCHES:
            return Row(f"autocorrelation, lag {lag}", "", Estimate(None, None, None, n), theory)
        # Residuals of a ratio estimate of the autocorrelation r at each lag: (x - m)(y - m) - r (x
        # - m)^2.
        centred = self.lost - mean
        product, square = centred[:-lag] * centred[lag:], centred[:-lag] ** 2
        ratio = float(product.sum() / square.sum())
        left = _batch_means(product - ratio * square)
        estimate = Estimate(ratio, None, None, n)
        if left.half_width is not None:
            half = left.half_width / (mean * (1 - mean))
            estimate = Estimate(ratio, ratio - half, ratio + half, n)
        return Row(f"autocorrelation, lag {lag}", "", estimate, theory)

    def _delay_rows(self) -> list[Row]:
        distribution = self.theory["delay"]
        delays = self.delay[~np.isnan(self.delay)]
        mean = _batch_means(delays)
        squares = _batch_means((delays - (mean.mean or 0.0)) ** 2)
        deviation = _map(squares, lambda value: math.sqrt(max(value, 0.0)))
        rows = [
            Row("mean extra delay", "s", mean, distribution and distribution["mean"]),
            Row("deviation of delay", "s", deviation, distribution and distribution["deviation"]),
        ]
        known = dict(distribution["quantiles"]) if distribution else {}
        levels = [
            Row(f"delay, {100 * level:g} % below", "s", _quantile(delays, level), known.get(level))
            for level in _QUANTILES
        ]
        return rows + levels


def channel(
    what: str | Path | Mapping[str, object],
    *,
    link: str | None = None,
    direction: str = "down",
    packets: int = 1_000_000,
    bytes: int = 1500,  # noqa: A002 (what the field calls it)
    spacing: str | float | None = None,
    seed: int | None = None,
    run: int = 0,
    overrides: Mapping[str, object] | None = None,
    **parameters: object,
) -> ChannelSample:
    """Sample a channel without TCP and return the fate of the packets.

    Parameters
    ----------
    what
        Key of a channel (`stages()`) with parameters by name: ``channel("gilbert", loss=0.05,
        burst=4)``, ``channel("ber", ber=1e-6)``. Or a channel as a mapping: ``{"loss": 0.01,
        "jitter": {...}}``. Or a scenario: a name of the library, a preset, a file, or a mapping
        with `links`.
    link, direction
        Link of a scenario (by default the only link with a channel), and its
        direction: "down" or "up".
    packets, bytes
        Number of packets, and the IP length of a packet without the link's overhead.
    spacing
        Time from the end of a packet to the end of the next, as "1 ms" or in
        seconds. The default is 1 ms, and for a scenario the transmission time of a
        packet on the link.
    seed, run
        Seed that replaces the scenario's, and number of the run whose start is sampled.
    overrides
        Values of a scenario by path, with units.

    Raises
    ------
    ScenarioError
        If an argument is wrong.

    Examples
    --------
    >>> import farlink as fl
    >>> fl.channel("gilbert", loss=0.05, burst=4).summary  # doctest: +SKIP
    """
    asked = Asked(link, direction, packets, bytes, spacing, seed, run, overrides or {})
    return sample(what, parameters, asked)


@dataclass(frozen=True)
class Asked:
    """Options of a sample other than the parameters of the channel; see `channel`."""

    link: str | None = None
    direction: str = "down"
    packets: int = 1_000_000
    bytes: int = 1500
    spacing: str | float | None = None
    seed: int | None = None
    run: int = 0
    overrides: Mapping[str, object] = field(default_factory=dict)


def sample(
    what: str | Path | Mapping[str, object], parameters: Mapping[str, object], asked: Asked
) -> ChannelSample:
    """Sample a channel as `channel` does, with its parameters in a mapping.

    A parameter may therefore have the name of an option.
    """
    direction, spacing = asked.direction, asked.spacing
    if direction not in ("down", "up"):
        raise ScenarioError(f"direction {direction!r}: write 'down' or 'up'")
    changes = source.changes(asked.overrides, asked.seed)
    where, extra, alone = _find(what, parameters)
    text = _farlink.resolve(where.text, where.origin, [*extra, *changes], where.read_named)
    scenario = json.loads(text)
    chosen = _link(scenario, asked.link, direction)
    if spacing is None and alone:
        spacing = _DEFAULT_SPACING
    sampled = _farlink.sample_channel(
        text, chosen, direction, asked.packets, asked.bytes, _nanoseconds(spacing), asked.run
    )
    name = where.name if alone else f"{where.name}, {chosen} {direction}"
    return ChannelSample(name, scenario, sampled, asked.run)


def preset_map() -> "Figure":
    """Draw all presets in one figure of delay, rate and loss.

    The loss is that of packets of 1500 bytes in direction down. It comes from the closed form of
    the channel, or from a sample if there is no closed form.
    """
    from farlink.plot.presets import draw_presets

    known = json.loads(_farlink.presets())
    losses = {}
    for preset in known:
        sample = channel(_of_preset(preset["name"]), packets=20_000)
        loss = sample.theory["loss"]
        losses[preset["name"]] = float(sample.loss.mean or 0.0) if loss is None else float(loss)
    return draw_presets(known, losses)


def stages() -> dict[str, str]:
    """Return every key of a channel with its meaning."""
    properties = _schema()["ChannelSpec"]["properties"]
    return {name: _meaning(schema) for name, schema in properties.items()}


def _schema() -> dict[str, Any]:
    defs: dict[str, Any] = json.loads(_farlink.schema())["$defs"]
    return defs


def _meaning(schema: Mapping[str, Any]) -> str:
    return " ".join(str(schema.get("description", "")).split())


def _find(
    what: str | Path | Mapping[str, object], parameters: Mapping[str, object]
) -> tuple[source.Source, list[tuple[str, str]], bool]:
    """Return the scenario, the overrides, and whether it has only a channel."""
    if isinstance(what, Mapping) and "links" not in what:
        if parameters:
            raise ScenarioError("a channel as a mapping has its parameters in it; write them there")
        return source.find({**_carrier({"channel": dict(what)}), "name": "channel"}), [], True
    if isinstance(what, str) and what in stages():
        changes = _parameters(what, parameters)
        text = source.find({**_carrier({}), "name": what})
        return replace(text, origin=what), changes, True
    if parameters:
        names = ", ".join(stages())
        raise ScenarioError(
            f"{next(iter(parameters))} has no effect on a scenario; write overrides, or name one "
            f"of {names}"
        )
    presets = [preset["name"] for preset in json.loads(_farlink.presets())]
    library = dict(_farlink.scenarios())
    if isinstance(what, str) and what in presets and what not in library:
        return source.find(_of_preset(what)), [], False
    if isinstance(what, str) and not _is_file(what) and what not in library:
        raise ScenarioError(
            f"{what}: neither a key of a channel, a scenario, a preset nor a file; there are the "
            f"keys {', '.join(stages())}"
        )
    return source.find(what), [], False


def _of_preset(name: str) -> dict[str, object]:
    """Return a scenario with the link of a preset."""
    links = [{"name": "link", "between": ["a", "b"], "preset": name}]
    return {**_carrier({}), "name": name, "links": links}


def _is_file(what: str) -> bool:
    path = Path(what)
    return path.suffix in (".toml", ".json") or len(path.parts) > 1 or path.is_file()


def _carrier(down: Mapping[str, object]) -> dict[str, object]:
    """Return a scenario with one link, of which only the channel is used."""
    return {
        "links": [
            {
                "name": "link",
                "between": ["a", "b"],
                "down": {"rate": "1 Gbit/s", "delay": "0 s", **down},
                "up": {"rate": "1 Gbit/s", "delay": "0 s"},
            }
        ],
        "flows": [{"from": "a", "to": "b", "size": "1 B"}],
    }


def _parameters(name: str, parameters: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the overrides that set the parameters of the stage `name`."""
    schema = _schema()
    channel_keys = schema["ChannelSpec"]["properties"]
    inner = _table(schema, channel_keys[name])
    base = "links.0.down.channel"
    if not parameters:
        keys = ", ".join(inner) if inner else name
        raise ScenarioError(f"{name} has no parameters; give some of: {keys}")
    changes = []
    for key, value in parameters.items():
        text = source.override_text(value)
        if inner is not None and key.split(".")[0] in inner:
            changes.append((f"{base}.{name}.{key}", text))
        elif key.split(".")[0] in channel_keys:
            changes.append((f"{base}.{key}", text))
        elif inner is None and key == "value":
            changes.append((f"{base}.{name}", text))
        else:
            keys = ", ".join(inner) if inner else name
            raise ScenarioError(f"{name} has no parameter {key!r}; there are {keys}")
    return changes


def _table(schema: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the keys of a value whose schema is a table; None for other values."""
    for choice in [entry, *entry.get("anyOf", [])]:
        if "$ref" in choice:
            target = schema[choice["$ref"].rsplit("/", 1)[-1]]
            if "properties" in target:
                keys: dict[str, Any] = target["properties"]
                return keys
    return None


def _link(scenario: Mapping[str, Any], asked: str | None, direction: str) -> str:
    """Return the name of the requested link, or of the only link with a channel."""
    links = scenario["links"]
    names = [str(link["name"]) for link in links]
    if asked is not None:
        return asked
    if len(names) == 1:
        return names[0].replace("{}", "0")
    busy = [
        str(link["name"]) for link in links if (link.get(direction) or link["down"]).get("channel")
    ]
    if len(busy) == 1:
        return busy[0].replace("{}", "0")
    raise ScenarioError(
        f"which link? {'none has' if not busy else 'several have'} a channel {direction}; "
        f"name one of {', '.join(names)}"
    )


def _nanoseconds(spacing: str | float | None) -> int | None:
    if spacing is None:
        return None
    seconds = spacing if isinstance(spacing, int | float) else units.parse_time(spacing)
    if seconds is None or not 0 < seconds <= 3600:
        raise ScenarioError(f'spacing {spacing!r}: write a time of up to 1 h, such as "1 ms"')
    return max(round(seconds * 1e9), 1)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _map(estimate: Estimate, change: Any) -> Estimate:  # noqa: ANN401 (a function of one number)
    def changed(value: float | None) -> float | None:
        return None if value is None else change(value)

    return Estimate(
        changed(estimate.mean), changed(estimate.low), changed(estimate.high), estimate.n
    )


def _batch_means(values: Array) -> Estimate:
    """Estimate the mean of correlated values by batch means.

    There is no interval if the batch means are still correlated, because the sample is too short
    for a process this slow.
    """
    if len(values) < _BATCHES:
        return mean_ci95([float(value) for value in values])
    middle = float(values.mean())
    for count, most in _DIVISIONS:
        size = len(values) // count
        means = values[: size * count].reshape(count, size).mean(axis=1)
        left = means - means.mean()
        spread = float(np.dot(left, left))
        if spread > 0 and float(np.dot(left[:-1], left[1:])) / spread > most:
            continue
        half = t_quantile(0.975, count - 1) * float(means.std(ddof=1)) / math.sqrt(count)
        return Estimate(middle, middle - half, middle + half, len(values))
    return Estimate(middle, None, None, len(values))


def _mean_of_runs(lengths: Array) -> Estimate:
    """Estimate the mean length of runs; neighbouring runs may be correlated."""
    if len(lengths) >= 10 * _BATCHES:
        return _batch_means(lengths.astype(np.float64))
    return mean_ci95([float(length) for length in lengths])


def _runs(lost: Array, *, of: bool) -> Array:
    edges = np.flatnonzero(np.diff(lost.astype(np.int8))) + 1
    lengths = np.diff(edges)
    if not len(lengths):
        return np.zeros(0, dtype=np.int64)
    first = bool(lost[edges[0]])
    return np.asarray(lengths[0 if first == of else 1 :: 2])


def _quantile(values: Array, level: float) -> Estimate:
    """Estimate a quantile of correlated values.

    The interval is that of the share of values below the quantile, by batch means.
    """
    ordered = np.sort(values)
    at = float(np.quantile(ordered, level))
    # Shares of values at most, and below, the quantile. The two differ if many values are equal.
    shares = [_batch_means(below.astype(np.float64)) for below in (values <= at, values < at)]
    halves = [share.half_width for share in shares]
    if None in halves:
        return Estimate(at, None, None, len(values))
    half = max(width for width in halves if width is not None)
    ends = [
        float(np.quantile(ordered, min(max(level + sign * half, 0.0), 1.0))) for sign in (-1, 1)
    ]
    return Estimate(at, ends[0], ends[1], len(values))


def _poisson(count: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean of a Poisson number."""
    low = 0.0 if count == 0 else gamma_quantile(count, 0.025)
    return low, gamma_quantile(count + 1, 0.975)
