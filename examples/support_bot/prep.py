"""Load the help center's articles into the index: `python -m examples.support_bot.prep`.

It can be repeated at any time: only what is new or has changed is embedded, what is gone is removed, and an interruption loses nothing
that was done.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from swarm.errors import ConfigError

from .articles import FOLDER, Article, load
from .help_center import Changes, HelpCenter, help_center


def prepare(center: HelpCenter, articles: list[Article]) -> Changes:
    """Prepare the help center; a terminal gets a progress bar on standard error.

    Raises:
        HelpCenterError: it cannot be prepared.
        ConfigError: the extra for the bar is not installed.
    """
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError as error:
        raise ConfigError('the progress bar needs an extra: pip install "openswarm[cli]"') from error
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("Articles", total=len(articles))
        return center.prepare(articles, lambda done: progress.advance(task, done))


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser("support_bot.prep", description="Load the help center's articles into the index.")
    parser.add_argument("--home", type=Path, metavar="FOLDER", help="where index, tickets and outbox are (default: SUPPORT_BOT_HOME)")
    parser.add_argument("--articles", type=Path, metavar="FOLDER", default=FOLDER, help="the Markdown files (default: the example's)")
    parser.add_argument("--anew", action="store_true", help="remove the index first: for another model, or a damaged folder")
    options: Any = parser.parse_args(arguments)
    try:
        center, articles = help_center(options.home), load(options.articles)
        if options.anew:
            center.index.clear()
        changes = prepare(center, articles)
    except ConfigError as error:
        sys.exit(f"Error: {error}")
    print(f"{len(articles)} articles: {changes}.\nIndex: {center.index.place}, by {center.embedder.model}.")


if __name__ == "__main__":
    main()
