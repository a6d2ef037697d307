"""Design points: a resolved scenario with its named factors."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from farlink import _farlink, source

__all__ = ["Factor", "Point"]

Factor = str | int | float | bool
"""Label of a factor's level, for tables and figures."""

_SAYS_NOTHING = ("name", "description")
"""Keys of a scenario that do not affect its results, and are omitted from the hash."""


@dataclass(frozen=True)
class Point:
    """Resolved scenario with named factors.

    Attributes
    ----------
    text
        The resolved scenario, as JSON.
    factors
        Values set to make the scenario, by name: ``{"tcp": "cubic", "loss": 0.01}``.
    """

    text: str
    factors: Mapping[str, Factor] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scenario: str | Path | Mapping[str, object],
        *,
        tcp: str | None = None,
        overrides: Mapping[str, object] | None = None,
        seed: int | None = None,
        factors: Mapping[str, Factor] | None = None,
    ) -> "Point":
        """Resolve a scenario; the arguments are those of `farlink.run`.

        Raises
        ------
        ScenarioError
            If an argument is wrong.
        """
        where = source.find(scenario)
        texts = where.resolve(None if tcp is None else [tcp], source.changes(overrides, seed))
        return cls(next(iter(texts.values())), factors or {})

    @property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario, parsed anew: parsed ones take 15 kB each."""
        tree: dict[str, Any] = json.loads(self.text)
        return tree

    @cached_property
    def key(self) -> str:
        """Hash of the engine version and the scenario with its seed.

        Key and run number determine a run's numbers exactly.
        """
        table = {key: item for key, item in self.scenario.items() if key not in _SAYS_NOTHING}
        text = json.dumps([_farlink.engine(), table], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def label(self) -> str:
        """All factors in one line of text."""
        return ", ".join(f"{name} {level}" for name, level in self.factors.items())
