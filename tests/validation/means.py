"""Numbers of a result that must exist: runs here have a value for every requested metric."""

import farlink as fl

__all__ = ["interval", "mean"]


def mean(result: fl.Result, metric: str, tcp: str) -> float:
    value = result.total(metric, tcp).mean
    assert value is not None
    return value


def interval(result: fl.Result, metric: str, tcp: str) -> tuple[float, float]:
    estimate = result.total(metric, tcp)
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high
