"""How somebody is told: a line in Dagster's log, and a webhook where the environment names one.

What is told holds names, dates, counts and case ids, and no text of cases or answers. When it is told lives with the
sensors (``sensors.py``) and the schedule (``jobs.py``).
"""

import logging
from typing import Literal

from spancheck_pipeline.clients.webhook import post_text
from spancheck_pipeline.defs.suite_defs import SuiteDefs

Occasion = Literal["failure", "gate", "missed"]


def alert(log: logging.Logger, suite: SuiteDefs, occasion: Occasion, text: str) -> bool:
    """Log an alert, send it where the suite wants to know of such a thing, and return whether it was sent."""
    log.warning(text)
    settings = suite.loaded.suite.alerts
    if occasion not in settings.on:
        return False
    sent = post_text(settings.webhook_from, text)
    if not sent.is_sent:
        log.info("alert was logged only: %s", sent.why_not)
    return sent.is_sent
