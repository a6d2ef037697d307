"""What the study has as code; the modules beside this one register theirs."""

from farlink.studies.study import Registry

__all__ = ["REGISTRY"]

REGISTRY = Registry()
