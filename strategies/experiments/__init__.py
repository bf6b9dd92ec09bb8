"""Many runs: sweeps, comparisons and searches for settings."""
