"""Gold sets on disk: what is read, and every mistake with its line."""

from __future__ import annotations

import json

import pytest

from spancheck_pipeline.errors import ConfigError, ContractError, UsageError
from spancheck_pipeline.storage.gold_files import gold_of_rows, read_gold


@pytest.fixture
def write(tmp_path):
    def write(*rows, about=None, name="set.jsonl"):
        path = tmp_path / name
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if about is not None:
            path.with_suffix(".yaml").write_text(about, encoding="utf-8")
        return path

    return write


ROW = {"id": "a", "claim": "Notice is 30 days.", "evidence": "Thirty days.", "label": "supported"}


def test_a_set_is_read_with_what_the_file_beside_it_says(write):
    path = write(
        {**ROW, "stratum": "number", "group": "g1", "labellers": ["supported", 1, False], "policy": "own"},
        {"id": 2, "claim": "c", "span": ["one", "two"], "label": 0},
        about="contract: 1\ndomain: leases\nsampling: slice\npolicy: As it stands.\n",
    )

    gold = read_gold(path)

    assert (gold.name, gold.domain, gold.sampling, gold.policy) == ("set", "leases", "slice", "As it stands.")
    first, second = gold.items
    assert (first.evidence, first.label, first.labellers) == (("Thirty days.",), True, (True, True, False))
    assert (first.stratum, first.group, first.policy) == ("number", "g1", "own")
    assert (second.id, second.evidence, second.label) == ("2", ("one", "two"), False)


def test_a_file_of_the_earlier_library_is_read_as_it_is():
    gold = gold_of_rows([{"claim": "c", "span": "s", "label": True}, {"claim": "d", "span": "t", "label": False}])

    assert [(item.id, item.evidence, item.label) for item in gold.items] == [
        ("item-1", ("s",), True),
        ("item-2", ("t",), False),
    ]


def test_without_a_file_beside_it_a_set_is_a_stress_set_of_general_items(write):
    gold = read_gold(write(ROW))

    assert (gold.domain, gold.sampling, gold.policy) == ("general", "stress", "")


def test_what_the_caller_says_takes_the_place_of_what_the_file_says(write):
    path = write(ROW, about="contract: 1\ndomain: leases\npolicy: one\n")

    gold = read_gold(path, domain="clinic", sampling="slice", policy="another")

    assert (gold.domain, gold.sampling, gold.policy) == ("clinic", "slice", "another")
    assert gold.digest != read_gold(path).digest


def test_every_mistake_is_reported_at_once_with_its_line(write):
    path = write(
        {**ROW, "label": "yes"},
        "{not json",
        {**ROW, "id": "b", "labels": 1},
        {"id": "c", "claim": "  ", "evidence": [], "label": True},
        {**ROW, "id": "d", "span": "x"},
        ROW,
        {**ROW, "evidence": "other"},
        {**ROW, "id": "e", "labellers": ["perhaps"]},
    )

    with pytest.raises(ConfigError) as caught:
        read_gold(path)

    said = str(caught.value).replace(str(path), "FILE").splitlines()
    assert said[0] == "FILE:1: 'label' must be supported or not_supported (or true, false, 1, 0)"
    assert said[1].startswith("FILE:2: this line")
    assert said[2:] == [
        "FILE:3: unknown column 'labels'; did you mean 'label'?",
        "FILE:4: 'evidence' is missing or empty",
        "FILE:5: it has both 'evidence' and 'span'; keep one: they are the same",
        "FILE:7: the id 'a' stands twice (first in line 6); give every item its own id",
        "FILE:8: 'labellers' must be a list of supported or not_supported (or true, false, 1, 0)",
    ]


def test_the_same_claim_on_the_same_evidence_counts_once_and_is_refused_with_both_lines(write):
    copies = [
        ROW,
        {**ROW, "id": "b", "evidence": ["Thirty days."]},
        {**ROW, "id": "c", "claim": " Notice is  30 days.", "label": "not_supported"},
        {**ROW, "id": "d", "answer": "another answer"},  # another question to a judge of criteria
        {**ROW, "id": "e", "evidence": "Forty days."},
    ]

    with pytest.raises(ConfigError) as caught:
        read_gold(write(*copies))

    second, third = (line.partition(":")[2] for line in str(caught.value).splitlines())
    assert second == "2: it has the claim and the evidence of line 1; keep one: an item counts once"
    assert third == (
        "3: it has the claim and the evidence of line 1, and the opposite label; keep one, with the label that holds; "
        "what several people said goes into 'labellers'"
    )
    assert len(read_gold(write(copies[0], *copies[3:])).items) == 3
    with pytest.raises(ConfigError, match="row 2: it has the claim and the evidence of row 1"):
        gold_of_rows([{"claim": "c", "span": "s", "label": True}] * 2)


def test_a_label_against_all_labellers_is_a_mistake_and_against_some_a_decision(write):
    with pytest.raises(ConfigError, match=":1: 'label' is the opposite of what all 'labellers' say"):
        read_gold(write({**ROW, "labellers": [False, 0]}))
    assert read_gold(write({**ROW, "labellers": [True, False, False]})).items[0].label


def test_rows_that_are_no_mappings_are_a_mistake():
    with pytest.raises(ConfigError, match="row 1: it is of type str; give mappings"):
        gold_of_rows(["claim"])


def test_a_blank_claim_is_a_mistake(write):
    with pytest.raises(ConfigError, match=":1: claim"):
        read_gold(write({**ROW, "claim": " \n"}))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("set.csv", "id,claim\n", "a gold set is named .jsonl"),
        ("set.jsonl", "\n", "the file holds no item"),
        (
            "set.jsonl",
            "[1]\n",
            'no JSON object; write {"id": "n1", "claim": "…", "evidence": "…", "label": "supported"}',
        ),
    ],
)
def test_a_file_that_is_no_gold_set_is_refused(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_gold(tmp_path / name)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ConfigError, match="there is no such file"):
        read_gold(tmp_path / "none.jsonl")


def test_the_file_beside_it_is_checked_too(write):
    with pytest.raises(ContractError, match="contract 2 is not known here"):
        read_gold(write(ROW, about="contract: 2\n"))
    with pytest.raises(ConfigError, match=r"set.yaml:2: unknown key 'domian'; did you mean 'domain'\?"):
        read_gold(write(ROW, about="contract: 1\ndomian: x\n"))


def test_a_domain_that_could_name_a_path_is_refused(write):
    for domain in ("../x", "A", "a b", "a" * 80):
        with pytest.raises(UsageError, match="is no domain"):
            read_gold(write(ROW), domain=domain)
