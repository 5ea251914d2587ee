"""What was asked and what came back: the nouns every other layer speaks of. No files, network, clock or randomness."""
