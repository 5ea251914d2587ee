"""The stub as a client: the deterministic checks' own opinion of a packet, as a reply. It is not a judge.

What it says is ``grading/judge_stub.py``'s; that it never gates is decided in ``decision``.
"""

from __future__ import annotations

import json

from spancheck_pipeline.clients.judge_client import Ask, Reply
from spancheck_pipeline.clients.judge_secret import NO_SECRET
from spancheck_pipeline.evidence.run import Usage
from spancheck_pipeline.grading.judge_stub import STUB_MODEL, stub_opinion


class StubJudge:
    """Answers at once, offline, and the same every time."""

    abandoned = 0
    secret = NO_SECRET

    async def ask(self, ask: Ask) -> Reply:
        """Return what the word checks say of the packet.

        Raises:
            ValueError: for a question without its packet: the stub reads no text.
        """
        if ask.packet is None:
            raise ValueError("the stub needs the packet beside the question")
        said = stub_opinion(ask.packet)._asdict()
        return Reply(
            text=json.dumps(said, ensure_ascii=False),
            structured=said,
            finish_reason="stop",
            usage=Usage(input_tokens=0, output_tokens=0, cost_usd=0.0),
            served_model=STUB_MODEL,
        )

    async def close(self) -> None:
        """Do nothing: it holds nothing."""
