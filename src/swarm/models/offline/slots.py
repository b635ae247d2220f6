"""What a parameter asks for, read from its JSON Schema, its name and its description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .functions import as_dict, as_list, in_words
from .words import STOPWORDS, stem, vocabulary, words

# Looked for in this order in the parameter's name, then, for the narrow kinds, in its description.
_KINDS = (
    ("email", r"\be ?mail\b|\bmail\b"),
    ("phone", r"\bphone\b|\bmobile\b|\btelephone\b"),
    ("url", r"\burl\b|\blink\b|\bwebsite\b"),
    ("id", r"\bids?\b|\bnumber\b|\bno\b|\bcode\b|\btag\b|\breference\b|\bref\b|\bsku\b|\bserial\b"),
    ("currency", r"\bcurrency\b"),
    ("language", r"\blanguage\b"),
    ("month", r"\bmonth\b"),
    ("date", r"\bdate\b|\bday\b|\bwhen\b|\bcheck (?:in|out)\b|\bstart\b|\bend\b|\bdeadline\b|\bbirthday\b|\bdue\b|\buntil\b"),
    ("time", r"\btime\b|\bhour\b"),
    ("place", r"\bcity\b|\blocation\b|\bplace\b|\bcountry\b|\borigin\b|\bdestination\b|\btown\b|\bregion\b|\bairport\b|\bfrom\b"),
    ("recipient", r"\brecipient\b|\breceiver\b|\bpayee\b|^to$"),
    ("quantity", r"\bamount\b|\bprice\b|\bquantity\b|\bcount\b|\bpercent"),
    ("title", r"\bsubject\b|\btitle\b|\bheadline\b"),
    ("reason", r"\breason\b|\bcause\b|\bwhy\b"),
    ("message", r"\bmessage\b|\bbody\b|\btext\b|\bcontents?\b|\bnotes?\b|\bcomment\b"),
    ("query", r"\bquery\b|\bquestion\b|\bsearch\b|\bkeywords?\b|\bterms?\b|\bprompt\b|\binput\b"),
    ("description", r"\bdescription\b|\bsummary\b|\bproblem\b|\bissue\b|\bdetails\b|\bcomplaint\b"),
    ("symbol", r"\bticker\b|\bsymbol\b|\biata\b"),
    (
        "person",
        r"\bname\b|\bperson\b|\bassignee\b|\bowner\b|\bmanager\b|\battendee\b|\bcolleague\b|\bpatient\b|\bguest\b|\bdoctor\b|\bcustomer\b|\bcontact\b|\bemployee\b|\bauthor\b|\bartist\b|\buser\b",
    ),
    ("room", r"\broom\b|\bdevice\b|\barea\b"),
)
_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_FREE_TEXT = frozenset(("message", "query", "description", "reason", "title", "text"))
_TOLD_BY_DESCRIPTION = ("email", "phone", "url", "currency", "language", "date", "place")

_NOT_NOUNS = vocabulary("id ids number no code tag reference ref new old current my your e address is name")

# Words that people use for the same thing.
_SAME = (
    {"user", "customer", "client", "member"},
    {"product", "item", "sku", "article"},
    {"parcel", "package", "tracking", "shipment"},
    {"booking", "reservation", "confirmation"},
    {"party", "people", "person", "guest", "head"},
    {"quantity", "piece", "copy", "count", "unit"},
    {"price", "dollar", "euro", "pound", "usd", "amount", "cost", "$"},
    {"percent", "percentage", "%"},
    {"age", "year"},
    {"temperature", "degree"},
)


class Slot:
    """A parameter as something to be looked for.

    Attributes:
        name: the parameter's name.
        kind: "integer", "number", "boolean", "enum", "array", or for strings "pattern", one of the kinds above, or "text".
        options: the values of an enum.
        required: whether the call is wrong without it.
        nouns: stems of the words that stand next to its value when it is said: "order", "flight".
        schema: its JSON Schema; pattern: the one of it, if it tells its value from a word.
    """

    def __init__(self, name: str, schema: Mapping[str, Any], required: bool) -> None:
        self.name = name
        self.schema = schema
        self.required = required
        self.options = [option for option in as_list(schema.get("enum")) if option is not None]
        self.phrase = in_words(name)
        self.pattern = _telling(schema.get("pattern"))
        self.kind = self._kind()
        self.nouns = {stem(word) for word in words(self.phrase) if word not in _NOT_NOUNS and word not in STOPWORDS}
        for family in _SAME:
            if self.nouns & family:
                self.nouns = self.nouns | family

    def _kind(self) -> str:
        if self.options:
            return "enum"
        kind = _type(self.schema)
        if kind != "string":
            return kind
        if self.pattern is not None:
            return "pattern"
        for kind, pattern in _PATTERNS:
            if pattern.search(self.phrase):
                return kind
        about = str(self.schema.get("description") or "").lower()
        for kind, pattern in _PATTERNS:
            if kind in _TOLD_BY_DESCRIPTION and pattern.search(about):
                return kind
        return "text"

    @property
    def is_id(self) -> bool:
        """Whether its value is an identifier, also where the schema wants it as an integer."""
        return self.kind == "id" or (self.kind == "integer" and bool(re.search(r"\bid$|\w number$", self.phrase)))

    @property
    def is_free_text(self) -> bool:
        """Whether any words will do as its value."""
        return self.kind in _FREE_TEXT


def _telling(pattern: Any) -> re.Pattern[str] | None:
    """A pattern that asks for digits; one that any word fits tells nothing."""
    if not isinstance(pattern, str) or not re.search(r"\\d|0-9", pattern):
        return None
    try:
        return re.compile(pattern)
    except re.error:  # JSON Schema's are those of ECMAScript
        return None


def _type(schema: Mapping[str, Any]) -> str:
    """The JSON type; of a union the first that is not null; string where nothing is said."""
    declared = schema.get("type")
    if not isinstance(declared, str):
        alternatives = [
            *as_list(declared),
            *(as_dict(option).get("type") for option in as_list(schema.get("anyOf") or schema.get("oneOf"))),
        ]
        declared = next((one for one in alternatives if isinstance(one, str) and one != "null"), "string")
    return declared


def slots_of(properties: Mapping[str, Mapping[str, Any]], required: list[str]) -> list[Slot]:
    """The parameters of a function, in order."""
    return [Slot(name, schema, name in required) for name, schema in properties.items()]
