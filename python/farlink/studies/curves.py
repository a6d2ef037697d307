"""Computes figures of curves from a record: a measure over a factor, with a curve per series."""

from collections.abc import Mapping, Sequence
from typing import Any

from farlink.studies.model import Model
from farlink.studies.study import Curves, Published

__all__ = ["curves"]


def curves(model: Model, data: Mapping[str, Any]) -> Curves:
    """Compute the curves of a figure's entry in the record.

    Parameters
    ----------
    model
        Model that simulates the points.
    data
        Entry of the record. `y` is a measure and `x` a factor. `over` has the values of x, or names
        a constant with these values. `series` has the other factors of each curve, by name of the
        curve. Optional: `x_label`, `x_scale` (factor of the x values on the axis), `y_range` (ends
        of the published axis), `log_x`, `log_y`, `note`, and `points` (of `Published`).
    """
    measure, x = model.plan.measures[data["y"]], data["x"]
    over = data["over"]
    points = model.cache.points(model.plan.constants[over] if isinstance(over, str) else over)
    series: Mapping[str, Mapping[str, Any]] = data["series"]
    results: Sequence[Mapping[str, Any]] = [
        {**measure.sets, **case, x: point} for case in series.values() for point in points
    ]
    model.cache.prefetch(model.cell(**settings) for settings in results)
    scale = data.get("x_scale", 1.0)
    return Curves(
        x=[scale * point for point in points],
        x_label=data.get("x_label", x),
        y_label=measure.label or measure.doc,
        series={
            name: [model.measure(measure.name, **case, **{x: point}) for point in points]
            for name, case in series.items()
        },
        scale=measure.scale,
        y_range=tuple(data["y_range"]) if "y_range" in data else None,
        log_x=data.get("log_x", False),
        log_y=data.get("log_y", False),
        note=data.get("note", ""),
        points=[
            Published(item["says"], item.get("x"), item.get("y")) for item in data.get("points", ())
        ],
    )
