"""The studies on prepared input: what is asked, what is scored, over which questions; and as tables of the paper."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.prompt_reading import inputs
from support.scripted import Function, Reply, engine_lm, render, scripted

from eval.figures.summary import Summary
from eval.papers.measuring import load_metric, metrics_for
from eval.papers.migres_studies import STUDIES, Extraction, FirstSearch, Missing, prepared
from eval.papers.printing import beside
from eval.papers.running import run as run_table
from eval.papers.setup import Setup
from eval.papers.tables import find
from eval.runs.ceiling import load_oracle
from eval.runs.request import Request
from eval.runs.runner import evaluate
from eval.tasks import load
from programs.instruments.cost import measured
from retrieval import Memory, Passage, UsageError
from signatures.detect import DetectMissing
from signatures.extract import ExtractStatements
from signatures.verify import AlignMissing
from signatures.write import WriteKnowledgeOrNone

QUESTION = "Where was the finder of the planet Zorx born?"
STEPS = [
    {"question": "Who found the planet Zorx?", "answer": "Ada Quill"},
    {"question": "Where was Ada Quill born?", "answer": "Lund"},
]
ZORX = Passage("zorx", "Zorx is a planet found by Ada Quill.", "Zorx")
ADA = Passage("ada", "Ada was born in Lund. She liked bread.", "Ada Quill")
ADA_TOO = Passage("ada-2", "She wrote of planets.", "Ada Quill")
BO = Passage("bo", "Bo Lind was born in Malmö.", "Bo Lind")
RAIN = Passage("rain", "It rains.", "Rain")
FOUND = {QUESTION: ["zorx", "bo", "rain"], "Zorx": ["zorx", "ada"], "Ada Quill": ["ada", "ada-2", "bo"]}
EXAMPLE = dspy.Example(
    id="1", question=QUESTION, answers=["Lund", "the town of Lund"], gold_titles=["Zorx", "Ada Quill"],
    decomposition=[STEPS[0], {"question": "Where was #1 born?", "answer": "Lund"}],
).with_inputs("question")  # fmt: skip


def retriever() -> Memory:
    return Memory([ZORX, ADA, ADA_TOO, BO, RAIN], FOUND)


def saying(statements: dict[str, str], useful: str = "[]") -> tuple[dspy.LM, list[dict[str, str]]]:
    """An LM that states of each passage, told by how its line begins, what is given; and what it was asked."""
    asked: list[dict[str, str]] = []

    def reply(system: str, user: str) -> str:
        asked.append(inputs(user))
        if "facts" in asked[-1]:
            return render({"useful": useful})
        lines = re.findall(r"(?m)^\[(\d+)\] (.*)$", asked[-1]["context"])
        said = [
            {"statement": text, "passages": [n for n, line in lines if line.startswith(start)]}
            for start, text in statements.items()
        ]
        return render({"statements": json.dumps(said)})

    return engine_lm(Function(reply)), asked


def scores(seen: dspy.Prediction, *names: str) -> dict[str, float | None]:
    wanted = names or ("precision", "recall", "precision_entailed", "recall_entailed", "useful")
    return {name: seen[name] for name in wanted}


class TestExtraction:
    def ask(self, lm: dspy.LM, **options: Any) -> dspy.Prediction:
        with dspy.context(lm=lm):
            return Extraction(retriever(), **options)(question=QUESTION, steps=STEPS, titles=["Zorx", "Ada Quill"])

    def test_precision_recall_and_usefulness_of_what_is_cited(self) -> None:
        """Of five passages two are positive. Three statements: one holds, one cites wrongly, one makes something up."""
        statements = {
            "Zorx |": "Ada Quill found the planet Zorx.",
            "Bo Lind |": "Ada Quill was born in Malmö.",
            "Ada Quill | Ada": "Ada liked bread in Oslo.",
        }
        lm, asked = saying(statements, useful="[1]")
        with measured() as cost:
            seen = self.ask(lm)
        assert {p.id for p in seen.evidence} == {"zorx", "ada", "ada-2", "bo", "rain"}
        assert seen.positive == ["ada", "zorx"]
        assert scores(seen) == {
            "precision": 2 / 3,
            "recall": 1.0,
            "precision_entailed": 1.0,
            "recall_entailed": 0.5,
            "useful": 1.0,
        }
        assert seen.known_facts == [{"fact": "Ada Quill found the planet Zorx.", "passages": ["zorx"]}]
        assert [fact["passages"] for fact in seen.statements] == [["zorx"], ["bo"], ["ada"]]
        # The question with its sub-questions, as the paper has it; usefulness is asked of the question alone.
        assert asked[0]["question"] == f"{QUESTION} Who found the planet Zorx? Where was Ada Quill born?"
        assert asked[1] == {"facts": "[1] Ada Quill found the planet Zorx.", "question": QUESTION}
        assert seen.queries == [QUESTION, "Zorx", "Ada Quill"]
        assert (cost.lm_calls, cost.searches) == (2, 3)

    def test_five_passages_are_drawn_always_the_same_for_a_question(self) -> None:
        many = Memory([Passage(str(n), f"planet {n}") for n in range(40)])
        drawn = []
        for question in ("planet", "planet", "a planet"):
            with dspy.context(lm=saying({})[0]):
                seen = Extraction(many)(question=question, steps=STEPS, titles=[])
            assert len(seen.evidence) == 5
            drawn.append([passage.id for passage in seen.evidence])
        assert drawn[0] == drawn[1] != drawn[2]

    def test_what_there_is_no_share_of_is_undefined(self) -> None:
        nothing = scores(self.ask(saying({})[0]))
        assert nothing == {
            "precision": None,
            "recall": 0.0,
            "precision_entailed": None,
            "recall_entailed": 0.0,
            "useful": None,
        }
        with dspy.context(lm=saying({"It": "It rains often."}, useful="[1, 1, 9]")[0]):
            rainy = Extraction(Memory([Passage("rain", "It rains often.")]))(question="rains", steps=STEPS, titles=[])
        assert scores(rainy) == {
            "precision": 0.0,
            "recall": None,
            "precision_entailed": 0.0,
            "recall_entailed": None,
            "useful": 1.0,
        }

    def test_unparsable_replies_are_data(self) -> None:
        with scripted(*[Reply(ExtractStatements, "Zorx!")] * 2), measured() as cost:
            seen = Extraction(retriever())(question=QUESTION, steps=STEPS, titles=[])
        assert (seen.precision, seen.recall, cost.unparsable) == (None, 0.0, 1)
        lm, _ = saying({"Zorx |": "Ada Quill found the planet Zorx."}, useful="some")
        assert self.ask(lm).useful is None


FACTS = "[1] Who found the planet Zorx? Ada Quill\n[2] Where was Ada Quill born? Lund"


def detects(answer: str, missing: str, when: str = "") -> Reply:
    return Reply(DetectMissing, {"answer": answer, "explanation": "So.", "missing": missing}, when)


class TestMissing:
    def ask(self, *replies: Reply) -> tuple[dspy.Prediction, list[dict[str, str]]]:
        with scripted(*replies) as script:
            seen = Missing(None)(question=QUESTION, steps=STEPS)
        return seen, [inputs(user) for _, user in script.prompts]

    def test_all_steps_and_the_first_few(self) -> None:
        replies = [
            detects(" Lund ", "", when="[2] Where was"),
            detects("Unanswerable.", "Where she was\nborn."),
            Reply(AlignMissing, {"explanation": "It is asked.", "aligned": "yes"}),
        ]
        with measured() as cost:
            seen, prompts = self.ask(*replies)
        assert seen.known == 1  # by lot
        assert {prompt["facts"] for prompt in prompts[:2]} == {FACTS, FACTS.splitlines()[0]}
        assert prompts[2] == {"missing": "Where she was born.", "questions": "[1] Where was Ada Quill born?"}
        assert (seen.answer, (seen.partial, seen.match)) == ("Lund", (1.0, 1.0))
        assert (cost.lm_calls, cost.searches) == (3, 0)

    def test_how_many_steps_are_known_is_drawn_from_none_to_all_but_the_last(self) -> None:
        steps = STEPS * 2
        lm = engine_lm(Function(lambda *_: render({"answer": "Lund", "explanation": "", "missing": ""})))
        with dspy.context(lm=lm):
            drawn = [Missing(None)(question=f"q{n}?", steps=steps).known for n in range(40)]
            again = [Missing(None)(question=f"q{n}?", steps=steps).known for n in range(40)]
        assert set(drawn) == {0, 1, 2, 3}
        assert drawn == again

    @pytest.mark.parametrize("said", ["Lund", "", "no", "It is not said, but it is Lund."])
    def test_only_unanswerable_is_unanswerable(self, said: str) -> None:
        seen, prompts = self.ask(detects("unanswerable", "x", when="[2] Where was"), detects(said, "x"))
        assert ((seen.partial, seen.match), len(prompts)) == ((0.0, None), 2)
        assert seen.answer == "unanswerable"

    def test_nothing_missing_is_no_match_and_not_asked_about(self) -> None:
        seen, prompts = self.ask(detects("Lund", "", when="[2] Where was"), detects("unanswerable", " "))
        assert ((seen.partial, seen.match), len(prompts)) == ((1.0, 0.0), 2)

    def test_unparsable_replies_are_data(self) -> None:
        with measured() as cost:
            seen, _ = self.ask(*[Reply(DetectMissing, "Lund!")] * 4)
        assert (seen.answer, (seen.partial, seen.match), cost.unparsable) == ("", (0.0, None), 2)
        replies = [
            detects("Lund", "", when="[2] Where was"),
            detects("unanswerable", "all"),
            *[Reply(AlignMissing, "It does.")] * 2,
        ]
        seen, _ = self.ask(*replies)
        assert (seen.partial, seen.match) == (1.0, None)


MIXTURE = [ZORX, ADA, BO]


@pytest.fixture
def _mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {QUESTION: ["zorx", "ada", "bo"], "rain?": ["rain"]}
    monkeypatch.setattr("eval.papers.migres_studies.load_retriever", lambda spec: Memory([*MIXTURE, RAIN], found))


@pytest.mark.usefixtures("_mixture")
class TestFirstSearch:
    """Of the question's five words (finder, planet, zorx, born …) zorx has most; the first retriever finds bo alone."""

    def ask(self, *replies: Reply, question: str = QUESTION, **options: Any) -> tuple[dspy.Prediction, int]:
        first = Memory([BO, RAIN], {QUESTION: ["bo"], "rain?": ["rain"]})
        with scripted(*replies), measured() as cost:
            study = FirstSearch(first, against="mixture", **options)
            seen = study(question=question, sub_answers=["Ada Quill", "Lund"])
        assert cost.searches == 2
        return seen, cost.lm_calls

    def test_what_passes_the_filter_and_has_an_answer(self) -> None:
        seen, calls = self.ask(threshold=-6.0)
        assert (seen.returned, seen.positive, seen.negative) == (1, 0, 1)  # bo
        assert (seen.returned_against, seen.positive_against, seen.negative_against) == (3, 2, 1)  # ada, zorx; bo
        assert (seen.won, seen.gain, seen.knowledge, calls) == ([False, True], 1, [], 0)

    def test_where_nothing_passes_the_lm_is_asked(self) -> None:
        knows = Reply(WriteKnowledgeOrNone, {"knowledge": "She was born in Lund."})
        seen, calls = self.ask(knows, threshold=0.0)
        assert (seen.returned, seen.returned_against) == (0, 1)
        assert (seen.won, seen.gain, calls) == ([True, True], 0, 1)
        assert [passage.text for passage in seen.knowledge] == ["She was born in Lund."]

    def test_an_lm_that_declines_wins_nothing(self) -> None:
        seen, _ = self.ask(Reply(WriteKnowledgeOrNone, {"knowledge": "[NONE]"}), threshold=7.0)
        assert (seen.won, seen.knowledge) == ([False, False], [])

    def test_k_passages_reach_the_leaf_as_the_filter_cuts_them_down(self) -> None:
        """The best, zorx, is all that one place has room for; and of ada the sentence with the answer is lost."""
        assert self.ask(threshold=-6.0, k=1)[0].won == [False, True]


@pytest.mark.parametrize(("study", "name"), [(Extraction, "shown"), (FirstSearch, "m_against")])
def test_counts_below_one_are_refused(study: Callable[..., dspy.Module], name: str) -> None:
    options: dict[str, Any] = {**({"against": "mixture"} if study is FirstSearch else {}), name: 0}
    with pytest.raises(UsageError, match=f"{name} must be at least 1, not 0"):
        study(retriever(), **options)


class TestPrepared:
    def test_examples_are_asked_with_their_gold(self) -> None:
        (example,) = prepared(STUDIES["study_extraction"], [EXAMPLE])
        assert example.inputs().toDict() == {"question": QUESTION, "steps": STEPS, "titles": ["Zorx", "Ada Quill"]}
        assert example.id == "1"
        (example,) = prepared(STUDIES["study_first_search"], [EXAMPLE])
        assert example.inputs().toDict()["sub_answers"] == ["Ada Quill", "Lund", "the town of Lund"]

    def test_questions_without_gold_are_left_out(self) -> None:
        simple = dspy.Example(id="2", question="Who?", answers=["Bo"])
        decided = dspy.Example(id="3", question="Is it?", answers=["yes"])
        left = {name: [e.id for e in prepared(study, [simple, decided])] for name, study in STUDIES.items()}
        assert left == {"study_extraction": [], "study_missing": [], "study_first_search": ["2"]}


def run(examples: list[dspy.Example], directory: Path, reply: Callable[[str, str], str]) -> Summary:
    names = metrics_for("musique:study", "study_missing", None)
    with dspy.context(lm=engine_lm(Function(reply))):
        return evaluate(
            Missing(None),
            prepared(Missing, examples),
            metrics=[load_metric(name) for name in names],
            directory=directory,
            manifest={"study": "missing"},
        )


def test_a_failed_question_counts_0_and_is_counted(tmp_path: Path) -> None:
    def reply(system: str, user: str) -> str:
        if "Broken" in user:
            raise RuntimeError("the server is down")
        return render({"answer": "Lund", "explanation": "", "missing": ""})

    broken = EXAMPLE.copy(id="2", question="Broken?")
    summary = run([EXAMPLE, broken], tmp_path / "run", reply)
    assert (summary.total.n, summary.total.failed) == (2, 1)
    assert {name: (score.mean, score.n) for name, score in summary.total.scores.items()} == {
        "migres_em": (0.5, 2),
        "own:partial": (0.0, 2),
    }
    # It is taken up like any run: what was answered is not asked again.
    again = run([EXAMPLE, broken], tmp_path / "run", lambda *_: render({"answer": "unanswerable"}))
    assert (again.total.failed, again.total.scores["migres_em"].mean) == (0, 0.5)


def musique(directory: Path) -> Path:
    directory.mkdir()
    (directory / "musique.dev.jsonl").write_text(json.dumps(dict(EXAMPLE.items())) + "\n")
    (directory / "2wikimultihopqa.dev.jsonl").write_text(
        json.dumps(
            {
                "id": "w",
                "question": "Who found the planet Zorx?",
                "answers": ["Ada Quill"],
                "gold_titles": ["Zorx"],
                "evidences": [["Zorx", "finder", "Ada Quill"]],
            }
        )
        + "\n"
    )
    (directory / "nq.dev.jsonl").write_text(json.dumps({"id": "n", "question": "zorx?", "answers": ["Ada Quill"]}))
    return directory


def test_the_papers_tables_run_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.papers.migres_studies.load_retriever", lambda spec: retriever())
    setup = Setup(
        lms={"": partial(load_oracle, "oracle")},
        retrievers={"": ("memory", retriever())},
        directory=tmp_path / "runs",
        request=Request(task="", program="", data=str(musique(tmp_path / "data"))),
    )
    printed = {n: beside(run_table(find(f"migres:table{n}"), setup)) for n in (1, 2, 10)}
    ours = {
        n: [line.split() for line in text.splitlines() if re.match("[EMF].*  ", line)] for n, text in printed.items()
    }
    # The oracle states what gold passages say, of which one has no answer, answers from all steps, and says from some
    # that it cannot.
    assert [line[-4] for line in ours[1]] == [*["100.0"] * 5, "66.7", "100.0", "66.7", "100.0", "100.0"]
    assert [line[-4] for line in ours[2]] == ["100.0"] * 6
    assert "Not run" not in printed[1] + printed[2]
    assert "First search: needs --set against=…" in printed[10]
    with_other = replace(setup, request=replace(setup.request, settings={"against": "other", "threshold": -6.0}))
    compared = beside(run_table(find("migres:table10"), with_other))
    assert re.search(r"Musique RR +1.18 +1.000 +\[1.000, 1.000\] +1\n", compared)
    assert "Against: other" in compared
    runs = sorted(path.name.rsplit("-", 1)[0] for path in (tmp_path / "runs").iterdir())
    assert runs == sorted(
        [
            *(f"study_{s}-{t}-study" for s in ("extraction", "missing") for t in ("2wikimultihopqa", "musique")),
            *(f"study_first_search-{t}-migres" for t in ("2wikimultihopqa", "musique", "nq")),
        ]
    )


def test_a_table_of_a_study_says_where_there_is_no_gold(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("musique", "2wikimultihopqa"):
        (data / f"{name}.dev.jsonl").write_text(json.dumps({"id": "1", "question": "Who?", "answers": ["Bo"]}))
    setup = Setup(
        lms={"": lambda *_: load_oracle("oracle", load("sample", 1), None)},
        retrievers={"": ("memory", retriever())},
        directory=tmp_path / "runs",
        request=Request(task="", program="", data=str(data)),
    )
    assert "Extraction: there is no gold that it takes in the local copy" in beside(
        run_table(find("migres:table1"), setup)
    )
