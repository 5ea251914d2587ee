"""Which client a judge's settings name.

What every client speaks lives in ``judge_client.py``; the clients in modules of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spancheck_pipeline.clients.judge_client import JudgeClient
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from pathlib import Path

    from spancheck_pipeline.decision.judges import JudgeSettings


def load_judge_client(settings: JudgeSettings, *, folder: Path) -> JudgeClient:
    """Return the client that a judge's settings name. Nobody is asked yet; ``folder`` is where ``judges.yaml`` lies.

    Raises:
        TargetError: when it cannot be loaded (no such function, program or environment variable), and for a panel,
            whose members are asked in its place.
    """
    if settings.callable is not None:
        from spancheck_pipeline.clients.judge_callable import load_callable_judge

        return load_callable_judge(settings.callable, folder=folder)
    if settings.openai is not None:
        from spancheck_pipeline.clients.judge_openai import OpenAiJudge

        return OpenAiJudge(settings.openai, model=settings.model or "", temperature=settings.temperature)
    if settings.anthropic is not None:
        from spancheck_pipeline.clients.judge_anthropic import AnthropicJudge

        return AnthropicJudge(settings.anthropic, model=settings.model or "", temperature=settings.temperature)
    if settings.command is not None:
        from spancheck_pipeline.clients.judge_command import CommandJudge

        return CommandJudge(settings.command, model=settings.model, temperature=settings.temperature, folder=folder)
    if settings.stub is not None:
        from spancheck_pipeline.clients.judge_stub import StubJudge

        return StubJudge()
    raise TargetError("a panel is not asked itself: its members are, each by its own client")
