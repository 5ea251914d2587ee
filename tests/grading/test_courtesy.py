"""Courtesies: what says nothing, and what only begins so."""

from __future__ import annotations

import pytest

from spancheck_pipeline.grading.courtesy import LONGEST, is_courtesy


def test_a_courtesy_says_nothing() -> None:
    assert is_courtesy("Happy to help!")


@pytest.mark.parametrize(
    "sentence",
    [
        "Great question!",
        "Please contact the landlord for more information.",
        "If you have any other questions, feel free to ask.",
        "Ich hoffe, das hilft Ihnen weiter.",
        "Gerne!",
        "N'hésitez pas à me poser d'autres questions.",
        "Espero que esto te ayude.",
        "Spero che questo ti sia utile.",
        "Espero que isso ajude!",
        "Ik hoop dat dit helpt.",
        "Mam nadzieję, że to pomoże.",
        "Надеюсь, это поможет!",
        "希望这对您有帮助。",
        "お役に立てれば幸いです。",
        "도움이 되었기를 바랍니다.",
        "آمل أن يساعدك هذا.",
    ],
)
def test_every_language_has_its_courtesies(sentence: str) -> None:
    assert is_courtesy(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The rent is 900 euros.",
        "Happy to help: the tenant pays for water.",
        "Thanks to section 4 the deposit is refunded.",
        "Please contact the landlord in writing.",
        "Please contact us for more information within 14 days.",
        "Merci de prévenir le bailleur avant les travaux.",
        "Gerne darf der Mieter einen Hund halten.",
        "Great question! " + "The tenant pays. " * (LONGEST // 10),
    ],
)
def test_what_asserts_something_is_none(sentence: str) -> None:
    assert not is_courtesy(sentence)
