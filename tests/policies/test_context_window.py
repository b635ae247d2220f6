"""ContextWindow: requests that stay within a number of tokens, and histories that stay whole."""

from __future__ import annotations

import sys
import threading
from hashlib import sha1
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Handoff, Limits, Swarm
from swarm.effects import CallModel, Flow
from swarm.errors import ContextLengthExceeded, RateLimitError
from swarm.events import Event, PolicyActed
from swarm.models.scripted import ScriptedModel, Turn, call
from swarm.policies import ContextWindow, Retry, Summary, context_window, counting
from swarm.policies.cutting import Window
from swarm.testing.conformance import PolicyConformance
from swarm.tokens import PER_PART, about, estimate
from tests.look import is_valid
from tests.modes import Drive
from tests.test_projections import histories

TEXT = "word " * 80
"""About a hundred tokens."""


def look(page: int) -> str:
    return f"page {page}: {TEXT}"


AGENT = Agent(name="A", instructions="Be brief.", functions=[look])


def chat(turns: int) -> list[dict[str, Any]]:
    """So many turns of some 200 tokens, and a question."""
    said = [{"role": role, "content": f"{role} {turn}: {TEXT}"} for turn in range(turns) for role in ("user", "assistant")]
    return [*said, {"role": "user", "content": "And now?"}]


def uncounted(*turns: Any) -> list[Turn]:
    """Turns without a count of tokens, so that the estimate is not corrected."""
    made = (Turn(turn) if isinstance(turn, str) else Turn(calls=[turn] if isinstance(turn, dict) else turn) for turn in turns)
    return [Turn(turn.text, turn.calls, usage=None) for turn in made]


def window(max_tokens: int, strategy: Any = "drop", **swarm: Any) -> dict[str, Any]:
    return {"policies": [ContextWindow(max_tokens, strategy)], **swarm}


def roles(messages: list[dict[str, Any]]) -> str:
    return "".join(message["role"][0] for message in messages)


def acted(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.what, event.reason) for event in events if isinstance(event, PolicyActed)]


# Dropping


def test_what_fits_is_sent_as_it_is(drive: Drive) -> None:
    drive(AGENT, chat(3), uncounted("ok"), swarm=window(1_000))
    sent = drive.requests[0]["messages"]
    drive(AGENT, chat(3), uncounted("ok"))
    assert sent == drive.requests[0]["messages"]


def test_the_oldest_turns_go_first_and_the_history_stays_whole(drive: Drive) -> None:
    """H15, D52"""
    response = drive(AGENT, chat(9), uncounted("ok"), swarm=window(1_000))
    sent = drive.requests[0]["messages"]
    assert roles(sent) == "suauauau"
    assert sent[0]["content"] == "Be brief."
    assert sent[1]["content"].startswith("user 6")
    assert sent[-1]["content"] == "And now?"
    assert estimate(sent) <= 750
    assert response.messages == [{"role": "assistant", "content": "ok", "sender": "A", "tool_calls": None}]
    assert len(response.state()["messages"]) == 20


def test_a_cut_is_told_with_its_numbers(drive: Drive) -> None:
    """D9"""
    told = acted(drive.events(AGENT, chat(9), uncounted("ok"), swarm=window(1_000)))
    assert told == [("dropped 12 messages", "1,964 tokens, 1,000 allowed, 686 left")]


def test_the_beginning_stays_the_same_until_the_window_is_full_again(drive: Drive) -> None:
    """So that a provider's cache of prefixes is of use."""
    turns = uncounted(*(call("look", {"page": page}) for page in range(12)), "done")
    told = acted(drive.events(AGENT, "go", turns, swarm=window(1_000)))
    firsts = [[message["content"] for message in request["messages"][:3]] for request in drive.requests]
    assert 1 < len(told) < 5
    assert sum(one != other for one, other in pairwise(firsts[2:])) <= len(told)
    for request in drive.requests:
        assert estimate(request["messages"]) + about(str(request["tools"])) <= 1_000
        assert is_valid(request["messages"])


def test_of_one_long_turn_the_question_and_the_last_step_stay(drive: Drive) -> None:
    """L05: an agent that works for long loses its first steps, not its task."""
    two = [call("look", {"page": 1}), call("look", {"page": 2})]
    drive(AGENT, [*chat(2)[:-1], {"role": "user", "content": "Find it"}], uncounted(*[two] * 6, "done"), swarm=window(800))
    for request in drive.requests:
        sent = request["messages"]
        assert is_valid(sent)
        assert [m["content"] for m in sent if m["role"] == "user"][-1] == "Find it"
    assert roles(drive.requests[-1]["messages"]).startswith("suatt")


def test_system_texts_stay_wherever_they_stand(drive: Drive) -> None:
    history = chat(9)
    history.insert(4, {"role": "system", "content": "The shop is closed today."})
    drive(AGENT, history, uncounted("ok"), swarm=window(1_000))
    assert [m["content"] for m in drive.requests[0]["messages"] if m["role"] == "system"] == ["Be brief.", "The shop is closed today."]


def test_instructions_that_stand_in_a_users_message_stay(drive: Drive) -> None:
    """P07"""
    drive(AGENT.copy(model="gemma-3-4b-it"), chat(9), uncounted("ok"), swarm=window(1_000))
    sent = drive.requests[0]["messages"]
    assert sent[0]["role"] == "user" and sent[0]["content"].startswith("Be brief.")
    assert sent[1]["content"].startswith("user ")
    assert len(sent) < 12


def test_instructions_in_a_later_users_message_stay_too() -> None:
    """P07"""
    cut = Window(about)
    body = [{"role": role, "content": f"{role} {at} {TEXT}"} for at, role in enumerate(["assistant", "user", "assistant", "user"])]
    assert cut.take({"messages": body}, True)
    cut.drop(0)
    assert cut.messages == [*body[:2], body[3]]


def test_what_tools_showed_stays_with_its_step() -> None:
    seen = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}
    calls = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    body = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "see below"},
        seen,
    ]
    cut = Window(about)
    assert cut.take({"messages": body}, False)
    assert cut.tokens > PER_PART
    cut.drop(0)
    assert cut.messages == body


def test_each_agent_has_a_window_of_its_own(drive: Drive) -> None:
    """H15"""
    b = Agent(name="B", instructions="Say more.", functions=[look])
    a = AGENT.copy(handoffs=[Handoff(b)])
    b.handoffs = [a]
    turns = [
        *[call("look", {"page": n}) for n in range(4)],
        call("transfer_to_b"),
        call("look", {"page": 9}),
        call("transfer_to_a"),
        "done",
    ]
    response = drive(a, "go", uncounted(*turns), swarm=window(700))
    assert response.text == "done"
    assert all(is_valid(request["messages"]) for request in drive.requests)


def test_the_least_that_does_not_fit_is_an_error_that_says_by_how_much(drive: Drive) -> None:
    client = ScriptedModel(["never"])
    with pytest.raises(
        ContextLengthExceeded, match=r"the least that can be sent to A has about \d+ tokens, \d+ more than allowed"
    ) as caught:
        drive(AGENT, f"Read this: {TEXT * 9}", client, swarm=window(300))
    assert client.requests == []
    assert caught.value.response is not None


@pytest.mark.parametrize(("wrong", "said"), [((0,), "at least 1"), ((9, "squeeze"), "'drop', 'shorten' or a Summary")])
def test_a_window_that_makes_no_sense_is_refused(wrong: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ContextWindow(*wrong)
    with pytest.raises(ValueError, match="at least 1"):
        Summary(words=0)


# Counting


def test_the_estimate_is_corrected_by_what_the_provider_counted(drive: Drive) -> None:
    """U03: the last count and an estimate of what was added."""
    usage = [(900, 5), (1_350, 5), (1_200, 5)]  # three times what is estimated
    turns = [Turn(calls=[call("look", {"page": n})], usage=counts) for n, counts in enumerate(usage)]
    told = acted(drive.events(AGENT, chat(1), [*turns, "done"], swarm=window(1_500)))
    assert len(drive.requests[1]["messages"]) == 6
    assert told and told[0][0].startswith("dropped")
    assert estimate(drive.requests[2]["messages"]) < 700


@pytest.mark.parametrize("counted", [1, 10**9])
def test_a_count_that_cannot_be_right_is_not_believed(counted: int) -> None:
    turns = [Turn(calls=[call("look", {"page": n})], usage=(counted, 1)) for n in range(30)]
    model = ScriptedModel([*turns, "done"])
    Swarm(model, policies=[ContextWindow(2_000)]).run(AGENT, "go")
    sizes = [estimate(request["messages"]) for request in model.requests]
    assert 300 < max(sizes) <= 4_000


def test_images_are_no_text() -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 100_000}"}}
    assert estimate([{"role": "user", "content": [{"type": "text", "text": "look"}, image]}]) < 1_000
    assert estimate([{"role": "assistant", "content": None}]) < 10
    assert about("你好，世界") == 3, "bytes, since a Chinese character is most of a token"
    assert about("\ud800" * 8) == 6


class FakeTiktoken:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def encoding_name_for_model(self, model: str) -> str:
        return {"gpt-4o": "o200k_base"}[model]

    def get_encoding(self, name: str) -> Any:
        self.asked.append(name)
        return SimpleNamespace(encode=lambda text, disallowed_special: text.split())


@pytest.fixture
def tiktoken(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    fake = FakeTiktoken()
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(counting, "KNOWN", {})
    return fake


def test_tiktoken_is_asked_only_for_what_it_has_on_this_machine(
    tiktoken: FakeTiktoken, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    place = tmp_path / sha1(b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken").hexdigest()
    assert counting.counter_for("gpt-4o") is about
    place.write_bytes(b"damaged")
    assert counting.counter_for("gpt-4o") is about
    assert tiktoken.asked == [], "it would have downloaded"
    monkeypatch.setitem(counting._HASHES, "o200k_base", counting.sha256(b"damaged").hexdigest())  # type: ignore[reportPrivateUsage]
    assert counting.counter_for("gpt-4o")("three words here") == 3
    assert counting.counter_for("llama3.1") is about
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert counting.counter_for("gpt-4o") is about


def test_without_tiktoken_there_is_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.setattr(counting, "KNOWN", {})
    assert counting.counter_for("gpt-4o") is about


# Shortening


def test_results_that_the_model_has_seen_are_shortened_first(drive: Drive) -> None:
    """O04"""

    def read(page: int) -> str:
        return f"begin {page} {TEXT * 5} end {page}"

    agent = Agent(name="A", functions=[read])
    turns = uncounted(*(call("read", {"page": n}) for n in range(4)), "done")
    told = acted(drive.events(agent, "go", turns, swarm=window(1_500, "shorten")))
    results = [m["content"] for m in drive.requests[-1]["messages"] if m["role"] == "tool"]
    assert len(results) == 4, "nothing is dropped"
    assert "characters left out" in results[0] and results[0].startswith("begin 0") and results[0].endswith("end 0")
    assert "left out" not in results[-1]
    assert all(what.startswith("shortened") for what, _ in told)
    assert all(is_valid(request["messages"]) for request in drive.requests)


def test_a_new_result_is_shortened_only_where_nothing_else_helps(drive: Drive) -> None:
    def read() -> str:
        return f"begin {TEXT * 40} end"

    agent = Agent(name="A", functions=[read])
    told = acted(drive.events(agent, "go", uncounted(call("read"), "done"), swarm=window(1_000, "shorten")))
    assert [what for what, _ in told] == ["shortened 1 new results"]
    result = drive.requests[-1]["messages"][-1]["content"]
    assert 1_000 < len(result) < 4_000
    with pytest.raises(ContextLengthExceeded):
        drive(agent, "go", uncounted(call("read"), "done"), swarm=window(1_000))


def test_what_shortening_does_not_free_is_dropped(drive: Drive) -> None:
    drive(AGENT, chat(20), uncounted("ok"), swarm=window(1_000, "shorten"))
    assert estimate(drive.requests[0]["messages"]) <= 750


# A summary


def test_a_summary_takes_the_place_of_what_is_left_out(drive: Drive) -> None:
    """M07, D10"""
    events = drive.events(AGENT, chat(8), uncounted("They counted to eight.", "ok"), swarm=window(1_500, Summary(words=60)))
    asked, sent = (request["messages"] for request in drive.requests)
    assert roles(asked) == "u"
    assert "at most 60 words" in asked[0]["content"] and "user: user 0: word" in asked[0]["content"]
    assert "And now?" not in asked[0]["content"]
    assert roles(sent).startswith("suau") and sent[2]["content"] == "They counted to eight."
    assert sent[-1]["content"] == "And now?"
    assert "tools" not in drive.requests[0] and "stream" not in drive.requests[0]
    assert acted(events)[0][0].startswith("summed up")


@pytest.mark.parametrize("said", ["", call("look", {"page": 1})])
def test_a_summary_without_text_is_none(drive: Drive, said: Any) -> None:
    """M07: what it was asked about is dropped then, and that is what is told."""
    events = drive.events(AGENT, chat(8), uncounted(said, "ok"), swarm=window(1_500, Summary(words=60)))
    assert roles(drive.requests[1]["messages"]).startswith("sua")
    assert acted(events)[0][0].startswith("dropped")


def test_a_summary_is_kept_and_extended(drive: Drive) -> None:
    """M07"""
    turns = [call("look", {"page": page}) for page in range(14)]
    model = Scribe(turns)
    response = drive(AGENT, "go", model, swarm=window(1_000, Summary(words=40)))
    assert response.text == "done"
    assert 2 <= len(model.summaries) <= 7, "not at every turn"
    assert "<summary_so_far>" not in model.summaries[0]
    assert all(f"<summary_so_far>\nsummary {n}\n</summary_so_far>" in text for n, text in enumerate(model.summaries[1:], 1))
    pages = [text.count("result: page") for text in model.summaries]
    assert all(0 < count < 10 for count in pages) and sum(pages) <= 14, "each result is summed up once"
    assert response.usage.calls == 15 + len(model.summaries)
    assert response.usage.by_agent["A"].calls == response.usage.calls


class Scribe:
    """Says the turns one after another, then "done"; writes a numbered summary when it is asked for one."""

    blocking = False

    def __init__(self, turns: list[Any], fail_at: int = 0) -> None:
        self.model = ScriptedModel(uncounted(*turns, "done"))
        self.summaries: list[str] = []
        self.requests: list[list[dict[str, Any]]] = []
        self.fail_at = fail_at

    def complete(self, call: CallModel) -> Any:
        text = call.request["messages"][0]["content"]
        if not text.startswith("Here is the earlier part"):
            self.requests.append(call.request["messages"])
            return self.model.complete(call)
        if self.fail_at == len(self.summaries) + 1:
            self.fail_at = 0
            raise RateLimitError("429: slow down")
        self.summaries.append(text)
        return ScriptedModel(uncounted(f"summary {len(self.summaries)}")).complete(call)

    def stream(self, call: CallModel) -> Any:
        self.requests.append(call.request["messages"])
        return self.model.stream(call)


@pytest.mark.parametrize("outside", [True, False])
def test_a_summary_that_failed_is_made_again_and_nothing_is_lost(drive: Drive, outside: bool) -> None:
    """X07, D10: whichever of the two policies is outermost."""
    retry, cut = Retry(random=lambda: 0.0), ContextWindow(1_000, Summary(words=40))
    model = Scribe([call("look", {"page": page}) for page in range(12)], fail_at=1)
    drive(AGENT, "go", model, swarm={"policies": [retry, cut] if outside else [cut, retry]})
    assert "page 0" in model.summaries[0]
    assert all(any(f"result: page {page}:" in text for text in model.summaries) for page in range(3))
    assert any(message["content"] == f"summary {len(model.summaries)}" for message in model.requests[-1])


def test_a_history_that_is_much_too_long_is_summed_up_in_pieces(drive: Drive) -> None:
    model = Scribe([])
    drive(AGENT, chat(40), model, swarm=window(1_500, Summary(words=40)))
    assert len(model.summaries) > 3
    assert all(about(text) < 1_500 for text in model.summaries)
    assert "user 0:" in model.summaries[0] and "user 30:" in model.summaries[-1] + model.summaries[-2] + model.summaries[-3]


def test_a_summary_of_another_model_at_another_place(drive: Drive) -> None:
    small = ScriptedModel(["short"])
    drive(AGENT, chat(8), uncounted("ok"), swarm=window(1_700, Summary(model="small", client=small)))
    assert small.requests[0]["model"] == "small"
    assert drive.requests[0]["messages"][2]["content"] == "short"


def test_a_summary_that_is_too_long_loses_its_middle(drive: Drive) -> None:
    drive(AGENT, chat(8), uncounted("x" * 20_000, "ok"), swarm=window(1_700, Summary()))
    assert estimate(drive.requests[-1]["messages"]) <= 1_700
    assert "left out" in drive.requests[-1]["messages"][2]["content"]
    drive(AGENT, chat(8), uncounted("", "ok"), swarm=window(1_700, Summary()))
    assert roles(drive.requests[-1]["messages"])[:3] == "sua"


def test_a_limit_counts_summaries(drive: Drive) -> None:
    """D10"""
    response = drive(
        AGENT, chat(8), uncounted("sum", call("look", {"page": 1})), swarm=window(1_700, Summary()), limits=Limits(model_calls=2)
    )
    assert response.stop_reason == "limit:model_calls"


# What the provider says

TOO_LONG = "This model's maximum context length is 500 tokens"


def test_what_a_provider_refuses_is_cut_and_sent_once_more(drive: Drive) -> None:
    """P08"""
    turns = [Turn(error=ContextLengthExceeded(TOO_LONG)), *uncounted(call("look", {"page": 1}), "ok")]
    events = drive.events(AGENT, chat(9), turns, swarm=window(100_000))
    first, second, third = (request["messages"] for request in drive.requests)
    assert estimate(second) <= estimate(first) * 3 / 4
    assert second[-1] == first[-1]
    assert third[: len(second)] == second, "what was learned holds for the run"
    assert len(acted(events)) == 1


def test_a_second_refusal_is_the_providers_word(drive: Drive) -> None:
    with pytest.raises(ContextLengthExceeded, match="maximum context length"):
        drive(AGENT, chat(9), [Turn(error=ContextLengthExceeded(TOO_LONG))] * 2, swarm=window(100_000))
    with pytest.raises(ContextLengthExceeded, match="maximum context length"):
        drive(AGENT, "go", [Turn(error=ContextLengthExceeded(TOO_LONG))], swarm=window(100_000))


# With others


def test_a_judge_of_the_same_agent_does_not_disturb_the_window(drive: Drive) -> None:
    """D10"""

    class Judge:
        def model(self, call: CallModel) -> Flow:
            reply = yield call
            yield call.replace(request={"model": "gpt-4o", "messages": [{"role": "user", "content": "ok?"}]}, stream=False)
            return reply

    turns = [turn for page in range(8) for turn in (call("look", {"page": page}), "yes")]
    told = acted(drive.events(AGENT, "go", uncounted(*turns, "done", "yes"), swarm={"policies": [Judge(), ContextWindow(1_000)]}))
    assert len(told) < 4


def test_agents_inside_agents_have_windows_of_their_own(drive: Drive) -> None:
    """D45"""
    inner = Agent(name="Inner", functions=[look])
    outer = Agent(name="Outer", functions=[inner.as_tool(name="ask"), look])
    inside = [call("look", {"page": n}) for n in range(6)]
    turns = uncounted(call("ask", {"input": "x"}), *inside, "in", call("ask", {"input": "y"}), *inside, "in", "out")
    response = drive(outer, "go", turns, swarm=window(600))
    assert response.text == "out"
    assert all(is_valid(request["messages"]) for request in drive.requests)


def test_a_vocabulary_is_read_once_and_off_the_event_loop(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """D14"""
    threads: list[str] = []

    def counter(model: str) -> Any:
        threads.append(threading.current_thread().name)
        known[model] = about
        return about

    known: dict[str, Any] = {}
    monkeypatch.setattr(context_window, "KNOWN", known)
    monkeypatch.setattr(context_window, "counter_for", counter)
    drive(AGENT, "go", uncounted(call("look", {"page": 1}), "done"), swarm=window(1_000))
    assert len(threads) == 1
    assert drive.mode.startswith("sync") or threads != [threading.main_thread().name]


class TestConformance(PolicyConformance):
    def make(self) -> ContextWindow:
        return ContextWindow(130)


@given(histories(), st.integers(1, 400), st.sampled_from(["drop", "shorten"]))
def test_any_history_is_cut_to_a_valid_one(history: list[dict[str, Any]], most: int, strategy: Any) -> None:
    """H14, H15: pairs intact, system texts and the user's last message there, and no larger than allowed."""
    history = [*history, {"role": "user", "content": "And now?"}]
    model = ScriptedModel([Turn("ok", usage=None)])
    try:
        Swarm(model, policies=[ContextWindow(most, strategy)]).run(Agent(name="A", instructions="Be brief."), history)
    except ContextLengthExceeded:
        assert model.requests == []
        return
    sent = model.requests[0]["messages"]
    assert is_valid(sent)
    assert sent[0]["content"] == "Be brief." and sent[-1]["content"] == "And now?"
    assert sum(m["role"] == "system" for m in sent) == 1 + sum(m["role"] == "system" for m in history)
    assert estimate(sent) <= most
