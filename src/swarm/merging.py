"""Values that come in pieces: how a field's value in one delta is joined to what came of it before.

What a provider adds of its own to a message (reasoning, signatures, citations) goes back to it with the next request, so it must come out
of a stream as it would have come whole.
"""

from __future__ import annotations

from typing import Any, cast

from .legal import is_dict

# String fields that come in pieces; any other string is whole each time it comes.
_IN_PIECES = ("content", "data", "input", "refusal", "summary", "text", "transcript")
# Types of items in a list that the next delta continues, though they have no number.
_CONTINUED = ("reasoning.summary", "reasoning.text", "text", "thinking")


def merged(key: str, old: Any, new: Any) -> Any:
    """Two values of one field put together, in containers of our own.

    Args:
        key: the field's name, which says whether its text comes in pieces.
        old: what came before, or None.
        new: what comes now.
    """
    if isinstance(new, str) and isinstance(old, str):
        in_pieces = key in _IN_PIECES or (key.startswith(("reasoning", "thinking")) and "signature" not in key)
        return old + new if in_pieces else new
    if is_dict(new) and is_dict(old):
        return {**old, **{name: merged(name, old.get(name), value) for name, value in new.items() if value is not None}}
    if isinstance(new, list) and isinstance(old, list):
        items = list(cast("list[Any]", old))
        for item in cast("list[Any]", new):
            add(key, items, item)
        return items
    return own(new)


def add(key: str, items: list[Any], item: Any) -> None:
    """Put an item behind the others of a list, or join it to the one that it continues.

    Args:
        key: name of the field that holds the list.
        items: the list so far, changed in place.
        item: what comes now.
    """
    at = _place(items, item)
    if at is None:
        items.append(own(item))
        return
    old, thought = items[at], item.get("thinking")
    is_signed_copy = (
        thought is not None and item.get("signature") and thought == old.get("thinking")
    )  # LiteLLM repeats a thought to sign it
    if is_signed_copy or str(item.get("type")).endswith("encrypted"):
        items[at] = {**old, **own(item)}
    else:
        items[at] = merged(key, old, item)


def _place(items: list[Any], item: Any) -> int | None:
    """The place in a list of the object that this one continues, or None. Different ids are different things, whatever their number."""
    if not items or not is_dict(item):
        return None
    index, kind, id = item.get("index"), item.get("type"), item.get("id")
    if index is None:
        last = items[-1]
        continues = kind in _CONTINUED and is_dict(last) and last.get("type") == kind and last.get("index") is None
        return len(items) - 1 if continues and not last.get("signature") else None  # a signature ends a thought
    for at, other in enumerate(items):
        if (
            is_dict(other)
            and (other.get("index"), other.get("type")) == (index, kind)
            and other.get("id") in (None, "", id or other.get("id"))
        ):
            return at
    return None


def own(value: Any) -> Any:
    """A copy of JSON containers, since nothing is shared with the chunks that come in and the deltas that go out."""
    if is_dict(value):
        return {key: own(inner) for key, inner in value.items()}
    return [own(inner) for inner in cast("list[Any]", value)] if isinstance(value, list) else value
