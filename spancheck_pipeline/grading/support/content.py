"""Content: the words of a text that say something, as stems, sentence by sentence.

Numbers, dates, names and polarity are read in the modules beside this one, from the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from spancheck_pipeline.evidence.text import is_no_space

STOP_WORDS = frozenset(
    # English
    ["a", "an", "the", "and", "or", "but", "if", "then", "than", "that", "this", "these", "those", "there", "here", "it", "its", "itself", "he", "him", "his", "she", "her", "hers", "they", "them", "their", "theirs", "we", "us", "our", "ours", "you", "your", "yours", "i", "me", "my", "mine", "who", "whom", "whose", "which", "what", "when", "where", "why", "how", "is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "doing", "done", "have", "has", "had", "having", "will", "would", "shall", "should", "can", "could", "may", "might", "must", "of", "in", "on", "at", "to", "from", "by", "with", "as", "for", "into", "onto", "about", "over", "under", "up", "down", "out", "off", "through", "during", "after", "before", "between", "also", "such", "so", "too", "very", "just", "even", "both", "each", "either", "any", "some", "all", "most", "more", "much", "many", "other", "others", "another", "same", "own", "one's", "it's", "that's", "there's", "he's", "she's", "they're", "we're", "you're", "i'm", "i've", "we've", "they've", "upon", "per", "via", "within", "among", "anyone", "someone", "everyone", "anybody", "somebody", "everybody", "one", "however", "therefore", "thus", "while", "whereas", "because", "since", "although", "though", "until", "whether", "yet", "still", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "und", "oder", "aber", "ist", "sind", "war", "waren", "wird", "werden", "wurde", "wurden", "hat", "haben", "hatte", "im", "am", "zum", "zur", "von", "vom", "bei", "mit", "nach", "aus", "auf", "für", "über", "unter", "durch", "als", "wie", "auch", "sich", "es", "sie", "er", "wir", "ihr", "le", "la", "les", "un", "une", "des", "du", "de", "et", "ou", "mais", "est", "sont", "été", "était", "être", "a", "ont", "avait", "au", "aux", "dans", "sur", "pour", "par", "avec", "ce", "cette", "ces", "il", "elle", "ils", "elles", "on", "se", "sa", "son", "ses", "leur", "leurs", "qui", "que", "dont", "où", "el", "los", "las", "y", "o", "pero", "es", "son", "fue", "era", "ser", "ha", "han", "había", "en", "por", "para", "con", "su", "sus", "se", "lo", "al", "del", "una", "unos", "unas", "como", "il", "lo", "gli", "i", "e", "è", "sono", "stato", "era", "essere", "ha", "hanno", "nel", "nella", "di", "da", "con", "su", "per", "che", "si", "al", "dal", "alla", "os", "as", "um", "uma", "são", "foi", "ser", "tem", "no", "na", "nos", "nas", "ao", "à", "do", "da", "dos", "das", "com", "seu", "sua", "het", "een", "en", "zijn", "was", "werd", "heeft", "hebben", "van", "op", "te", "voor", "met", "aan", "door", "om", "и", "в", "во", "на", "с", "со", "к", "ко", "по", "о", "об", "от", "до", "за", "из", "у", "а", "но", "или", "что", "как", "это", "его", "ее", "её", "их", "он", "она", "они", "мы", "вы", "я", "бы", "же", "ли"]
)
"""Words that only hold a sentence together. Negations stand in a list of their own."""

NEGATIONS = frozenset(
    ["not", "never", "no", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "cannot", "cant", "dont", "isnt", "hardly", "scarcely", "barely", "non", "lack", "lacks", "lacked", "lacking", "unable", "absent", "nicht", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "niemand", "nichts", "ohne", "weder", "pas", "jamais", "aucun", "aucune", "sans", "rien", "nunca", "jamás", "ningún", "ninguna", "ninguno", "nada", "sin", "tampoco", "não", "nem", "nenhum", "nenhuma", "sem", "mai", "senza", "nessun", "nessuno", "nessuna", "niet", "geen", "nooit", "zonder", "не", "нет", "ни", "никогда", "без", "никто", "ничего", "nie", "bez"]
)
"""Words that turn what follows them; how far they reach is said in ``polarity.py``. A contraction in n't counts as well."""


def is_negation(token: str) -> bool:
    """Say whether a folded word turns what follows it.

    >>> is_negation("isn't"), is_negation("never"), is_negation("knot")
    (True, True, False)
    """
    return token in NEGATIONS or token.endswith("n't")


_IRREGULAR = {
    form: base
    for base, forms in {
        "begin": "began begun", "buy": "bought", "build": "built", "bring": "brought", "come": "came", "choose":
        "chose chosen", "die": "died dying", "drive": "drove driven", "fall": "fell fallen", "find": "found", "fly":
        "flew flown", "fight": "fought", "get": "got gotten", "give": "gave given", "go": "went gone", "grow":
        "grew grown", "hold": "held", "keep": "kept", "know": "knew known", "lead": "led", "leave": "left", "lose": "lost",
        "make": "made", "mean": "meant", "meet": "met", "pay": "paid", "rise": "rose risen", "run": "ran", "say": "said",
        "see": "saw seen", "sell": "sold", "send": "sent", "show": "shown", "sing": "sang sung", "speak": "spoke spoken",
        "spend": "spent", "stand": "stood", "take": "took taken", "teach": "taught", "tell": "told", "think": "thought",
        "win": "won", "write": "wrote written", "man": "men", "woman": "women", "child": "children", "person": "people",
        "foot": "feet", "tooth": "teeth", "mouse": "mice", "country": "countries", "wear": "wore worn", "draw": "drew drawn",
        "throw": "threw thrown", "break": "broke broken", "eat": "ate eaten", "feed": "fed", "feel": "felt", "become":
        "became", "steal": "stole stolen", "swim": "swam swum", "bear": "bore born borne", "shoot": "shot", "bind": "bound",
    }.items()
    for form in forms.split()
}  # fmt: skip

_GRAM = 2
"""Letters of a piece of a script without spaces."""


def stems_of(tokens: Iterable[str]) -> Iterator[str]:
    """Yield the stems of the content words among folded words; of scripts without spaces, the pairs of letters."""
    for token in tokens:
        if is_no_space(token[0]):
            yield from _grams(token)
            continue
        bare = _JOINED.sub("", token)
        if bare and bare not in STOP_WORDS and not is_negation(bare):
            yield stem(bare)


_JOINED = re.compile(r"[’']s\Z|[’']\Z")


def _grams(run: str) -> Iterator[str]:
    if len(run) < _GRAM:
        yield run
    for at in range(len(run) - _GRAM + 1):
        yield run[at : at + _GRAM]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return what a word's forms have in common: of English its light stem, of other alphabets its first letters.

    >>> stem("renewed"), stem("renews"), stem("policies"), stem("running"), stem("договора")
    ('renew', 'renew', 'polici', 'run', 'догов')
    """
    if not word.isascii():
        return word if len(word) <= 5 or any(char.isdigit() for char in word) else _other(word)  # noqa: PLR2004 - short words are their own stems
    if len(word) <= 3 or not word.isalpha():  # noqa: PLR2004 - as above
        return word
    if word in _IRREGULAR:
        word = _IRREGULAR[word]
    return _english(word)


def _other(word: str) -> str:
    if word[0] < "\u0250":
        return _english(word)
    return word[:5]


_SUFFIXES = (
    ("ization", "ize"), ("isation", "ize"), ("ically", "ic"), ("fulness", "ful"), ("ousness", "ous"), ("iveness", "ive"),
    ("ational", "ate"), ("ations", "ate"), ("ation", "ate"), ("ators", "ate"), ("ator", "ate"), ("ating", "ate"),
    ("ated", "ate"), ("ates", "ate"), ("ities", ""), ("ity", ""), ("ments", ""), ("ment", ""), ("nesses", ""), ("ness", ""),
    ("ingly", ""), ("edly", ""), ("ally", ""), ("ably", ""), ("ibly", ""), ("ance", ""), ("ence", ""), ("ables", ""),
    ("able", ""), ("ible", ""), ("ions", ""), ("ion", ""), ("ings", ""), ("ing", ""), ("ies", "y"), ("ied", "y"),
    ("ers", ""), ("er", ""), ("ors", ""), ("or", ""), ("ed", ""), ("ly", ""), ("es", ""), ("al", ""), ("ic", ""), ("s", ""),
)  # fmt: skip


def _english(word: str) -> str:
    for suffix, left in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:  # noqa: PLR2004 - a stem keeps three letters
            if suffix == "s" and word[-2] in "su":
                break
            word = word[: len(word) - len(suffix)] + left
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":  # noqa: PLR2004 - running, run
        word = word[:-1]
    if len(word) > 3 and word[-1] == "e":  # noqa: PLR2004 - as above
        word = word[:-1]
    if len(word) > 3 and word[-1] == "y":  # noqa: PLR2004 - as above
        word = word[:-1] + "i"
    return word[:-2] if word.endswith("at") and len(word) > 5 else word  # noqa: PLR2004 - terminate, termination
