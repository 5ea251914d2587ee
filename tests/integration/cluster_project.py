"""The project as a platform's code location loads it: its own executor, everything else from the environment."""

from dagster_celery import celery_executor

from spancheck_pipeline.definitions import build_definitions

defs = build_definitions(
    executor=celery_executor.configured({"broker": {"env": "CELERY_BROKER"}, "backend": {"env": "CELERY_BROKER"}})
)
