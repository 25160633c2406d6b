from typing import Any

import dspy
import pytest
from support.records import a_manifest, a_row, a_run

from eval.figures.summary import summarise
from eval.papers.differences import RowRun, differences
from eval.papers.questions import Questions
from eval.papers.tables import find
from eval.runs.asking import how_asked


def ran(table: str, row: str, rows: int = 1, own: Any = None, lm: dspy.LM | None = None, **manifest: Any) -> RowRun:
    (chosen,) = (one for one in find(table).rows if one.name == row)
    usual = {"task": "t", "program": chosen.program, "retriever": "sample", "answers": True}
    seen = a_manifest(**{**usual, **manifest})
    asked = [dspy.Example(id=str(n), question="q", answers=["yes" if n else "Rome"]) for n in range(2)]
    answered = [a_row(str(n), scores={}, prediction={"answer": "Rome", "own": own or {}}) for n in range(rows)]
    reader = how_asked(lm or dspy.LM("openai/a", temperature=0.5))
    summary = summarise(answered, 2, seen)
    return RowRun(chosen, str(seen.task), summary, a_run("r", answered), Questions(asked, "somewhere"), reader, None)


def models(table: str, row: str, **settings: Any) -> list[str]:
    found = differences(find(table), [ran(table, row, settings=settings)], {})
    return [text for text in found if "(paper: " in text and not text.startswith("Decoding")][2:]


def test_every_stand_in_is_named_with_the_papers_model() -> None:
    assert models("migres:table3", "MIGRES", reranker="lexical", entailment="lexical", k=5) == [
        "migres: reranker lexical, which compares words (paper: cross-encoder:BAAI/bge-reranker-base)",
        "migres: entailment lexical, which compares words (paper: true:google/t5_xxl_true_nli_mixture)",
    ]
    assert models("migres:table3", "VTG", entailment="nli:small") == [
        "vtg: entailment nli:small (paper: true:google/t5_xxl_true_nli_mixture)"
    ]
    assert models("qpaug:table2", "Rerank", upr="none") == ["rerank: upr none, which leaves it out (paper: upr)"]
    assert models("chain_of_rewrite:table1", "Vicuna-13B + BM25 + UPR", upr="lexical") == [
        "upr: upr lexical, which compares words (paper: upr)"
    ]


def test_the_papers_own_models_are_no_difference() -> None:
    reranker, entailment = "cross-encoder:BAAI/bge-reranker-base", "true:google/t5_xxl_true_nli_mixture"
    assert models("migres:table3", "MIGRES", reranker=reranker, entailment=entailment) == []
    assert models("chain_of_rewrite:table1", "Vicuna-13B + BM25 + UPR", upr="upr:any") == []


@pytest.mark.parametrize(
    ("table", "row"),
    [("chain_of_rewrite:table4", "BM25 + Rerank Feedback"), ("chain_of_rewrite:table3", "Chain-of-Rewrite")],
)
def test_what_the_paper_leaves_out_too_is_no_difference(table: str, row: str) -> None:
    assert models(table, row, upr="none") == []


def test_a_run_is_described_by_its_lm_retriever_and_questions() -> None:
    table = find("migres:table9")
    both = [ran(table.name, row.name, retriever="sample") for row in table.rows]
    assert differences(table, [*both, *both], {}) == [
        "Reader: openai/a, temperature 0.5 (paper: gpt-3.5-1106); zero-shot, as in the paper",
        "Retrieval: sample (paper: bm25)",
        "Retrieval: sample (paper: mixture)",
        "One retriever stands for bm25, mixture: rows that differ in it alone have the same figures",
        "Adapter: chat",
        "Questions: 1 of somewhere",
        "MIGRES, BM25: INCOMPLETE, 1 of 2 questions",
        "MIGRES, Mixture: INCOMPLETE, 1 of 2 questions",
    ]


def test_demonstrations_are_named_with_what_their_copy_lacks() -> None:
    shown = {"count": 2, "source": "2wikimultihopqa:train", "without": "evidences"}
    told = differences(find("migres:table3"), [ran("migres:table3", "MIGRES*", demonstrations=shown)], {})
    assert told[0].endswith("; 2 labelled demonstrations of 2wikimultihopqa:train without evidences")


def test_answers_without_their_further_names_are_named_where_the_paper_counts_these() -> None:
    wikihop = ran("migres:table9", "MIGRES, BM25", task="2wikimultihopqa:migres")
    told = "WikiHop EM: each answer has one name here (paper: all those in id_aliases.json of the data set)"
    assert told in differences(find("migres:table9"), [wikihop], {})
    wikihop.questions.examples[0].answers = ["Rome", "Roma"]
    assert not [text for text in differences(find("migres:table9"), [wikihop], {}) if "one name" in text]
    musique = ran("migres:table9", "MIGRES, BM25", task="musique:migres")
    assert not [text for text in differences(find("migres:table9"), [musique], {}) if "one name" in text]


def test_a_state_and_a_run_without_answers_are_named() -> None:
    table = find("qpaug:table4")
    found = differences(table, [ran(table.name, "SBERT", rows=2, state={"file": "s.json"}, answers=False)], {})
    assert found[0] == "Reader: openai/a, temperature 0.5 (paper: not named); with the state s.json"
    assert found[1].startswith("No answers are asked for where all columns look at what was found alone")


def test_questions_that_a_metric_leaves_out_are_counted() -> None:
    table = find("qpaug:table4")
    found = differences(table, [ran(table.name, "SBERT", rows=2, task="nq:qpaug", answers=False)], {})
    assert "NQ: leaves out 1 of 2 questions, which are answered by yes or no" in found
    assert not [text for text in found if text.startswith("Hotpot")]


def test_rows_that_show_no_demonstrations_where_the_paper_does_say_so() -> None:
    (line, *_) = differences(find("migres:table3"), [ran("migres:table3", "ITER-RETGEN")], {})
    assert line.endswith("(paper: cited-papers); zero-shot, the paper few-shot")
    (line, *_) = differences(find("blendfilter:table1"), [ran("blendfilter:table1", "CoT")], {})
    assert line.endswith("(paper: gpt-3.5-turbo-instruct); zero-shot, the paper 3-shot")


def decoding(table: str, row: str, **lm: Any) -> list[str]:
    found = differences(find(table), [ran(table, row, lm=dspy.LM(lm.pop("model", "openai/a"), **lm))], {})
    return [text for text in found if text.startswith("Decoding")]


def test_an_lm_that_may_draw_its_replies_is_named_where_the_paper_decodes_greedily() -> None:
    assert decoding("qpaug:table2", "QPaug") == [
        "Decoding: openai/a at its provider's default temperature (paper: greedy, as by --temperature 0)"
    ]
    assert decoding("qpaug:table2", "QPaug", temperature=0.5) == [
        "Decoding: openai/a at temperature 0.5 (paper: greedy)"
    ]
    assert decoding("qpaug:table2", "QPaug", temperature=0) == []
    assert decoding("qpaug:table2", "QPaug", model="gguf:model.gguf") == []
    assert decoding("qpaug:table2", "QPaug", model="oracle/error-rate-0") == []
    assert decoding("migres:table3", "MIGRES") == []


def told(table: str, row: str, **measured_by: int) -> list[str]:
    found = differences(find(table), [ran(table, row, rows=2, own={"measured_by": measured_by})], {})
    return [text for text in found if "log-probabilities" in text]


def test_a_probability_that_is_not_of_tokens_is_named() -> None:
    assert told("chain_of_rewrite:table2", "Chain-of-Rewrite", logprobs=3) == []
    assert told("chain_of_rewrite:table2", "Chain-of-Rewrite", logprobs=1, stated=2, binary=4) == [
        "Chain-of-Rewrite: p(unknown) is stated by the LM for 4, 1 or 0 by the candidate alone for 8 of 14 documents "
        "(paper: log-probabilities)"
    ]
    assert told("qpaug:table2", "Rerank", stated=2, binary=1) == [
        "Rerank: the probability of an answer is stated by the LM for 4, 1, with no number, for 2 of 6 documents "
        "(paper: log-probabilities)"
    ]


def test_what_the_caller_set_is_named_and_what_a_row_did_not_take() -> None:
    table = find("chain_of_rewrite:table4")
    rows = [
        ran(table.name, "BM25 + Rerank Feedback", settings={"m": 100, "upr": "none", "k": 3}),
        ran(table.name, "BM25 + UPR", settings={"m": 50, "upr": "upr:any", "k": 5}),
    ]
    found = differences(table, rows, {"m": 50, "upr": "upr:any", "k": 3, "turns": 1})
    assert [text for text in found if "set" in text] == [
        "BM25 + Rerank Feedback: --set upr is refused; the row has upr none",
        "BM25 + Rerank Feedback: k 3, by --set (without it: 5)",
        "BM25 + UPR: m 50, by --set (without it: 100)",
    ]
