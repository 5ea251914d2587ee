"""Dagster's view of a project: partitions, resources, assets, checks, jobs. Bodies call ``api`` and decide nothing.

Assembly lives in ``spancheck_pipeline.definitions``. No ``from __future__ import annotations`` in this package: Dagster
reads the annotations of asset functions.
"""
