"""References: methods that ask no device, or that see the data without noise."""
