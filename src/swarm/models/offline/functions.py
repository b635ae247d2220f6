"""What the functions of a request say of themselves, read once per request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ...legal import is_dict
from .words import stems, vocabulary, words

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

_LOOKING = vocabulary(
    """
    get list show look search find query check fetch track read view answer convert calculate count lookup describe explain compute
    estimate retrieve opening valid is has can tell say see status
    """
)
_ACTING = vocabulary(
    """
    initiate start begin launch run execute process perform send email mail notify inform call create make add insert place order
    buy purchase book reserve schedule plan cancel stop end close delete remove drop change update modify edit set reset turn switch
    enable disable move transfer pay wire charge refund return give issue grant apply submit file open report request raise block
    freeze lock unlock register subscribe unsubscribe play put deliver ship dispatch renew extend approve reject assign upload
    rebook bring have
    """
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
        looks: whether the first word of its name or description says that it looks something up.
        acts: whether its name, or else its description, begins with a word for changing something.
        properties: JSON Schema of each parameter.
        required: names of the parameters that must be given.
        stems: of its name, description and parameters.
        hint: what the program adds.
    """

    def __init__(self, entry: Mapping[str, Any], hint: Hint | None = None) -> None:
        function = as_dict(entry.get("function"))
        self.name = str(function.get("name") or "")
        self.description = " ".join(str(function.get("description") or "").split())
        schema = as_dict(function.get("parameters"))
        self.properties = {name: as_dict(about) for name, about in as_dict(schema.get("properties")).items()}
        self.required = [name for name in as_list(schema.get("required")) if isinstance(name, str) and name in self.properties]
        self.hint = hint or Hint()
        self.phrase = in_words(self.name)
        if _TO_AGENT.match(self.phrase):
            self.phrase = _AGENT_SUFFIX.sub("", _TO_AGENT.sub("", self.phrase))
        cleaned = " ".join(_BOILERPLATE.sub(" ", self.description).split()).strip(" .,")
        self.about = f"{self.phrase}. {cleaned}" if cleaned else self.phrase
        parts = [part.strip() for part in re.split(r"[.;,()]| or | and ", cleaned) if len(part.split()) > 1]
        self.facets = [self.phrase, self.about, *parts]
        self.handoff = bool(_HANDOFF.match(self.name))
        self.role = _role(f"{in_words(self.name)} {self.description}".lower(), bool(self.required))
        named, told = (" ".join(words(text)[:1]) for text in (self.phrase, self.description))
        self.looks = named in _LOOKING or told in _LOOKING
        self.acts = not self.handoff and (named in _ACTING or (not self.looks and told in _ACTING))
        self.stems = set(stems(f"{self.phrase} {self.description} {in_words(' '.join(self.properties))}"))


def read(tools: Any, hints: Mapping[str, Hint]) -> list[Function]:
    """The functions of a request's `tools`; other entries are left out."""
    entries = [as_dict(entry) for entry in as_list(tools)]
    functions = [Function(entry, hints.get(str(as_dict(entry.get("function")).get("name")))) for entry in entries]
    return [function for function in functions if function.name]


def in_words(name: str) -> str:
    """An identifier as words: "transferTo_SalesAgent" is "transfer to sales agent"."""
    return " ".join(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").replace("-", " ").lower().split())


def _role(text: str, needs_arguments: bool) -> str:
    """What a function is for, where that changes how it is found. Nothing that needs arguments closes a case or leads elsewhere."""
    for role, pattern in (("closing", _CLOSING), ("elsewhere", _ELSEWHERE), ("human", _HUMAN), ("answers", _ANSWERS)):
        if pattern.search(text) and not (needs_arguments and role in ("closing", "elsewhere")):
            return role
    return ""


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one: a request may hold anything."""
    return value if is_dict(value) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []
