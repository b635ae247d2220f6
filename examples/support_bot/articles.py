"""The help center's articles: Markdown files whose names are their ids and whose first lines are their titles."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from .errors import HelpCenterError

FOLDER = Path(__file__).parent / "articles"
SITE = "https://help.inkwharf.example"


class Article(NamedTuple):
    """One article.

    Attributes:
        id: the name of its file.
        title: its first line.
        url: where users read it.
        text: all but the title.
    """

    id: str
    title: str
    url: str
    text: str

    @property
    def whole(self) -> str:
        """What is embedded."""
        return f"{self.title}\n\n{self.text}"

    @property
    def digest(self) -> str:
        """Changes when anything in the article does."""
        return hashlib.sha256("\0".join(self).encode()).hexdigest()


def load(folder: Path = FOLDER) -> list[Article]:
    """The articles of a folder, by id.

    Raises:
        HelpCenterError: there are none, or one cannot be read, or has no title or no text.
    """
    articles = [_read(path) for path in sorted(folder.glob("*.md"))]
    if not articles:
        raise HelpCenterError(f"there are no articles (*.md) in {folder}")
    return articles


def _read(path: Path) -> Article:
    try:
        first, _, text = path.read_text(encoding="utf-8-sig").partition("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise HelpCenterError(f"{path} cannot be read as UTF-8 text: {error}") from None
    if not first.startswith("# ") or not first[2:].strip() or not text.strip():
        raise HelpCenterError(f'{path} is no article: its first line must be "# " and a title, and a text must follow')
    return Article(path.stem, first[2:].strip(), f"{SITE}/{path.stem}", text.strip())
