"""Records conversations with a real model once and replays them for ever."""

from .lines import TapeError
from .tape import Tape

__all__ = ["Tape", "TapeError"]
