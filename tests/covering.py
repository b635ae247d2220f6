"""Which tests cover which promise of tests/requirements.py: read from the tests that pytest collects, not from their text.

`python -m tests.covering` prints how many there are for each.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import redirect_stdout
from io import StringIO

import pytest

from tests.requirements import PENDING, REQUIREMENTS

_IN_TEXT = re.compile(r"\b([A-CE-Z]\d{2}|D\d{1,2})\b")
_IN_NAME = re.compile(r"(?<![a-z0-9])([a-z]\d{2})(?![a-z0-9])")


def ids_of(name: str, docstring: str | None) -> set[str]:
    """The ids that a test names.

    Args:
        name: of the test function.
        docstring: of the test function, or None.
    """
    return set(_IN_TEXT.findall(docstring or "")) | {found.upper() for found in _IN_NAME.findall(name)}


class Collector:
    """A pytest plugin that notes which tests cover which ids.

    A test counts if `make test` or `make check` runs it: nightly ones do not, nor what is marked to be skipped or to fail.

    Attributes:
        tests: node ids by requirement id, each test once whatever its parameters.
    """

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if isinstance(item, pytest.Function) and not any(map(item.get_closest_marker, ("nightly", "skip", "skipif", "xfail"))):
                test = item.nodeid.split("[")[0]
                for id in ids_of(item.originalname, item.function.__doc__):
                    if test not in self.tests.setdefault(id, []):
                        self.tests[id].append(test)


def main() -> int:
    """Print which tests cover which promise; `--json` for programs."""
    collector, said = Collector(), StringIO()
    with redirect_stdout(said):
        code = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "tests"], plugins=[collector])
    if code:
        print(said.getvalue())
        return int(code)
    if "--json" in sys.argv:
        print(json.dumps(collector.tests))
        return 0
    for id, promise in REQUIREMENTS.items():
        count = len(collector.tests.get(id, ()))
        print(f"{id:4}{count or ('pending' if id in PENDING else 'NONE'):>8}  {promise.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
