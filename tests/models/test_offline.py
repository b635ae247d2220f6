"""The offline model as a client and as a Model: forms, choices, questions back, odd requests (D30)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swarm import Agent, Handoff, Image, Result, tool
from swarm.assembly import Assembler
from swarm.effects import CallModel
from swarm.models.offline import MODEL_NAME, OfflineModel, announcement
from swarm.models.offline.embedder import WordOverlap
from swarm.offers import table_of
from swarm.policies import Approval
from tests.models.offline_stage import TEXT, ask, call_of, function, model
from tests.modes import Drive

WEATHER = [function("get_weather", "Get the weather in a city.", ("city",), city=TEXT)]
REFUND = [function("refund_item", "Refund an item.", ("item_id",), item_id=TEXT), function("send_mail", "Send a mail.", ("to",), to=TEXT)]


def create(text: str, tools: Any = None, **settings: Any) -> Any:
    return model().chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": text}], tools=tools, **settings)


# As a client


def test_an_answer_reads_like_one_of_the_official_client() -> None:
    """D30"""
    answer = create("what's the weather in Lima?", WEATHER, temperature=0, parallel_tool_calls=False)
    message = answer.choices[0].message
    assert message.role == "assistant"
    assert message.content is None
    assert message.tool_calls[0].type == "function"
    assert call_of(message) == ("get_weather", {"city": "Lima"})
    assert (answer.object, answer.model, answer.choices[0].finish_reason) == ("chat.completion", MODEL_NAME, "tool_calls")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    assert json.loads(json.dumps(answer.model_dump())) == answer.model_dump()


def test_a_text_answer_has_no_tool_calls() -> None:
    message = create("hello", WEATHER).choices[0].message
    assert message.tool_calls is None
    assert message.content == "Hello. I can help with this: get the weather in a city."


def test_the_same_request_gets_the_same_answer() -> None:
    first, second = (create("weather in Oslo please", WEATHER).model_dump() for _ in range(2))
    assert (
        first
        == second
        == OfflineModel().chat.completions.create(
            model="other", messages=[{"role": "user", "content": "weather in Oslo please"}], tools=WEATHER
        )
    )


def test_call_ids_differ_within_a_conversation() -> None:
    first = ask("weather in Lima", WEATHER)
    messages = [
        {"role": "user", "content": "weather in Lima"},
        first.model_dump(),
        {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "sunny"},
        {"role": "assistant", "content": "sunny"},
        {"role": "user", "content": "weather in Rome"},
    ]
    assert ask(messages, WEATHER).tool_calls[0].id != first.tool_calls[0].id


@pytest.mark.parametrize("text", ["hello there, who are you?", "weather in New York City"])
def test_a_stream_says_the_same_in_pieces(text: str) -> None:
    """T: chunks in the form of the API, text word by word, calls opened by name and filled by argument text."""
    whole = create(text, WEATHER).choices[0].message
    chunks = list(create(text, WEATHER, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == (whole.content or "")
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert "".join(call.function.arguments for call in calls) == (whole.tool_calls[0].function.arguments if whole.tool_calls else "")
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == ("tool_calls" if whole.tool_calls else "stop")
    assert len([delta for delta in deltas if delta.content]) == len((whole.content or "").split())
    assert chunks[-1].usage.total_tokens > 0


def test_a_stream_can_be_left_early() -> None:
    with create("hello", WEATHER, stream=True) as chunks:
        next(chunks)
    assert list(chunks) == []


# As a Model


def call_for(agent: Agent, *messages: dict[str, Any], **settings: Any) -> CallModel:
    return CallModel(agent, None, {"model": "m", "messages": list(messages), "tools": table_of(agent).wire, **settings})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def called(agent: Agent, *messages: dict[str, Any]) -> list[str]:
    calls: Sequence[Any] = model().complete(call_for(agent, *messages)).message.get("tool_calls") or ()
    return [call["function"]["name"] for call in calls]


def text_of(agent: Agent, *messages: dict[str, Any]) -> str:
    return str(model().complete(call_for(agent, *messages)).message["content"])


def play_jingle() -> str:
    """Play it."""
    return ""


def test_complete_and_stream_say_the_same() -> None:
    agent = Agent(name="Radio", functions=[play_jingle])
    for text in ("please play the jingle", "thanks"):
        reply = model().complete(call_for(agent, user(text)))
        assembler = Assembler(agent.name)
        for chunk in model().stream(call_for(agent, user(text))):
            assembler.feed(chunk)
        streamed = assembler.reply()
        assert streamed.message.get("content") in (reply.message["content"], "")
        assert streamed.message.get("tool_calls") == reply.message.get("tool_calls")
        assert streamed.finish_reason == reply.finish_reason
        assert reply.model == MODEL_NAME


def plan_b() -> str:
    """Do as in plan B."""
    return ""


def test_examples_of_a_tool_lead_to_it() -> None:
    """D22: examples are not in the request, only the agent's tools have them."""
    told = Agent(name="Vet", functions=[tool(plan_b, examples=["please feed the cat", "the kitten needs food"])])
    assert called(Agent(name="Vet", functions=[plan_b]), user("my cat needs some food")) == []
    assert called(told, user("my cat needs some food")) == ["plan_b"]


def wipe_disk(disk: str) -> str:
    """Wipe a disk."""
    return disk


@pytest.mark.parametrize("mark", [{"approval": True}, {"approval": lambda arguments: True}, {"effect": "once"}])
def test_a_marked_function_is_called_only_after_a_yes(mark: dict[str, Any]) -> None:
    """D30: plan on wrong calls, so it asks back."""
    agent = Agent(name="Admin", functions=[tool(wipe_disk, **mark)])
    question = "Shall I wipe disk (disk d7)? (yes/no)"
    assert text_of(agent, user("please wipe disk d7")) == question
    assert called(agent, user("please wipe disk d7"), said(question), user("yes, go ahead")) == ["wipe_disk"]
    assert text_of(agent, user("please wipe disk d7"), said(question), user("no!")).startswith("All right, I leave it at that.")
    assert called(agent, user("please wipe disk d7"), said(question), user("hm, what time is it?")) == []
    assert called(agent, user("please wipe disk d7"), said(question), user("yes, but wait")) == []


def test_it_does_not_ask_back_where_a_policy_asks(drive: Drive) -> None:
    agent = Agent(name="Admin", functions=[tool(wipe_disk, approval=True)])
    asked: list[str] = []
    policies = [Approval(lambda call: asked.append(call.name))]
    paused = drive(agent, "please wipe disk d7", OfflineModel(WordOverlap()), swarm={"policies": policies})
    assert (paused.stop_reason, asked) == ("approval", ["wipe_disk"])


def test_a_question_back_that_was_not_asked_is_not_answered() -> None:
    """A yes counts only for the very arguments that were shown."""
    agent = Agent(name="Admin", functions=[tool(wipe_disk, approval=True)])
    assert called(agent, user("please wipe disk d7"), said("Shall I wipe disk (disk d8)? (yes/no)"), user("yes")) == []


def test_it_asks_for_what_is_missing_before_it_asks_back() -> None:
    agent = Agent(name="Admin", functions=[tool(wipe_disk, effect="once")])
    question = text_of(agent, user("please wipe a disk for me, any of them"))
    assert question == "To wipe disk, I need the disk. What is it?"
    back = text_of(agent, user("please wipe a disk for me, any of them"), said(question), user("d7"))
    assert back == "Shall I wipe disk (disk d7)? (yes/no)"
    thread = [user("please wipe a disk for me, any of them"), said(question), user("d7"), said(back), user("yes")]
    assert called(agent, *thread) == ["wipe_disk"]


def test_an_unmarked_function_is_called_at_once() -> None:
    assert called(Agent(name="Admin", functions=[wipe_disk]), user("please wipe disk d7")) == ["wipe_disk"]


def test_agents_that_hand_over_to_each_other_end() -> None:
    """D30: the agent behind a handoff offers the function we came by, so going there would be going back."""
    first, second = Agent(name="Bikes", description="Sells bikes."), Agent(name="Cars", description="Sells bikes.")
    first.handoffs.append(second)
    second.handoffs.append(Handoff(first))
    call = {"id": "c", "type": "function", "function": {"name": "transfer_to_cars", "arguments": "{}"}}
    told = {"role": "tool", "tool_call_id": "c", "content": '{"assistant": "Cars"}'}
    assert called(first, user("who sells bikes and cars?")) == ["transfer_to_cars"]
    assert called(second, user("who sells bikes and cars?"), {"role": "assistant", "content": None, "tool_calls": [call]}, told) == []


# tool_choice


def test_tool_choice_none_calls_nothing() -> None:
    assert ask("weather in Lima", WEATHER, tool_choice="none").tool_calls is None


def test_tool_choice_required_calls_the_best_function() -> None:
    assert call_of(ask("hello, item_7", REFUND, tool_choice="required")) == ("refund_item", {"item_id": "item_7"})


def test_a_named_function_is_called() -> None:
    chosen = {"type": "function", "function": {"name": "get_weather"}}
    assert call_of(ask("hello Lima", WEATHER, tool_choice=chosen))[0] == "get_weather"
    assert ask("hello", WEATHER, tool_choice={"type": "function", "function": {"name": "unknown"}}).tool_calls is None


def test_a_choice_counts_for_one_call() -> None:
    """Else "required" would never end."""
    first = ask("weather in Lima", WEATHER, tool_choice="required")
    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "sunny and warm"}
    reply = ask([user("weather in Lima"), first.model_dump(), result], WEATHER, tool_choice="required")
    assert reply.content == "sunny and warm. Anything else?"


# Results


@pytest.mark.parametrize(
    ("result", "reply"),
    [
        ("Refund initiated", "Refund initiated. Anything else?"),
        ('{"temp": 67, "unit": "F"}', "Get weather: temp: 67, unit: F. Anything else?"),
        ('["a", "b"]', "Get weather: a; b. Anything else?"),
        ("67", "Get weather: 67. Anything else?"),
        ("None", "Done: get weather. Anything else?"),
        ("", "Done: get weather. Anything else?"),
        ("Error: no such city", "That did not work. Error: no such city."),
        ("Which Lima do you mean?", "Which Lima do you mean?"),
    ],
)
def test_a_result_is_reported(result: str, reply: str) -> None:
    first = ask("weather in Lima", WEATHER)
    told = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": result}
    assert ask([user("weather in Lima"), first.model_dump(), told], WEATHER).content == reply


def test_a_long_result_is_cut() -> None:
    first = ask("weather in Lima", WEATHER)
    told = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain and more " * 1_000}
    assert len(ask([user("weather in Lima"), first.model_dump(), told], WEATHER).content) < 700


# What it says of itself


def test_it_says_what_it_is() -> None:
    """D30: it never pretends to be a language model."""
    assert announcement() == model().announcement
    assert "not a language model" in announcement()
    assert announcement() in ask("who are you?", WEATHER).content
    assert "not a language model" in ask("write me a poem").content


def test_without_the_extra_it_matches_words_and_says_so() -> None:
    by_words = OfflineModel(WordOverlap())
    assert 'pip install "openswarm[offline]"' in by_words.announcement
    answer = by_words.chat.completions.create(messages=[user("refund item_9 please")], tools=REFUND)
    assert call_of(answer.choices[0].message) == ("refund_item", {"item_id": "item_9"})


def test_making_one_loads_nothing() -> None:
    code = (
        "import sys; from swarm import OfflineModel; OfflineModel().announcement; "
        "print(*{'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": "src"}, capture_output=True, check=True, text=True)
    assert run.stdout.split() == []


# Odd requests


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "system", "content": "You are a bot."}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": None}],
        [{"role": "user"}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
        [{"role": "user", "content": "Wie wird das Wetter morgen in München? 🙂"}],
        [{"role": "user", "content": "今日の天気"}],
        [{"role": "user", "content": "word " * 50_000}],
        [{"role": "assistant", "content": "hello"}],
        [{"role": "tool", "tool_call_id": "x", "content": "orphan"}],
    ],
)
def test_an_odd_conversation_gets_an_answer(messages: list[dict[str, Any]]) -> None:
    message = ask(messages, WEATHER)
    assert message.content or message.tool_calls


def test_the_texts_among_content_parts_are_read() -> None:
    parts = [{"type": "text", "text": "weather in"}, {"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "Lima"}]
    assert call_of(ask([{"role": "user", "content": parts}], WEATHER)) == ("get_weather", {"city": "Lima"})


@pytest.mark.parametrize("tools", [None, [], [{}], ["x"], [{"type": "function"}], [{"type": "function", "function": {"name": "f"}}], "x"])
def test_odd_tools_are_no_trouble(tools: Any) -> None:
    assert ask("please do it", tools)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from(["user", "assistant", "tool", "refund item_7", "c1"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "type", "text", "function", "name"]), inner)
    ),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "odd"])},
    optional={"content": JSON, "tool_calls": JSON | st.lists(JSON), "tool_call_id": JSON},
)
SCHEMA = st.fixed_dictionaries(
    {}, optional={"type": JSON, "enum": JSON, "anyOf": JSON, "description": JSON, "items": JSON, "minimum": JSON}
)
PARAMETERS = st.fixed_dictionaries({"properties": st.dictionaries(st.text(max_size=8), SCHEMA, max_size=3)}, optional={"required": JSON})
TOOL = st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": JSON, "description": JSON, "parameters": JSON | PARAMETERS})})


@given(messages=st.lists(MESSAGE, max_size=5), tools=st.lists(JSON | TOOL, max_size=3), choice=JSON)
def test_no_request_makes_it_fail(messages: list[Any], tools: list[Any], choice: Any) -> None:
    answer = OfflineModel(WordOverlap()).chat.completions.create(messages=messages, tools=tools, tool_choice=choice)
    message = answer.choices[0].message
    assert (message.content is None) != (message.tool_calls is None)


@given(text=st.text(max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    schema = {
        "city": TEXT,
        "days": {"type": "integer"},
        "on": {"type": "boolean"},
        "kind": {"enum": ["a", "b"]},
        "when_date": TEXT,
        "user_id": TEXT,
        "body": TEXT,
    }
    chosen = {"type": "function", "function": {"name": "anything"}}
    tools = [function("anything", "Do it.", ("body",), **schema)]
    assert OfflineModel(WordOverlap()).chat.completions.create(messages=[user(text)], tools=tools, tool_choice=chosen).choices


@pytest.mark.parametrize("before", [[], [{"role": "user", "content": [{"type": "text", "text": "look"}, Image(b"a").part]}]])
def test_what_a_tool_shows_is_nothing_that_the_user_says(drive: Drive, before: list[Any]) -> None:
    """D30. So the tool is not called for it again, and what it said is told."""

    @tool
    def take_picture() -> Result:
        """Take a picture of the screen."""
        return Result(value="Taken at noon.", parts=[Image(b"b")])

    def get_weather(city: str) -> str:
        """Get the weather in a city."""
        return f"It rains in {city}."

    agent = Agent(name="Eye", functions=[take_picture, get_weather])
    response = drive(agent, [*before, {"role": "user", "content": "take a picture of the screen"}], model())
    assert [message["role"] for message in response.messages] == ["assistant", "tool", "user", "assistant"]
    assert response.text == "Taken at noon. Anything else?"
