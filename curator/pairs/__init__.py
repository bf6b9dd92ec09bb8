"""Scores of pairs of people: the learned scorer, the rows that it compares, and figures of a ranking."""
