"""Figures of curves, as a record describes them: a measure over a factor, a series per case."""

from collections.abc import Mapping, Sequence
from typing import Any

from farlink.studies.model import Model
from farlink.studies.study import Curves, Published

__all__ = ["curves"]


def curves(model: Model, data: Mapping[str, Any]) -> Curves:
    """Make the curves of an entry of a record.

    Parameters
    ----------
    model
        Where its points are.
    data
        `y`, a measure; `x`, a factor; `over`, its points, or the name of a constant that has
        them; `series`, by name the other factors of a curve; and where wanted `x_label`,
        `x_scale` (what the points are multiplied by for the axis), `y_range` (of the published
        axis), `log_x`, `log_y`, `note`,
        and `points` (of `Published`).
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
