"""Presidio as a further detector of personal data, for those who have installed it (the extra ``presidio``).

``no_pii: {detector: presidio}`` names ``PresidioDetector``. What the grader itself looks for lives in
``grading/pii.py``; what a find means for a score in ``grading/graders/no_pii.py``. Nothing is downloaded: where no
spaCy model of the language is installed, Presidio's patterns and check digits work alone, and names are not found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from spancheck_pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS: Final = {
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "IBAN_CODE": "iban",
    "CREDIT_CARD": "payment_card",
    "IP_ADDRESS": "ip_address",
    "ES_NIE": "es_nie",
    "ES_NIF": "es_dni",
    "IT_FISCAL_CODE": "it_codice_fiscale",
    "PL_PESEL": "pl_pesel",
    "UK_NHS": "gb_nhs",
    "US_ITIN": "us_itin",
    "US_SSN": "us_ssn",
}
"""Presidio's name → the grader's own of what the grader finds itself. Every other kind is called as Presidio calls it,
in lower case (``person``). By itself Presidio is not asked for these: it takes any ten digits with the right check
digit for a health number, order numbers among them."""

LEFT_OUT: Final = ("DATE_TIME", "LOCATION", "NRP", "ORGANIZATION", "URL", "UUID")
"""What is nobody's personal data by itself: without more, every dated or linked answer would fail."""

_SIZES = ("lg", "md", "sm", "trf")
_SOURCES = ("web", "news")
_PIECE = 10_000
"""Characters that Presidio reads at once: some of its steps take time with the square of a text's length."""


@dataclass(frozen=True)
class PresidioDetector:
    """Text → (kind, start, end) of what Presidio recognizes, with a score of at least ``threshold``.

    Its fields, the versions found at hand among them, stand in the grader's spec. With other settings it is made in a
    suite's own module: ``detector = PresidioDetector(language="de")``, and ``detector: detectors.py:detector``.
    """

    language: str = "en"
    threshold: float = 0.5
    """Presidio's score, 0 to 1, after it has looked for words of context."""
    entities: tuple[str, ...] = ()
    """Presidio's names of what is looked for; empty: all but ``LEFT_OUT`` and what the grader finds (``KINDS``)."""
    model: str | None = None
    """An installed spaCy model; None: the largest one of the language that is installed, or none at all."""
    library: str = field(init=False)
    """Version of presidio-analyzer."""
    nlp: str = field(init=False)
    """The spaCy model with its version, or ``none``."""
    recognizers: tuple[str, ...] = field(init=False)
    """Each recognizer with its version."""

    def __post_init__(self) -> None:
        """Build the analyzer, so that what is missing is said before anything is graded.

        Raises:
            UsageError: where Presidio, the model or an entity's recognizer is not there.
        """
        try:
            library = metadata.version("presidio-analyzer")
            model = self.model or _installed_model(self.language)
            analyzer = _analyzer(self.language, model)
        except ImportError as error:  # PackageNotFoundError is one
            raise UsageError(
                "presidio is not installed; it comes with the extra: pip install 'spancheck-pipeline[presidio]'"
            ) from error
        except OSError:
            raise UsageError(f"the spaCy model {str(self.model)[:80]!r} is not installed") from None
        known = sorted(set(analyzer.get_supported_entities(self.language)))
        if unknown := [name for name in self.entities if name not in known]:
            raise UsageError(f"presidio has no entity {unknown[0][:40]!r} here; it has {', '.join(known)}")
        wanted = self.entities or tuple(name for name in known if name not in (*LEFT_OUT, *KINDS))
        found = analyzer.registry.get_recognizers(self.language, entities=list(wanted))
        names = sorted({f"{recognizer.name} {recognizer.version}" for recognizer in found})
        for name, value in (
            ("entities", tuple(sorted(wanted))),
            ("library", library),
            ("nlp", "none" if model is None else f"{model} {metadata.version(model)}"),
            ("recognizers", tuple(names)),
            ("model", model),
        ):
            object.__setattr__(self, name, value)

    def __call__(self, text: str) -> list[tuple[str, int, int]]:
        """Return kind and place of each find, in order."""
        analyzer = _analyzer(self.language, self.model)
        found = {
            (KINDS.get(item.entity_type, item.entity_type.lower()), start + item.start, start + item.end)
            for start, end in _pieces(text)
            for item in analyzer.analyze(
                text[start:end], self.language, entities=list(self.entities), score_threshold=self.threshold
            )
        }
        return sorted(found, key=lambda item: (item[1], -item[2], item[0]))


def _installed_model(language: str) -> str | None:
    import spacy

    names = (f"{language}_core_{source}_{size}" for size in _SIZES for source in _SOURCES)
    return next((name for name in names if spacy.util.is_package(name)), None)


@lru_cache(maxsize=8)
def _analyzer(language: str, model: str | None) -> Any:
    """Return Presidio's analyzer over a spaCy model, or over bare words where there is none."""
    import spacy
    import tldextract
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    # Presidio's check of e-mail addresses would fetch the list of public suffixes; the packaged one is the same always.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    engine = SpacyNlpEngine(models=[{"lang_code": language, "model_name": model or "blank"}])
    engine.nlp = {language: spacy.load(model) if model else _bare_words(spacy.blank(language))}
    registry = RecognizerRegistry(supported_languages=[language])
    registry.load_predefined_recognizers(languages=[language], nlp_engine=engine)
    if model is None:
        registry.remove_recognizer("SpacyRecognizer")
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=[language])


def _bare_words(nlp: Any) -> Any:
    """Let a blank pipeline give each word as its own lemma, by which Presidio finds words of context."""
    from spacy.language import Language

    if not Language.has_factory("spancheck_bare_words"):
        Language.component("spancheck_bare_words", func=_own_lemmas)
    nlp.add_pipe("spancheck_bare_words")
    return nlp


def _own_lemmas(doc: Any) -> Any:
    for token in doc:
        token.lemma_ = token.lower_
    return doc


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of pieces of bounded length, cut at white space where there is some."""
    cuts = [0]
    while len(text) - cuts[-1] > _PIECE:
        end = cuts[-1] + _PIECE
        at = max(text.rfind(mark, cuts[-1] + _PIECE // 2, end) for mark in ("\n", " "))
        cuts.append(end if at < 0 else at)
    yield from pairwise([*cuts, len(text)])
