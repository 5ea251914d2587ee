"""Cues: words without which a language's phrases cannot decline or refuse, so that most sentences are told at once.

They decide nothing: a sentence that holds a cue is read with the phrases of ``phrasebook.py``, one that holds none
could not match any of them. Languages that are not listed are read in full, which is slower and says the same.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Cues(NamedTuple):
    """What one language's declining and refusing phrases hold at least one of, in flattened text."""

    beginnings: tuple[str, ...]
    """Of a word."""
    words: tuple[str, ...]
    """Whole words."""
    parts: tuple[str, ...]
    """Anywhere in a word."""

    @property
    def pattern(self) -> str:
        """They as an RE2 pattern over flattened text."""
        words = rf"(?:{'|'.join(self.words)})(?:$|[^a-z0-9])"
        return rf"(?:^|[^a-z0-9])(?:{'|'.join(self.beginnings)}|{words})|{'|'.join(self.parts)}"


CUES: Final = {
    "en": Cues(
        beginnings=(
            "absent", "against", "assistant", "beats", "beyond", "blank", "bot", "breach", "cant", "chatbot",
            "classified", "confidential", "difficult", "dunno", "fail", "guess", "hard", "i'd", "i'm", "icant",
            "idk", "imposs", "inappr", "insuff", "irrel", "iunable", "lack", "leave", "little", "missing", "ne",
            "no", "omit",
            "outside", "privileged", "silent", "unable", "unanswer", "unavail", "uncertain", "unclear", "undisc",
            "unethical", "unknown", "unmoral", "unrel", "unspec", "unstated", "unsure", "violat", "wecant", "weunable",
        ),
        words=("i", "n", "na", "off", "out", "un", "we"),
        parts=(
            "n't", "nnot", "ouldnot", "ouldnt", "dont", "doesnt", "didnt", "isnt", "arent", "asnt", "avent", "werent",
        ),
    ),
}  # fmt: skip
"""By ISO 639-1 code. ``tests/grading/test_cues.py`` walks every phrase and finds that none can match without one."""
