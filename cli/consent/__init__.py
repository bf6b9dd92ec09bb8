"""Consent sheet: what a device is asked, and how well its answer can be guessed, in words and odds.

It follows from the policy and the question alone; without a question, from the policy.
"""
