"""What the offline model does next: call a function, ask, or say something. Everything follows from the request; nothing is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import templates
from .answers import answer_to, yes_or_no
from .arguments import fill
from .conversation import Turn, active_agent, is_handoff, leads_back, read_turns
from .functions import Function, as_dict, in_words
from .router import Router
from .slots import Slot, slots_of
from .words import points_back, stems

AFTER_HANDOFF = 1.5
"""By how much a function must beat "none" when the utterance has already led through a handoff: doubtful calls are not worth it there,
since the agent can introduce itself instead. Of the calls chosen in the development sets this holds back half of the wrong ones and a
ninth of the right ones."""

CHANGED_MIND = 3.0
"""By how much another function must beat "none" for an answer in free text to be taken as a new wish rather than as the answer. Of the
wrong calls in the development sets nine in ten have less."""

LONGEST_READ = 4_000
"""Characters of an utterance that are looked at; routing reads less."""


LOOKED_BACK = 20
"""Turns in which an id that is missing now may have been named; what was said before that is about something else."""


class Say(NamedTuple):
    """Answer with a text."""

    text: str


class CallFunction(NamedTuple):
    """Answer with a call."""

    name: str
    arguments: dict[str, Any]


class Scene:
    """One request, read.

    Args:
        messages: the conversation.
        functions: what may be called.
        choice: the request's `tool_choice`.
        speaker: the name of the agent that speaks, or "" if only the messages can tell.
        announcement: what the model says of itself.
    """

    def __init__(self, messages: Sequence[Any], functions: Sequence[Function], choice: Any, speaker: str, announcement: str) -> None:
        self.turns = read_turns(messages)
        self.functions = list(functions)
        self.choice = choice
        self.speaker = speaker or active_agent(self.turns)
        self.announcement = announcement

    @property
    def forced(self) -> Function | None:
        """The function that `tool_choice` names, if it is on offer."""
        name: Any = as_dict(as_dict(self.choice).get("function")).get("name")
        return next((function for function in self.functions if function.name == name), None)


def decide(router: Router, scene: Scene) -> Say | CallFunction:
    """The next step of the conversation."""
    if not scene.turns:
        return Say(templates.without_function("", scene.functions, scene.announcement))
    turn = scene.turns[-1]
    last = turn.done[-1] if turn.done else None
    if last and not is_handoff(last, scene.functions):
        return Say(_told(scene, turn))
    if scene.choice == "none" or not scene.functions:
        return Say(templates.introduction(scene.speaker, scene.functions) if last else _idle(scene, turn.text))
    if last:
        return _after_handoff(router, scene)
    if scene.forced or scene.choice == "required":
        return _must_call(router, scene)
    return _continued(router, scene) or _fresh(router, scene, turn.text)


def _told(scene: Scene, turn: Turn) -> str:
    """The results of what ran after the last handoff of the turn."""
    since = 0
    for number, call in enumerate(turn.done):
        if is_handoff(call, scene.functions):
            since = number + 1
    ran = turn.done[since:]
    closing = any(function.role == "closing" and function.name == ran[-1].name for function in scene.functions)
    return templates.results(ran, closing)


def _idle(scene: Scene, text: str) -> str:
    return templates.without_function(text, scene.functions, scene.announcement) if scene.functions else templates.NO_FUNCTIONS


def _after_handoff(router: Router, scene: Scene) -> Say | CallFunction:
    """Route the same utterance again with the new agent's functions, but never back."""
    turns = scene.turns
    start = len(turns) - 1
    while start and templates.is_ours(turns[start - 1].said):
        start -= 1
    texts = [turn.text for turn in turns[start:]]
    forward = [function for function in scene.functions if function.role != "closing" and not leads_back(function, turns)]
    chosen, lead = _best(router, texts[0], forward)
    if chosen is None or (not chosen.handoff and (lead < AFTER_HANDOFF or _spent(chosen, texts[0], scene))):
        return Say(templates.introduction(scene.speaker, scene.functions))
    return _proceed(scene, chosen, _gathered(chosen, ". ".join(texts), turns[:start]))


def _spent(function: Function, text: str, scene: Scene) -> bool:
    """Whether the handoffs have already done what the text asks for, so that nothing in it asks for this function.

    "I want to cancel my flight" leads to the agent for cancelling, and says nothing of refund or credits. A function that only looks
    something up, or that needs arguments, may go ahead: the first does no harm, the second has them or asks.
    """
    if function.looks or function.role == "human" or function.required:
        return False
    way = stems(" ".join(in_words(call.name) for call in scene.turns[-1].done) + f" {scene.speaker}")
    left = {word for word in stems(text) if not any(word.startswith(known) or known.startswith(word) for known in way)}
    return not left & function.stems


def _must_call(router: Router, scene: Scene) -> Say | CallFunction:
    """`tool_choice` wants a call. A text parameter that nothing was said for gets the utterance; other values are never made up.

    A function that the request names is called even if it is marked: that is the application's decision, and no guess.
    """
    text = scene.turns[-1].text
    chosen = scene.forced
    if chosen is None:
        open_ones = [function for function in scene.functions if not function.hint.gated] or scene.functions
        scores = router.scores(text, open_ones)[:-1]
        chosen = open_ones[scores.index(max(scores))]
    arguments = _gathered(chosen, text, scene.turns[:-1])
    for slot in _missing(chosen, arguments):
        if slot.kind not in ("integer", "number", "boolean", "enum", "array", "object") and text:
            arguments[slot.name] = text
    return CallFunction(chosen.name, arguments) if scene.forced else _proceed(scene, chosen, arguments)


def _continued(router: Router, scene: Scene) -> Say | CallFunction | None:
    """The answer to a question of ours, or None if there was none or the user wants something else."""
    turns = scene.turns
    asked = _asked(turns[-2].said, scene.functions) if len(turns) > 1 else None
    if asked is None:
        return _anything_else(scene) if len(turns) > 1 else None
    function, slot = asked
    start = len(turns) - 2
    while start and (before := _asked(turns[start - 1].said, scene.functions)) and before[0] is function:
        start -= 1
    arguments = _gathered(function, turns[start].text, turns[:start])
    for number in range(start + 1, len(turns) - 1):
        _, earlier = _asked(turns[number - 1].said, scene.functions) or (function, None)
        _add_answer(function, earlier, turns[number].text, arguments)
    text = turns[-1].text
    if slot is None:
        agreed = yes_or_no(text)
        if agreed and templates.confirm(function, arguments) == turns[-2].said:
            return CallFunction(function.name, arguments)
        return Say(templates.DROPPED) if agreed is False else None
    return _answered(router, scene, function, slot, arguments)


def _answered(router: Router, scene: Scene, function: Function, slot: Slot, arguments: dict[str, Any]) -> Say | CallFunction | None:
    text = scene.turns[-1].text
    if slot.kind != "boolean" and yes_or_no(text) is False and len(text.split()) < 5:
        return Say(templates.DROPPED)
    found = _add_answer(function, slot, text, arguments)
    if not found or slot.is_free_text:
        other, lead = _best(router, text, scene.functions)
        if other is not None and other is not function and lead > (CHANGED_MIND if found else 0.0):
            return None
    return _proceed(scene, function, arguments)


def _anything_else(scene: Scene) -> Say | CallFunction | None:
    """A bare "no" to "Anything else?" closes the case, where there is a function for that."""
    text = scene.turns[-1].text
    if not scene.turns[-2].said.endswith(templates.ANYTHING_ELSE) or yes_or_no(text) is not False or len(text.split()) > 3:
        return None
    closing = next((function for function in scene.functions if function.role == "closing" and not function.required), None)
    return _proceed(scene, closing, {}) if closing else Say("Goodbye.")


def _fresh(router: Router, scene: Scene, text: str) -> Say | CallFunction:
    said = _with_context(scene)
    chosen, _ = _best(router, said, scene.functions)
    if chosen is None:
        return Say(templates.without_function(text, scene.functions, scene.announcement))
    return _proceed(scene, chosen, _gathered(chosen, said, scene.turns[:-1]))


def _with_context(scene: Scene) -> str:
    """The last text, behind the one it points back to if it does not stand on its own: "can you look for it?"."""
    text = scene.turns[-1].text
    if not points_back(text):
        return text
    before = next((turn.text for turn in reversed(scene.turns[:-1]) if not points_back(turn.text) and len(stems(turn.text)) > 1), "")
    return f"{before}. {text}" if before else text


def _proceed(scene: Scene, function: Function, arguments: dict[str, Any]) -> Say | CallFunction:
    """Ask for what is missing, ask back if the function is gated, else call."""
    missing = _missing(function, arguments)
    if missing:
        return Say(templates.ask(function, missing[0]))
    if function.hint.gated:
        return Say(templates.confirm(function, arguments))
    return CallFunction(function.name, arguments)


def _best(router: Router, text: str, functions: Sequence[Function]) -> tuple[Function | None, float]:
    """The function that fits best and by how much it beats "none"; None if it does not."""
    if not functions or not text:
        return None, 0.0
    *scores, none = router.scores(text[:LONGEST_READ], functions)
    top = max(scores)
    return (functions[scores.index(top)], top - none) if top > none else (None, top - none)


def _gathered(function: Function, text: str, before: Sequence[Turn]) -> dict[str, Any]:
    """The arguments in the utterance, and ids that earlier turns named and no function has used."""
    arguments = fill(function, text[:LONGEST_READ])
    for slot in _missing(function, arguments):
        if slot.is_id:
            unused = (turn.text for turn in reversed(before[-LOOKED_BACK:]) if not turn.done or turn.done[-1].handed_to)
            named = (fill(function, said[:LONGEST_READ], [slot.name], sure=True) for said in unused)
            arguments |= next((values for values in named if values), dict[str, Any]())
    return arguments


def _add_answer(function: Function, slot: Slot | None, text: str, arguments: dict[str, Any]) -> bool:
    """Add what a text answers to the question for `slot`; whether it does."""
    if slot is None:
        return False
    value = answer_to(function, slot, text[:LONGEST_READ])
    if value is None:
        return False
    arguments[slot.name] = value
    others = [other.name for other in _missing(function, arguments) if not other.is_free_text]
    arguments |= fill(function, text[:LONGEST_READ], others, sure=True) if others else {}
    return True


def _missing(function: Function, arguments: Mapping[str, Any]) -> list[Slot]:
    return [slot for slot in slots_of(function.properties, function.required) if slot.required and slot.name not in arguments]


def _asked(said: str, functions: Sequence[Function]) -> tuple[Function, Slot | None] | None:
    """Which function a text of ours asked about, and for which parameter; None for the parameter if it asked whether to call."""
    if not templates.is_ours(said):
        return None
    for function in functions:
        if templates.is_confirmation(said) and re.match(rf"Shall I {re.escape(templates.action(function))}(?: \(|\? )", said):
            return function, None
        for slot in slots_of(function.properties, function.required):
            if slot.required and templates.ask(function, slot) == said:
                return function, slot
    return None
