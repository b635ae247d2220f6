"""What is wrong with the setup of the help center: the texts are for whoever runs it, never for its users."""

from __future__ import annotations

from swarm.errors import ConfigError


class HelpCenterError(ConfigError):
    """The help center cannot be searched or prepared; the text says what to do."""


class OtherModel(HelpCenterError):
    """The index was made with another model than the one that would be used now.

    Args:
        place: where the index is.
        recorded, now: what made it, and what is used now.
    """

    def __init__(self, place: str, recorded: object, now: object) -> None:
        super().__init__(
            f"the index in {place} was made with {recorded}, and now {now} would be used; vectors of two models cannot be compared. "
            "Either use the old one (EMBEDDINGS_MODEL names it, EMBEDDINGS_MODEL=offline is the model on this machine), or make the "
            "index anew: python -m examples.support_bot.prep --anew"
        )


class NotPrepared(HelpCenterError):
    """There is no index yet, or an empty one."""

    def __init__(self, place: str) -> None:
        super().__init__(f"the help center is not prepared: there is nothing in {place}. Run: python -m examples.support_bot.prep")
