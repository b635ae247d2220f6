"""The user of a conversation, played by a script or by a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..messages import text_of
from ..types import Usage
from .asking import Measurer
from .cases import Case
from .problems import EvalError

MOST = 20
"""So many messages a user sends if the case names no `max_messages`."""
STOP = "[END]"
"""What a user says that is done, if the case names no `stop`."""

_TASK = """You play a person who writes to a service, so that the service can be tested. Never step out of this role.
{persona}
What you want:

{goal}

How to write:
- Write what this person would write next, nothing else: one short message, in this person's own words.
- Do not tell everything at once. Give a detail when you are asked for it.
- Of yourself you know what stands here and nothing more. Asked for something else, say that you do not know it.
- Do not do the service's work, and do not say what it should have answered.
- Once you have got what you want, or it is clear that you will not get it, write {stop} and nothing else. That ends the conversation."""
_OPENING = "(The conversation begins. Write your first message.)"
_SILENCE = "(There is no answer.)"


@dataclass(slots=True)
class Said:
    """What a simulated user says next.

    Attributes:
        text: the message; "" for none.
        is_last: whether the conversation ends with it, unanswered.
        usage: what the model took that plays the user.
    """

    text: str
    is_last: bool = False
    usage: Usage = field(default_factory=Usage)


Simulate: TypeAlias = Callable[[Case, list[dict[str, Any]], int | None], Awaitable[str | Said | None]]
"""What the simulated user of a case says next, given the whole conversation so far and the seed of this conversation, if the run has one: a
text, or a Said, or None when there is no more to say."""


class UserScript:
    """Plays the users that have a `script`: says its texts one after the other, whatever the agents answer."""

    async def __call__(self, case: Case, messages: Sequence[dict[str, Any]], seed: int | None = None) -> Said | None:
        """The next text of the script, None at its end."""
        user = case.user or {}
        script, at = user.get("script") or (), sum(map(is_persons, messages[len(case.conversation) :]))
        return _up_to(user.get("stop", STOP), script[at]) if at < len(script) else None


class UserModel:
    """Plays the users of cases by a model, which is told the user's `persona` and `goal` and sees what is said, but no call and no result
    of a function. A user that has a `script` keeps to it.

    Args:
        client: who is asked; by default the one that the environment names.
        model: the model's name; by default that of the environment, as for agents.
        settings: further keys of each request, such as `{"temperature": 1}`.
        swarm: further arguments of `AsyncSwarm`, such as `policies=[Retry()]` or `prices`.

    Raises:
        EvalError: the client is the offline model; at a call, the model failed.
        ConfigError: no client was given and the environment names none.
        TypeError: an argument that there is not.

    Attributes:
        model: as given.
    """

    def __init__(self, client: Any = None, *, model: str | None = None, settings: dict[str, Any] | None = None, **swarm: Any) -> None:
        self.model = model
        self._asked = Measurer("user", client, model, settings, swarm)
        self._script = UserScript()

    async def __call__(self, case: Case, messages: Sequence[dict[str, Any]], seed: int | None = None) -> Said | None:
        """What the user says next."""
        user = case.user or {}
        if user.get("script"):
            return await self._script(case, messages, seed)
        stop: str = user.get("stop", STOP)
        persona = f"\nWho you are:\n\n{user['persona']}\n" if user.get("persona") else ""
        task = _TASK.format(persona=persona, goal=user.get("goal", ""), stop=stop)
        try:
            response = await self._asked.ask(task, seen_by_user(messages), seed=seed)
        except Exception as error:  # its `response` would be taken for one of the agents
            raise EvalError(f"the model that plays the user failed: {type(error).__name__}: {error}") from error
        said = _up_to(stop, response.text)
        said.usage = response.usage
        return said


def seen_by_user(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation as the user lives it: what the user says is one's own, what the agents say comes from the other side.

    Args:
        messages: as in an Outcome.
    """
    seen: list[dict[str, Any]] = [{"role": "user", "content": _OPENING}]
    for message in messages:
        text = text_of(message)
        role = "assistant" if is_persons(message) else "user" if message.get("role") == "assistant" else None
        if role is None or not text:
            continue
        if seen[-1]["role"] == role and len(seen) > 1:
            seen[-1] = {"role": role, "content": f"{seen[-1]['content']}\n\n{text}"}
        else:
            seen.append({"role": role, "content": text})
    if seen[-1]["role"] == "assistant":
        seen.append({"role": "user", "content": _SILENCE})
    return seen


def is_persons(message: dict[str, Any]) -> bool:
    """Whether a message is the user's own; some with this role are the library's, and name an agent as their sender."""
    return message.get("role") == "user" and "sender" not in message


def _up_to(stop: str, text: str) -> Said:
    """A text without the stop word and what follows it."""
    before, found, _ = text.partition(stop)
    return Said(before.strip(), bool(found))
