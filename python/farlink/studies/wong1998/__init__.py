"""J. W. K. Wong, University of British Columbia, 1998: TCP over link retransmissions."""

from farlink.studies.study import Study
from farlink.studies.wong1998 import (
    chapter4,
    chapter5,
    claims4,
    claims5,
    ladder5,
    ladders4,
    sensitivity,
    tables,
    traces4,
    variants4,
)
from farlink.studies.wong1998.model import REGISTRY, Wong

__all__ = ["STUDY"]

# Each registers its figures, tables and claims.
_MODULES = (
    chapter4,
    claims4,
    traces4,
    ladders4,
    variants4,
    chapter5,
    ladder5,
    claims5,
    tables,
    sensitivity,
)

STUDY = Study.read(
    __name__,
    REGISTRY,
    Wong,
    {"MAC 10 ms": 0.010, "MAC 5 ms": 0.005, "MAC 15 ms": 0.015, "MAC 20 ms": 0.020},
)
