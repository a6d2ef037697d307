"""E. Y. F. Leung, 1998: TCP over satellite and mobile links behind the Internet."""

from farlink.studies.leung1998 import figures, hooks, internet, mobile, tables, traces, words
from farlink.studies.leung1998.registry import REGISTRY
from farlink.studies.study import Study

__all__ = ["STUDY"]

# Importing a module registers its figures, tables, functions and hooks.
_MODULES = (figures, hooks, internet, mobile, tables, traces, words)

STUDY = Study.read(__name__, REGISTRY)
