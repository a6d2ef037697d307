"""Inference of a study's unknowns from half of its printed numbers.

`unknowns` has the parameters that a text leaves open, with their ranges. `targets` splits the
printed cells into a half for the fit and a held-out half. `likelihood` compares simulated values
with printed intervals, `search` fits, and `posterior` computes ranges and importance. `record`
holds the result, from which `page` makes a document.
"""

from farlink.studies.inference.record import Inferred, recorded
from farlink.studies.inference.search import infer

__all__ = ["Inferred", "infer", "recorded"]
