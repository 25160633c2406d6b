"""The file of a set: what it is made into, and how its mistakes are said."""

from pathlib import Path

import pytest

from eval.runs.request import Request
from eval.runs.sets import combinations, read_set
from programs import names
from retrieval import UsageError


def made(tmp_path: Path, text: str) -> list[Request]:
    (tmp_path / "set.toml").write_text(text)
    return list(combinations(read_set(tmp_path / "set.toml"), {"data": "there"}))


def test_every_entry_is_combined_with_every_other(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        """
        tasks = ["sample", { task = "strategyqa", limit = 5, settings = { style = "yesno" }, retrievers = "bm25:s" }]
        programs = [
            { program = "direct", retrievers = ["none", "sample"] },
            { program = "blendfilter", settings = { k = [3, 5] }, demonstrations = 2 },
        ]
        lms = { lm = "openai/x", temperature = 1, lm_args = { top_p = 0.9 } }
        adapters = { adapter = "json", structured = "on" }
        limit = 20
        metrics = ["em", "f1"]
        [settings]
        k = 4
        """,
    )
    assert list(map(str, found)) == [
        "sample, direct, k 4",
        "sample, direct, k 4",
        "sample, blendfilter, k 3",
        "sample, blendfilter, k 5",
        "strategyqa, direct, k 4, style yesno",
        "strategyqa, direct, k 4, style yesno",
        "strategyqa, blendfilter, k 3, style yesno",
        "strategyqa, blendfilter, k 5, style yesno",
    ]
    retrievers = [each.retriever for each in found]
    assert retrievers == ["none", "sample", "sample", "sample", "none", "sample", "bm25:s", "bm25:s"]
    assert found[2] == Request(
        task="sample",
        program="blendfilter",
        settings={"k": 3},
        demonstrations=2,
        lm="openai/x",
        lm_settings={"temperature": 1, "top_p": 0.9},
        adapter="json",
        structured="on",
        metrics=("em", "f1"),
        limit=20,
        data="there",
    )
    assert [each.limit for each in found] == [20] * 4 + [5] * 4
    assert [each.demonstrations for each in found[:4]] == [None, None, 2, 2]


def test_a_program_can_be_for_some_of_the_tasks_only_and_have_fewer_questions(tmp_path: Path) -> None:
    text = """
    tasks = [{ task = "sample", limit = 9 }, { task = "strategyqa", settings = { style = "yesno" } }]
    programs = ["direct", { program = "rerank", tasks = "sample", limit = 5 }]
    limit = 7
    """
    found = [(str(each), each.limit) for each in made(tmp_path, text)]  # rerank has no style "yesno"
    assert found == [("sample, direct", 9), ("sample, rerank", 5), ("strategyqa, direct, style yesno", 7)]


def test_all_are_the_programs_that_are_not_named_besides(tmp_path: Path) -> None:
    text = 'tasks = "sample"\nprograms = ["all", { program = "direct", settings = { k = 7 } }]'
    found = made(tmp_path, text)
    assert sorted(each.program for each in found) == names()
    assert [each.settings for each in found if each.settings] == [{"k": 7}]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("tasks =", " is no TOML: Invalid value"),
        (f"tasks = {'[' * 9_999}", " is nested too deeply"),
        ('tasks = "sample"', ": programs: it is missing"),
        ('tasks = []\nprograms = "direct"', ": tasks: it is empty"),
        ('tasks = 3\nprograms = "direct"', ": tasks 1: should be a valid dictionary"),
        (
            'tasks = "sample"\nprograms = "direct"\nseed = 3',
            ": there is no 'seed' here; there are: tasks, programs, lms,",
        ),
        (
            'tasks = "sample"\nprograms = ["direct", { program = "cot", seting = 1 }]',
            ": programs 2: there is no 'seting' here; there are: program, settings, retrievers, state, demonstrations",
        ),
        (
            'tasks = "sample"\nprograms = { program = "cot", tasks = "nq" }',
            ": no task here is 'nq'; there are: sample",
        ),
        ('tasks = "sample"\nprograms = "dirct"', ": there is no program 'dirct'; did you mean direct? There are: "),
        (
            'tasks = "sample"\nprograms = "direct"\nsettings = { kk = 3 }',
            ": no program here has the setting 'kk'; there",
        ),
        ('tasks = "sample"\nprograms = "direct"\nsettings = { k = [3, 0] }', ": Direct: k must be at least 1, not 0"),
        ('tasks = "sample"\nprograms = "direct"\nsettings = { k = [] }', ": settings k: it is empty"),
        (
            'tasks = "sample"\nprograms = "direct"\nadapters = "jsn"',
            ": adapters 1 adapter: should be 'chat', 'json' or",
        ),
        ('tasks = "sample"\nprograms = "direct"\nseeds = []', ": seeds: it is empty"),
        ('tasks = "sample"\nprograms = "direct"\nseeds = [1.5]', ": seeds 1: should be a valid integer"),
        ('tasks = "sample"\nprograms = "direct"\nlms = [{ api_base = "u" }]', ": lms 1 lm: it is missing"),
        (
            'tasks = { task = "sample", limit = 0 }\nprograms = "direct"',
            ": tasks 1 limit: should be greater than or equal",
        ),
    ],
)
def test_a_mistake_says_where_it_is_and_what_there_is(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as mistake:
        made(tmp_path, text)
    assert complaint in str(mistake.value)
    assert str(mistake.value).startswith(f"{tmp_path}/set.toml")
    assert "\n" not in str(mistake.value)
