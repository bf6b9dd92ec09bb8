"""What features say of the class: everybody's distribution, and the linear model that a device evaluates."""
