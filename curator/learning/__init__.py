"""Training of graph neural networks."""
