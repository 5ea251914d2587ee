"""What is concluded from scores: scorecard, comparison, gate, audit record. Counts and rules; no files, no clock."""
