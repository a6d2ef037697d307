"""Registry of the study's code; the modules beside this one register their functions."""

from farlink.studies.study import Registry

__all__ = ["REGISTRY"]

REGISTRY = Registry()
