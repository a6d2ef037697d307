"""J. W. K. Wong, University of British Columbia, 1998: TCP over link retransmissions."""

from farlink.studies.study import Study
from farlink.studies.wong1998 import chapter4
from farlink.studies.wong1998.model import REGISTRY, Wong

__all__ = ["STUDY"]

_MODULES = (chapter4,)  # each registers its figures and claims

STUDY = Study.read(
    __name__,
    REGISTRY,
    Wong,
    {"MAC 10 ms": 0.010, "MAC 5 ms": 0.005, "MAC 15 ms": 0.015, "MAC 20 ms": 0.020},
)
