"""Record, folder and figures of a finished run."""
