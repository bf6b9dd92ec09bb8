"""Accuracy by groups of people: by class, by degree, and by whether a neighbour's label is known."""
