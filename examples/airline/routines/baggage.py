"""How a lost bag is looked for."""

BAGGAGE_POLICY = """1. Call initiate_baggage_search.
2. Tell the customer what came of it.
   2a. The bag is found: say where, and that it is delivered to the customer's address, as the search has arranged.
   2b. The bag is not found: say so, and call escalate_to_agent.
3. Ask whether there is anything else.
   3a. No: call case_resolved.
   3b. Yes, and it is not about baggage: call transfer_to_triage.
"""
