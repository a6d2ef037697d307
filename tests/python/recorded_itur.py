"""Recorded values of itur 0.4.0, for machines without its 250 MB (with astropy, pyproj)."""

import math
from types import SimpleNamespace

PERCENT = (5.0, 3.0, 1.0, 0.5, 0.3, 0.1, 0.05, 0.03, 0.01, 0.003, 0.001)

HEIGHTS = {(59.33, 18.07): 0.025246016, (1.35, 103.8): 0.035785778}
"""Height in km (P.1511) by latitude and longitude."""

# fmt: off
ATTENUATIONS = {
    (59.33, 18.07, 20.0, 22.511878): (0.295905, 0.441745, 0.98648, 1.571921, 2.17138, 4.103402,
                                      5.884897, 7.521934, 12.028994, 18.36338, 24.851007),
    (59.33, 18.07, 20.0, 25.0): (0.275237, 0.411426, 0.921347, 1.470727, 2.034239, 3.855006,
                                 5.538426, 7.088297, 11.367278, 17.406488, 23.622036),
    (1.35, 103.8, 20.0, 25.0): (2.100923, 3.027876, 6.268559, 11.024253, 15.176567, 25.981561,
                                34.10723, 40.652163, 55.648424, 71.468134, 82.577023),
    (59.33, 18.07, 30.0, 25.0): (0.638107, 0.939545, 2.036764, 3.185285, 4.339687, 7.961098,
                                 11.205542, 14.126299, 21.929796, 32.406177, 42.57215),
    (59.33, 18.07, 20.0, 50.0): (0.183521, 0.276333, 0.628585, 1.01336, 1.411874, 2.71781,
                                 3.943401, 5.0838, 8.281391, 12.900615, 17.783486),
}
"""Attenuation in dB (P.618) at `PERCENT`, circular polarisation, by latitude, longitude, GHz and
degrees of elevation."""
# fmt: on


def module() -> SimpleNamespace:
    """Return a replacement of itur: exact at `PERCENT`, else interpolated in logarithms."""

    def attenuation(
        latitude: float, longitude: float, ghz: float, elevation: float, *,
        hs: float, p: float, tau: float,
    ) -> SimpleNamespace:  # fmt: skip
        assert hs == HEIGHTS[latitude, longitude]
        assert tau == 45
        known = ATTENUATIONS[latitude, longitude, ghz, round(elevation, 6)]
        at = next(i for i in range(len(PERCENT) - 1) if p >= PERCENT[i + 1] * (1 - 1e-12))
        share = math.log(PERCENT[at] / p) / math.log(PERCENT[at] / PERCENT[at + 1])
        return SimpleNamespace(value=known[at] * (known[at + 1] / known[at]) ** share)

    def altitude(latitude: float, longitude: float) -> SimpleNamespace:
        return SimpleNamespace(value=HEIGHTS[latitude, longitude])

    return SimpleNamespace(
        models=SimpleNamespace(
            itu618=SimpleNamespace(rain_attenuation=attenuation),
            itu1511=SimpleNamespace(topographic_altitude=altitude),
        )
    )
