"""Cuts: the words that a quote must not leave out, inside its ellipsis or right beside it, in several languages.

Where a quote stands is said in ``provenance.py``; what negations and qualifiers mean for a claim in ``support``.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left

import re2

from spancheck_pipeline.evidence.text import Span, sentences

_EDGES = (r"(?<!\w)(?:", r")(?!\w)")

_NEGATES = (
    "not|never|no|nor|neither|none|nobody|nothing|nowhere|without|cannot|hardly|scarcely|barely|rarely|seldom|"
    r"\w+n't|"
    "nicht|nichts|niemand|kein[a-z]*|nie|niemals|nirgends|ohne|kaum|weder|"
    r"ne|n'\w+|non(?!-)|pas|jamais|sans|aucun[a-z]*|nul|nulle|guere|guère|ni|rien|personne ne|"
    r"nunca|jamás|sin|tampoco|nadie|ningun[a-z]*|ningún|apenas|"
    "não|nem|nenhum[a-z]*|ninguém|jamais|tampouco|sem|"
    "senza|nessun[a-z]*|niente|neppure|nemmeno|neanche|"
    "niet|geen|nooit|niemand|niets|zonder|nauwelijks|"
    "inte|icke|aldrig|aldri|ikke|ingen|inga|inget|intet|utan|uden|uten|"
    "nigdy|bez|ani|żaden|żadn[a-z]*|değil|hiç|"
    "не|нет|ни|никогда|никто|ничего|никак[а-я]*|нельзя|без|едва|ні|ніколи|"
    "δεν|μη|μην|ποτέ|χωρίς|ούτε|לא|אין|ללא|בלי|"
    "لا|ليس|ليست|لم|لن|غير|بدون|دون|نیست|बिना|नहीं|मत|"
    "không|chưa|chẳng|tidak|bukan|jangan|tanpa|안|못"
)
"""Words that turn a sentence."""

_NEGATES_UNSPACED = r"[不没沒無无非未勿]|ない|ません|なかった|なく|決して|않|없|아니|ไม่|มิได้"

_QUALIFIES = (
    "except|excepting|excluding|unless|only if|only when|only where|only after|provided|providing that|but not|"
    "but only|but never|but no|other than|save for|save that|subject to|as long as|so long as|on condition|"
    "on the condition|with the exception|in no event|not including|barring|apart from|notwithstanding|however,? not|"
    "though not|although not|if|"
    "es sei denn|ausser|außer|sofern|soweit|ausgenommen|mit ausnahme|nur wenn|vorbehaltlich|wenn|falls|"
    "sauf|excepté|à moins|à condition|hormis|sous réserve|s'il|s'ils|"
    r"si (?:le|la|les|l'\w+|il|elle|ils|elles|on|vous|un|une|el|los|las|ambos|ambas|no|se|hay)|"
    "a menos|salvo|excepto|siempre que|a condición|con la condición|con excepción|"
    "exceto|desde que|a menos|caso (?:o|a|os|as|não|haja)|"
    "a meno che|tranne|eccetto|purché|a condizione|ad eccezione|"
    r"se (?:il|i|gli|l'\w+|non|o|os|as|não|entrambe|entrambi|ambos|ambas|houver)|"
    "tenzij|behalve|mits|indien|uitgezonderd|als (?:de|het|een|hij|zij|u)|"
    "om inte|förutom|utom|såvida|med undantag|hvis|undtagen|unntatt|medmindre|med mindre|"
    "chyba że|z wyjątkiem|oprócz|pod warunkiem|jeżeli|jeśli|hariç|"
    "кроме|за исключением|если|при условии|разве что|только если|крім|якщо|"
    "εκτός|εάν|אלא אם|למעט|בתנאי|إلا|باستثناء|بشرط|ما لم|trừ|nếu|kecuali|jika"
)
"""What may follow a quote in its sentence and change what it says."""

_QUALIFIES_UNSPACED = (
    "除非|除了|除外|例外|但不|但是不|如果|只要|前提|ただし|但し|を除|除いて|に限り|場合に限|"
    "않는 한|제외|다만|경우에 한|ยกเว้น|เว้นแต่"
)

_LIMITS = (
    "unlikely|unable|impossible|prohibit(?:s|ed)?|forbid(?:s|den)?|void|fails?|failed|refuses?|refused|lacks?|"
    "denie[sd]|deny|false|untrue|excludes?|only|solely|"
    "nur|lediglich|ausschließlich|ausschliesslich|seulement|uniquement|sólo|solo|solamente|únicamente|soltanto|"
    "solamente|somente|slechts|alleen|endast|bara|kun|tylko|только|лишь"
)
"""What an ellipsis must not swallow besides."""

_HIDDEN = re.compile(
    "|".join(
        (
            f"{_EDGES[0]}{_NEGATES}|{_LIMITS}|{_QUALIFIES}{_EDGES[1]}",
            _NEGATES_UNSPACED,
            _QUALIFIES_UNSPACED,
        )
    )
)
_AFTER = re.compile(f"{_EDGES[0]}{_QUALIFIES}{_EDGES[1]}|{_QUALIFIES_UNSPACED}")
_MAY_FOLLOW = re2.compile(f"{_QUALIFIES}|{_QUALIFIES_UNSPACED}")
"""The same without its edges, which RE2 looks for many times faster: after most quotes there is no such word."""
_TRAILS = re.compile(r"[\s,]*(?:nicht|niet|inte|ikke)\s*(?:[.,;:!?]|\Z)")
"""A negation that stands behind all that it negates, and ends its clause."""
_BEFORE = re.compile(
    rf"(?<!\w)(?:{_NEGATES}|unless|except|not the case that|not true that|false that|untrue that|denie[sd] that),?\s+\Z"
    rf"|(?<!\w)n'\Z|(?:[不没沒無无未勿]|ไม่)\Z"
)
_MARKUP = re.compile(r"[\s*_`~]+")
_REACH = 40
"""Characters before a quote that are read."""


def hidden_in(gap: str) -> str:
    """Return the first word of a folded gap that an ellipsis must not swallow; empty where it holds none.

    >>> hidden_in(" not "), hidden_in(" the knot ")
    ('not', '')
    """
    found = _HIDDEN.search(gap)
    return found.group() if found else ""


def cut_warnings(passage: str, span: Span) -> tuple[str, ...]:
    """Return what the source sentence says around a quote that the quote leaves out.

    ``cut_before_qualifier``: the rest of the sentence holds except, unless, only if …, or is a negation that stands
    behind what it negates. ``cut_after_negation``: the word right before the quote is a negation.
    """
    spans = sentences(passage)
    sentence_end, sentence_start = len(passage), 0
    first, last = bisect_left(spans, (span.start + 1,)) - 1, bisect_left(spans, (span.end,)) - 1
    if first >= 0 and span.start < spans[first].end:
        sentence_start = spans[first].start
    if last >= 0 and span.end <= spans[last].end:
        sentence_end = spans[last].end
    warnings: list[str] = []
    after = _seen(passage[span.end : sentence_end])
    if after and _qualifies(after):
        warnings.append("cut_before_qualifier")
    before = passage[max(sentence_start, span.start - _REACH) : span.start]
    if before and _BEFORE.search(_seen(before)):
        warnings.append("cut_after_negation")
    return tuple(warnings)


def _qualifies(after: str) -> bool:
    if _TRAILS.match(after):
        return True
    return bool(_MAY_FOLLOW.search(after.encode("utf-8", "replace")) and _AFTER.search(after))


def _seen(text: str) -> str:
    """Return small letters without line breaks and emphasis, which is what these words need of folding."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("’", "'")
    return _MARKUP.sub(" ", text.casefold())
