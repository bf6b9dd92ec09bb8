"""Page of finished results: one HTML file that opens from disk and needs no network."""
