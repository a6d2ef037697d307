"""Reader of nested settings whose errors name the place and the expected form."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from farlink.errors import ScenarioError

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """Place in a file or mapping: the file's name, and the keys on the way to the value."""

    origin: str
    path: tuple[str, ...] = ()

    def at(self, *keys: str) -> "Reading":
        """Return the place below this one under `keys`."""
        return Reading(self.origin, (*self.path, *keys))

    def wrong(self, message: str) -> NoReturn:
        """Raise `ScenarioError`."""
        where = f"{'.'.join(self.path)}: " if self.path else ""
        raise ScenarioError(f"{self.origin}: {where}{message}")

    def known(self, table: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Raise `ScenarioError` if the table has a key that is not in `keys`."""
        for key in table:
            if key not in keys:
                close = difflib.get_close_matches(str(key), keys, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(keys)}"
                self.wrong(f"key {key!r} is not known; {hint}")

    def text(
        self, table: Mapping[str, Any], key: str, *, default: str, of: Sequence[str] = ()
    ) -> str:
        """Return a string; with `of`, the string must be one of these."""
        value = table.get(key, default)
        if not isinstance(value, str) or (of and value not in of):
            wanted = f"one of {', '.join(of)}" if of else "text"
            self.at(key).wrong(f"{value!r} is not usable; write {wanted}")
        return value

    def whole(self, table: Mapping[str, Any], key: str, least: int, most: int) -> int | None:
        """Return an integer between `least` and `most`, or None if the key is missing."""
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.at(key).wrong(f"{value!r} is not usable; write a whole number, {least} to {most}")
        return value

    def listed(self, table: Mapping[str, Any], key: str) -> list[Any]:
        """Return a list; raise `ScenarioError` if the key is missing or the list is empty."""
        value = table.get(key)
        if not isinstance(value, list) or not value:
            self.at(key).wrong(f"{value!r} is no list of levels; write [one, another]")
        return value

    def table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return a nested table; an empty one if the key is missing."""
        value = table.get(key, {})
        if not isinstance(value, Mapping):
            self.at(key).wrong(f"{value!r} is no table; write [{key}] and its keys below")
        return value
