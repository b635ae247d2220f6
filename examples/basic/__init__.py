"""Five scripts, each showing one thing."""
