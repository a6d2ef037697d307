"""Chapter 4: reliable link layers. Figures 4.1 to 4.22 and their claims."""

from farlink.studies.quantity import Evidence, every
from farlink.studies.study import Curves
from farlink.studies.wong1998.model import PER, REGISTRY, Wong

__all__: list[str] = []

_PROTOCOLS = {"LAPB": "lapb", "CDPD MDLP": "mdlp", "RLP": "rlp"}


@REGISTRY.figure("fig4.17")
def _protocols(w: Wong) -> Curves:
    w.lab.prefetch(w.cell(ll, p) for ll in _PROTOCOLS.values() for p in PER)
    return Curves(
        x=[100 * p for p in PER],
        x_label="PER (%)",
        y_label="TCP throughput (kbit/s)",
        series={name: [w.thr(ll, p) for p in PER] for name, ll in _PROTOCOLS.items()},
        scale=1e-3,
    )


@REGISTRY.claim("wong1998.fig4.17.rlp_best_high_per")
def _rlp_best(w: Wong) -> Evidence:
    return every(
        w.thr("rlp", p) > w.thr(other, p) for p in PER if p >= 0.20 for other in ("mdlp", "lapb")
    )
