"""From one routine in a hand-written loop to handoffs, in three steps, and a shop built with them."""
