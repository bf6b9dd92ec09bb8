"""An owner who holds raw records and releases a model: its teachers, and the accounts of what they release."""
