"""What models and tools say, made fit to be printed for a person who decides by it.

Control characters become visible, so that none can move the cursor, forge a line, or turn round the call that a person is asked to approve
(the bidirectional controls of Unicode, UAX #9).
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import to_jsonable_python

_PICTURES = {code: 0x2400 + code for code in range(32) if code not in (9, 10)}
_VISIBLE = _PICTURES | dict.fromkeys([*range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)


def visible(text: str) -> str:
    """A text whose control characters can be seen; tabs and line ends are left."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)


def call_text(name: str, arguments: Any) -> str:
    """A call as it would be written in Python; arguments that could not be read as they came."""
    if not isinstance(arguments, dict):
        return visible(f"{name}({arguments or ''})")
    pairs: dict[str, Any] = arguments  # type: ignore[assignment]  # JSON's keys are texts
    return visible(f"{name}({', '.join(f'{key}={json_line(value)}' for key, value in pairs.items())})")


def json_line(value: Any) -> str:
    """A value as one line of JSON, what JSON has no word for as its text."""
    return json.dumps(to_jsonable_python(value, fallback=str), ensure_ascii=False)
