"""What needs an extra: parts that stand on the core, each loaded where it is first used."""
