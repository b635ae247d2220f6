"""A support bot: questions are answered from a help center in a vector database; tickets and e-mail where that is not enough."""
