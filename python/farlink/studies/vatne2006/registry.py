"""Registry in which the study's modules register their functions."""

from farlink.studies.study import Registry

__all__ = ["REGISTRY"]

REGISTRY = Registry()
