"""A triage agent in front of sales and refunds."""
