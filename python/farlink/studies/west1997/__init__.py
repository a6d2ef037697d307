"""S. M. West and N. H. Vaidya, Texas A&M University, 1997: snoop and partial acknowledgments."""

from farlink.studies.study import Study
from farlink.studies.west1997 import figures, hooks, tables, traces
from farlink.studies.west1997.registry import REGISTRY

__all__ = ["STUDY"]

# Importing a module registers its figures, tables, functions and hooks.
_MODULES = (figures, hooks, tables, traces)

STUDY = Study.read(__name__, REGISTRY)
