"""The page: the same blocks as Markdown and as HTML that needs no other file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from farlink import units
from farlink.advice.systems import Block as SystemBlock
from farlink.advice.systems import systems
from farlink.estimate import in_toml
from farlink.stats import Estimate

if TYPE_CHECKING:
    from farlink.advice import Advice, Option

__all__ = ["body", "html", "markdown"]


@dataclass(frozen=True)
class Block:
    """A heading, text, list, table or code."""

    kind: str
    lines: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def _blocks(advice: "Advice") -> Iterator[Block]:
    yield Block("title", [f"What to set on {advice.name}"])
    yield Block("text", [_answer(advice)])
    yield Block("head", ["The link"])
    yield Block("table", (), [("", ""), *_link(advice)])
    yield Block("head", [f"What limits you now ({advice.present.tcp})"])
    yield Block("list", [one for one in (*advice.limited, *_now(advice)) if one])
    yield Block("head", ["Which TCP"])
    yield Block("table", (), _options(advice.tcps, f"against {advice.present.tcp}"))
    yield Block("head", ["Which settings"])
    yield Block("table", (), _options([advice.best], f"against {advice.present.tcp}"))
    yield Block("text", [_settings(advice)])
    yield Block("head", ["What the link or a proxy could do"])
    if advice.remedies:
        yield Block("table", (), _options(advice.remedies, "against the setting advised"))
        yield Block(
            "text",
            [
                "Each with the TCP and settings advised at the ends. Behind a proxy the round "
                "trips and what is sent again are the sender's, which ends at the proxy."
            ],
        )
    else:
        yield Block("text", [_no_remedies(advice)])
    yield Block("head", ["What the queue does to others"])
    yield Block("text", ["A call of 64 kbit/s beside a transfer that does not end, one way:"])
    rows = [("beside it", "mean delay", "99 % below")]
    for what, (mean, p99) in advice.delays.items():
        rows.append((what, _value(mean, "s"), _value(p99, "s")))
    yield Block("table", (), rows)
    yield Block("head", ["To set"])
    for system in systems(advice.best.tcp, advice.window, advice.initial_window, _wants(advice)):
        yield from _system(system)
    yield Block("head", ["What this leaves out"])
    yield Block("list", list(advice.notes))
    yield Block("head", ["How it was found"])
    yield Block(
        "text",
        [
            f"Settings were chosen on {advice.runs} runs and are told by {advice.runs} fresh ones "
            "(what limits, and the call, by the first); every run has the same losses for all "
            "settings. ± is half of "
            f"the 95 % interval (Student's t; gains by pairs). Seed {advice.seed}. These commands "
            "give the numbers of all runs:"
        ],
    )
    yield Block("code", list(advice.commands))


def _answer(advice: "Advice") -> str:
    best, now = advice.best, advice.present
    if best.verdict != "more":
        return (
            f"Keep what you have: none of the TCPs and windows tried is shown to be faster than "
            f"{now.tcp} as it is ({_value(now.goodput, 'bit/s')})."
        )
    times = (best.goodput.mean or 0.0) / (now.goodput.mean or 1.0)
    return (
        f"{best.tcp} with a receive window of {_size(advice.window)} and an initial window of "
        f"{advice.initial_window} segments carries {_value(best.goodput, 'bit/s')}; {now.tcp} as "
        f"it is {_value(now.goodput, 'bit/s')}. That is {times:.3g} times as much; the gain is "
        f"{_value(best.gain, 'bit/s')}."
    )


def _link(advice: "Advice") -> list[tuple[str, str]]:
    path = advice.path
    queue = "no limit" if path.queue is None else f"{_size(path.queue)}"
    if path.queue is not None and path.bdp:
        queue += f" ({path.queue / path.bdp:.2g} of what a round trip holds)"
    channel = in_toml(path.channel) if path.channel else "loses nothing"
    return [
        ("slowest link", f"{path.name}, {path.direction}"),
        ("rate", _plain(path.rate_bit_s or 0.0, "bit/s")),
        ("delay of the path, one way", _plain(path.delay_s, "s")),
        ("a round trip holds", _size(path.bdp)),
        ("buffer before it", queue),
        ("channel", channel),
    ]


def _now(advice: "Advice") -> list[str]:
    now, path = advice.present, advice.path
    share = (now.goodput.mean or 0.0) / (path.rate_bit_s or 1.0)
    lines = [
        f"It carries {_value(now.goodput, 'bit/s')}, {100 * share:.3g} % of the link's rate, and "
        f"sends {100 * (now.retransmitted.mean or 0.0):.3g} % of its segments again."
    ]
    if now.round_trip.mean is not None and path.delay_s:
        above = now.round_trip.mean - 2 * path.delay_s
        lines.append(
            f"Its round trips take {_value(now.round_trip, 's')}: {_plain(max(above, 0.0), 's')} "
            "above the way itself, in queues and until ACKs leave."
        )
    return lines


def _options(options: "Sequence[Option]", against: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "goodput", against, "", "mean round trip", "sent again")]
    for one in options:
        what = one.what
        if what == "the setting advised":
            said = ", ".join(
                f"{path.removeprefix('tcp.')} {v}" for path, v in one.overrides.items()
            )
            what = f"{one.tcp}: {said}"
        same = one.gain.mean == 0 and one.gain.half_width in (0, None)
        rows.append(
            (
                what,
                _value(one.goodput, "bit/s"),
                "-" if same else _value(one.gain, "bit/s", signed=True),
                "" if same else one.verdict,
                _value(one.round_trip, "s"),
                f"{100 * (one.retransmitted.mean or 0.0):.3g} %",
            )
        )
    return rows


def _settings(advice: "Advice") -> str:
    return (
        f"The window is the least of those tried that is not shown to be slower than the best, "
        f"from half to four times the {_size(advice.path.holds)} that path and queue hold; the "
        "initial window is 10, 20 or 40 segments."
    )


def _no_remedies(advice: "Advice") -> str:
    if not advice.path.is_lossy:
        return "The link loses nothing: there is nothing to repair, and no proxy was tried."
    return "None could be put into this scenario."


def _wants(advice: "Advice") -> bool:
    return advice.best.verdict == "more"


def _system(system: SystemBlock) -> Iterator[Block]:
    yield Block("small", [system.name])
    if system.code:
        yield Block("code", system.code)
    if system.notes:
        yield Block("list", system.notes)


def _value(estimate: Estimate, unit: str, *, signed: bool = False) -> str:
    if estimate.mean is None:
        return "-"
    largest = max(abs(estimate.mean), 1e-12)
    factor, shown = units.prefixed(largest, unit)
    mean = estimate.mean / factor
    half = estimate.half_width
    text = units.rounded(mean, None if half is None else half / factor)
    sign = "+" if signed and mean > 0 else ""
    error = "" if not half else f" ±{units.rounded(half / factor, half / factor)}"
    return f"{sign}{text}{error} {shown}"


def _plain(value: float, unit: str) -> str:
    factor, shown = units.prefixed(max(abs(value), 1e-12), unit)
    return f"{units.rounded(value / factor)} {shown}"


def _size(size: float) -> str:
    if size >= 2**20 and size % 2**20 == 0:
        return f"{size / 2**20:g} MiB"
    if size % 2**10 == 0:
        return f"{size / 2**10:g} KiB"
    return _plain(size, "B")


def markdown(advice: "Advice") -> str:
    """Return the page in Markdown."""
    parts = []
    for one in _blocks(advice):
        if one.kind in ("title", "head", "small"):
            parts.append({"title": "# ", "head": "## ", "small": "### "}[one.kind] + one.lines[0])
        elif one.kind == "text":
            parts.append(" ".join(one.lines))
        elif one.kind == "list":
            parts.append("\n".join(f"- {line}" for line in one.lines))
        elif one.kind == "code":
            parts.append("\n".join(["```sh", *one.lines, "```"]))
        else:
            head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in one.rows]
            lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
            lines.insert(1, "|" + " --- |" * len(head))
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def body(advice: "Advice") -> str:
    """Return the page as a part of another."""
    parts = []
    for one in _blocks(advice):
        lines = [escape(line) for line in one.lines]
        if one.kind in ("title", "head", "small"):
            tag = {"title": "h1", "head": "h2", "small": "h3"}[one.kind]
            parts.append(f"<{tag}>{lines[0]}</{tag}>")
        elif one.kind == "text":
            parts.append(f"<p>{' '.join(lines)}</p>")
        elif one.kind == "list":
            parts.append("<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>")
        elif one.kind == "code":
            parts.append("<pre>" + "\n".join(lines) + "</pre>")
        else:
            head, *rows = [[escape(cell) for cell in row] for row in one.rows]
            first = "".join(f"<th>{cell}</th>" for cell in head) if any(head) else ""
            rest = "".join(
                "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
            )
            parts.append(
                f'<div class="wide"><table><thead><tr>{first}</tr></thead><tbody>{rest}</tbody>'
                "</table></div>"
            )
    return "\n".join(parts)


_CSS = """
body{font:15px/1.45 system-ui,sans-serif;color:#1a1a1a;max-width:58rem;margin:1.5rem auto;
padding:0 1rem}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.3em 0 .3em;
border-bottom:1px solid #ddd}h3{font-size:1rem;margin:.8em 0 .2em}
table{border-collapse:collapse;font-size:.92em}th,td{text-align:left;padding:.18em .9em .18em 0;
vertical-align:top}th{color:#555;font-weight:600}tbody tr{border-top:1px solid #eee}
pre{background:#f5f5f5;padding:.6em .8em;overflow-x:auto;font-size:.85em;white-space:pre-wrap}
.wide{overflow-x:auto}
@media print{body{font-size:10.5pt;margin:0;max-width:none}pre{background:none;
border:1px solid #ccc}h2{break-after:avoid}table,pre{break-inside:avoid}}
"""


def html(advice: "Advice") -> str:
    """Return the page as HTML."""
    title = escape(f"What to set on {advice.name}")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_CSS}</style></head><body>\n{body(advice)}\n</body></html>\n"
    )
