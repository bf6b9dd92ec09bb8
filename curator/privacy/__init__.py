"""Guarantees and their levels, for everybody, and the losses of reports and of trainings in rounds."""
