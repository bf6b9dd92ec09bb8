"""Votes of neighbourhoods: the batches, the law of a vote given the class, and what the curator concludes."""
