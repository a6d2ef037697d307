"""TCP over far, slow and lossy links: what works on this path, and by how much.

>>> import farlink as fl
>>> r = fl.run("geo-omueti2007", tcp=["sack", "newreno"], runs=30)  # doctest: +SKIP
>>> r.summary["goodput"]  # doctest: +SKIP
>>> r.trace("cwnd", tcp="sack")  # doctest: +SKIP
>>> r.plot.cwnd().savefig("cwnd.pdf")  # doctest: +SKIP
"""

from farlink._farlink import version as _version
from farlink.api import load, presets, run, scenarios, schema, variants
from farlink.emulation import Emulated, emulate
from farlink.errors import FarlinkError, OutputError, RunError, ScenarioError
from farlink.result import Result

__version__ = _version()

__all__ = [
    "Emulated",
    "FarlinkError",
    "OutputError",
    "Result",
    "RunError",
    "ScenarioError",
    "__version__",
    "emulate",
    "load",
    "presets",
    "run",
    "scenarios",
    "schema",
    "variants",
]
