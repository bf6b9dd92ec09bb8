"""What other people wrote: JSON that is read strictly, and packages that are imported by their name."""
