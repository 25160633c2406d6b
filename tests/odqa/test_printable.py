import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odqa.printable import printable


def test_what_is_not_seen_or_changes_what_is_seen_is_written_out() -> None:
    assert printable("\x1b[31mred\x9b0m\r\u202eabc\u2066\ud800\x7f") == (
        r"\u001b[31mred\u009b0m\u000d\u202eabc\u2066\ud800\u007f"
    )
    assert printable("two\nlines\tand a tab, é, 中, 👍") == "two\nlines\tand a tab, é, 中, 👍"


@pytest.mark.slow
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_stays_the_same(value: object) -> None:
    assert json.loads(printable(json.dumps(value, ensure_ascii=False))) == value
