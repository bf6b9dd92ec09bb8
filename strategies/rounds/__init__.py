"""Rounds of messages under Flower's `Strategy.start`, one strategy a file."""
