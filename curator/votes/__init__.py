"""What a curator knows from votes, and the questions that follow from it."""
