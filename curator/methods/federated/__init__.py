"""Methods whose devices or silos train a shared network in rounds."""
