"""The policies: numbered steps with branches, under one starter prompt."""
