"""What a plain word in a YAML file stands for, by the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema): `no`, `on`,
`12:30` and dates are texts. The library that reads YAML follows 1.1, where they are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_CORE: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"~|null|Null|NULL|"), lambda text: None),
    (re.compile(r"true|True|TRUE|false|False|FALSE"), lambda text: text.lower() == "true"),
    (re.compile(r"[-+]?[0-9]{1,4000}"), int),
    (re.compile(r"0o[0-7]+"), lambda text: int(text[2:], 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text, 16)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
)


def plain(text: str) -> Any:
    """What a scalar without quotes stands for."""
    for pattern, read in _CORE:
        if pattern.fullmatch(text):
            return read(text)
    return text
