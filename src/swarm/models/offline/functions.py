"""What the functions of a request say of themselves, read once per request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .words import stems, words

_BOILERPLATE = re.compile(
    r"\b(?:call (?:this|the) (?:function|tool)?|use (?:this|the)?(?: (?:function|tool))?"
    r"|transfer(?:s|red)?(?: the (?:user|customer|conversation))? to(?: the)?|hand(?:s)?(?: the conversation| over| off)? to"
    r"|the agent (?:that|who)|handles?|responsible for|agent|for instance,?|when(?:ever)? (?:the|a) user|when|if)\b",
    re.I,
)
_HANDOFF = re.compile(r"^(?:transfer_?(?:back_?)?to|hand_?off|switch_?to|route_?to|escalate)", re.I)
_TO_AGENT = re.compile(r"^(?:transfer|hand ?off|switch|route) (?:back )?to (?=.)")
_AGENT_SUFFIX = re.compile(r"(?<=.) (?:agent|assistant|desk)$")
_CLOSING = re.compile(r"resolved|nothing else|case closed|finished|close the case|end the conversation")
_ELSEWHERE = re.compile(
    r"not handled|does not handle|doesn't handle|cannot handle|different agent|anything else|other topics?|outside of|triage"
)
_HUMAN = re.compile(r"\bhuman|real person|member of staff|supervisor|live agent|escalate")
_ANSWERS = re.compile(r"knowledge base|\bdocs?\b|documentation|handbook|faq|help cent|answer.*question|\bmanual\b|article")

_LOOKING = frozenset(
    """get list show look search find query check fetch track read view answer convert calculate count lookup describe explain compute
    estimate retrieve opening valid is has can tell say see status""".split()
)
_ACTING = frozenset(
    """initiate start begin launch run execute process perform send email mail notify inform call create make add insert place order buy
    purchase book reserve schedule plan cancel stop end close delete remove drop change update modify edit set reset turn switch enable
    disable move transfer pay wire charge refund return give issue grant apply submit file open report request raise block freeze lock
    unlock register subscribe unsubscribe play put deliver ship dispatch renew extend approve reject assign upload rebook bring have""".split()
)


class Hint:
    """What only the program knows of a function: it is not on the wire.

    Attributes:
        examples: utterances that should lead to it.
        gated: whether the user is asked before it is called.
        leads_to: names of the functions that the agent behind a handoff offers.
    """

    __slots__ = ("examples", "gated", "leads_to")

    def __init__(self, examples: Sequence[str] = (), gated: bool = False, leads_to: Sequence[str] = ()) -> None:
        self.examples = tuple(examples)
        self.gated = gated
        self.leads_to = frozenset(leads_to)


class Function:
    """One function of the request.

    Attributes:
        name: on the wire.
        phrase: the name in words, without "transfer to" and the like: what is done, or whom a handoff leads to.
        description: as it came, in one line.
        about: phrase and description without what every tool description says.
        facets: texts one of which an utterance may resemble.
        role: "closing", "elsewhere", "human", "answers" or "".
        handoff: whether it is named like one.
        looks: whether it only looks something up, as far as its first words tell.
        acts: whether they say that it changes something; where both are false nothing is known.
        properties: JSON Schema of each parameter.
        required: names of the parameters that must be given.
        stems: of its name, description and parameters.
        hint: what the program adds.
    """

    def __init__(self, entry: Mapping[str, Any], hint: Hint | None = None) -> None:
        function = _mapping(entry.get("function"))
        self.name = str(function.get("name") or "")
        self.description = " ".join(str(function.get("description") or "").split())
        schema = _mapping(function.get("parameters"))
        self.properties: dict[str, dict[str, Any]] = {str(k): _mapping(v) for k, v in _mapping(schema.get("properties")).items()}
        self.required = [name for name in schema.get("required") or [] if name in self.properties]
        self.hint = hint or Hint()
        self.phrase = in_words(self.name)
        if _TO_AGENT.match(self.phrase):
            self.phrase = _AGENT_SUFFIX.sub("", _TO_AGENT.sub("", self.phrase))
        cleaned = " ".join(_BOILERPLATE.sub(" ", self.description).split()).strip(" .,")
        self.about = f"{self.phrase}. {cleaned}" if cleaned else self.phrase
        parts = [part.strip() for part in re.split(r"[.;,()]| or | and ", cleaned) if len(part.split()) > 1]
        self.facets = [self.phrase, self.about, *parts]
        self.handoff = bool(_HANDOFF.match(self.name))
        self.role = _role(f"{in_words(self.name)} {self.description}".lower())
        first = [*words(self.phrase)[:1], *words(self.description)[:1]]
        self.looks = any(word in _LOOKING for word in first)
        self.acts = not self.handoff and not self.looks and any(word in _ACTING for word in first)
        self.stems = set(stems(f"{self.phrase} {self.description} {in_words(' '.join(self.properties))}"))


def read(tools: Any, hints: Mapping[str, Hint]) -> list[Function]:
    """The functions of a request's `tools`; entries that are none are left out."""
    entries: list[Any] = tools if isinstance(tools, list) else []
    functions = [
        Function(entry, hints.get(str(_mapping(entry.get("function")).get("name")))) for entry in entries if isinstance(entry, dict)
    ]
    return [function for function in functions if function.name]


def in_words(name: str) -> str:
    """An identifier as words: "transferTo_SalesAgent" is "transfer to sales agent"."""
    return " ".join(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").replace("-", " ").lower().split())


def _role(text: str) -> str:
    for role, pattern in (("closing", _CLOSING), ("elsewhere", _ELSEWHERE), ("human", _HUMAN), ("answers", _ANSWERS)):
        if pattern.search(text):
            return role
    return ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
