"""Answers A2A messages with runs, and tells tasks what becomes of them."""

from __future__ import annotations

import logging

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Part, Task, TaskState, TaskStatus
from google.protobuf.json_format import MessageToJson

from ...attachments import user_message
from ...effects import Message
from ...errors import SwarmError
from ...parts import File, Image
from ...records import Response
from ..foreign import seen
from ..serving import answer_text, progress
from .conversations import Conversation, Conversations

logger = logging.getLogger("swarm.a2a")


class Executor(AgentExecutor):
    """Runs the agents.

    Args:
        conversations: the conversations that clients hold.
    """

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer a message."""
        task, name = context.task_id or "", context.context_id or ""
        tell = TaskUpdater(event_queue, task, name)
        asked = context.message
        if asked is None or not asked.parts:
            return await tell.reject(tell.new_agent_message([Part(text="a message needs a part")]))
        if context.current_task is None:
            await event_queue.enqueue_event(
                Task(id=task, context_id=name, status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED), history=[asked])
            )
        conversation = self._conversations.of(name)
        async with conversation.turn:
            try:
                response = await _run(tell, conversation, user_message(*map(_part, asked.parts)))
            except SwarmError as error:
                return await tell.failed(tell.new_agent_message([Part(text=str(error))]))
            except Exception as error:
                logger.exception("%s failed", conversation.agent.name)
                text = f"{conversation.agent.name} failed with a {type(error).__name__}"
                return await tell.failed(tell.new_agent_message([Part(text=text)]))
        return await _answer(tell, response)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """The SDK has cancelled `execute`, and with it the run; what is left is to say so."""
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


async def _run(tell: TaskUpdater, conversation: Conversation, message: Message) -> Response:
    stream = await conversation.begin(message)
    while True:
        try:
            async with stream:
                async for event in stream:
                    if (text := progress(event)) is not None:
                        await tell.start_work(tell.new_agent_message([Part(text=text)]))
        finally:
            if stream.response is not None:  # what was done stays known, also after a failure or a cancellation
                conversation.note(stream.response)
        response = stream.response
        assert response is not None  # it was read to its end
        if response.stop_reason != "approval":
            return response
        stream = conversation.go_on(response)


async def _answer(tell: TaskUpdater, response: Response) -> None:
    reason = response.stop_reason
    about = {"agent": response.agent.name if response.agent is not None else "", "stop_reason": reason}
    await tell.add_artifact([Part(text=answer_text(response))], name="answer", metadata=about)
    if reason in ("complete", "stopped"):
        return await tell.complete()
    return await tell.failed(tell.new_agent_message([Part(text=f"{about['agent']} stopped early ({reason})")]))


def _part(part: Part) -> str | Image | File:
    """A part of a message, as `user_message` takes it."""
    kind = part.WhichOneof("content")
    mime = part.media_type or "application/octet-stream"
    if kind == "raw":
        return seen(part.raw, mime, part.filename or "file")
    if kind == "url":
        return Image(url=part.url) if mime.startswith("image/") else f"[{part.filename or 'file'}: {part.url}]"
    return MessageToJson(part.data, indent=None) if kind == "data" else part.text
