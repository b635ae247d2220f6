"""Customer service of an airline: five agents, each but the first two bound to a written policy."""
