"""The tables of docs/providers.md say what the profiles say. `python -m tests.docs.test_providers` writes them anew."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from swarm.models.profiles import PROFILES, SERVERS, Profile

PAGE = Path(__file__).parent.parent.parent / "docs" / "providers.md"


def settings() -> str:
    """A row for each field of a profile, in the words of its docstring."""
    text = re.sub(r"\s*\n {12}", " ", Profile.__doc__ or "")
    meaning = dict(re.findall(r"^ {8}(\w+): (.*?)\.?$", text.partition("Attributes:")[2].partition("Raises:")[0], re.MULTILINE))
    rows = [f"| `{field.name}` | `{field.default!r}` | {meaning[field.name]} |" for field in fields(Profile) if field.name != "name"]
    return "\n".join(["| setting | usual | meaning |", "|---|---|---|", *rows])


def shown(value: Any) -> str:
    """A set in the shortest form; anything else as it is written."""
    return f"{{{', '.join(map(repr, sorted(cast('frozenset[str]', value))))}}}" if isinstance(value, frozenset) else repr(value)


def profiles() -> str:
    """A row for each profile: where it is used by itself, and what it changes."""
    usual = Profile()
    rows: list[str] = []
    for name, profile in PROFILES.items():
        addresses = [
            f"`{host}{path}`".replace("`.", "`*.").replace("`-", "`*-").replace("`:", "`*:") for host, path, to in SERVERS if to == name
        ]
        changed = [
            f"`{field.name}={shown(value)}`"
            for field in fields(Profile)
            if field.name != "name" and (value := getattr(profile, field.name)) != getattr(usual, field.name)
        ]
        where = ", ".join(addresses) or ("everywhere else" if name == "default" else "by name")
        rows.append(f"| `{name}` | {where} | {', '.join(changed) or 'nothing'} |")
    return "\n".join(["| profile | used at | changes |", "|---|---|---|", *rows])


def written(page: str) -> str:
    """The page with the tables as they are now."""
    for label, table in (("settings", settings()), ("profiles", profiles())):
        pattern = rf"(<!-- {label}: [^\n]*-->\n).*?(<!-- end -->)"
        assert re.search(pattern, page, re.DOTALL), f"the page has no place for the {label}"
        page = re.sub(pattern, lambda found, table=table: f"{found[1]}{table}\n{found[2]}", page, count=1, flags=re.DOTALL)
    return page


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run `python -m tests.docs.test_providers`"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
