"""Triples as LMs write them."""

from typing import Any

import pytest

from signatures.replies import Triples

ONE = [["Lund", "is in", "Sweden"]]


@pytest.mark.parametrize(
    "written",
    [
        '[["Lund", "is in", "Sweden"]]',
        ONE,
        ONE[0],
        [ONE],
        '{"triples": [["Lund", "is in", "Sweden"]]}',
        '```json\n[["Lund", "is in", "Sweden"]]\n```',
        'Here they are:\n[["Lund", "is in", "Sweden"]]\n\nI hope this helps!',
        '[{"subject": "Lund", "relation": "is in", "object": "Sweden"}]',
        "(Lund, is in, Sweden)",
        "- **Lund** | is in | Sweden",
        "1. Lund -> is in -> Sweden",
        "There is nothing in the passage about Oslo.\nLund | is in | Sweden",
        "| subject | relation | object |\n| --- | --- | --- |\n| Lund | is in | Sweden |",
        "<item><item>Lund</item><item>is in</item><item>Sweden</item></item>",
        "<think>hm</think>(Lund; is in; Sweden)",
        '[["Lund", "is in", "Sweden"], ["Oslo", "is"], ["", "is", "x"]]',
        '[["Lund", "is in", "Sweden"], ["Oslo", "is i',
    ],
)
def test_what_is_meant_is_read(written: Any) -> None:
    assert Triples.read(written) == ONE


@pytest.mark.parametrize("written", ["[]", "None", "", [], None, "{}", '{"triples": []}', "There are no facts."])
def test_there_may_be_none(written: Any) -> None:
    assert Triples.read(written) == []


@pytest.mark.parametrize("written", ["Lund is in Sweden.", '[["Lund", "Sweden"]]', [["a"]], "[" * 5000, 7])
def test_text_without_a_triple_is_unparsable(written: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        Triples.read(written)


def test_several_are_read_in_order_and_numbers_are_texts() -> None:
    assert Triples.read('["(a, b, c)", "(d, e, f)", "(g, h, i)"]') == [[*"abc"], [*"def"], [*"ghi"]]
    assert Triples.read('[["Ada", "was born in", 2150], ["Washington, D.C.", "is", "a city"]]') == [
        ["Ada", "was born in", "2150"],
        ["Washington, D.C.", "is", "a city"],
    ]
