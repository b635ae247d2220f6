"""What people say when they want no function, and what they say to functions that many applications have.

None of these sentences is taken from the sets that the router is measured on.
"""

from __future__ import annotations

SMALL_TALK = (
    "Hi there!",
    "Good evening",
    "How are you today?",
    "Thanks a lot",
    "I appreciate your help",
    "Great, understood",
    "I see",
    "Sure",
    "Hmm",
    "Sorry, forget it",
    "lol, good one",
    "See you later",
    "Have a lovely weekend",
    "Who made you?",
    "What can you do?",
    "Are you a machine or a person?",
    "Where do you live?",
    "Which sport do you love most?",
    "What do you think of modern art?",
    "Should I wear a tie with jeans?",
)

GENERAL_KNOWLEDGE = (
    "Which planet is the biggest?",
    "How does photosynthesis work?",
    "Who invented the telephone?",
    "When did the Second World War end?",
    "What is twelve times seven?",
    "Translate apple into German",
    "Why do cats purr?",
    "What does this word mean?",
    "How many people live in China?",
    "Write me a poem",
    "Make me laugh",
    "Tell me a story",
    "What movie should I watch tonight?",
    "Give me a recipe for pancakes",
    "What happened in the news today?",
    "What time is it?",
    "What should I do with my life?",
)

CLOSING = (
    "That is all",
    "I don't need anything else, bye",
    "Everything is solved now",
    "My problem is fixed, thanks",
    "We are finished",
    "That answers it, goodbye",
    "Perfect, I have no more questions",
    "It worked out in the end, all good now",
)

# kind of function: (what such a function says of itself, what people say who want it)
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "closing": (("The issue is resolved and the customer needs nothing else", "Close the case", "End the conversation"), CLOSING),
    "human": (
        ("Escalate to a human agent", "Hand over to a member of staff", "Talk to a real person"),
        (
            "connect me with a member of your team",
            "I don't want to chat with a bot",
            "someone from staff must call me",
            "I am furious, this service is terrible",
            "I want your manager",
            "Is there anybody at your office who can take over?",
        ),
    ),
    "elsewhere": (
        ("Anything that the current agent does not handle", "Transfer to a different agent for other topics", "Back to triage"),
        (
            "I have a question about a different product",
            "I have another problem too",
            "Can I ask about a different thing?",
            "I also need help with another matter",
            "There is a mistake in my contract",
            "I lost something",
            "I have to change my address",
            "I want to make a complaint about a delivery",
            "Which department takes care of this?",
        ),
    ),
    "repair": (
        (
            "Technical support and troubleshooting",
            "Repairs of products that do not work",
            "Report something broken to maintenance",
            "Trouble with devices and software",
        ),
        (
            "It is broken",
            "It stopped working",
            "It does not start any more",
            "I get an error message",
            "It freezes and shuts down by itself",
            "The device makes strange noises",
            "How do I set this up?",
            "The battery is always empty",
        ),
    ),
    "sales": (
        ("Sales: buying products, prices and offers", "Sales agent"),
        (
            "I want to purchase something",
            "What is the price of this?",
            "Do you sell garden chairs?",
            "Is there a special offer on this?",
            "Which model is the cheapest?",
            "I would like a quote for a dozen",
        ),
    ),
    "refund": (
        ("Refunds: returning an item, getting money back", "Refund an order"),
        (
            "I want to return what I bought",
            "It is not what I expected",
            "It is the wrong one, take it back",
            "I am not happy with it and want a refund",
            "Reimburse me",
        ),
    ),
    "answers": (
        ("Answer questions from the documentation, knowledge base, handbook or FAQ", "Search the help center", "Query the docs"),
        (
            "How do I set this up?",
            "Where do I find the settings?",
            "What are the rules for this?",
            "Is it possible to use it with other programs?",
            "Which features are included?",
            "How many users may I add?",
            "Does it support this format?",
        ),
    ),
    "ticket": (
        ("Submit a ticket or a bug report to the support team", "File a complaint"),
        (
            "There is a bug, tell your developers",
            "I want to report a problem",
            "Please open a case for me",
            "I want to complain about a delay",
        ),
    ),
    "search": (
        ("Search the product catalogue", "Find products in a shop"),
        ("I could use a new coat", "Any trousers in blue?", "Show me what you have in running shoes", "I need a present for a child"),
    ),
    "status": (
        ("Track an order or a parcel", "Look up the status of an order"),
        ("I am still waiting for my package", "Has it been dispatched?", "When is it going to be delivered?"),
    ),
}

KIND_THRESHOLD = 0.5
"""How similar a function must be to a kind's own words to be taken for one of the kind. Over the functions of all sets, true members
score .51 to .89, others below .48, but for a few shop functions that are close to two kinds."""
