from pathlib import Path

import pytest

from eval.tasks import load
from retrieval import UsageError


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", b'id,Question,Answers,type\n7,Who?,Ann|Bo,easy\n,Where?,"[""a, b""]",\n'),
        ("q.csv", '\ufeffid;Question;Answers;type\r\n7;Who?;Ann|Bo;easy\r\n;Where?;["a, b"];\r\n'.encode()),
        (
            "q.tsv",
            'id\tQuestion\tAnswers\ttype\n7\tWho?\tAnn | Bo\teasy\n\n\tWhere?\t"[""a, b""]"\n'.encode("utf-16"),
        ),
    ],
    ids=["comma", "excel", "utf-16"],
)
def test_a_table_of_questions(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    first, second = load(str(tmp_path / name))
    assert first.toDict() == {"id": "7", "question": "Who?", "answers": ["Ann", "Bo"], "type": "easy", "answer": "Ann"}
    assert (second.question, second.answers, second.id) == ("Where?", ["a, b"], "4" if name == "q.tsv" else "3")


def test_one_answer_and_made_ids_do(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text('question,answer\nWho?,"Ann, or Bo | Cy"\n')
    (tmp_path / "q.jsonl").write_text('\n{"question": "Who?", "answer": "Ann"}\n')
    assert [(e.id, e.answers) for e in load(str(tmp_path / "q.csv"))] == [("2", ["Ann, or Bo | Cy"])]
    assert [(e.id, e.answers) for e in load(f"file:{tmp_path / 'q.jsonl'}")] == [("2", ["Ann"])]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"question,answer\nWho?,a,b\n", "line 2: 3 cells, where the first line names 2 columns"),
        (b"question,answer\n\nWho?,\n", "line 3: no answers"),
        (b"question,answers\nWho?,[1\n", "line 2: answers is no JSON list"),
        (b"question,answer\nWho?,a\nWo?,\xfc\n", "not UTF-8: save it as CSV UTF-8"),
        (b'question,answer\nWho?,"a\n', "line 2: unexpected end of data"),
        (b"id,question,answer\n1,Who?,a\n1,Who?,a\n", "line 3: the id '1' is already that of line 2"),
        (b"frage,antwort\nWer?,a\n", "line 1: no column is named question; there are: frage, antwort"),
        (b"", "has no questions"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "q.csv").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load(str(tmp_path / "q.csv"))
    assert complaint in str(caught.value)
