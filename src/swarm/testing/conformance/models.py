"""What a run relies on in a model, as tests that the author of a client can run against theirs."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from typing import Any

from ...effects import CallModel
from ...errors import ConfigError
from ...messages import text_of
from ...models.client import model_for
from ..asking import aask, aread, ask, read
from ..assertions import assert_valid_history
from .base import WAYS, ModelSuite, assembled, check_end, check_message, checked
from .rules import as_json, require, run_async
from .runs import MODES, run_in


class ModelConformance(ModelSuite):
    """Rules for a Model, or for a client with `chat.completions.create`. Make a class of it in a test file and say how yours is made:

        class TestMine(ModelConformance):
            def make(self):
                return MyModel(...)

    `make` returns a new model that answers any number of requests with `text`, each with a text. Each `test_` method is one rule; pytest
    runs them, and so does unittest if the class is a TestCase too. Where answers differ by chance, set `is_deterministic = False`.
    """

    def test_it_is_a_model_or_a_client(self) -> None:
        """A Swarm takes a Model, or any object with `chat.completions.create`."""
        try:
            model_for(self.make())
        except ConfigError as error:
            raise AssertionError(f"A Swarm takes it as its client.\nFound: {error}") from None

    def test_complete_gives_a_whole_reply(self) -> None:
        """`complete` returns a Reply with an assistant message in plain JSON, why it ended, and the token counts if there are any."""
        for way in WAYS:
            reply = self.asked(way, self.make())
            check_message(reply.message)
            require(text_of(reply.message), "The request is answered with a text.", repr(reply.message))
            check_end(reply)

    def test_stream_gives_chunks(self) -> None:
        """`stream` gives dicts in the form of `chat.completion.chunk`, plain JSON, and says why the answer ended."""
        for way in WAYS:
            chunks = self.streamed(way, self.make())
            for chunk in chunks:
                require(isinstance(chunk, dict), "Each chunk is a dict in the form of chat.completion.chunk.", repr(chunk))
                as_json(chunk, "Chunks are plain JSON.")
                require(
                    isinstance(chunk.get("choices"), list) or chunk.get("usage"),
                    "Each chunk has a list of choices, which is empty where it brings the usage only.",
                    repr(chunk),
                )
            reply = assembled(chunks)
            check_message(reply.message)
            require(text_of(reply.message), "The request is answered with a text.", repr(reply.message))
            require(
                reply.finish_reason,
                "One of the chunks has a finish_reason, so that a stream that broke off is told from one that ended.",
                "none",
            )
            check_end(reply)

    def test_a_stream_says_what_a_whole_reply_says(self) -> None:
        """The same request gets the same text, and ends for the same reason, streamed or not, sync or async."""
        if not self.is_deterministic:
            return
        said: dict[str, Any] = {}
        for way in WAYS:
            for name, reply in (("complete", self.asked(way, self.make())), ("stream", assembled(self.streamed(way, self.make())))):
                said[f"{name}, {way}"] = (text_of(reply.message), reply.finish_reason)
        require(len(set(said.values())) == 1, "The same request is answered alike, streamed or not, sync or async.", repr(said))

    def test_a_request_is_left_as_it_is(self) -> None:
        """Requests share their messages with the history of the run, so nothing in them is changed."""
        for stream in (False, True):
            call = self.call(self.make(), stream)
            before = copy.deepcopy(call.request)
            _ = list(read(call)) if stream else ask(call)
            require(
                call.request == before, "A model does not change the request, nor what is in it.", f"{before!r} became {call.request!r}"
            )

    def test_a_chunk_is_left_as_it_was(self) -> None:
        """A chunk belongs to its reader once it is handed out."""
        pairs = [(chunk, copy.deepcopy(chunk)) for chunk in read(self.call(self.make(), stream=True))]
        chunks, copies = [chunk for chunk, _ in pairs], [before for _, before in pairs]
        require(chunks == copies, "A chunk is not changed after it was handed out: each is a new dict.", f"{copies!r} became {chunks!r}")

    def test_a_stream_can_be_closed_early(self) -> None:
        """Closing the iterator stops the answer and raises nothing; the model can be asked again."""
        for way in WAYS:
            model = self.make()
            try:
                _read_one(self.call(model, stream=True)) if way == "sync" else run_async(_aread_one(self.call(model, stream=True)))
            except Exception as error:
                raise AssertionError(f"A stream can be closed after its first chunk.\nFound: {error!r}") from error
            again = self.asked(way, model)
            require(text_of(again.message), "A model can be asked again after a stream of it was closed early.", repr(again.message))

    def test_calls_may_overlap(self) -> None:
        """Several runs share a model, in threads or in tasks."""
        model = self.make()
        with ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(ask, [self.call(model) for _ in range(3)]))
        replies += run_async(_together([aask(self.call(model)) for _ in range(3)]))
        texts = [text_of(checked(reply).message) for reply in replies]
        require(all(texts), "Calls of one model may overlap, in threads and in tasks.", f"6 calls were answered with {texts!r}")

    def test_a_run_works_in_every_mode(self) -> None:
        """A run with this model ends by itself with its text, sync and async, streamed and not."""
        said: dict[str, str] = {}
        for mode in MODES:
            response = run_in(mode, self.make(), self.agent, self.text, [])
            require(
                response.stop_reason == "complete",
                "A run that is answered with a text is complete.",
                f"{response.stop_reason!r} in the mode {mode!r}",
            )
            assert_valid_history(response.messages)
            said[mode] = response.text
        require(all(said.values()), "A run has the text of the answer.", repr(said))
        if self.is_deterministic:
            require(len(set(said.values())) == 1, "A run gives the same text in every mode.", repr(said))


def _read_one(call: CallModel) -> None:
    with closing(read(call)) as chunks:
        next(chunks)


async def _aread_one(call: CallModel) -> None:
    async with aclosing(aread(call)) as chunks:
        await anext(chunks)


async def _together(calls: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    return list(await asyncio.gather(*calls))
