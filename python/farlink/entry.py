"""Start of the command `farlink`, which handles Ctrl-C even while its modules load."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    try:
        from farlink.cli import main as command
    except KeyboardInterrupt:
        os.write(2, b"farlink: interrupted\n")
        sys.exit(130)
    command()
