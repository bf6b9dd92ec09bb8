"""Rounds of messages: collections of reports, and trainings under Flower's `Strategy.start`."""
