"""Methods on the same reports: one collection a cell, read by several curators, with the null models of its split."""
