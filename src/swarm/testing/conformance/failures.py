"""What a run relies on in a model whose provider fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import ModelError
from .base import WAYS, ModelSuite
from .rules import require
from .runs import MODES, run_in


class FailureConformance(ModelSuite):
    """Rules for the failures of a model.

        class TestMine(FailureConformance):
            def make(self):
                return MyModel(base_url="http://127.0.0.1:9")

    `make` returns a new model that cannot answer: its provider is not there, or refuses the request.
    """

    def test_complete_raises_a_model_error(self) -> None:
        """A failure is a `swarm.errors.ModelError` of the kind that fits, so that a policy can tell what may be tried again."""
        for way in WAYS:
            _check_failure(lambda way=way: self.asked(way, self.make()), f"complete, {way}")

    def test_stream_raises_a_model_error(self) -> None:
        """The same for a stream, when it is opened or while it is read."""
        for way in WAYS:
            _check_failure(lambda way=way: self.streamed(way, self.make()), f"stream, {way}")

    def test_a_run_raises_it_with_what_was_done(self) -> None:
        """The error leaves the run and carries the response so far."""
        for mode in MODES:
            error = _check_failure(lambda mode=mode: run_in(mode, self.make(), self.agent, self.text, []), f"the mode {mode!r}")
            require(error.response is not None, "An error that leaves a run carries the response so far.", f"none in the mode {mode!r}")


def _check_failure(asked: Callable[[], Any], where: str) -> ModelError:
    try:
        answer = asked()
    except ModelError as error:
        require(str(error).strip(), "A failure says what went wrong, in the provider's words.", f"no text in {where}")
        return error
    except Exception as error:
        raise AssertionError(f"A model that fails raises a swarm.errors.ModelError.\nFound: {error!r} in {where}") from error
    raise AssertionError(f"A model that cannot answer raises a swarm.errors.ModelError.\nFound: {answer!r} in {where}")
