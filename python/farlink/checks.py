"""Checks of arguments, and their text in error messages."""

import operator
from typing import SupportsIndex

from farlink.errors import ScenarioError

__all__ = ["text_of", "whole"]


def whole(name: str, value: object, most: int, least: int = 1) -> int:
    """Return a whole number from `least` to `most`, or raise `ScenarioError`."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise ScenarioError(f"{name} is {text_of(value)}; write a whole number")
    number = operator.index(value)
    if not least <= number <= most:
        raise ScenarioError(f"{name} is {text_of(number)}; write {least} to {most}")
    return number


def text_of(value: object) -> str:
    """Return the repr of a value for an error message, shortened in the middle if it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__} that cannot be written"
    return text if len(text) <= 120 else f"{text[:80]}...{text[-20:]}"
