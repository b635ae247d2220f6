"""The loop as people write it by hand, over the official client and over the bare transports: what ours is compared with.

The official client's answers are objects, the transports' are dicts read with the same JSON reader that ours uses.
"""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import urllib3
from openai import AsyncOpenAI, OpenAI
from pydantic_core import from_json, to_json

HEADERS = {"content-type": "application/json", "authorization": "Bearer benchmark"}


def tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


WEATHER = tool("get_weather", "The weather at a place.", {"location": {"type": "string"}})
TRANSFER = tool("transfer_to_weather", "Hand over to the weather agent.", {})
SETUP: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "answer": ("You are a helpful agent.", []),
    "tool": ("You tell the weather.", [WEATHER]),
    "handoff": ("You are the front desk.", [TRANSFER]),
    "stream": ("You are a helpful agent.", []),
}


class Conversation:
    """The messages of one run, and what a reply does to them."""

    def __init__(self, scenario: str, question: str) -> None:
        instructions, self.tools = SETUP[scenario]
        self.messages: list[Any] = [{"role": "system", "content": instructions}, {"role": "user", "content": question}]

    def request(self, **more: Any) -> dict[str, Any]:
        body: dict[str, Any] = {"model": "gpt-4o", "messages": self.messages, **more}
        if self.tools:
            body["tools"] = self.tools
        return body

    def answer(self, call_id: str, name: str, arguments: str) -> None:
        """Run one call: the weather, or the switch of agents."""
        values = json.loads(arguments)
        if name == "get_weather":
            content = f"19 degrees in {values['location']}"
        else:
            content = json.dumps({"assistant": "Weather"})
            self.messages[0], self.tools = {"role": "system", "content": SETUP["tool"][0]}, [WEATHER]
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": content})

    def take(self, message: dict[str, Any]) -> bool:
        """Append a reply given as a dict and run its calls; whether it was the last."""
        self.messages.append(message)
        calls: list[dict[str, Any]] = message.get("tool_calls") or []
        for call in calls:
            self.answer(call["id"], call["function"]["name"], call["function"]["arguments"])
        return not calls

    def take_object(self, message: Any) -> bool:
        """The same for a reply of the official client."""
        self.messages.append(message)
        calls: list[Any] = message.tool_calls or []
        for call in calls:
            self.answer(call.id, call.function.name, call.function.arguments)
        return not calls


def official(base: str, scenario: str, question: str) -> Any:
    client = OpenAI(base_url=f"{base}/{scenario}", api_key="benchmark", max_retries=0)
    create: Any = client.chat.completions.create

    def run() -> str:
        talk = Conversation(scenario, question)
        if scenario == "stream":
            return "".join(chunk.choices[0].delta.content or "" for chunk in create(**talk.request(stream=True)))
        while not talk.take_object(create(**talk.request()).choices[0].message):
            pass
        return talk.messages[-1].content

    return run


def official_async(base: str, scenario: str, question: str) -> Any:
    client = AsyncOpenAI(base_url=f"{base}/{scenario}", api_key="benchmark", max_retries=0)
    create: Any = client.chat.completions.create

    async def run() -> str:
        talk = Conversation(scenario, question)
        if scenario == "stream":
            return "".join([chunk.choices[0].delta.content or "" async for chunk in await create(**talk.request(stream=True))])
        while not talk.take_object((await create(**talk.request())).choices[0].message):
            pass
        return talk.messages[-1].content

    return run


def bare_urllib3(base: str, scenario: str, question: str) -> Any:
    pool = urllib3.PoolManager()
    url = f"{base}/{scenario}/chat/completions"

    def post(body: dict[str, Any], preload: bool = True) -> urllib3.BaseHTTPResponse:
        return pool.request("POST", url, body=to_json(body), headers=HEADERS, preload_content=preload)

    def stream(talk: Conversation) -> str:
        pieces: list[str] = []
        pending = b""
        response = post(talk.request(stream=True), preload=False)
        for data in response.stream(65536):
            pending = read_events(pending + data, pieces)
        response.release_conn()
        return "".join(pieces)

    def run() -> str:
        talk = Conversation(scenario, question)
        if scenario == "stream":
            return stream(talk)
        while not talk.take(from_json(post(talk.request()).data)["choices"][0]["message"]):
            pass
        return talk.messages[-1]["content"]

    return run


def bare_aiohttp(session: aiohttp.ClientSession, base: str, scenario: str, question: str) -> Any:
    url = f"{base}/{scenario}/chat/completions"

    async def stream(talk: Conversation) -> str:
        pieces: list[str] = []
        pending = b""
        async with session.post(url, data=to_json(talk.request(stream=True)), headers=HEADERS) as response:
            async for data in response.content.iter_any():
                pending = read_events(pending + data, pieces)
        return "".join(pieces)

    async def run() -> str:
        talk = Conversation(scenario, question)
        if scenario == "stream":
            return await stream(talk)
        while True:
            async with session.post(url, data=to_json(talk.request()), headers=HEADERS) as response:
                if talk.take(from_json(await response.read())["choices"][0]["message"]):
                    return talk.messages[-1]["content"]

    return run


def read_events(data: bytes, pieces: list[str]) -> bytes:
    """Collect the text of every whole event; what is left of an unfinished one comes back."""
    *events, rest = data.split(b"\n\n")
    for event in events:
        if event != b"data: [DONE]":
            pieces.append(from_json(event[6:])["choices"][0]["delta"].get("content") or "")
    return rest
