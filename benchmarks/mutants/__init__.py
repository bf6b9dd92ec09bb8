"""Mutation run: small changes of the code, each of which the mirrored test file has to notice."""
