"""What can be read off a text without a model: word stems, clauses, the form of a sentence, its language."""

from __future__ import annotations

import re


def vocabulary(text: str) -> frozenset[str]:
    """A set of words, written as a text."""
    return frozenset(text.split())


STOPWORDS = vocabulary(
    """
    a an the this that these those i you he she it we they me him her us them my your his its our their mine yours is are was were
    be been being am do does did doing have has had having will would shall should can could may might must to of in on at by for
    with from about into over under out up down off as and or but if then than so not no nor too very just only own same s t don now
    please what which who whom whose when where why how there here some any all each few more most other another such let get got
    give us want need like could d ll m re ve doesn didn isn aren wasn won wouldn couldn shouldn yes ok okay hi hello hey thanks
    thank also again one ones
    """
)

_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", ""), ("e", ""))

_LEAD = r"^(?:(?:and|so|but|ok|okay|hi|hey|hello|well|excuse me|actually|yes|no)[,!. ]+)*"
_QUESTION = re.compile(
    _LEAD + r"(?:who|why|when|what|whats|what's|which|how (?:long|much|many|often|far|soon|old|big|tall|fast|is|are|does)|are|does"
    r"|is (?!there)|do (?!you have)|did|was|were)\b",
    re.I,
)
_TO_KNOW = re.compile(
    _LEAD
    + r"(?:why|when|who|what(?:'s| is| are| was| does| do| did| happens| if| kind of)|how (?:long|much|many|often|far|soon|old|big))\b",
    re.I,
)
_PERSON = r"(?:human|person|agent|representative|rep|supervisor|manager|boss|staff|employee|operator|colleague)\b"
_SOMEBODY = re.compile(
    rf"\b(?:talk|speak|chat|connect me|put me|transfer me)\b.{{0,40}}\b(?:someone|somebody|anyone|anybody|{_PERSON})"
    rf"|\b(?:get|give|want|need)(?: me)?(?: to see)? (?:a |an |the |your )?(?:real |human |actual )?{_PERSON}"
    r"|\b(?:real|human) (?:person|agent|being)\b",
    re.I,
)
_HOW_TO = re.compile(r"\bhow (?:do|can|to|would|should|could) (?:i|we|you|one)\b", re.I)
_WISH = re.compile(
    r"\b(?:i want|i need|i'd|i would|please|can you|could you|can i|could i|may i|get me|give me|i'm|is there|are there|do you have|me)\b",
    re.I,
)
_TELLS = re.compile(
    _LEAD + r"(?:it'?s |it is |(?:my|the) (?:\w+ ){1,3}is |flight |number |id )[^,.]*\d[^,.]*$"
    r"|^(?:(?:yes|yeah|sure|ok|okay|no|it's|it is|the|number|flight|order|item|booking|room)[,. ]+)*#?[\w-]*\d[\w-]*[.!]?$",
    re.I,
)
_NOT_THAT = re.compile(r",? (?:and |but )?not (?:a |an |the |my |about |for )?\w+\s*[.!]?$", re.I)
_BREAK = re.compile(r"[.!?;,]\s|[.!?;]$| because | but | so ")

_POINTING = re.compile(r"\b(?:it|that|this|them|these|those)\b", re.I)
_THANKING = re.compile(r"\b(?:thanks|thank|great|helps|that'?s|bye|all|got it)\b", re.I)
_DOING = re.compile(_LEAD + r"(?:then |so )?(?:do|go|look|check|send|cancel|change|book|order|find|make|take|try|buy)\b", re.I)

_ACKNOWLEDGING = vocabulary(
    """
    hi hello hey hiya oh wow ah aha haha lol there morning evening afternoon ok okay yes no yeah yep nope sure right alright fine
    great cool nice got it i see understood good perfect thanks thank you hm hmm well never mind please bye one wonderful let me
    think many very much so lot a
    """
)

# Frequent words that hardly occur in English; enough to tell which language a whole sentence is in.
_LANGUAGES = {
    "spanish": "hola gracias quiero necesito por favor estás cómo como una para ayuda buenos buenas días tardes qué el los las es puede",
    "french": "bonjour merci je voudrais besoin vous plaît aide une pour le les est comment ça va avec puis mon",
    "german": "hallo danke ich möchte brauche bitte hilfe eine für der die das ist wie geht mit guten mein",
    "italian": "ciao grazie vorrei bisogno aiuto una per il gli è come stai con buongiorno mio",
    "portuguese": "olá obrigado obrigada quero preciso ajuda uma para o os você é como está bom dia meu",
}
_LANGUAGE_WORDS = {language: vocabulary(words) for language, words in _LANGUAGES.items()}
LANGUAGE_NAMES = vocabulary(
    """
    english spanish french german italian portuguese dutch polish russian chinese japanese korean arabic turkish greek hindi swedish
    danish norwegian finnish czech hungarian hebrew
    """
)

_LANGUAGE_SHARE = 0.4
"""Share of a text's words that must be frequent words of a language; an English sentence has at most one in four ("como", "die")."""


MOST_CLAUSES = 8
"""More would only cost time: each takes as long to compare as the whole text."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, without digits and punctuation."""
    return _WORD.findall(text.lower())


def says_more(text: str, own: set[str]) -> bool:
    """Whether the text has a word of meaning, or a number, beyond the stems in `own`."""
    return any(character.isdigit() for character in text) or bool(set(stems(text)) - own)


def stem(word: str) -> str:
    """The word without its most common English endings, so that "cancelled" meets "cancel"."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if (len(word) > 4 and word[-1] == "e") or (len(word) > 5 and word.endswith("ll")) else word


def stems(text: str) -> list[str]:
    """The stems of the words that carry meaning."""
    return [stem(word) for word in words(text) if word not in STOPWORDS and len(word) > 1]


def without_negation(text: str) -> str:
    """The text without a closing "not a flight": what is not meant should not attract."""
    return _NOT_THAT.sub("", text) or text


def clauses(text: str) -> list[str]:
    """The whole text, and its clauses of three words or more if it has several, the first MOST_CLAUSES of them."""
    parts = [part.strip() for part in _BREAK.split(text) if len(part.split()) > 2][:MOST_CLAUSES]
    return [text, *parts] if len(parts) > 1 else [text]


def is_question(text: str) -> bool:
    """Whether the text asks to know something, and does not wish for something to be done."""
    how_to = bool(_HOW_TO.search(text))
    return how_to or (bool(_QUESTION.search(text)) and not _WISH.search(text))


def points_back(text: str) -> bool:
    """Whether a short request means something said before: "can you look for it?"."""
    if len(stems(text)) > 3 or not _POINTING.search(text) or _THANKING.search(text):
        return False
    return bool(_WISH.search(text) or _DOING.search(text))


def wants_somebody(text: str) -> bool:
    """Whether the text asks for a person."""
    return bool(_SOMEBODY.search(text))


def wants_only_to_know(text: str) -> bool:
    """Whether the text is a question of a form that never asks for something to be done: "how long does a refund take?"."""
    return bool(_TO_KNOW.search(text)) and not _WISH.search(text)


def is_acknowledgement(text: str) -> bool:
    """Whether the text has no other words than "ok", "thanks" and the like."""
    return all(word in _ACKNOWLEDGING for word in words(text))


def tells_a_number(text: str) -> bool:
    """Whether the text only gives a number or an id: "yes, it's flight 822"."""
    return bool(_TELLS.search(text))


def language(text: str) -> str:
    """The English name of the text's language, or "" for English and for what cannot be told."""
    found = words(text)
    counts = {name: sum(word in known for word in found) for name, known in _LANGUAGE_WORDS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] and counts[best] >= len(found) * _LANGUAGE_SHARE else ""
