"""Other tools' files in: each format's reader turns it into cases, captured rows and, where it has them, scores."""
