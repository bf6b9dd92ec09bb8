"""Knowledge of a curator from votes, and the questions that follow from it."""
