"""Which hosts the links of a text may lead to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from .checking import Block
from .given import names
from .patterns import Pattern

# A link as browsers read it: they take \ for /, and after http: any number of them.
_LINK = re.compile(
    r"""(?:\bhttps?:[/\\]*|\b[a-z][a-z0-9+.-]{1,20}://|(?<![:/\\\w])[/\\]{2}(?=[^\s/\\]{1,253}\.)|\bwww\.)[^\s<>"'`|{}()\[\]]+""", re.I
)
_LONGEST_LINK = 2_000
_NO_NAME = re.compile(r"[/:*?@\s]")


class Hosts(Pattern):
    """Blocks a text with a link to a host that is not on a list, or puts something in the place of each such link.

    What a browser would take for a link counts: any scheme, `//host.name`, `www.`, a name before an @, backslashes, other scripts' dots.

    Args:
        allowed: names of hosts; those under them are allowed too.
        by: what such a link is replaced by; None blocks.

    Raises:
        ValueError: an address or a pattern instead of a name.
        TypeError: something that is no text.
    """

    def __init__(self, allowed: Iterable[str], by: str | None = None) -> None:
        super().__init__(_LINK, by, _LONGEST_LINK)
        given = names("Hosts(...)", allowed, "hosts")
        for name in given:
            if _NO_NAME.search(name):
                raise ValueError(f"Hosts([{name!r}]) must be names of hosts, such as 'example.com', without a scheme, a port or a path")
        self._allowed = tuple(name.lower().strip(".") for name in given)

    def found(self, match: Any) -> str | Block | None:
        """What a link comes to: None if its host is allowed."""
        host = _host(match[0])
        if any(host == name or host.endswith(f".{name}") for name in self._allowed):
            return None
        return Block(reason=f"a link to {host or match[0]!r}") if self._by is None else super().found(match)


def _host(link: str) -> str:
    link = re.sub(r"^(https?):/*", r"\1://", unicodedata.normalize("NFKC", link).replace("\\", "/"), flags=re.I)
    try:
        return (urlsplit(link if "//" in link[:24] else f"//{link}").hostname or "").rstrip(".")
    except ValueError:
        return ""
