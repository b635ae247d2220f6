"""How a flight is changed."""

CHANGE_POLICY = """1. Check the details of the flight with the customer, and ask for the reason of the change.
2. Call valid_to_change_flight.
   2a. The flight may be changed: go to step 3.
   2b. It may not: say so kindly, and offer a human agent. If the customer wants one, call escalate_to_agent; if not, go to step 6.
3. Suggest the flight one day earlier.
   3a. It suits the customer: go to step 4.
   3b. It does not: call escalate_to_agent.
4. Look whether a seat is free on it; valid_to_change_flight has said so.
   4a. A seat is free: go to step 5.
   4b. No seat is free: say so, and go to step 6.
5. Tell the customer the fare difference, as valid_to_change_flight has said it.
   5a. The customer agrees: call change_flight.
   5b. The customer does not: leave the booking as it is.
6. Ask whether there is anything else.
   6a. No: call case_resolved.
   6b. Yes, and it is not about changing the flight: call transfer_to_triage.
"""
