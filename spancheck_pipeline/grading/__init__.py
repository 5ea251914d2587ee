"""What is measured on one captured output: graders, their specs and their scores. Pure, offline, the same."""
