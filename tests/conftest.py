"""What every test shares.

Generated cases are the same in each run, so a failure on one machine is a failure on all; `make nightly` tries many more.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.modes import MODES, Drive

settings.register_profile("default", derandomize=True, max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", parent=settings.get_profile("default"), derandomize=False, max_examples=2_000, print_blob=True)
settings.load_profile("default")


@pytest.fixture(params=MODES)
def drive(request: pytest.FixtureRequest) -> Drive:
    """Runs a behaviour in every mode; see tests/modes.py."""
    return Drive(request.param)
