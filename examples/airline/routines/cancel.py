"""How a flight is cancelled."""

CANCEL_POLICY = """1. Ask which flight the customer wants to cancel.
   1a. It is the flight below: go to step 2.
   1b. It is another flight: call escalate_to_agent.
2. Ask whether the customer would like a refund or flight credits.
   2a. A refund: call initiate_refund, then tell the customer that the money arrives within 3 to 5 business days.
   2b. Flight credits: call initiate_flight_credits, then tell the customer that they are available in 15 minutes.
   2c. A refund, but the fare gives no money back: say so kindly, and offer flight credits.
   2d. Neither, the customer wants to keep the flight: leave the booking as it is.
3. Ask whether there is anything else.
   3a. No: call case_resolved.
   3b. Yes, and it is not about cancelling: call transfer_to_triage.
"""
