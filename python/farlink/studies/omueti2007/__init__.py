"""M. Omueti and Lj. Trajkovic, 2007: TCP-ADaLR over a geostationary link."""

from farlink.studies.omueti2007 import fairness, pages, tables, traced
from farlink.studies.omueti2007.registry import REGISTRY
from farlink.studies.study import Study

__all__ = ["STUDY"]

# Importing a module registers its figures, tables, functions and hooks.
_MODULES = (fairness, pages, tables, traced)

STUDY = Study.read(__name__, REGISTRY)
