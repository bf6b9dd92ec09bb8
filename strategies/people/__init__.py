"""Raw data of simulated people in the form that an owner, a silo or a reference holds."""
