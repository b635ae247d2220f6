"""A personal shopper: triage in front of sales and refunds, on a shop's database."""
