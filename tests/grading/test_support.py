"""Support: claims against evidence, and the token that decides."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.grading.support import check_support, says_something


def test_a_claim_that_stands_in_the_evidence_is_supported():
    support = check_support("The notice period is 30 days.", "The notice period is thirty (30) days.")
    assert (support.supported, support.value, support.reasons, support.best) == (True, 1.0, (), 0)


def test_the_value_is_worked_by_hand():
    # Content: pays, rent, garden, roof = 4 stems. Best single sentence has 2 (pays, rent); best three in a row have 3
    # (garden as well): (2 + 2 * 3) / 3 / 4 = 2/3.
    support = check_support("She pays rent, garden, roof.", "She pays the rent. It has a garden. Nothing else.")
    assert support.value == pytest.approx(2 / 3)


SUPPORTED = [
    ("The warranty lasts three years.", "The warranty lasts 3 years from delivery."),
    ("The notice period is thirty days.", "The notice period is 30.0 days."),
    ("Die Gebühr beträgt 1,5 Prozent.", "Die Gebühr beträgt 1.5 %."),
    ("Revenue was €3 million.", "Revenue was 3,000,000 EUR."),
    ("The term is 3-5 years.", "The term is 3 to 5 years."),
    ("The dose is 5 mg daily.", "The dose is 0.005 g daily."),
    ("The lease ends on 14 March 2026.", "The lease ends on March 14th, 2026."),
    ("The lease ends on 14.03.2026.", "The lease ends on 2026-03-14."),
    ("The lease ends in March 2026.", "The lease ends on 2026-03-14."),
    ("The tenant can't terminate the lease.", "The tenant cannot terminate the lease."),
    ("The contract renews automatically.", "This contract shall be renewed automatically."),
    ("Nobody may smoke here.", "No one may smoke here."),
    ("有效期为3年", "有效期为三年"),
    ("สัญญาเช่ามีผลบังคับใช้", "สัญญาเช่ามีผลบังคับใช้ตั้งแต่วันนี้"),
    ("العقد ساري المفعول", "العقد ساري المفعول لمدة سنة"),
]
NOT_SUPPORTED = [
    ("The notice period is 30 days.", "The notice period is 45 days.", "30 days"),
    ("Die Gebühr beträgt 1,5 Prozent.", "Die Gebühr beträgt 15 Prozent.", "1,5 prozent"),
    ("Revenue was 3 million euros.", "Revenue was 3 billion euros.", "3 million"),
    ("Revenue was $3 million.", "Revenue was €3 million.", "$3 million"),
    ("The term is 4 years.", "The term is 3-5 years.", "4 years"),
    ("Water boils at 100 °C.", "Water boils at 100 °F.", "100 °c"),
    ("The lease ends in April 2026.", "The lease ends on 2026-03-14.", "april 2026"),
    ("The shop opens at 9:30.", "The shop opens at 10:30.", "9:30"),
    ("The train leaves at 5 pm.", "The train leaves at 5 am.", "5 pm"),
    ("Q3 revenue was 5 million.", "Q2 revenue was 5 million.", "q3"),
    ("The tenant pays utilities.", "The tenant never pays utilities.", "not"),
    ("The device meets the standard.", "The device fails to meet the standard.", "not"),
    ("Rent is due without notice.", "Rent is due with notice.", "not"),
    ("The buyer isn't required to pay the tax.", "The buyer is required to pay the tax.", "not"),
    ("Der Mieter haftet nicht für das Dach.", "Der Mieter haftet für das Dach.", "not"),
    ("Арендатор не платит аренду.", "Арендатор платит аренду.", "not"),
    ("合同不生效", "合同生效", "合同不生效"),
    ("Sales rose in 2023.", "Sales fell in 2023.", "fell"),
    ("Pay the rent before signing.", "Pay the rent after signing.", "after"),
    ("The minimum deposit is 500 euros.", "The maximum deposit is 500 euros.", "maximum"),
    ("Notice is at least 30 days.", "Notice is at most 30 days.", "most"),
    ("It is legal to sublet the flat.", "It is illegal to sublet the flat.", "legal"),
    ("The deposit is refundable.", "The deposit is non-refundable.", "refundable"),
    ("Globex Inc signed the contract in Berlin.", "Initech Inc signed the contract in Berlin.", "globex"),
    ("The contract was signed in Paris.", "The contract was signed in Berlin.", "paris"),
    ("John approved the loan request.", "Mary approved the loan request.", "john"),
    ("Луна сделана из сыра", "Договор вступает в силу с 1 января", "луна"),
    ("月亮是由奶酪做的", "合同于一月一日生效", "月亮"),
]


@pytest.mark.parametrize(("claim", "evidence"), SUPPORTED)
def test_the_same_in_other_words_is_supported(claim, evidence):
    assert check_support(claim, evidence).supported is True


@pytest.mark.parametrize(("claim", "evidence", "token"), NOT_SUPPORTED)
def test_what_differs_is_not_supported_and_the_reason_names_the_token(claim, evidence, token):
    support = check_support(claim, evidence)
    assert support.supported is False
    assert any(token in reason for reason in support.reasons)


@pytest.mark.parametrize("claim", ["", "...", "!!!", "the of and", "\u200b"])
def test_a_claim_with_no_content_is_unmeasured(claim):
    assert check_support(claim, "Anything.").supported is None
    assert not says_something(claim)


@pytest.mark.parametrize("evidence", ["", [], ["", " "]])
def test_no_evidence_is_unmeasured(evidence):
    assert check_support("Rent is due.", evidence).supported is None


def test_the_best_passage_is_told():
    support = check_support("Rent is due monthly.", ["Pets are allowed.", "The rent is due monthly.", "Rent is due."])
    assert (support.supported, support.best) == (True, 1)


def test_a_decisive_objection_holds_under_any_threshold():
    assert check_support("It takes 30 days.", "It takes 45 days.", threshold=0.0).supported is False


def test_a_claim_may_be_told_by_passages_together():
    # Content: rent, due, monthly, pets, allowed; no passage has more than three of them.
    passages = ["The rent is due monthly.", "Pets are allowed."]
    assert check_support("Rent is due monthly and pets are allowed.", passages).supported is True


@given(st.text(max_size=80))
def test_a_text_never_contradicts_itself(text):
    support = check_support(text, text)
    assert support.value is None or support.value >= 0.0


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=3))
def test_a_value_is_a_share_and_the_same_every_time(claim, evidence):
    first, second = check_support(claim, evidence), check_support(claim, evidence)
    assert first == second
    assert first.value is None or 0.0 <= first.value <= 1.0
    assert (first.value is None) == (first.supported is None)


WORDS = st.lists(st.sampled_from(["tenant", "rent", "roof", "pays", "garden", "monthly"]), min_size=3, max_size=8)


@given(WORDS, WORDS)
def test_more_evidence_in_the_same_sentence_never_takes_coverage_away(claim, more):
    told = " ".join(claim)
    assert (check_support(told, told + " " + " ".join(more) + ".").value or 0) >= 1.0 - 1e-9


@pytest.mark.parametrize("unit", ["a ", "3-", "q3 ", "Aa Bb. ", "march 1 "])
def test_time_grows_no_faster_than_the_text(unit):
    def per_char(size):
        text = (unit * size)[:size]
        started = time.process_time()
        check_support(text, [text + "x", "other"])
        return (time.process_time() - started) / size

    per_char(1000)
    assert per_char(50_000) <= 5 * max(per_char(9_999), per_char(10_000)) + 2e-6
