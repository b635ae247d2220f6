"""One agent with two functions."""
