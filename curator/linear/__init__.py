"""Linear propagation on sparse and factored matrices."""
