"""Disk and object store: tables, partitions, revisions, journals, and the files that users write."""
