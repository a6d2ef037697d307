"""Archives of a paper's experiment: `pack` makes one, `verify` runs its content again."""

from farlink.artifact.pack import pack
from farlink.artifact.verify import Verification, verify

__all__ = ["Verification", "pack", "verify"]
