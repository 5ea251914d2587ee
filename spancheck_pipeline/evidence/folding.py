"""Folding: a text as a reader sees it, whatever typography, HTML or Markdown it came in, with the way back.

What is folded: Unicode NFKC (without superscripts, subscripts and fractions, whose digits mean something else), case,
white space, control and zero-width characters, soft hyphens, dashes, quotation marks, ligatures, line-wrap hyphens,
HTML tags and entities, Markdown emphasis, links, bullets, headings, rules, table bars and backslashes, reference marks
such as ``[12]``. Token boundaries live in ``boundary.py``.
What is not: accents, letters of other scripts, digits that differ in meaning.

Every rule looks only at the characters next to it, so that a slice of a text folds as the text did there. Where a fold
is good enough to call a quote found is said in ``grading/provenance.py``.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

from spancheck_pipeline.evidence.boundary import find_tokens
from spancheck_pipeline.evidence.word import Span, is_no_space, is_word_char, remember

CACHE_CHARS = 16_000_000
"""Characters of passages whose folds are kept in memory at one time."""

_DASHES = "\u2010-\u2015\u2043\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d"
_SINGLE = "'\u2018-\u201b\u2032\u2039\u203a\u00b4\uff07"
_DOUBLE = "\u201c-\u201f\u2033\u00ab\u00bb\u301d-\u301f\uff02\u300c-\u300f"
_INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPER_SIGNS = "⁽⁾,˒"
_NUMBERS = r"\^?\d{1,3}(?:[ ]?[,;–-][ ]?\^?\d{1,3}){0,20}"
_URL = (
    r"\((?:<[^<>\n]{0,2000}>|(?:[^\s()<>]++|\([^\s()<>]{0,400}\)){1,200}+)"
    r"""(?:[ ](?:"[^"\n]{0,200}"|'[^'\n]{0,200}'))?\)"""
)
_DOT = "•‣▪▫◦●○■□∙\uf0a7\uf0b7\uf0d8"
_TAGS = (
    "a|abbr|b|big|blockquote|body|br|caption|center|cite|code|col|dd|del|div|dl|dt|em|figure|figcaption|font|footer|"
    "h[1-6]|head|header|hr|html|i|img|ins|kbd|li|main|mark|nav|ol|p|pre|q|s|samp|script|section|small|span|strike|"
    "strong|style|sub|sup|table|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var|wbr"
)
_BLOCK = re.compile(
    r"</?(?:blockquote|body|br|caption|center|d[dlt]|div|fig\w+|footer|h[1-6r]|head|header|html|li|main|nav|ol|p|pre|"
    r"section|t(?:able|body|d|foot|h|head|itle|r)|ul)\b",
    re.IGNORECASE,
)
_SPECIAL = re.compile(
    rf"""
      (?P<wrap>(?:(?<=[^\W_])[-\xac\xad\u2010\u2011]|(?<=\d)[\u2012-\u2014\u2212](?=[ \t]{{0,80}}\r?\n[ \t>]{{0,80}}\d))
      [ \t]{{0,80}}\r?\n(?:[ \t]{{0,80}}>){{0,8}}[ \t]{{0,80}}(?=[^\W_]))
    | (?P<ref>[ ]?(?:\[{_NUMBERS}\](?!\()|\[\[{_NUMBERS}\]\](?:{_URL})?|【[\d:]{{1,9}}(?:†[^【】\n]{{0,120}})?】
      |&\#91;{_NUMBERS}&\#93;|\[(?:citation[ ]needed|(?:note|nb|fn|n)[ .]?\d{{1,3}})\])
      |(?<=[\w.,;:!?)"'”’])\[{_NUMBERS}\]{_URL})
    | (?P<guillemet>(?<![^\s(\[])«[ \xa0\u2009\u202f]|[ \xa0\u2009\u202f]»(?!\w))
    | (?P<space>\s{{2,}}|[^\S ])
    | (?P<script><su[pb](?:\s[^<>]{{0,400}})?>(?:[ ]?+<[^<>]{{1,400}}>|[ ]?+[^<>\s]{{1,24}}+[ ]?+){{1,12}}?</su[pb]>)
    | (?P<tag></?(?:{_TAGS})(?:[\s/][^<>]{{0,400}})?>|<!--[^<>]{{0,400}}-->)
    | (?P<entity>&(?:\#\d{{1,7}}|\#[xX][0-9a-fA-F]{{1,6}}|[A-Za-z][A-Za-z0-9]{{1,30}});)
    | (?P<url>\]{_URL})
    | (?P<escape>\\[!-/:-@\[-`{{-~])
    | (?P<emphasis>[*_`]+)
    | (?P<bar>\||(?<=\s)[{_DOT}](?=\s))
    | (?P<bracket>!?\[|\])
    | (?P<quote>[{_SINGLE}{_DOUBLE}])
    | (?P<dash>[{_DASHES}-]*[{_DASHES}][{_DASHES}-]*|-{{2,}})
    | (?P<invisible>[{_INVISIBLE}]+)
    | (?P<super>⁽?[{_SUPER}]+⁾?(?:[,˒]⁽?[{_SUPER}]+⁾?){{0,10}})
    | (?P<mark>(?<=[\w.,;:!?)\]"'”’])[†‡]+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LINE_START = re.compile(rf"[ \t]*(?:(?:[-*+·–—➢➤✓❖{_DOT}]|\#{{1,6}}|>)[ \t]+|>)*(?:\[[ xX]\][ \t]+)?")
_LIST_NUMBER = re.compile(
    r"(?:\((?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})\)|(?:\d{1,3}|[ivxIVX]{2,5})\\?[.)]|[a-zA-Z]\))[ \t]+(?=\S)"
)
_RULE_LINE = re.compile(r"[ \t]*[|:=*_+-][ \t|:=*_+-]{2,400}(?=[\r\n]|\Z)")
_NEWLINE = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_CANDIDATE = re.compile(
    rf"""[-\xac\xad{_DASHES}{_SINGLE}{_DOUBLE}{_INVISIBLE}{_SUPER}{_DOT}⁽†‡\[\]【<&\\*_`|!\s](?<![ ](?![\s\[【»]))""",
    re.IGNORECASE,
)
"""Where ``_SPECIAL`` can match: one class of characters, which is searched many times faster than its alternatives."""
_PLAIN = re.compile(r"[A-Za-z0-9.,;:()?!%$/=+\"@# '-]*\Z")
_NOT_PLAIN = re.compile(r"-(?:(?<![A-Za-z0-9]-)|(?![A-Za-z0-9]))|'(?:(?<![A-Za-z]')|(?![A-Za-z]))| (?:\Z| )|\A[ #+]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_RAISED_MARK = re.compile(rf"(?:\[(?:{_NUMBERS}|[a-z])\]|\[\[{_NUMBERS}\]\](?:{_URL})?|[†‡*§]{{1,3}})\Z")
_MAX_SCRIPT = 12
"""Characters of a raised or lowered text up to which it is one sign, and no words."""
_SUPER_DIGITS = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_SUB_DIGITS = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")
_UNIT_WORD = re.compile(
    r"(?:.|[cdkmnµμ]m|ft|in|mi|yd|kg|mg|sec|feet|foot|inch(?:es)?|miles?|yards?|[a-z]{0,5}met(?:re|er)s?|seconds?)\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """A folded text with the way back to the original.

    The way back is a list of segments: of an even segment each character stands for one original character, of the
    others the whole stands for the whole.
    """

    text: str
    """The folded text: no white space at its ends, single spaces inside."""
    has_wraps: bool = False
    """Whether a line-wrap hyphen was met, which may be a real hyphen, or markup right between two letters."""
    has_numbers: bool = False
    """Whether a line starts with a list's number, which a quote may leave out."""
    _folded: list[int] = field(default_factory=list, repr=False)
    _start: list[int] = field(default_factory=list, repr=False)
    _end: list[int] = field(default_factory=list, repr=False)
    _even: list[bool] = field(default_factory=list, repr=False)

    def original(self, start: int, end: int) -> Span:
        """Return the original range of a non-empty folded range."""
        first = bisect_right(self._folded, start) - 1
        last = bisect_right(self._folded, end - 1) - 1
        begin = self._start[first] + (start - self._folded[first] if self._even[first] else 0)
        stop = self._start[last] + end - self._folded[last] if self._even[last] else self._end[last]
        return Span(begin, stop)

    def find(self, needle: str, start: int = 0) -> int:
        """Return where a folded needle stands as whole tokens, at or after ``start``; -1 where it does not."""
        return find_tokens(self.text, needle, start)

    def span_of(self, needle: str, start: int = 0, stop: int | None = None) -> Span | None:
        """Return where a folded needle stands as whole tokens, between two places; None where it does not."""
        at = find_tokens(self.text, needle, start, stop)
        return Span(at, at + len(needle)) if at >= 0 else None


@remember(CACHE_CHARS)
def fold(text: str) -> Folded:
    r"""Return a text as a reader sees it, with the way back. Kept, so that each distinct passage is folded once.

    Linear in the text.

    >>> folded = fold("Either **party** may “termi-\nnate” it.")
    >>> folded.text
    'either party may "terminate" it.'
    >>> folded.original(7, 12)
    Span(start=9, end=14)
    """
    return _Folder(text).run()


def fold_text(text: str) -> str:
    """Return a text as a reader sees it, where nobody needs the way back.

    >>> fold_text("30 Days")
    '30 days'
    """
    return text.lower() if _is_plain(text) else fold(text).text


def _is_plain(text: str) -> bool:
    """Say whether folding a text takes no more than small letters, as it does of most."""
    return _PLAIN.match(text) is not None and _NOT_PLAIN.search(text) is None


WRAP = "\x00"
"""Stands for a line-wrap hyphen, a dash at a line's start, or markup right between two letters, in what is folded
loosely; no other fold leaves this character."""


@remember(CACHE_CHARS // 4)
def fold_loosely(text: str) -> Folded:
    r"""Return the reading of a text that leaves open whether a line-wrap hyphen, or markup inside a word, parts it.

    ``WRAP`` stands there.

    >>> fold_loosely("long-\nterm").text
    'long\x00term'
    """
    return _Folder(text, wrap=WRAP).run()


@remember(CACHE_CHARS // 4)
def fold_unnumbered(text: str) -> Folded:
    r"""Return the same reading without the numbers of a list at line starts, as one without its bullets.

    >>> fold_unnumbered("We pay:\n1. rent\n2. tax").text
    'we pay: rent tax'
    """
    return _Folder(text, wrap=WRAP, drops_numbers=True).run()


_LONE_DASHES = ("-", "–", "—")
_STANDS_FOR = {"bar": " ", "dash": "-", "guillemet": '"'}


class _Folder:
    """One pass over one text."""

    def __init__(self, text: str, *, wrap: str = "", drops_numbers: bool = False) -> None:
        self.text = text
        self.wrap = wrap
        self.drops_numbers = drops_numbers
        self.out: list[str] = []
        self.size = 0
        self.last = " "
        self.gap_from: int | None = None
        self.has_wraps = False
        self.has_numbers = False
        self.folded: list[int] = []
        self.start: list[int] = []
        self.end: list[int] = []
        self.even: list[bool] = []

    def run(self) -> Folded:
        text = self.text
        if _is_plain(text):
            return Folded(text.lower(), _folded=[0], _start=[0], _end=[len(text)], _even=[True])
        at = self.line_start(0)
        for candidate in _CANDIDATE.finditer(text, at):
            start = candidate.start()
            if start < at or (match := _SPECIAL.match(text, start)) is None:
                continue
            if start > at:
                self.plain(at, start)
            at = self.special(match)
        if at < len(text):
            self.plain(at, len(text))
        done = "".join(self.out).rstrip(" ")
        return Folded(done, self.has_wraps, self.has_numbers, self.folded, self.start, self.end, self.even)

    def special(self, match: re.Match[str]) -> int:  # noqa: C901, PLR0912 - one branch a kind of special place
        """Fold one special place and return where to go on."""
        start, end = match.span()
        kind = match.lastgroup or ""
        if kind == "space":
            return self.white_space(start, end)
        if kind == "script":
            return self.script_tag(start, end)
        if kind == "wrap":
            self.line_wrap(start, end)
        elif kind in {"ref", "url", "mark"}:
            self.gap(start)
            if kind == "ref" and self.text[start] == " " and end < len(self.text) and is_word_char(self.text[end]):
                self.put(" ", start, end)
        elif kind == "tag":
            if self.text[start : start + 4].casefold() == "<wbr":
                return end  # a place where a line may break, as a soft hyphen is one
            self.gap(start)
            if _BLOCK.match(self.text, start):
                self.put(" ", start, end)
        elif kind in _STANDS_FOR:
            self.put(_STANDS_FOR[kind], start, end)
        elif kind == "entity":
            self.entity(start, end)
        elif kind == "escape":
            self.escape(start, end)
        elif kind == "super":
            self.superscript(self.text[start:end], start, end)
        elif kind != "invisible":
            getattr(self, kind)(start, end)
        return end

    def line_wrap(self, start: int, end: int) -> None:
        """Fold a hyphen at a line's end: between small letters it is most often no part of the word."""
        left, right = self.neighbours(start, end)
        if self.text[start] in "\xac\xad":
            return
        self.has_wraps = True
        if not (left.isalpha() and right.isalpha()):
            self.put("-", start, end)
        else:
            self.put(self.wrap or ("-" if right.isupper() else ""), start, end)

    def escape(self, start: int, end: int) -> None:
        """Fold what a backslash keeps from being Markdown."""
        if self.text[start + 1] == "'":
            self.quote(start, end, "'")
        else:
            self.sign(self.text[start + 1], start, end)

    def sign(self, char: str, start: int, end: int) -> None:
        """Fold a sign that is written otherwise as it folds where it stands as it is."""
        if char in "*_`":
            self.emphasis(start, end, char)
        elif char in "[]":
            self.bracket(start, end, char)
        else:
            self.put(" " if char == "|" else char, start, end)

    def white_space(self, start: int, end: int) -> int:
        text = self.text
        if not _NEWLINE.search(text, start, end):
            self.put(" ", start, end)
            return end
        left = text[start - 1] if start else " "
        if end < len(text) and is_no_space(left) and is_no_space(text[end]):
            return end  # a line break inside a script without spaces separates nothing
        self.put(" ", start, end)
        return self.line_start(end)

    def line_start(self, at: int) -> int:
        """Return the place after what only marks a line: bullets, headings, block quotes, rules of a table."""
        rule = _RULE_LINE.match(self.text, at)
        if rule:
            return rule.end()
        match = _LINE_START.match(self.text, at)
        if match and self.wrap and self.size and match.group().rstrip()[-1:] in _LONE_DASHES:
            self.put(f"{self.wrap} ", at, match.end())  # a bullet, or a dash that a line happens to begin with
        at = match.end() if match else at
        if number := _LIST_NUMBER.match(self.text, at):
            self.has_numbers = True
            if self.drops_numbers:
                return number.end()
        return at

    def emphasis(self, start: int, end: int, sign: str = "") -> None:
        left, right = self.neighbours(start, end)
        bold = end - start > 1 and self.text[start] == "*" and left.isalpha() and right.isalpha()
        if (is_word_char(left) and is_word_char(right) and not bold) or (left.isspace() and right.isspace()):
            self.put(sign or self.text[start:end], start, end)
        else:
            self.gap(start)

    def bracket(self, start: int, end: int, sign: str = "") -> None:
        left, right = self.neighbours(start, end)
        opens = (sign or self.text[end - 1]) == "["
        if is_word_char(left if opens else right):
            self.put(sign or self.text[start:end], start, end)
        else:
            self.gap(start)

    def quote(self, start: int, end: int, sign: str = "") -> None:
        left, right = self.neighbours(start, end)
        if left == ";" and self.gap_from is None:
            left = self.last  # an entity, most likely
        if right == "&" and (entity := _ENTITY.match(self.text, end)):
            right = html.unescape(entity.group())[0]
        single = re.match(f"[{_SINGLE}]", sign or self.text[start]) is not None
        if (left.isalpha() and right.isalpha() and single) or (left.isnumeric() and single):
            self.put("'", start, end)
        else:
            self.put('"', start, end)

    def script_tag(self, start: int, end: int) -> int:
        """Fold ``<sup>2</sup>`` as ``²``, so that 10<sup>2</sup> is not 102, and take a reference mark out.

        Words that are raised fold as words; return where to go on.
        """
        inner = html.unescape(re.sub(r"<[^<>]*>", "", self.text[start:end])).strip()
        if _RAISED_MARK.match(inner):
            self.gap(start)
            return end
        if len(inner) > _MAX_SCRIPT or " " in inner:
            self.gap(start)
            return self.text.index(">", start) + 1
        if self.text[start + 3] not in "pP":
            self.put(inner.translate(_SUB_DIGITS).casefold(), start, end)
        else:
            self.superscript(inner.translate(_SUPER_DIGITS), start, end)
        return end

    def superscript(self, digits: str, start: int, end: int) -> None:
        """Take a superscript out where it is a reference mark: after a word that is no unit, or after a stop."""
        if digits.strip(_SUPER + _SUPER_SIGNS):
            self.put(digits.casefold(), start, end)
            return
        if follows_as_reference(self.text, start):
            self.gap(start)
        else:
            self.put(digits, start, end)

    def entity(self, start: int, end: int) -> None:
        raw = self.text[start:end]
        char = html.unescape(raw)
        if char == raw:
            self.plain(start, end)
        elif char.isspace():
            self.put(" ", start, end)
        elif re.fullmatch(f"[{_INVISIBLE}]+", char):
            return
        elif re.fullmatch(f"[{_DASHES}]", char):
            self.put("-", start, end)
        elif re.fullmatch(f"[{_SINGLE}{_DOUBLE}]", char):
            self.quote(start, end, char)
        else:
            self.sign(_compose(char), start, end)

    def neighbours(self, start: int, end: int) -> tuple[str, str]:
        left = self.text[start - 1] if start else " "
        right = self.text[end] if end < len(self.text) else " "
        return left, right

    def gap(self, start: int) -> None:
        """Note that something was taken out here: two words at its sides are not to be joined."""
        if self.gap_from is None:
            self.gap_from = start

    def put(self, piece: str, start: int, end: int) -> None:
        """Put out what stands for an original range as a whole."""
        if not piece:
            return
        self.close_gap(piece[0], start)
        if piece == " " and self.last == " ":
            return
        self.segment(start, end, even=len(piece) == 1 == end - start)
        self.out.append(piece)
        self.size += len(piece)
        self.last = piece[-1]

    def close_gap(self, first: str, start: int) -> None:
        if self.gap_from is None:
            return
        begin, self.gap_from = self.gap_from, None
        if is_word_char(self.last) and is_word_char(first):
            self.has_wraps = True
            self.segment(begin, start, even=False)
            self.last = self.wrap or " "
            self.out.append(self.last)
            self.size += 1

    def segment(self, start: int, end: int, *, even: bool) -> None:
        goes_on = even and self.even and self.even[-1] and self.end[-1] == start
        if goes_on and self.start[-1] + self.size - self.folded[-1] == start:
            self.end[-1] = end
            return
        self.folded.append(self.size)
        self.start.append(start)
        self.end.append(end)
        self.even.append(even)

    def plain(self, start: int, end: int) -> None:
        """Put out a stretch that holds nothing special."""
        if self.text[start] == " " and self.last == " ":
            start += 1
            if start == end:
                return
        piece = self.text[start:end]
        if piece.isascii():
            self.run_of(piece.lower(), start, end)
            return
        for begin, stop in _chunks(piece):
            chunk = piece[begin:stop]
            folded = chunk.casefold()
            if (
                len(folded) == len(chunk)
                and unicodedata.is_normalized("NFKC", chunk)
                and unicodedata.is_normalized("NFKC", folded)
            ):
                self.run_of(folded, start + begin, start + stop)
            else:
                self.clusters(chunk, start + begin)

    def run_of(self, folded: str, start: int, end: int) -> None:
        self.close_gap(folded[0], start)
        self.segment(start, end, even=True)
        self.out.append(folded)
        self.size += len(folded)
        self.last = folded[-1]

    def clusters(self, chunk: str, offset: int) -> None:
        at = 0
        while at < len(chunk):
            stop = at + 1
            while stop < len(chunk) and stop - at < _MAX_CLUSTER and _continues(chunk[stop]):
                stop += 1
            piece = _compose(chunk[at:stop])
            if piece.isspace():
                piece = " "
            self.put(piece, offset + at, offset + stop)
            at = stop


def follows_as_reference(text: str, at: int) -> bool:
    """Say whether a superscript at a place is a reference mark: after a stop or a word, not after a number or a unit.

    >>> follows_as_reference("due¹", 3), follows_as_reference("10 km²", 5), follows_as_reference("10²", 2)
    (True, False, False)
    """
    before = text[max(0, at - 12) : at]
    if before[-1:] in set('.,;:!?)"”’»'):
        return True
    word = re.search(rf"[^\W\d_{_SUPER}]+\Z", before)
    return word is not None and _UNIT_WORD.match(word.group()) is None


_MAX_CLUSTER = 31
"""A letter and thirty marks, as Unicode's stream-safe format has it: more would make normalization quadratic."""
_CHUNK = 256


def _chunks(text: str) -> list[tuple[int, int]]:
    """Return ranges of a text that are short and do not part a letter from its marks."""
    ranges, at = [], 0
    while at < len(text):
        stop = min(at + _CHUNK, len(text))
        while stop < len(text) and stop < at + _CHUNK + _MAX_CLUSTER and _continues(text[stop]):
            stop += 1
        ranges.append((at, stop))
        at = stop
    return ranges


def _continues(char: str) -> bool:
    """Say whether a character may compose with the one before it."""
    if char < "\u0300":
        return False
    return (
        "\u1160" <= char <= "\u11ff"
        or char in "\uff9e\uff9f"
        or unicodedata.combining(char) != 0
        or unicodedata.category(char)[0] == "M"
    )


def _compose(cluster: str) -> str:
    """Return one letter with its marks in NFKC and folded case, superscripts, subscripts and fractions kept."""
    text = unicodedata.normalize("NFC", "".join(_expand(char) for char in cluster)).casefold()
    return unicodedata.normalize("NFC", text)


@lru_cache(maxsize=4096)
def _expand(char: str) -> str:
    """Return a character's compatibility decomposition; superscripts, subscripts and fractions are left as they are."""
    decomposition = unicodedata.decomposition(char)
    if not decomposition or decomposition.startswith(("<super>", "<sub>", "<fraction>", "<compat> 0020 ")):
        return char  # the last are accents that stand alone: as NFKC has them they would part a word
    codes = [part for part in decomposition.split() if not part.startswith("<")]
    return "".join(_expand(chr(int(code, 16))) for code in codes)
