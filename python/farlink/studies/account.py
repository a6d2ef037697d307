"""Accounts of printed numbers that the model misses: experiments and arithmetic.

An account belongs to a claim whose printed number the runs do not meet. An experiment changes the
model by one interpretation of the text, and the runs show whether the number is then met.
Arithmetic on printed values shows that no run of the described model can meet the number.
"""

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from farlink.studies.expression import Expression
from farlink.studies.quantity import Evidence, Verdict

__all__ = ["Account", "AccountStatus", "Accounted", "accounts", "status_of"]

_KEYS = {"claim", "says", "reading", "number", "arithmetic", "needs"}


class AccountStatus(enum.Enum):
    """Status of an account, or of all accounts of a claim together."""

    MET = "met by an experiment"
    EXCLUDED = "excluded by arithmetic"
    PARTLY = "in part"
    UNDECIDED = "experiment undecided"
    NOT_MET = "not met by the experiment"
    NOT_RUN = "experiment not run"
    NONE = "open"


_STATUS = {
    Verdict.REPRODUCED: AccountStatus.MET,
    Verdict.NOT_REPRODUCED: AccountStatus.NOT_MET,
    Verdict.TIE: AccountStatus.NOT_MET,
}
"""Status of an experiment with decided evidence, by its verdict."""


@dataclass(frozen=True)
class Account:
    """Experiment or arithmetic on the missed number of a claim.

    Attributes
    ----------
    claim
        Id of the claim.
    text
        Explanation in words.
    reading
        Interpretation under which the runs judge the number; empty for arithmetic.
    number
        Part of the claim's number that the experiment concerns; None for the whole number.
    arithmetic
        Statement on printed values that excludes the number; None for an experiment. The
        statement must hold.
    needs
        Place in the publication of the printed values that the arithmetic uses, or of the
        sentence that allows the interpretation.
    """

    claim: str
    text: str
    reading: str = ""
    number: Expression | None = None
    arithmetic: Expression | None = None
    needs: str = ""


@dataclass(frozen=True)
class Accounted:
    """Account with the evidence of the runs on it; None for arithmetic or without runs."""

    account: Account
    evidence: Evidence | None = None

    @property
    def status(self) -> AccountStatus:
        """Status of this account alone."""
        if self.account.arithmetic is not None:
            return AccountStatus.EXCLUDED
        if self.evidence is None:
            return AccountStatus.NOT_RUN
        return _STATUS.get(self.evidence.verdict, AccountStatus.UNDECIDED)

    @property
    def key(self) -> str:
        """Deciding comparison of the experiment, or the text of the arithmetic."""
        if self.account.arithmetic is not None:
            return self.account.arithmetic.text
        return "" if self.evidence is None else self.evidence.key


def status_of(rows: Sequence[Accounted]) -> AccountStatus:
    """Return the status of a claim with these accounts.

    A claim is met by experiments if each of its accounts is met. One account that excludes the
    number excludes the whole number, because a number holds only if all of its parts hold.
    """
    states = {row.status for row in rows}
    if not states:
        return AccountStatus.NONE
    if AccountStatus.EXCLUDED in states:
        return AccountStatus.EXCLUDED
    if len(states) == 1:
        return states.pop()
    return AccountStatus.PARTLY


def accounts(
    rows: Iterable[Mapping[str, Any]],
    claims: Collection[str],
    readings: Collection[str],
    names: Collection[str],
) -> dict[str, list[Account]]:
    """Return the accounts of a record by claim.

    Raises
    ------
    ValueError
        If an entry has an unknown key, claim or reading, is neither an experiment nor arithmetic,
        or states arithmetic that does not hold.
    ScenarioError
        If an expression is wrong.
    """
    by_claim: dict[str, list[Account]] = {}
    for row in rows:
        item = _account(row, names)
        if item.claim not in claims:
            raise ValueError(f"account: the record has no claim {item.claim!r}")
        if item.reading and item.reading not in readings:
            raise ValueError(f"account of {item.claim}: no reading {item.reading!r}")
        by_claim.setdefault(item.claim, []).append(item)
    return by_claim


def _account(row: Mapping[str, Any], names: Collection[str]) -> Account:
    claim = str(row.get("claim", ""))
    where = f"account of {claim}"
    for key in ("claim", "says"):
        if key not in row:
            raise ValueError(f"the record lacks {key!r} of {where}")
    if unknown := row.keys() - _KEYS:
        raise ValueError(f"{where}: {', '.join(sorted(unknown))} is no key of it")
    if ("reading" in row) == ("arithmetic" in row):
        raise ValueError(f"{where}: write either a reading or arithmetic")
    if "number" in row and "arithmetic" in row:
        raise ValueError(f"{where}: number belongs to a reading")
    given: dict[str, Any] = {"text" if key == "says" else key: row[key] for key in row}
    if "number" in row:
        given["number"] = Expression(row["number"], f"{where}, number")
        given["number"].check(names)
    if "arithmetic" in row:
        given["arithmetic"] = _sum(row["arithmetic"], where)
    return Account(**given)


def _sum(text: str, where: str) -> Expression:
    """Return arithmetic on plain numbers, after a check that it holds."""
    expression = Expression(text, f"{where}, arithmetic")
    expression.check(())
    if expression.evidence({}).verdict is not Verdict.REPRODUCED:
        raise ValueError(f"{where}: `{text}` does not hold")
    return expression
