"""Rain fades of a satellite link from its place, elevation and frequency.

The models are those of the ITU-R recommendations, computed by the package `itur`: rain attenuation
by P.618, rainfall by P.837, height of rain by P.839, height of the place by P.1511. They give the
attenuation that is exceeded in a share of an average year. The change of attenuation over time
follows the synthesiser of P.1853.
"""

import math
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from farlink import units
from farlink.errors import ScenarioError
from farlink.extras import lacking

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Rain", "rain"]

PERCENT = (5.0, 3.0, 1.0, 0.5, 0.3, 0.1, 0.05, 0.03, 0.01, 0.003, 0.001)
"""Percentages of a year for which P.618 is defined."""

BETA = 2e-4
"""Rate in 1/s of the autocorrelation exp(-BETA t) of the Gaussian process behind rain attenuation
(P.1853-1, 2.2).
"""

_DRY = 10.0
"""Percentage of the year above which no rain is assumed. P.618 ends at 5 %; from there the
attenuation falls to 0 linearly in the logarithm of the percentage.
"""

_MOST_ROWS = 1_000_000
_GEO_KM = 35_786.0
_CIRCULAR = 45.0
"""Tilt in degrees that stands for circular polarisation (P.838)."""
_FREQUENCIES = {"MHz": 1e-3, "GHz": 1.0}


@dataclass(frozen=True)
class Rain:
    """Rain fades of a link to a satellite.

    Latitude, longitude and elevation are in degrees, the frequency in GHz, heights in km above the
    sea.
    """

    latitude: float
    longitude: float
    elevation: float
    frequency_ghz: float
    height_km: float
    tilt: float = _CIRCULAR

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show, with the text that the command prints."""
        from farlink.views import page
        from farlink.views.rain import show

        return page.as_html(lambda out: show(self, {}, out))

    def attenuation(self, percent: float) -> float:
        """Return the attenuation in dB that rain exceeds in this percentage of the year."""
        if not PERCENT[-1] <= percent <= PERCENT[0]:
            raise ScenarioError(
                f"{percent:g} % of the year is out of range; P.618 is for {PERCENT[-1]:g} to "
                f"{PERCENT[0]:g} %"
            )
        result = _itur().models.itu618.rain_attenuation(
            self.latitude,
            self.longitude,
            self.frequency_ghz,
            self.elevation,
            hs=self.height_km,
            p=percent,
            tau=self.tilt,
        )
        return float(result.value)

    def probability(self, margin_db: float) -> float:
        """Return the share of the year in which rain attenuation exceeds the margin.

        `probability` is the inverse of `attenuation`. Outside of the range of P.618 the closest
        bound is returned: 0.05 for a margin that is exceeded more often, 0.00001 for a margin that
        is exceeded less often.
        """
        if not margin_db > 0:
            raise ScenarioError(f"margin {margin_db:g} dB: write more than 0 dB")
        low, high = math.log(PERCENT[-1]), math.log(PERCENT[0])
        if self.attenuation(PERCENT[0]) >= margin_db:
            return PERCENT[0] / 100
        if self.attenuation(PERCENT[-1]) <= margin_db:
            return PERCENT[-1] / 100
        for _ in range(60):
            middle = (low + high) / 2
            if self.attenuation(math.exp(middle)) > margin_db:
                low = middle
            else:
                high = middle
        return math.exp((low + high) / 2) / 100

    def margin(self, availability: float) -> float:
        """Return the margin in dB with which the link is up in this share of the year (0.999)."""
        return self.attenuation(100 * (1 - availability))

    def channel(self, margin_db: float, duration: str) -> dict[str, Any]:
        """Return a channel that loses all packets in fades of this mean duration ("60 s").

        The share of time in fades is `probability`. The recommendations give no durations, so the
        caller must choose one.
        """
        seconds = units.parse_time(duration)
        if seconds is None or not 0 < seconds <= 3600:
            raise ScenarioError(f'duration {duration!r}: write a time of up to 1 h, such as "60 s"')
        return {"gilbert": {"loss": self.probability(margin_db), "burst": duration}}

    def series(
        self,
        clear_sky_db: float,
        *,
        length: str = "1 h",
        step: str = "1 s",
        storm: float | None = None,
        seed: int = 1,
    ) -> "pd.DataFrame":
        """Return attenuation and Es/N0 over time, in the form of a `rate_trace` with `symbol_rate`.

        The attenuation is the quantile of P.618 at the share Q(x), with x a stationary Gaussian
        process of autocorrelation exp(-BETA t) (P.1853-1). Es/N0 is the clear-sky value minus the
        attenuation. Noise radiated by the rain is not included.

        Parameters
        ----------
        clear_sky_db
            Es/N0 without rain.
        length, step
            Length of the series, and time from row to row.
        storm
            Percent of the year in which the attenuation of the middle row is exceeded: a
            storm around it. Without it the series begins anywhere in the year.
        seed
            Seed of the random numbers.
        """
        import numpy as np
        import pandas as pd
        from scipy.signal import lfilter
        from scipy.stats import norm

        whole, apart = (units.parse_time(item) for item in (length, step))
        if whole is None or apart is None or not 0 < apart <= whole:
            raise ScenarioError(
                f'length {length!r}, step {step!r}: write times such as "1 h" and "1 s"'
            )
        count = math.floor(whole / apart + 1e-9) + 1
        if count > _MOST_ROWS:
            raise ScenarioError(f"{count:,} rows; write a longer step, for {_MOST_ROWS:,} at most")
        if storm is not None and not PERCENT[-1] <= storm <= PERCENT[0]:
            raise ScenarioError(
                f"storm {storm:g} % of the year: write {PERCENT[-1]:g} to {PERCENT[0]:g}"
            )
        random = np.random.default_rng(seed)
        share = math.exp(-BETA * apart)
        middle = 0 if storm is None else count // 2
        start = random.standard_normal() if storm is None else norm.isf(storm / 100)

        def walk(rows: int) -> Any:  # noqa: ANN401 (an array)
            steps = math.sqrt(1 - share * share) * random.standard_normal(rows)
            return lfilter([1.0], [1.0, -share], steps, zi=[share * start])[0]

        # A stationary Gauss-Markov process has the same law backwards in time, so the first half is
        # drawn backwards from the middle.
        x = np.concatenate([walk(middle)[::-1], [start], walk(count - middle - 1)])
        known = self.table["attenuation"]
        shares = np.log([_DRY / 100, *known.index])
        levels = np.array([0.0, *known])
        logs = norm.logsf(x)
        attenuation = np.interp(-logs, -shares, levels)
        table = pd.DataFrame(
            {
                "time": np.arange(count) * apart,
                "attenuation": attenuation,
                "esno": clear_sky_db - attenuation,
            }
        )
        table.attrs["units"] = {"time": "s", "attenuation": "dB", "esno": "dB"}
        return table

    @cached_property
    def table(self) -> "pd.DataFrame":
        """Attenuation in dB by the share of the year in which it is exceeded."""
        import pandas as pd

        rows = [(percent / 100, self.attenuation(percent)) for percent in PERCENT]
        table = pd.DataFrame(rows, columns=["share", "attenuation"]).set_index("share")
        table.attrs["units"] = {"attenuation": "dB"}
        return table


def rain(
    latitude: float,
    longitude: float,
    frequency: str,
    *,
    elevation: float | None = None,
    satellite: float | None = None,
    height_km: float | None = None,
    tilt: float = _CIRCULAR,
) -> Rain:
    """Describe the rain fades of a link from a place to a satellite.

    Parameters
    ----------
    latitude, longitude
        Position of the earth station in degrees; south and west are negative.
    frequency
        Frequency with its unit: "20 GHz".
    elevation
        Elevation of the satellite above the horizon in degrees.
    satellite
        Longitude of a geostationary satellite in degrees, instead of the elevation.
    height_km
        Height of the earth station above the sea; by default P.1511's value.
    tilt
        Angle of a linear polarisation to the horizon in degrees; 45 for a circular
        polarisation.

    Raises
    ------
    ScenarioError
        If a value is out of range, the satellite is below the horizon, or the
        package `itur` is not installed.
    """
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 360):
        raise ScenarioError(
            f"place {latitude:g}, {longitude:g}: write a latitude of -90 to 90 and a longitude of "
            "-180 to 180 degrees"
        )
    match = re.fullmatch(r"\s*([0-9.]+)\s*(MHz|GHz)\s*", frequency)
    ghz = float(match[1]) * _FREQUENCIES[match[2]] if match and match[1].count(".") < 2 else 0.0
    if not 1 <= ghz <= 55:
        raise ScenarioError(f'frequency {frequency!r}: write "1 GHz" to "55 GHz" (P.618)')
    if (elevation is None) == (satellite is None):
        raise ScenarioError("give either the elevation or the longitude of the satellite")
    if satellite is not None:
        elevation = _elevation(latitude, longitude, satellite)
        if elevation <= 0:
            raise ScenarioError(
                f"a satellite at {satellite:g} degrees is below the horizon of "
                f"{latitude:g}, {longitude:g}"
            )
    assert elevation is not None
    if not 5 <= elevation <= 90:
        raise ScenarioError(f"elevation {elevation:.3g} degrees: P.618 is for 5 to 90 degrees here")
    if height_km is None:
        models = _itur().models
        height_km = max(float(models.itu1511.topographic_altitude(latitude, longitude).value), 0.0)
    return Rain(latitude, longitude, elevation, ghz, height_km, tilt)


def _elevation(latitude: float, longitude: float, satellite: float) -> float:
    """Return the elevation of a geostationary satellite, on a sphere of 6371 km."""
    radius = 6371.0 / (6371.0 + _GEO_KM)
    apart = math.cos(math.radians(latitude)) * math.cos(math.radians(longitude - satellite))
    return math.degrees(math.atan2(apart - radius, math.sqrt(1 - apart * apart)))


def _itur() -> Any:  # noqa: ANN401 (a package without types)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import itur
            import itur.models.itu618
            import itur.models.itu1511
    except ImportError as error:
        raise lacking("rain", "rain") from error
    return itur
