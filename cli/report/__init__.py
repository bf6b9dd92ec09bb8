"""The page of finished results: one HTML file that opens from disk and asks no network."""
