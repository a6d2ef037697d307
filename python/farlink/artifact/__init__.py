"""Archives of a paper's experiment: `pack` writes an archive, `verify` repeats its runs."""

from farlink.artifact.pack import pack
from farlink.artifact.verify import Verification, verify

__all__ = ["Verification", "pack", "verify"]
