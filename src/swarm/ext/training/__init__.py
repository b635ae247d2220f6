"""What agents did, as data to fine-tune a model with: from sessions, runs of evals, and tapes."""

from .examples import Example, examples_of
from .exporting import Export, TrainingError, export
from .form import problems_of, read_examples
from .sources import Conversation, read_source
from .turns import Turn

__all__ = [
    "Conversation",
    "Example",
    "Export",
    "TrainingError",
    "Turn",
    "examples_of",
    "export",
    "problems_of",
    "read_examples",
    "read_source",
]
