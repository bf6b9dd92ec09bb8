"""Plan of a collection: what holds and what it costs, before anybody is asked."""
