"""What all tests of the emulator share."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def heeds_ctrl_c() -> Iterator[None]:
    """What a shell runs in the background ignores Ctrl-C, and all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
