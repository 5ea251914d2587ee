"""What is said of something that a target returned and that is no output: plain words, the field, what it must be."""

import pytest

from spancheck_pipeline.clients.answer import output_of
from spancheck_pipeline.clients.call_errors import InvalidOutputError

CYCLE: dict = {"answer": "x"}
CYCLE["raw"] = CYCLE
SECRET = "Zanzibar"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"answer": [SECRET]}, "what was returned is no output: answer must be a text"),
        (
            {"answer": "x", "contexts": SECRET},
            "contexts must be a list (contexts: a list of passages, each {source_id, text})",
        ),
        ({"answer": "x", "citations": [{"quote": 5}]}, "citations[0].quote must be a text (citations: a list, each"),
        ({"answer": "x", "usage": {"input_tokens": SECRET}}, "usage.input_tokens must be a whole number"),
        ({"answer": "x", "latency_ms": float("nan")}, "latency_ms must be a finite number"),
        ({"answer": 1, "contexts": 1, "citations": 1, "abstained": SECRET}, "; and 1 more"),
        (CYCLE, "the output is nested too deeply, or holds itself"),
        (None, "a target must return str, dict or Output, not NoneType"),
        ({"text_": "x"}, "a target's dict must have the key 'answer'"),
    ],
)
def test_the_field_is_named_with_what_it_must_be_and_no_library_speaks(value, said):
    with pytest.raises(InvalidOutputError) as caught:
        output_of(value, citations="auto")

    message = str(caught.value)
    assert said in message
    for word in ("pydantic", "validation error", "Input should be", "tuple", "recursion", SECRET):
        assert word not in message
