"""What the text leaves open of MDLP and of reassembly, and what it would change.

Nothing here is fitted: the study runs on the first row, which is what the text says, and
the others are other readings of it, or what the standards have.
"""

from collections.abc import Mapping

from farlink.studies.study import Table
from farlink.studies.wong1998.model import REGISTRY, Options, Wong

__all__: list[str] = []

_POINTS = (0.05, 0.10, 0.20, 0.40, 0.60)

_VARIANTS: Mapping[str, tuple[str, Options]] = {
    "MDLP as the study has it here": ("mdlp", {}),
    "T200 from the first unacknowledged frame (Q.921)": ("mdlp", {"retry_from": "first-frame"}),
    "an SREJ is repeated (optional in CDPD)": ("mdlp", {"srej_repeat": True}),
    "both": ("mdlp", {"retry_from": "first-frame", "srej_repeat": True}),
    "reassembly waits an hour": ("mdlp", {"reassembly": "1 h"}),
    "not in sequence": ("mdlp", {"seq": False}),
    "not in sequence, reassembly waits an hour": ("mdlp", {"seq": False, "reassembly": "1 h"}),
    "LAPB": ("lapb", {}),
    "LAPB, T1 from the first unacknowledged frame": ("lapb", {"retry_from": "first-frame"}),
    "RLP": ("rlp", {}),
}


@REGISTRY.table("variants4")
def _readings(w: Wong) -> Table:
    w.lab.prefetch(w.cell(ll, p, **kw) for ll, kw in _VARIANTS.values() for p in _POINTS)
    return Table(
        columns=("kbit/s at PER", *(f"{100 * p:.0f} %" for p in _POINTS)),
        rows=[
            (name, *(f"{w.thr(ll, p, **kw).mean / 1e3:.2f}" for p in _POINTS))
            for name, (ll, kw) in _VARIANTS.items()
        ],
        note="The first row is what the claims are judged on.",
    )
