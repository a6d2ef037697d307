"""Names of the figures of a run, which are known without matplotlib."""

__all__ = ["FIGURES"]

FIGURES = ("ladder", "sequence", "first-loss", "cwnd", "queue", "throughput", "delay", "agent")
"""Kinds of figures; `plot.save` draws all but ladder."""
