"""The parts of a sentence that are themselves the argument: a message, a reason, a query, the thing that is meant."""

from __future__ import annotations

import re

from .words import STOPWORDS, is_acknowledgement, is_question, says_more, stem, stems, words

_POLITE_START = re.compile(
    r"^(?:(?:hi|hey|hello|ok|okay|yes|yeah|no|please|well|so|and|just|now|actually|then|also|great|sure|sorry)\b[,!. ]*)+", re.I
)
_POLITE_END = re.compile(r"[,.!? ]{0,8}\b(?:please|thanks|thank you|thx|for me|if you can|right away|immediately)[.!? ]{0,8}$", re.I)
_WISHING = re.compile(
    r"^(?:(?:can|could|would|will) (?:you|i|we)(?: please)?(?: help me)? |"
    r"(?:i|we)(?: would|'d)? (?:want|need|like|love|wish)(?: you)?(?: to)? "
    r"|(?:i'm|i am|we're|we are) (?:looking|searching) for |(?:i'm|i am|we're|we are) after |(?:looking|searching) for "
    r"|(?:do you (?:have|sell)|have you got|got|are there|is there)(?: any)? |let'?s |i'd like (?:to )?)+",
    re.I,
)
_COMMAND = re.compile(
    r"^(?:show|give|get|find|bring|tell|send|fetch|put on|put|play|search|look up|look for|order|buy|add|have|hear|listen to|see|take|make"
    r"|start|write|mail|email|forward|drop|open|create|file|raise|submit|report|remind|note|book|reserve|deliver|i'll take|set up)"
    r"\b(?: (?:me|us))?(?: for\b| up\b)? ",
    re.I,
)
_ARTICLE = re.compile(r"^(?:(?:it|this|that)(?:'s| is| was)|a|an|the|some|any|my|our|it) ", re.I)
_TRAILING_PLACE = re.compile(r" (?:to|on|onto|in|into|from|at) (?:the|my|our|your) ([\w ]{1,60}?)[.!?]{0,4}$", re.I)
_CLAUSE_END = re.compile(r"[.!?;]{1,4} |[.!?;]{1,4}$|, (?!and\b)| [-–—] ")
_HAPPENED = re.compile(r"\b(?:\w+ed|is|was|were|not|too|never|broken|wrong|torn|late|missing|defective)\b|n't\b", re.I)
_BECAUSE = re.compile(
    r"\b(?:because|since (?=(?:i|it|we|they|you|the|my|he|she)\b)|due to|as it|reason(?: is|:)|the reason being)\s+(.+)$", re.I
)
_SAYING = re.compile(r"\b(?:saying|that says|which says|with the (?:text|message|words))\s*[:,]?\s*(?:that\s+)?(.+)$", re.I)
_TELLING = re.compile(
    r"\b(?:tell|inform|remind)(?:ing)? (?:(?:him|her|them|everyone|me|[A-Z]\w+)\s+)?(?:that\s+)?(?!subject)(.+)$"
    r"|\blet (?:him|her|them|everyone|\S+@\S+|[A-Z]\w+) know\s+(?:that\s+)?(.+)$"
)
_NAMED_MESSAGE = re.compile(r"\b(?:message|body|text)(?: is|:)\s*(.+)$", re.I)
_THAT = re.compile(r"(?<!so )(?<!all )(?<!after )\bthat\s+(?!is\b|was\b)(.+)$", re.I)
_COLON = re.compile(r":\s+(.+)$")
_ABOUT = re.compile(r"\babout\s+(.+)$", re.I)
_MESSAGE = (_SAYING, _TELLING, _NAMED_MESSAGE, _THAT, _COLON, _ABOUT)
_TITLE = (
    re.compile(
        r"\b(?:with )?(?:the |a )?(?:subject|title|headline)(?: line)?(?: is|:|,)?\s+(?P<value>.+?)"
        r"(?=\s+(?:saying|that says|and (?:tell|say|write|the|body|message))\b|[,;]|\.\s|\.?$)",
        re.I,
    ),
    re.compile(
        r"\b(?:titled|entitled|called|named)\s+(?P<value>.+?)(?=\s+(?:on|at|for|in|to|with|next|this|tomorrow|today)\b|[,;.]|$)", re.I
    ),
)


def plain(text: str) -> str:
    """The text without greetings at its start and thanks at its end."""
    text = " ".join(text.split())
    while (shorter := _POLITE_END.sub("", _POLITE_START.sub("", text))) != text and shorter:
        text = shorter
    return text.strip(" ,;:-")


def title(text: str) -> re.Match[str] | None:
    """What is named as subject or title; its group "value"."""
    return next((match for pattern in _TITLE if (match := pattern.search(text))), None)


def message(text: str, own: set[str]) -> str | None:
    """What is to be said to somebody, or None.

    Args:
        text: the sentence, without what other parameters took.
        own: stems of the function's own words, which are no message.
    """
    for pattern in _MESSAGE:
        match = pattern.search(text)
        if match and words(said := match.group(match.lastindex or 0)):
            return plain(said)
    rest = thing(text, own)
    return rest if says_more(rest, own) else None


def reason(text: str, own: set[str], needed: bool) -> str | None:
    """Why something is wanted: what follows "because", or the clauses that do not themselves ask for it."""
    match = _BECAUSE.search(text)
    if match:
        return plain(match.group(1))
    told = [part for part in _parts(text) if (len(part.split()) > 2 or _HAPPENED.search(part)) and not _asks(part, own)]
    return ", ".join(told) or (plain(text) if needed else None)


def description(text: str, own: set[str]) -> str | None:
    """What is described: what follows "that", else all but the request itself, else everything."""
    match = _THAT.search(text) or _COLON.search(text) or _BECAUSE.search(text)
    return plain(match.group(1)) if match else reason(text, own, needed=True) or None


def query(text: str, own: set[str]) -> str | None:
    """What is searched for; a question stays whole."""
    text = plain(text)
    if is_question(text):
        return text.rstrip("?!. ") or None
    return thing(text, own) or text or None


def thing(text: str, own: set[str]) -> str:
    """The object of the sentence: "add oat milk to the list" is about "oat milk"."""
    text = plain(text)
    if named := _COLON.search(text):
        return plain(named.group(1))
    while True:
        shorter = _COMMAND.sub("", _WISHING.sub("", text))
        first = text.split(" ", 1)
        if shorter == text and len(first) == 2 and stem(first[0].lower()) in own and not first[0][0].isupper():
            shorter = first[1]
        shorter = _ARTICLE.sub("", shorter)
        if shorter == text or not shorter:
            break
        text = shorter
    place = _TRAILING_PLACE.search(text)
    if place and all(word in STOPWORDS or stem(word) in own for word in words(place.group(1))):
        text = text[: place.start()]
    return text.strip(" ,.;:!?-")


def _parts(text: str) -> list[str]:
    return [part for piece in _CLAUSE_END.split(text) if (part := plain(piece))]


def _asks(part: str, own: set[str]) -> bool:
    """Whether a clause is the request: it wishes, commands, or speaks in the function's own words."""
    wishes = (
        _WISHING.match(part)
        or _COMMAND.match(part)
        or re.match(r"(?:let|connect|put|transfer) (?:me|us)\b|who (?:can|could)\b", part, re.I)
    )
    meant = set(stems(part))
    return bool(wishes) or is_acknowledgement(part) or 2 * len(meant & own) > len(meant) or (len(meant) < 3 and bool(meant & own))
