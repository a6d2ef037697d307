"""Pages and code that show the record: docs/tcp/, docs/validation.md and status.rs."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import anchors
from farlink import source
from grid import BURST, FLOWS, LOSSES, RTTS_MS, WINDOWS, Cell, rows
from verdicts import Judged, Rise, Row, centre, judge

__all__ = ["blocks", "rust"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROFILES = DOCS / "tcp" / "profiles-matrix.md"
STATUS = ROOT / "crates" / "farlink-tcp" / "src" / "status.rs"
COMMAND = "make validate"

_MARKS = {
    "kernel": "k",
    "published": "k",
    "ns-3": "n",
    "ns-3, changed": "n",
    "response function": "r",
    "closed form": "c",
}


@dataclass(frozen=True)
class Reason:
    """Reason for cells of some TCPs whose goodputs have the wrong order."""

    rows: Sequence[str]
    """Names of TCPs; "*" means all."""
    what: Sequence[str]
    text: str
    windows: Sequence[int] = WINDOWS
    losses: Sequence[float] = LOSSES
    """Losses of the cell with less goodput."""
    bursts: bool | None = None
    """Whether the losses of that cell are in bursts; None if it does not matter."""
    flows: Sequence[int] = FLOWS

    def holds(self, row: str, rise: Rise) -> bool:
        """Return whether this reason applies to a pair of cells."""
        cell = rise.better
        return (
            (row in self.rows or "*" in self.rows)
            and rise.what in self.what
            and cell.window in self.windows
            and cell.loss in self.losses
            and cell.flows in self.flows
            and self.bursts in (None, cell.burst > 0)
        )


@cache
def exceptions() -> list[Reason]:
    """Read the list of exceptions."""
    text = Path(__file__).with_name("exceptions.toml").read_text(encoding="utf-8")
    return [Reason(**entry) for entry in tomllib.loads(text).get("exception", [])]


@dataclass(frozen=True)
class Difference:
    """Reason why the cells of certain TCPs differ from the reference."""

    rows: Sequence[str]
    windows: Sequence[int]
    text: str


@cache
def differences() -> list[Difference]:
    """Read the reasons for cells that differ."""
    text = Path(__file__).with_name("exceptions.toml").read_text(encoding="utf-8")
    return [Difference(**entry) for entry in tomllib.loads(text).get("difference", [])]


def reason(row: str, rise: Rise) -> str | None:
    """Return the listed reason for a pair in the wrong order, if any."""
    return next((entry.text for entry in exceptions() if entry.holds(row, rise)), None)


def unexplained(row: Row) -> list[Rise]:
    """Return the pairs in wrong order without a reason."""
    return [rise for rise in row.rises if reason(row.name, rise) is None]


def rust(words: dict[str, str]) -> str:
    """Return the table of words in the Rust code."""
    lines = "".join(f'    ("{name}", "{word}"),\n' for name, word in words.items())
    return (
        "//! Status words of the TCPs, as the matrix of docs/validation.md has them.\n"
        f"//!\n//! `{COMMAND}` writes this file; a test compares it with the record.\n\n"
        "/// Words by the name of a row, or of a profile and a row.\n"
        f"pub(crate) static WORDS: &[(&str, &str)] = &[\n{lines}];\n"
    )


def blocks() -> dict[Path, dict[str, str]]:
    """Return the text between each pair of marks, by page."""
    records = [Row.of(name) for name in rows()]
    pages: dict[Path, dict[str, str]] = {}
    for row in records:
        page = PROFILES if source.split(row.name)[0] else DOCS / "tcp" / f"{row.name}.md"
        pages.setdefault(page, {})[f"matrix of {row.name}"] = matrix(row)
    pages[DOCS / "validation.md"] = {
        "words": word_table(records),
        "differences": difference_list(records),
        "kernel's bbr": kernel_table(),
        "out of order": order_list(records),
    }
    return pages


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|" + "---|" * len(head) + "\n"
    return "".join(
        "| " + " | ".join(cells) + " |\n" + (rule if at == 0 else "")
        for at, cells in enumerate([head, *lines])
    )


def kernel_table() -> str:
    """Return the use of the link by a kernel's BBR and by farlink's, in bulks of fixed duration."""
    ours = anchors.read()
    lines: dict[str, list[str]] = {}
    for anchor in anchors.known():
        path, _, amount = anchor.case.rpartition(", ")
        if anchor.source == "kernel" and amount.endswith("s"):
            line = lines.setdefault(path, [path.partition(", ")[2], anchor.uses(anchor.theirs)])
            line.append(anchor.uses(ours[anchor.name].goodputs))
    return table(["path and loss", "kernel", "`linux-bbr`", "`bbr`"], list(lines.values()))


def matrix(row: Row) -> str:
    """Return the tables of a TCP."""
    kinds = [(0, loss) for loss in LOSSES] + [(BURST, loss) for loss in LOSSES if loss]
    head = ["segments", "RTT", *(f"{100 * loss:g} %{' b' * bool(b)}" for b, loss in kinds)]
    text = f"Status: **{row.word}**. "
    wrong = [entry for entry in row.judged if not entry.agrees]
    text += (
        f"Of the {len(row.judged)} cells and cases that have a reference, {len(wrong)} are outside "
        "its band.\n"
    )
    for flows in FLOWS:
        lines = [
            [f"{window:,}", f"{rtt} ms"]
            + [shown(row, Cell(window, rtt, loss, burst, flows)) for burst, loss in kinds]
            for window in WINDOWS
            for rtt in RTTS_MS
        ]
        text += f"\n{'One flow' if flows == 1 else f'{flows} flows together'}:\n\n"
        text += table(head, lines)
    cases = case_table(row)
    if cases:
        text += f"\nCases of kernels and of ns-3:\n\n{cases}"
    if row.rises:
        text += "\nOut of order:\n\n" + "".join(f"- {line}\n" for line in orders(row))
    return text


def shown(row: Row, cell: Cell) -> str:
    """Return the share of a cell in %, with the mark of its reference."""
    entry = row.cells.get(cell)
    if entry is None:
        return "-"
    share = f"{100 * centre(entry):.3g}"
    held = judge(row.name, entry)
    if held is None:
        return share
    mark = f"{share} {_MARKS[held.source]}"
    return mark if held.agrees else f"**{mark} {held.ratio:.2f}**"


def case_table(row: Row) -> str:
    """Return the anchors of a TCP: each anchor of a kernel, and the range of those of ns-3."""
    names = {anchor.case for anchor in anchors.of(row.name)}
    held = [entry for entry in row.judged if entry.where in names]
    single = [
        entry for entry in held if entry.source in ("kernel", "published") or not entry.agrees
    ]
    lines = [[entry.source, entry.where, f"{entry.ratio:.2f}", verdict(entry)] for entry in single]
    for kind in dict.fromkeys(entry.source for entry in held):
        rest = [entry for entry in held if entry.source == kind and entry not in single]
        if rest:
            ratios = sorted(entry.ratio for entry in rest)
            least, most = f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}"
            span = least if least == most else f"{least} to {most}"
            what = rest[0].where if len(rest) == 1 else f"{len(rest)} cases"
            lines.append([kind, what, span, verdict(rest[0])])
    return table(["held to", "case", "ours / theirs", ""], lines) if lines else ""


def verdict(entry: Judged) -> str:
    return "agrees" if entry.agrees else "**differs**"


def explained(row: Row) -> dict[tuple[str, str], list[Rise]]:
    """Return the wrong orders of a TCP by their kind and reason."""
    records: dict[tuple[str, str], list[Rise]] = {}
    for rise in row.rises:
        why = reason(row.name, rise) or "**Not explained.**"
        records.setdefault((rise.what, why), []).append(rise)
    return records


def orders(row: Row) -> list[str]:
    """Return a line for each kind of wrong order, with its reason."""
    groups = explained(row).items()
    return [f"Goodput {what}: {listed(rises)}. {why}" for (what, why), rises in groups]


def listed(rises: Sequence[Rise]) -> str:
    worst = max(rises, key=lambda rise: rise.ratio)
    text = f"{worst.better} to {worst.worse}, {worst.ratio:.2f} times"
    return text if len(rises) == 1 else f"{len(rises)} pairs of cells, at most {text}"


def word_table(records: Sequence[Row]) -> str:
    """Return the words of all TCPs with their numbers of cells and anchors."""
    sources = ("kernel", "published", "ns-3", "ns-3, changed", "response function", "closed form")
    lines = []
    for row in records:
        counts = []
        for kind in sources:
            held = [entry for entry in row.judged if entry.source == kind]
            wrong = sum(not entry.agrees for entry in held)
            counts.append((f"{len(held)}" + (f" (**{wrong}**)" if wrong else "")) if held else "")
        windows = sorted({entry.window for entry in row.judged if entry.source != "closed form"})
        lines.append(
            [f"`{row.name}`", row.word, *counts, ", ".join(f"{entry:,}" for entry in windows)]
        )
    return table(["row", "word", *sources, "windows held to other than closed form"], lines)


def difference_list(records: Sequence[Row]) -> str:
    lines = []
    for row in records:
        groups: dict[str, list[Judged]] = {}
        for entry in row.judged:
            if not entry.agrees:
                groups.setdefault(why_differs(row.name, entry), []).append(entry)
        for why, cells in groups.items():
            shown = "; ".join(
                f"{entry.where} ({entry.source}): {entry.ratio:.2f}" for entry in cells
            )
            lines.append(f"- `{row.name}`: {shown}. {why}\n")
    return "".join(lines) or "None.\n"


def why_differs(row: str, cell: Judged) -> str:
    """Return the reason for a cell that differs."""
    texts = (
        entry.text for entry in differences() if row in entry.rows and cell.window in entry.windows
    )
    return next(texts, "**Not explained.**")


def order_list(records: Sequence[Row]) -> str:
    """Return a line for each reason, with its TCPs. The pages of these have the worst pairs."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in records:
        for key, rises in explained(row).items():
            worst = max(rise.ratio for rise in rises)
            groups.setdefault(key, []).append(f"`{row.name}` ({len(rises)}; {worst:.2f})")
    lines = [
        f"- Goodput {what}: {', '.join(names)}. {why}\n" for (what, why), names in groups.items()
    ]
    return "".join(lines) or "None.\n"
