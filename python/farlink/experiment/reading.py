"""Reader of a tree of settings; errors name the place and the right form."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from farlink.errors import ScenarioError

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """A place in a file or mapping: its name, and the keys that lead to it."""

    origin: str
    path: tuple[str, ...] = ()

    def at(self, *keys: str) -> "Reading":
        """Return a place below."""
        return Reading(self.origin, (*self.path, *keys))

    def wrong(self, message: str) -> NoReturn:
        """Raise `ScenarioError`."""
        where = f"{'.'.join(self.path)}: " if self.path else ""
        raise ScenarioError(f"{self.origin}: {where}{message}")

    def known(self, table: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Refuse a key that is not among these."""
        for key in table:
            if key not in keys:
                close = difflib.get_close_matches(str(key), keys, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(keys)}"
                self.wrong(f"key {key!r} is not known; {hint}")

    def text(
        self, table: Mapping[str, Any], key: str, *, default: str, of: Sequence[str] = ()
    ) -> str:
        """Return a text, one of some if they are given."""
        value = table.get(key, default)
        if not isinstance(value, str) or (of and value not in of):
            wanted = f"one of {', '.join(of)}" if of else "text"
            self.at(key).wrong(f"{value!r} is not usable; write {wanted}")
        return value

    def whole(self, table: Mapping[str, Any], key: str, least: int, most: int) -> int | None:
        """Return a whole number, or None if it is not there."""
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.at(key).wrong(f"{value!r} is not usable; write a whole number, {least} to {most}")
        return value

    def listed(self, table: Mapping[str, Any], key: str) -> list[Any]:
        """Return a list that is not empty; an empty one without the key must be asked for."""
        value = table.get(key)
        if not isinstance(value, list) or not value:
            self.at(key).wrong(f"{value!r} is no list of levels; write [one, another]")
        return value

    def table(self, table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return a table, empty if it is not there."""
        value = table.get(key, {})
        if not isinstance(value, Mapping):
            self.at(key).wrong(f"{value!r} is no table; write [{key}] and its keys below")
        return value
