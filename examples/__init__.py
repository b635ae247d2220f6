"""Small applications, each of which runs without a key: `SWARM_OFFLINE=1 python -m examples.airline.main`.

In an installed package the same folders are `swarm._examples`, and `swarm demo NAME` starts one.
"""
