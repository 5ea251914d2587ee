"""The library's front: ``evaluate`` and ``Run`` in memory, and the steps of a night on stored partitions."""
