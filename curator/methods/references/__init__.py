"""References: methods that ask nobody, or that see the data without noise."""
