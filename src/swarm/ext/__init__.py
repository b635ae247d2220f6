"""What stands around runs, most of it with an extra of its own. Nothing here is loaded before it is asked for."""
