"""J. W. K. Wong, University of British Columbia, 1998: TCP over link retransmissions."""

from farlink.studies.study import Study
from farlink.studies.wong1998 import ladder5, ladders4, numbers, pieces, readings, tables, traces4
from farlink.studies.wong1998.registry import REGISTRY

__all__ = ["STUDY"]

# Importing a module registers its figures, tables, functions and hooks.
_MODULES = (ladders4, ladder5, numbers, pieces, readings, tables, traces4)

STUDY = Study.read(__name__, REGISTRY)
