"""Plan of a collection: what holds, what it costs and what it is likely worth, before anybody is asked."""
