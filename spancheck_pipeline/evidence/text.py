"""Text as this project reads it: one front for words, sentences and folding.

Words of any script live in ``word.py``, sentences in ``sentence.py``, folding (what a reader does not see is taken
away, with the way back to the original) in ``folding.py``; markers such as ``[2]`` live in ``citation.py``.
"""

from __future__ import annotations

from spancheck_pipeline.evidence.folding import Folded, fold, fold_loosely, fold_text, fold_unnumbered
from spancheck_pipeline.evidence.sentence import sentences
from spancheck_pipeline.evidence.word import (
    PerWord,
    Span,
    Word,
    count_words,
    each_word,
    first_word,
    is_no_space,
    is_word_char,
    remember,
    word_starts,
    word_texts,
    words,
)

__all__ = [
    "Folded", "PerWord", "Span", "Word", "count_words", "each_word", "first_word", "fold", "fold_loosely",
    "fold_text", "fold_unnumbered", "is_no_space", "is_word_char", "remember", "sentences", "word_starts",
    "word_texts", "words",
]  # fmt: skip
