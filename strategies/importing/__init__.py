"""Graphs from other programs' files, checked and written in the one form that ``--dataset FILE.npz`` reads."""
