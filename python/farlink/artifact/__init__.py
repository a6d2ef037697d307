"""Archives of a paper's experiment: `pack` writes one, `verify` runs its content again."""

from farlink.artifact.pack import pack
from farlink.artifact.verify import Verification, verify

__all__ = ["Verification", "pack", "verify"]
