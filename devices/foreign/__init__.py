"""JSON of other people that is read strictly, and packages of theirs that are imported by their name."""
