"""What needs an extra and stands on the core, which never imports it."""
