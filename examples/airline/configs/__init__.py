"""The agents and their functions."""
