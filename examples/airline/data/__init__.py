"""What the airline knows of its customer."""
