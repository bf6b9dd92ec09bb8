"""Graphs from other programs' files, checked and written in the form that ``--dataset FILE.npz`` reads."""
