"""The clock of these tests."""

from tests.policies.virtual import clock as clock
