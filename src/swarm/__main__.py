"""`python -m swarm` is the command `swarm`."""

from .cli import main

main()
