"""Models of the class by features: everybody's distribution, and the linear model that a device evaluates."""
