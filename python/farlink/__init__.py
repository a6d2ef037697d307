"""TCP over far, slow and lossy links: what works on this path, and by how much.

>>> import farlink as fl
>>> r = fl.run("geo-omueti2007", tcp=["sack", "newreno"], runs=30)  # doctest: +SKIP
>>> r.summary["goodput"]  # doctest: +SKIP
>>> r.trace("cwnd", tcp="sack")  # doctest: +SKIP
>>> r.plot.cwnd().savefig("cwnd.pdf")  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

from farlink._farlink import version as _version
from farlink.errors import (
    FarlinkError,
    FigureWarning,
    Interrupted,
    OutputError,
    RunError,
    ScenarioError,
)

if TYPE_CHECKING:
    from farlink import artifact as artifact
    from farlink import captures as captures
    from farlink import classes as classes
    from farlink import congestion as congestion
    from farlink import constellation as constellation
    from farlink import control as control
    from farlink import emulation as emulation
    from farlink import experiment as experiment
    from farlink import gym as gym
    from farlink import kernel as kernel
    from farlink import machines as machines
    from farlink import orbit as orbit
    from farlink import overlay as overlay
    from farlink import recordings as recordings
    from farlink import studies as studies
    from farlink.advice import Advice, advise
    from farlink.api import load, presets, profiles, run, scenarios, schema, trajectory, variants
    from farlink.browser.notebook import live
    from farlink.captures import Capture, capture
    from farlink.channels import ChannelSample, channel
    from farlink.classes import QueueLaw, TrafficSource
    from farlink.congestion import CongestionControl
    from farlink.emulation import Emulated, emulate
    from farlink.estimate import Fit, fit
    from farlink.experiment.diff import Diff, diff
    from farlink.experiment.sweep import SweepResult, sweep
    from farlink.networks import network
    from farlink.rainfade import Rain, rain
    from farlink.result import Result
    from farlink.studies.archive import StudyResult
    from farlink.studies.runner import study
    from farlink.tuning import Tuned, sensitivity, tune

__version__ = _version()

__all__ = [
    "Advice",
    "Capture",
    "ChannelSample",
    "CongestionControl",
    "Diff",
    "Emulated",
    "FarlinkError",
    "FigureWarning",
    "Fit",
    "Interrupted",
    "OutputError",
    "QueueLaw",
    "Rain",
    "Result",
    "RunError",
    "ScenarioError",
    "StudyResult",
    "SweepResult",
    "TrafficSource",
    "Tuned",
    "__version__",
    "advise",
    "capture",
    "channel",
    "diff",
    "emulate",
    "fit",
    "live",
    "load",
    "network",
    "presets",
    "profiles",
    "rain",
    "run",
    "scenarios",
    "schema",
    "sensitivity",
    "study",
    "sweep",
    "trajectory",
    "tune",
    "variants",
]

# Modules loaded at first use. NumPy is slow to import, and Ctrl-C in the first moments of the
# command must reach the handler in `farlink.entry`.
_LATER = {
    **dict.fromkeys(
        (
            "load",
            "presets",
            "profiles",
            "run",
            "scenarios",
            "schema",
            "trajectory",
            "variants",
        ),
        "farlink.api",
    ),
    **dict.fromkeys(("Advice", "advise"), "farlink.advice"),
    "Emulated": "farlink.emulation",
    "emulate": "farlink.emulation",
    "Result": "farlink.result",
    "Capture": "farlink.captures",
    "capture": "farlink.captures",
    "network": "farlink.networks",
    "CongestionControl": "farlink.congestion",
    **dict.fromkeys(("QueueLaw", "TrafficSource"), "farlink.classes"),
    "ChannelSample": "farlink.channels",
    "channel": "farlink.channels",
    "live": "farlink.browser.notebook",
    "Fit": "farlink.estimate",
    "fit": "farlink.estimate",
    "Rain": "farlink.rainfade",
    "rain": "farlink.rainfade",
    "StudyResult": "farlink.studies.archive",
    "study": "farlink.studies.runner",
    "Diff": "farlink.experiment.diff",
    "diff": "farlink.experiment.diff",
    "SweepResult": "farlink.experiment.sweep",
    "sweep": "farlink.experiment.sweep",
    **dict.fromkeys(("Tuned", "sensitivity", "tune"), "farlink.tuning"),
}

_MODULES = {
    "artifact",
    "captures",
    "classes",
    "congestion",
    "constellation",
    "control",
    "emulation",
    "experiment",
    "gym",
    "kernel",
    "machines",
    "orbit",
    "overlay",
    "recordings",
    "studies",
}
"""Modules that the documents name `farlink.NAME`."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
