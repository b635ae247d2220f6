"""The results of an eval as one HTML page that holds everything it needs: numbers, plots, and all conversations.

What models, tools and cases say never becomes markup: in the page it is escaped, in the block for the script it is JSON without any "<",
and the script puts it in place as text. A content security policy (https://www.w3.org/TR/CSP3/) allows this page's script and style by
their hashes and nothing else, no request to anywhere either.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from . import charts, figures
from .conversations import for_script, views
from .statistics import Share, percentile
from .summary import Confusion, Summary, summarize

if TYPE_CHECKING:
    from .comparing import Change, Comparison
    from .records import Results

_GROUPS = {"scorer": "By scorer", "agent": "By agent", "file": "By file", "tag": "By tag"}
_NO_CALL = "None"
_FILES = 2
"""So many files of cases are named at the top."""


def write_page(results: Results, path: str | Path, *, compared: Comparison | None = None) -> None:
    """Write the results of an eval as one HTML file, which needs no other file and no network.

    Args:
        results: those of one run, whole or not.
        path: the file; it is overwritten.
        compared: what came of comparing them with an earlier run, to be shown too.
    """
    # Half of a surrogate pair, which models do send, has no form in UTF-8.
    Path(path).write_text(render_page(results, compared=compared), encoding="utf-8", errors="replace", newline="\n")


def render_page(results: Results, *, compared: Comparison | None = None) -> str:
    """The text of the page that `write_page` writes.

    Args:
        results: those of one run, whole or not.
        compared: what came of comparing them with an earlier run, to be shown too.
    """
    summary = summarize(results)
    style, script = _shipped("page.css"), _shipped("page.js")
    allowed = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    sections = [
        _comparison(compared) if compared else "",
        _accuracy(summary, compared),
        _reliability(summary),
        _confusion(summary.confusion) if summary.confusion else "",
        _resources(summary),
        _CONVERSATIONS,
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(allowed)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">',
            f"<title>{escape(results.header.target)}: {figures.percent(summary.overall.value)}</title>",
            f"<style>{style}</style>\n</head>\n<body>",
            '<a class="skip" href="#conversations">To the conversations</a>',
            _header(results, summary),
            "<main>",
            _tiles(summary),
            *filter(None, sections),
            f"</main>\n{_FOOTER}",
            f'<script type="application/json" id="data">{for_script(views(results.results))}</script>',
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


_CONVERSATIONS = """<section id="conversations" aria-labelledby="conversations-title">
<h2 id="conversations-title">Conversations</h2>
<noscript><p>The numbers above need no script; the list of conversations does.</p></noscript>
<form id="filter" hidden autocomplete="off">
<fieldset><legend class="soft small">Show</legend>
<label><input type="radio" name="shown" value="all" checked> all</label>
<label><input type="radio" name="shown" value="failed"> failed</label>
<label><input type="radio" name="shown" value="passed"> passed</label></fieldset>
<label class="search"><span class="soft small">Containing these words, or case: and an id</span><input type="search" name="text"></label>
</form>
<p id="count" class="soft small" role="status"></p>
<div id="list"></div>
<p class="more"><button id="more" type="button" hidden>Show more</button></p>
</section>"""

_FOOTER = """<footer><p>Intervals are 95 % score intervals after Wilson. Repetitions of one case are not independent, so where cases
were repeated an interval is the wider the more alike the results of one case are. pass^k estimates how likely a case passes k times in a
row, as a mean over the cases.</p></footer>"""


def _shipped(name: str) -> str:
    return files("swarm.evals").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _header(results: Results, summary: Summary) -> str:
    header = results.header
    wanted = header.cases * header.repeat
    source = ", ".join(header.files) if len(header.files) <= _FILES else f"{len(header.files)} files"
    facts = [
        figures.counted(header.cases, "case") + (f" of {source}" if source else ""),
        f"{header.repeat} repetitions each" if header.repeat > 1 else "",
        f"model {header.model}" if header.model else "",
        f"seed {header.seed}" if header.seed is not None else "",
        f"openswarm {header.swarm}",
        header.started.replace("T", " ").replace("Z", " UTC"),
    ]
    lines = [f"<header>\n<h1>{escape(header.target)}</h1>", f'<p class="soft">{escape(" · ".join(filter(None, facts)))}</p>']
    if summary.overall.tried < wanted:
        lines.append(f'<p class="error">Not finished: {summary.overall.tried:,} of {wanted:,} results.</p>')
    return "\n".join([*lines, "</header>"])


def _tiles(summary: Summary) -> str:
    overall, repeated = summary.overall, len(summary.reliability)
    tiles = [
        ("Accuracy", figures.percent(overall.value), f"{figures.tried(overall)} passed, 95 %: {figures.span(overall.interval)}"),
    ]
    if repeated > 1:
        tiles.append((f"pass^{repeated}", figures.percent(summary.reliability[-1]), f"a case passes {repeated} times in a row"))
    if summary.seconds:
        half, most = percentile(summary.seconds, 50), percentile(summary.seconds, 95)
        tiles.append(("Median time", figures.seconds(half), f"95 % below {figures.seconds(most)}"))
    known = [count for count in summary.tokens if count is not None]
    tiles.append(("Tokens", f"{sum(known):,}" if known else "-", _unknown(len(known), len(summary.tokens))))
    cost = summary.cost
    tiles.append(("Cost", "-" if cost.value is None else figures.money(cost.value), _unknown(cost.known, cost.of)))
    if summary.errors:
        tiles.append(("Errors", f"{summary.errors:,}", "count as failed"))
    drawn = [
        f'<div class="tile"><dt>{escape(name)}</dt><dd class="number">{escape(number)}</dd>'
        # a percent sign stays on the line of its number
        f'<dd class="soft small">{escape(more).replace(" %", "&nbsp;%")}</dd></div>'
        for name, number, more in tiles
    ]
    return "\n".join(['<dl class="tiles">', *drawn, "</dl>"])


def _unknown(known: int, of: int) -> str:
    if known == of:
        return f"over {figures.counted(of, 'result')}"
    return figures.UNKNOWN if known == 0 else f"{figures.UNKNOWN} for {of - known:,} of {of:,}"


def _section(title: str, *parts: str) -> str:
    return "\n".join([f"<section>\n<h2>{escape(title)}</h2>", *parts, "</section>"])


def _accuracy(summary: Summary, compared: Comparison | None) -> str:
    older = compared.old if compared else None
    rows = ["<tbody>", _share("All", summary.overall, older.overall if older else None), "</tbody>"]
    for kind, title in _GROUPS.items():
        shares = summary.groups[kind]
        if len(shares) > (kind != "scorer"):
            rows.append(f'<tbody class="group"><tr><th scope="rowgroup" colspan="5">{title}</th></tr>')
            rows += [_share(name, share, older.groups[kind].get(name) if older else None) for name, share in shares.items()]
            rows.append("</tbody>")
    heads = '<th scope="col">Results</th><th scope="col" class="right">Passed</th><th scope="col" class="right">Accuracy</th>'
    heads += '<th scope="col" class="range right">95 % interval</th><th scope="col" class="bar">0 to 100 %</th>'
    note = '<p class="soft small">The earlier run is drawn fainter.</p>' if older else ""
    return _section("Accuracy", note, f'<table class="shares"><thead><tr>{heads}</tr></thead>', *rows, "</table>")


def _share(name: str, share: Share, older: Share | None) -> str:
    told = f"{name}: {figures.percent(share.value)}, 95 % interval {figures.span(share.interval)}"
    before = (older.value, older.interval) if older and older.value is not None else None
    return (
        f'<tr><th scope="row">{escape(name).replace("/", "/<wbr>")}</th><td class="right">{figures.tried(share)}</td>'
        f'<td class="right">{figures.percent(share.value)}</td><td class="range right soft">{figures.span(share.interval)}</td>'
        f'<td class="bar">{charts.bar(share.value, share.interval, told, older=before)}</td></tr>'
    )


def _reliability(summary: Summary) -> str:
    values = summary.reliability
    if len(values) < 2:
        return ""
    note = '<p class="soft small">How likely a case passes k times in a row.</p>'
    return _section("Reliability: pass^k", note, charts.curve(values, figures.reliability(values)))


def _confusion(confusion: Confusion) -> str:
    order = sorted(confusion.labels, key=lambda label: (label == _NO_CALL, label))
    expected = [label for label in order if any(pair[0] == label for pair in confusion.counts)]
    called = [label for label in order if any(pair[1] == label for pair in confusion.counts)]
    heads = "".join(f'<th scope="col"><div class="turned">{escape(label)}</div></th>' for label in called)
    rows = [
        f'<tr><th scope="row" title="{escape(label)}">{escape(label)}</th>{_cells(label, called, confusion)}</tr>' for label in expected
    ]
    table = f'<table class="matrix"><thead><tr><th scope="col" class="soft">expected ↓ called →</th>{heads}</tr></thead>'
    note = '<p class="soft small">Results by the function that was expected and the one that was called first; None is no call.</p>'
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix">'
    return _section("Which function was called", note, f"{scroll}{table}<tbody>", *rows, "</tbody></table></div>")


def _cells(expected: str, called: Sequence[str], confusion: Confusion) -> str:
    whole = sum(count for pair, count in confusion.counts.items() if pair[0] == expected)
    cells: list[str] = []
    for label in called:
        count = confusion.counts.get((expected, label), 0)
        shade = 1 if count <= whole / 3 else 2 if count <= 2 * whole / 3 else 3
        kind = "none" if not count else f"{'right' if label == expected else 'wrong'}-{shade}"
        cells.append(f'<td class="{kind}">{f"{count:,}" if count else "·"}</td>')
    return "".join(cells)


def _resources(summary: Summary) -> str:
    tokens = [float(count) for count in summary.tokens if count is not None]
    costs = [cost for cost in summary.costs if cost is not None]
    measured: list[tuple[str, Sequence[float], charts.Named]] = [
        ("Time", summary.seconds, figures.seconds),
        ("Tokens", tokens, lambda value: f"{value:,.0f}"),
        ("Cost", costs, figures.money),
    ]
    known = [each for each in measured if each[1]]
    rows = [
        (name, [named(percentile(values, percent)) for percent in (50, 90, 95, 99, 100)] + [named(sum(values))])
        for name, values, named in known
    ]
    if not known:
        return ""
    plots = ['<div class="pair">', *(_plot(f"{name} of each result", values, named) for name, values, named in known), "</div>"]
    table = _table("Percentiles", "Of the results", ["median", "90 %", "95 %", "99 %", "most", "sum"], rows)
    costless = "" if costs else f'<p class="soft small">What the results cost is {figures.UNKNOWN}: the model has no known price.</p>'
    apart = [
        f'<p class="soft small">Apart from that, the {escape(name)} took {figures.tokens(taken.tokens)} tokens; '
        f"cost: {figures.cost(taken.cost)}.</p>"
        for name, taken in summary.apart.items()
    ]
    return _section("Time and cost", *plots, table, costless, *apart)


def _plot(title: str, values: Sequence[float], named: charts.Named) -> str:
    told = f"{title}: median {named(percentile(values, 50))}, 95 % below {named(percentile(values, 95))}"
    return f"<div><h3>{escape(title)}</h3>{charts.histogram(values, named, told)}</div>"


def _table(title: str, corner: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A table of numbers that is scrolled sideways where it has no room."""
    top = "".join(f'<th scope="col" class="right">{escape(head)}</th>' for head in heads)
    lines = [
        f'<tr><th scope="row">{escape(name)}</th>' + "".join(f'<td class="right">{escape(cell)}</td>' for cell in cells) + "</tr>"
        for name, cells in rows
    ]
    table = f'<table><thead><tr><th scope="col">{escape(corner)}</th>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">{table}</div>'


def _comparison(compared: Comparison) -> str:
    kind = {"worse": "worse", "better": "better"}.get(compared.verdict, "")
    told = f"Difference {figures.points(compared.difference)} points"
    parts = [
        f'<p class="verdict"><span class="{kind}">{escape(compared.verdict.capitalize())}</span>: {escape(figures.change(compared))}.</p>',
        charts.difference(compared.difference, compared.interval, told),
        f'<div class="pair">{_changes("Broken", compared.broken)}{_changes("Fixed", compared.fixed)}</div>',
        _before_and_after(compared),
    ]
    for name, cases in (("earlier", compared.only_old), ("later", compared.only_new)):
        if cases:
            shown = ", ".join(cases[:10]) + (f" and {len(cases) - 10:,} more" if len(cases) > 10 else "")
            parts.append(f'<p class="soft small">Only in the {name} run, not compared: {escape(shown)}</p>')
    return _section("Compared with the earlier run", *parts)


def _changes(title: str, changes: Sequence[Change]) -> str:
    lines = [
        f'<li><a href="#conversations" data-case="{escape(change.case)}">{escape(change.case)}</a>'
        f"<span>{change.before:.0%} → {change.after:.0%}</span></li>"
        for change in changes
    ]
    listed = "".join(['<ul class="changes">', *lines, "</ul>"]) if lines else '<p class="soft">none</p>'
    return f"<div><h3>{title}: {len(changes):,}</h3>{listed}</div>"


def _before_and_after(compared: Comparison) -> str:
    rows = [
        (
            name,
            [
                figures.percent(run.overall.value),
                figures.seconds(percentile(run.seconds, 50)),
                figures.tokens(run.tokens),
                figures.cost(run.cost),
            ],
        )
        for name, run in (("earlier", compared.old), ("this one", compared.new))
    ]
    return _table("Both runs", "Run", ["accuracy, all cases", "median time", "tokens", "cost"], rows)
