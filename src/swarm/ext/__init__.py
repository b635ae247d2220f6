"""What stands on the core and needs an extra, each in a package of its own."""
