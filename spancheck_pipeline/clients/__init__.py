"""The systems under test and other parties that are called: network, subprocess and the user's own code."""
