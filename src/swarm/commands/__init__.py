"""The commands of `swarm`, one a file, and what they share. They need the extra `cli`; `swarm.cli` says so where it is missing."""
