"""Guesses that devices tell their friends, once, about their own people, and how friends use them."""
