"""Adversarial curators: each tries to get a second answer from a device (:data:`.table.ADVERSARIES`)."""
