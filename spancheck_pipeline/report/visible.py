"""Ids, names and reasons that a person sees, on one line and with nothing in them that is not seen.

A system, a file or another tool may have put anything into them. Escaping for HTML, Markdown or a terminal's markup is
whose pages those are.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What has no shape of its own, ends a line, moves a terminal's cursor, or reorders what stands beside it."""


def visible(text: object) -> str:
    r"""Return a text on one line, with characters that are not seen written as escapes.

    >>> visible("a\u202eb\nc\x1b[2J")
    'a\\u202eb\\nc\\x1b[2J'
    """
    return _UNSEEN.sub(lambda match: match.group().encode("unicode_escape").decode(), str(text))
