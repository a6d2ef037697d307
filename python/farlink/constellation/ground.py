"""Points on the ground below satellites."""

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

__all__ = ["below"]

_ECCENTRICITY_2 = 0.006_694_38
"""Square of the eccentricity of the ellipsoid (WGS 84)."""
_EQUATOR = 6378.137


def below(positions: "Floats") -> "tuple[Floats, Floats, Floats]":
    """Return latitude, longitude (degrees) and height (km) of positions that turn with the Earth.

    The height is that over a sphere with the radius of the equator, as altitudes of orbits are.
    """
    import numpy as np

    x, y, z = (positions[..., axis] for axis in range(3))
    flat = np.hypot(x, y)
    radius = np.hypot(flat, z)
    # A single step from the direction of the centre suffices, because the vertical differs by at
    # most 0.2 degrees.
    north = np.arctan2(z, flat * (1 - _ECCENTRICITY_2 * _EQUATOR / radius))
    return np.degrees(north), np.degrees(np.arctan2(y, x)), radius - _EQUATOR
