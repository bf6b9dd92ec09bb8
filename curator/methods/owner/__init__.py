"""Methods of a trusted owner who releases a model or labels."""
