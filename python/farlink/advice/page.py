"""Page of advice as blocks, formatted as Markdown or as self-contained HTML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from farlink import units
from farlink.advice.path import call_rate, size_text
from farlink.advice.systems import Block as SystemBlock
from farlink.advice.systems import systems
from farlink.estimate import in_toml
from farlink.stats import Estimate

if TYPE_CHECKING:
    from farlink.advice.answer import Advice, Option, SizeResult
    from farlink.advice.path import Bottleneck

__all__ = ["Block", "blocks", "body", "html", "markdown"]


@dataclass(frozen=True)
class Block:
    """Block of the page: a heading, text, list, table or code."""

    kind: str
    lines: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def blocks(advice: "Advice") -> Iterator[Block]:
    """Return all blocks of the page, from the title to the commands that reproduce its numbers."""
    yield Block("title", [f"What to set on {advice.name}"])
    for line in _answers(advice):
        yield Block("text", [line])
    yield Block("figure")
    yield Block("head", ["The link"])
    yield Block("table", (), [("", ""), *_link(advice)])
    yield Block("head", [f"What limits you now ({advice.present.tcp})"])
    yield Block("list", [limit for limit in (*advice.limited, *_now(advice)) if limit])
    yield from _choices(advice)
    if advice.beside:
        yield from _other_traffic(advice)
    yield from _fixed_ends(advice)
    yield from _queue(advice)
    yield from _commands(advice)
    yield Block("head", ["What this leaves out"])
    yield Block("list", list(advice.notes))
    yield Block("head", ["How it was found"])
    yield Block("text", [_method(advice)])
    yield Block("code", list(advice.commands))


def _choices(advice: "Advice") -> Iterator[Block]:
    """Return tables of TCPs, settings and sizes, each compared with the present setting."""
    against = f"against {advice.present.tcp}"
    if advice.tcps:
        yield Block("head", ["Which TCP"])
        yield Block("table", (), _options(advice.tcps, against))
        yield Block("head", ["Which settings"])
        yield Block("table", (), _options([advice.best], against))
        yield Block("text", [_settings(advice)])
    yield Block("head", ["Which size of transfer"])
    for size in advice.sizes:
        yield Block("small", [_of_size(size)])
        yield Block("table", (), _options(size.options, "against now"))


def _other_traffic(advice: "Advice") -> Iterator[Block]:
    yield Block("head", ["With other traffic beside it"])
    yield Block(
        "text",
        [
            f"A transfer that does not end, and one of {advice.other} over the same path that "
            "does not end either:"
        ],
    )
    yield Block("table", (), _beside(advice))


def _fixed_ends(advice: "Advice") -> Iterator[Block]:
    """Return the table of link ARQ and proxies for hosts that keep their settings."""
    against = f"against {advice.present.tcp}"
    yield Block("head", ["What the link or a proxy could do for ends that stay as they are"])
    if advice.fixed:
        yield Block("table", (), _options(advice.fixed, against))
        yield Block(
            "text",
            [
                f"Each with {advice.present.tcp} as it is at the ends. Behind a proxy the round "
                "trips and what is sent again are the sender's, which ends at the proxy."
            ],
        )
        if advice.fixed[0].tcp == advice.best.tcp and not advice.tcps:
            yield Block(
                "text", ["Keys of agents: `docs/agents.md`. PEPsal is a program for Linux."]
            )
    else:
        yield Block("text", [_no_remedies(advice)])
    if advice.remedies:
        yield Block("head", ["The same with the setting advised at the ends"])
        yield Block("table", (), _options(advice.remedies, "against the setting advised"))


def _queue(advice: "Advice") -> Iterator[Block]:
    """Return the table of a call's delay beside an endless transfer."""
    yield Block("head", ["What the queue does to others"])
    rate = _plain(call_rate(advice.path), "bit/s")
    yield Block("text", [f"A call of {rate} beside a transfer that does not end, one way:"])
    rows = [("beside it", "mean delay", "99 % below")]
    for what, (mean, p99) in advice.delays.items():
        rows.append((what, _value(mean, "s"), _value(p99, "s")))
    yield Block("table", (), rows)
    if len(advice.queues) < 2:
        return
    yield Block("head", ["What a queue discipline would do"])
    text = (
        f"The same call beside {advice.present.tcp} as it is, with another queue in front of "
        f"{advice.path.name}, {advice.path.direction}:"
    )
    yield Block("text", [text])
    yield Block("table", (), _disciplines(advice))


def _disciplines(advice: "Advice") -> list[tuple[str, ...]]:
    """Return rows of delay and goodput under each queue discipline."""
    rows: list[tuple[str, ...]] = [
        ("queue", "mean delay", "99 % below", "goodput", "change of the goodput")
    ]
    for place, row in enumerate(advice.queues):
        delays = (_value(row.delay_mean, "s"), _value(row.delay_p99, "s"))
        change = _value(row.goodput_change, "bit/s", signed=True) if place else "-"
        rows.append((row.what, *delays, _value(row.goodput, "bit/s"), change))
    return rows


def _queue_answer(advice: "Advice") -> str:
    """Return the summary of the discipline with the least delay that costs little goodput."""
    if not advice.queues or not advice.queues[0].goodput.mean:
        return ""
    now, *others = advice.queues
    less = [
        row
        for row in others
        if row.delay_change.high is not None
        and row.delay_change.high < 0
        and (row.delay_mean.mean or 0.0) < _LESS_DELAY * (now.delay_mean.mean or 0.0)
    ]
    cheap = [row for row in less if row.cost <= _LITTLE_COST]
    if not less:
        return ""
    best = (
        min(cheap, key=lambda row: row.delay_mean.mean or 0.0)
        if cheap
        else min(less, key=lambda row: row.cost)
    )
    cost = f"costs {100 * best.cost:.2g} % of the transfer's goodput"
    if best.cost < _NO_COST:
        cost = (
            "costs no goodput"
            if best.cost > -_NO_COST
            else (f"adds {-100 * best.cost:.2g} % to the transfer's goodput")
        )
    return (
        f"A call beside a transfer: {best.what} before {advice.path.name} takes its mean delay "
        f"from {_value(now.delay_mean, 's')} to {_value(best.delay_mean, 's')}, and {cost}."
    )


_LESS_DELAY = 0.9
"""Share of the present delay below which a discipline is worth a sentence."""

_LITTLE_COST = 0.05
"""Share of goodput that a discipline may cost to be preferred for its delay."""

_NO_COST = 0.005
"""Share of goodput below which a cost is none."""


def _commands(advice: "Advice") -> Iterator[Block]:
    """Return the commands that configure the best setting on each operating system."""
    yield Block("head", ["To set"])
    if not advice.tcps:
        yield Block("text", ["At the ends nothing: they stay as they are."])
        return
    for system in systems(advice.best.tcp, advice.window, advice.initial_window, _wants(advice)):
        yield from _system(system)


def _method(advice: "Advice") -> str:
    return (
        f"Settings were chosen on up to {advice.runs} runs of each size, by the mean logarithm "
        "of goodput, and given up where pairs of runs showed them worse. They are told by "
        f"{advice.runs} fresh ones, sizes by {max(3, advice.runs // 2)} (what limits, other "
        "traffic and the call by the first); every run has the same losses for all "
        "settings. ± is half of "
        f"the 95 % interval (Student's t; gains by pairs). Seed {advice.seed}. These commands "
        "give the numbers of all runs:"
    )


def _answers(advice: "Advice") -> Iterator[str]:
    """Return the summary: settings, their cost, their sizes, and their effect on other flows."""
    best, now = advice.best, advice.present
    if advice.tcps:
        yield _setting_answer(advice)
    else:
        carried = _value(now.goodput, "bit/s")
        yield f"The ends keep {now.tcp}, which carries {carried}{_again(now)}."
    if line := _harm(advice):
        yield line
    if advice.fixed:
        yield _fixed_answer(advice)
    if advice.beside and best.verdict == "more":
        yield from _others_answer(advice)
    if line := _queue_answer(advice):
        yield line


def _setting_answer(advice: "Advice") -> str:
    best, now = advice.best, advice.present
    if not _wants(advice):
        return (
            f"Keep what you have: none of the TCPs and windows tried is shown to be faster than "
            f"{now.tcp} as it is ({_value(now.goodput, 'bit/s')}{_again(now)})."
        )
    times = (best.goodput.mean or 0.0) / (now.goodput.mean or 1.0)
    return (
        f"{best.tcp} with a receive window of {_size(advice.window)} and an initial window of "
        f"{advice.initial_window} segments carries {_value(best.goodput, 'bit/s')}"
        f"{_again(best)}; {now.tcp} as it is {_value(now.goodput, 'bit/s')}{_again(now)}. "
        f"That is {times:.3g} times as much; the gain is {_value(best.gain, 'bit/s')}."
    )


def _again(option: "Option") -> str:
    """Return a clause with the share of segments that an option retransmits; empty below 0.1 %."""
    share = option.retransmitted.mean or 0.0
    return f" and sends {100 * share:.2g} % of its segments again" if share >= _TOLD_AGAIN else ""


_TOLD_AGAIN = 0.001


def _harm(advice: "Advice") -> str:
    """Return sentences on sizes where the advised setting is slower than now or than other TCPs."""
    lines = []
    for size in advice.sizes:
        options = {option.what: option for option in size.options}
        chosen = options.get("advised")
        now = size.options[0]
        if (
            _wants(advice)
            and chosen is not None
            and chosen.verdict == "less"
            and _shows(chosen, now)
        ):
            lines.append(
                f"{_of_size(size)}: slower than now, {_value(chosen.goodput, 'bit/s')} for "
                f"{_value(now.goodput, 'bit/s')}."
            )
        reference = chosen or now
        for what, option in options.items():
            if not what.endswith("as it is") or option.verdict != "more":
                continue
            apart = (option.goodput.low or 0.0) > (reference.goodput.high or 0.0)
            if apart and _shows(option, reference):
                line = (
                    f"{_of_size(size)}: {option.tcp} as it is carries more, "
                    f"{_value(option.goodput, 'bit/s')} for {_value(reference.goodput, 'bit/s')}"
                )
                costs = [
                    f"{_value(row.goodput, 'bit/s')} for "
                    f"{_value(other.options[0].goodput, 'bit/s')} ({_of_size(other)})"
                    for other in advice.sizes
                    for row in other.options
                    if row.what == what and row.verdict == "less" and _shows(row, other.options[0])
                ]
                if costs:
                    line += "; but it is slower than now at other sizes: " + ", ".join(costs)
                lines.append(line + ".")
    return " ".join(lines)


def _shows(option: "Option", other: "Option") -> bool:
    """Return whether two printed goodputs differ; the headline omits equal ones."""
    return _value(option.goodput, "bit/s") != _value(other.goodput, "bit/s")


def _fixed_answer(advice: "Advice") -> str:
    """Return the summary for hosts whose settings cannot be changed."""
    now = advice.present
    more = [item for item in advice.fixed if item.verdict == "more" and _shows(item, now)]
    if not more:
        return (
            f"If the ends have to stay {now.tcp} as it is: no proxy, spoofing or link protocol "
            "tried is shown to help."
        )
    item = max(more, key=lambda row: row.goodput.mean or 0.0)
    times = (item.goodput.mean or 0.0) / (now.goodput.mean or 1.0)
    return (
        f"If the ends have to stay {now.tcp} as it is: {item.what} takes them from "
        f"{_value(now.goodput, 'bit/s')} to {_value(item.goodput, 'bit/s')}, {times:.3g} times as "
        "much."
    )


def _others_answer(advice: "Advice") -> Iterator[str]:
    for row in advice.beside:
        if row.what == "as advised" and row.change.high is not None and row.change.high < 0:
            yield (
                f"Others pay: beside it a transfer of {advice.other} has "
                f"{_value(row.other, 'bit/s')}, {_value(row.change, 'bit/s', signed=True)} against "
                "one beside what is now."
            )


def _of_size(size: "SizeResult") -> str:
    text = "" if size.decides else ", told beside"
    if size.bytes is None:
        return size.label[0].upper() + size.label[1:] + text
    name = {"the scenario's": "The scenario's transfer"}.get(
        size.label, f"{size.label[0].upper()}{size.label[1:]} transfer"
    )
    return f"{name}, {size_text(size.bytes)}{text}"


def _beside(advice: "Advice") -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "it has", f"{advice.other} has", "change for that")]
    for item in advice.beside:
        change = item.change.mean in (0, None) and item.change.half_width in (0, None)
        rows.append(
            (
                item.what,
                _value(item.ours, "bit/s"),
                _value(item.other, "bit/s"),
                "-" if change else _value(item.change, "bit/s", signed=True),
            )
        )
    return rows


def _link(advice: "Advice") -> list[tuple[str, str]]:
    path = advice.path
    queue = "no limit" if path.queue is None else f"{_size(path.queue)}"
    if path.queue is not None and path.bdp:
        queue += f" ({path.queue / path.bdp:.2g} of what a round trip holds)"
    channel = in_toml(_short(path.channel)) if path.channel else "loses nothing"
    return [
        ("slowest link", f"{path.name}, {path.direction}"),
        ("rate", _rate(path)),
        ("delay of the path, one way", _plain(path.delay_s, "s")),
        ("a round trip holds", _size(path.bdp)),
        ("buffer before it", queue),
        ("channel", channel),
    ]


def _short(channel: object) -> object:
    """Return a channel without the inline data of its traces, but with their file names."""
    if isinstance(channel, Mapping):
        return {key: _short(item) for key, item in channel.items() if key != "data"}
    return [_short(item) for item in channel] if isinstance(channel, list) else channel


def _rate(path: "Bottleneck") -> str:
    mean = _plain(path.rate_bit_s or 0.0, "bit/s")
    if path.bounds is None:
        return mean
    least, most = (_plain(bound, "bit/s") for bound in path.bounds)
    text = f"{mean} in the mean of a trace, from {least if path.bounds[0] else '0'} to {most}"
    if path.queue is not None and path.bounds[0]:
        text += f"; a full buffer takes {_plain(8 * path.queue / path.bounds[0], 's')} at the least"
    return text


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
    for option in options:
        what = option.what
        if what == "the setting advised":
            text = ", ".join(
                f"{path.removeprefix('tcp.')} {v}" for path, v in option.overrides.items()
            )
            what = f"{option.tcp}: {text}"
        same = option.gain.mean == 0 and option.gain.half_width in (0, None)
        rows.append(
            (
                what,
                _value(option.goodput, "bit/s"),
                "-" if same else _value(option.gain, "bit/s", signed=True),
                "" if same else option.verdict,
                _value(option.round_trip, "s"),
                f"{100 * (option.retransmitted.mean or 0.0):.3g} %",
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
        return "The link loses nothing: there is nothing to repair, and no proxy could be placed."
    return "None could be put into this scenario."


def _wants(advice: "Advice") -> bool:
    """Return whether the advised setting is significantly faster at any size."""
    pairs = [
        (option, size.options[0])
        for size in advice.sizes
        for option in size.options
        if option.what == "advised"
    ]
    return bool(advice.tcps) and any(
        option.verdict == "more" and _shows(option, now)
        for option, now in [(advice.best, advice.present), *pairs]
    )


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
    for block in blocks(advice):
        if block.kind in ("title", "head", "small"):
            parts.append(
                {"title": "# ", "head": "## ", "small": "### "}[block.kind] + block.lines[0]
            )
        elif block.kind == "text":
            parts.append(" ".join(block.lines))
        elif block.kind == "list":
            parts.append("\n".join(f"- {line}" for line in block.lines))
        elif block.kind == "figure":
            continue
        elif block.kind == "code":
            parts.append("\n".join(["```sh", *block.lines, "```"]))
        else:
            head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in block.rows]
            lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
            lines.insert(1, "|" + " --- |" * len(head))
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def body(advice: "Advice") -> str:
    """Return the page as an HTML fragment."""
    parts = []
    for block in blocks(advice):
        lines = [escape(line) for line in block.lines]
        if block.kind in ("title", "head", "small"):
            tag = {"title": "h1", "head": "h2", "small": "h3"}[block.kind]
            parts.append(f"<{tag}>{lines[0]}</{tag}>")
        elif block.kind == "text":
            parts.append(f"<p>{' '.join(lines)}</p>")
        elif block.kind == "list":
            parts.append("<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>")
        elif block.kind == "figure":
            parts.append(_picture(advice))
        elif block.kind == "code":
            parts.append("<pre>" + "\n".join(lines) + "</pre>")
        else:
            head, *rows = [[escape(cell) for cell in row] for row in block.rows]
            first = "".join(f"<th>{cell}</th>" for cell in head) if any(head) else ""
            rest = "".join(
                "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows
            )
            parts.append(
                f'<div class="wide"><table><thead><tr>{first}</tr></thead><tbody>{rest}</tbody>'
                "</table></div>"
            )
    return "\n".join(parts)


def _picture(advice: "Advice") -> str:
    """Return the figure as embedded HTML; an empty string if drawing fails."""
    from base64 import b64encode
    from io import BytesIO

    from farlink.pictures import optional

    file = BytesIO()
    with optional("advice"):
        advice.plot().savefig(file, format="png", dpi=150)
    if not file.getvalue():
        return ""
    data = b64encode(file.getvalue()).decode("ascii")
    alt = "Goodput of each TCP by size of transfer, and beside another transfer"
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'


_CSS = """
body{font:15px/1.45 system-ui,sans-serif;color:#1a1a1a;max-width:58rem;margin:1.5rem auto;
padding:0 1rem}
h1{font-size:1.5rem;margin:.2em 0}h2{font-size:1.15rem;margin:1.3em 0 .3em;
border-bottom:1px solid #ddd}h3{font-size:1rem;margin:.8em 0 .2em}
table{border-collapse:collapse;font-size:.92em}th,td{text-align:left;padding:.18em .9em .18em 0;
vertical-align:top}th{color:#555;font-weight:600}tbody tr{border-top:1px solid #eee}
pre{background:#f5f5f5;padding:.6em .8em;overflow-x:auto;font-size:.85em;white-space:pre-wrap}
.wide{overflow-x:auto}img{max-width:100%}
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
