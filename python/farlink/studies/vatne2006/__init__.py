"""C. T. Vatne and L.-R. Haugen, 2006: transport over sensor radio and satellite networks."""

from farlink.studies.study import Study
from farlink.studies.vatne2006 import channel, ladders, levels, satellite, tables
from farlink.studies.vatne2006.registry import REGISTRY

__all__ = ["STUDY"]

# Importing a module registers its figures, tables, functions and hooks.
_MODULES = (channel, ladders, levels, satellite, tables)

STUDY = Study.read(__name__, REGISTRY)
