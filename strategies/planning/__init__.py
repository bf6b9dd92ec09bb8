"""Plan of a collection: what holds, what it costs, and a rehearsal, before anybody is asked."""
