"""Methods whose devices report under local differential privacy."""
