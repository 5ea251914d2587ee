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
    ("The church was built in 1500 AD.", "The church was built in 1500 A.D."),
    ("President Truman told Congress that aid was needed.", "Truman told Congress that aid was needed."),
    ("Harry Truman signed the aid bill.", "President Truman signed the aid bill."),
    ("A 401(k) plan lets employees save.", "A 401k plan lets employees save."),
    ("A 401k plan lets employees save.", "A 401(k) plan lets employees save."),
    ("Section 12 applies to all tenants.", "Section 12(a) applies to all tenants."),
    ("She appears in Season 9-10 of the show.", "She appears in seasons nine and ten of the show."),
    ("Call (510) 208-4832 for the library.", "Call the library: (510) 208-4832https://x.gov/"),
    ("**Tax Benefits:** Mortgage interest is tax-deductible.", "In the U.S., mortgage interest is tax deductible."),
    (
        "It was meant to regulate trade rather than to raise revenue.",
        "It was not meant for the purpose of raising revenue, but rather to regulate trade.",
    ),
    ("Avoid sharing your password.", "Do not share your password."),
    (
        "The limit does not exceed the default maximum.",
        "The limit must not exceed the maximum; the default maximum is low.",
    ),
    ("Eventually the army withdrew from the city.", "Ultimately the army withdrew from the city."),
    ("Prices rise over time in the market.", "Prices are below the market price at the time in the market."),
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
    ("They were paid $75,000.", "They were paid $45,000.", "$75,000"),
    ("The owner said 45 people came.", "The owner said 30 people came.", "45"),
    ("There are nineteen rooms in the house.", "There are nine and ten rooms in the house.", "nineteen"),
    ("The bank to ask for 500 dollars is open.", "The bank to ask for 700 dollars is open.", "500"),
    ("The contract was signed by John Smith.", "The contract was signed by Mary Smith.", "john"),
    ("President Lincoln signed the order.", "President Truman signed the order.", "lincoln"),
    ("The office in the U.S. has many rooms.", "The office in the U.K. has many rooms.", "u.s"),
    ("The supplier is Acme Corp.", "The supplier is Apex Corp.", "acme"),
    ("The tenant is liable.", "It is not true that the tenant is liable.", "not"),
    ("The tenant may assign the lease.", "The tenant may not sublet or assign the lease.", "not"),
    ("The tenant pays utilities.", "The tenant is not required to pay utilities.", "not"),
    ("Remote work is permitted.", "Remote work is no longer permitted.", "not"),
    ("He chose the car.", "He chose the train rather than the car.", "not"),
    ("The device meets the standard.", "The device avoids meeting the standard.", "not"),
    ("Her brother sold the house.", "Her sister sold the house.", "sister"),
    ("Prices are over 500 dollars.", "Prices are under 500 dollars.", "under"),
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


FIVE = "Costs rose in spring. The tower has 7 floors. Bees live here. Nobody swims there. Iron rusts in rain."


@pytest.mark.parametrize("claim", [FIVE, FIVE.upper(), FIVE.rstrip("."), FIVE[6:-8]])
def test_a_claim_that_stands_word_for_word_is_fully_supported_however_long(claim):
    support = check_support(claim, ["Another passage.", f"Before it. {FIVE} After it."])
    assert (support.supported, support.value, support.best) == (True, 1.0, 1)


def test_words_in_a_row_prove_nothing_where_a_negation_stands_before_them():
    told = "It is not the case that the tenant is liable. The roof is old. The door is red. Rain falls. Sun shines."
    claim = "The tenant is liable. The roof is old. The door is red. Rain falls. Sun shines."
    assert check_support(claim, told).supported is False


@pytest.mark.parametrize(
    ("claim", "evidence", "denied"),
    [
        ("The notice period is 30 days.", "The notice period is 45 days.", True),
        ("The notice period was agreed in 1947.", "The notice period was agreed.", False),
        ("The tenant pays rent.", "The tenant does not pay rent.", True),
        ("The notice period is 30 days.", "Guests may stay for 45 days.", False),
    ],
)
def test_what_is_merely_missing_is_not_called_contradicted(claim, evidence, denied):
    support = check_support(claim, evidence)
    assert (support.supported, support.is_contradicted) == (False, denied)


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
        # The best of three texts that differ, so that neither a cache nor a collection of garbage decides.
        taken = []
        for i in range(3):
            text = (unit * size)[:size] + str(i)
            started = time.process_time()
            check_support(text, [text + "x", "other"])
            taken.append(time.process_time() - started)
        return min(taken) / size

    per_char(1000)
    assert per_char(50_000) <= 5 * per_char(10_000) + 2e-6
