"""The studies of MIGRES (Wang et al. 2024): single acts of the method, measured alone on prepared input.

- `Extraction` and `Missing` are its preliminary study (section 2, Tables 1 and 2).
- `FirstSearch` compares what two retrievers find in the first search (appendix A, Table 10).

Each is a program like any other, but for its further inputs. What it finds out about a question are numbers among its
own fields, which the columns of a table name.

In the paper an LM writes the steps of a question (sub-questions and their answers) from the gold evidence. Here
`eval.metrics.gold.steps_of` takes them from the gold by rule, so that no LM decides what another LM is measured by.
"""

import random
from collections.abc import Sequence
from functools import partial
from inspect import signature
from typing import Literal

import dspy

from eval.metrics.gold import steps_of
from eval.metrics.passages import has_answer, sub_answers
from programs.steps.ask import ask
from programs.steps.citations import keep_supported, report_fact, resolve_citations
from programs.steps.filtering import threshold_for
from programs.steps.result import result
from programs.steps.search import search_for
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import as_text, blend, one_line, passage_or_nothing
from retrieval import Passage, Retriever, number, pick, union
from retrieval import load as load_retriever
from retrieval.ranking.entailment import load_entailment
from retrieval.ranking.filter import filter_sentences
from retrieval.ranking.scorers import load_scorer
from signatures.detect import DetectMissing
from signatures.extract import ExtractStatements
from signatures.replies import is_refusal
from signatures.select import SelectUseful
from signatures.verify import AlignMissing
from signatures.write import WriteKnowledgeOrNone

__all__ = ["STUDIES", "Extraction", "FirstSearch", "Missing", "prepared"]

_FEW = 20  # passages that a search for a title gives


def prepared(study: type[dspy.Module], examples: Sequence[dspy.Example]) -> list[dspy.Example]:
    """The examples with the gold fields `steps`, `titles` and `sub_answers`. An example without gold for one of the
    study's inputs is left out."""
    inputs = [name for name in signature(study.forward).parameters if name != "self"]
    made = []
    for example in examples:
        gold = {
            "steps": [step._asdict() for step in steps_of(example)],
            "titles": list(example.get("gold_titles") or ()),
            "sub_answers": sub_answers(example),
        }
        if all(gold.get(name, True) for name in inputs):
            made.append(dspy.Example({**dict(example.items()), **gold}).with_inputs(*inputs))
    return made


class Extraction(dspy.Module):
    """Extract statements with citations from a few passages, some with an answer in them and some without (2.1).

    The passages are drawn at random, always the same ones for a question, from what the question finds and the gold
    passages, which are searched for by their titles. A passage is positive if it contains the answer of a step, by the
    rule of `eval.metrics.passages.has_answer`.

    Cost per question: 1 LM call, and 1 more for the usefulness if a statement holds; 1 search, and 1 for each gold
    title.

    Scores, each None where there is nothing to take a share of:

    - `precision`: the share of the cited passages that are positive.
    - `recall`: the share of the positive passages that are cited.
    - `precision_entailed`, `recall_entailed`: the same, for the statements that a cited passage entails.
    - `useful`: the share of these statements that the LM finds useful for the question.

    Args:
        retriever: Finds the passages. Paper: BM25.
        m: Passages that the question finds. Paper: 50.
        shown: Passages to be shown. Paper: 5.
        entailment: Checks the citations: lexical (compares words), nli:MODEL or true:MODEL. Paper:
            true:google/t5_xxl_true_nli_mixture.
    """

    @checked
    def __init__(self, retriever: Retriever, *, m: Count = 50, shown: Count = 5, entailment: str = "lexical") -> None:
        super().__init__()
        self.retriever = retriever
        self.m = m
        self.shown = shown
        self.judge = load_entailment(entailment)
        self.extract = dspy.Predict(ExtractStatements)
        self.useful = dspy.Predict(SelectUseful)

    def forward(self, question: str, steps: list[dict[str, str]], titles: list[str]) -> dspy.Prediction:
        first, *others = side_by_side(
            partial(search_for, self.retriever, question, self.m),
            *(partial(search_for, self.retriever, title, _FEW) for title in titles),
        )
        pool = union(first.found, [p for search in others for p in search.found if p.title == search.query])
        shown = random.Random(question).sample(pool, min(self.shown, len(pool)))
        positive = {p.id for p in shown if has_answer(p.text, [step["answer"] for step in steps])}

        asked = blend(question, *(step["question"] for step in steps))
        statements = ask(self.extract, context=number(shown), question=asked).statements
        facts, held = resolve_citations(statements, shown), keep_supported(statements, shown, self.judge, asked)
        all_cited, held_cited = ({p.id for fact in some for p in fact.passages} for some in (facts, held))
        return result(
            answer="",
            queries=[question, *titles],
            passages=union(first.found, *(search.found for search in others)),
            evidence=shown,
            known_facts=[report_fact(fact) for fact in held],
            statements=[report_fact(fact) for fact in facts],
            positive=sorted(positive),
            precision=_share(all_cited & positive, all_cited),
            recall=_share(all_cited & positive, positive),
            precision_entailed=_share(held_cited & positive, held_cited),
            recall_entailed=_share(held_cited & positive, positive),
            useful=self._useful(question, [fact.text for fact in held]),
        )

    def _useful(self, question: str, facts: Sequence[str]) -> float | None:
        """The share of useful facts; None if there are no facts or the reply could not be parsed."""
        if not facts:
            return None
        listed = [Passage(f"lm:fact-{n}", fact) for n, fact in enumerate(facts, 1)]
        numbers = ask(self.useful, facts=number(listed), question=question).useful
        return None if numbers is None else len(pick(listed, numbers)) / len(listed)


class Missing(dspy.Module):
    """Answer from known facts, or say what is missing: once with all steps known, once with the first few (2.1).

    How many steps are the first few is drawn at random, from none to all but the last, and is always the same for a
    question. The answer is the one from all steps.

    Cost per question: 2 LM calls side by side, and 1 more if the second reply says what is missing; no search.

    Scores:

    - `partial`: whether the LM finds the question unanswerable where steps are missing.
    - `match`: whether the missing steps ask for what the LM then calls missing, in the LM's own judgement; None where
      it finds the question answerable.

    Args:
        retriever: None, for nothing is retrieved.
    """

    def __init__(self, retriever: None) -> None:
        super().__init__()
        self.retriever = retriever
        self.detect = dspy.Predict(DetectMissing)
        self.align = dspy.Predict(AlignMissing)

    def forward(self, question: str, steps: list[dict[str, str]]) -> dspy.Prediction:
        known = random.Random(question).randrange(len(steps))
        facts = [Passage(f"gold:step-{n}", f"{s['question']} {s['answer']}") for n, s in enumerate(steps, 1)]
        whole, part = side_by_side(
            *(partial(ask, self.detect, facts=number(some), question=question) for some in (facts, facts[:known]))
        )
        missing, unanswerable = one_line(part.missing), is_refusal(as_text(part.answer))
        return result(
            answer=whole.answer,
            queries=[],
            passages=[],
            evidence=facts,
            known=known,
            partial_answer=as_text(part.answer),
            missing=missing,
            partial=float(unanswerable),
            match=self._match(missing, steps[known:]) if unanswerable else None,
        )

    def _match(self, missing: str, steps: Sequence[dict[str, str]]) -> float | None:
        """Whether a step asks for what is missing: 0 if the LM names nothing, None if the reply could not be parsed."""
        if not missing:
            return 0.0
        questions = [Passage(f"gold:question-{n}", step["question"]) for n, step in enumerate(steps, 1)]
        aligned = ask(self.align, missing=missing, questions=number(questions)).aligned
        return None if aligned is None else float(aligned == "yes")


class FirstSearch(dspy.Module):
    """Compare what two retrievers find for the question, as far as it passes the knowledge filter (appendix A).

    A passage is positive if it contains an answer, of a step or of the question. A retriever wins a question if
    something positive reaches the leaf: one of its k best passages, as the filter cuts them down; or, if no passage
    passes, what the LM writes from memory.

    Cost per question: 2 searches; 1 LM call if nothing passes for one of the two.

    Numbers: passages of the first retriever that pass, `returned`, those of them that are positive, `positive`, and the
    others, `negative`; likewise `returned_against` … of the other one; and `gain`, which is 1 where only the other one
    wins, -1 where only the first one does, and else 0.

    Args:
        retriever: The first retriever. Paper: BM25.
        against: The other retriever, by its spec. Paper: `Mixture`, BM25 and bge_base merged.
        m: Passages from the first. Paper: 50.
        m_against: Passages from the other. Paper: 100, 50 of each of its parts.
        k: Passages that reach the leaf. Paper: 5.
        preset: Kind of questions, which sets the threshold: "multihop", "odqa" or "commonsense".
        threshold: Least score of a passage, on the reranker's scale; by default the preset's, as with MIGRES.
        reranker: Scores the passages: lexical (compares words), cross-encoder:MODEL or upr:MODEL. Paper:
            cross-encoder:BAAI/bge-reranker-base.
    """

    @checked
    def __init__(
        self,
        retriever: Retriever,
        *,
        against: str,
        m: Count = 50,
        m_against: Count = 100,
        k: Count = 5,
        preset: Literal["multihop", "odqa", "commonsense"] = "multihop",
        threshold: float | None = None,
        reranker: str = "lexical",
    ) -> None:
        super().__init__()
        self.retriever = retriever
        self.against = load_retriever(against)
        self.m = m
        self.m_against = m_against
        self.k = k
        self.scorer = load_scorer(reranker)
        self.threshold = threshold_for(reranker, preset) if threshold is None else threshold
        self.recall = dspy.Predict(WriteKnowledgeOrNone)

    def forward(self, question: str, sub_answers: list[str]) -> dspy.Prediction:
        searches = side_by_side(
            partial(search_for, self.retriever, question, self.m),
            partial(search_for, self.against, question, self.m_against),
        )
        both = [search.found for search in searches]
        kept = [filter_sentences(question, found, self.scorer, self.threshold) for found in both]
        knowledge = "" if all(kept) else passage_or_nothing(ask(self.recall, questions=question).knowledge)
        whole = {passage.id: passage.text for passage in union(*both)}
        positive = [sum(has_answer(whole[p.id], sub_answers) for p in some) for some in kept]
        leaf = [[p.text for p in some[: self.k]] or [knowledge] for some in kept]
        won = [any(has_answer(text, sub_answers) for text in texts) for texts in leaf]
        return result(
            answer="",
            queries=[question, question],
            passages=union(*both),
            evidence=[],
            returned=len(kept[0]),
            positive=positive[0],
            negative=len(kept[0]) - positive[0],
            returned_against=len(kept[1]),
            positive_against=positive[1],
            negative_against=len(kept[1]) - positive[1],
            gain=int(won[1]) - int(won[0]),
            won=won,
            knowledge=[Passage("lm:knowledge-1", knowledge)] if knowledge else [],
        )


def _share(part: set[str], whole: set[str]) -> float | None:
    return len(part) / len(whole) if whole else None


STUDIES = {"study_extraction": Extraction, "study_missing": Missing, "study_first_search": FirstSearch}
"""By the names that stand in the tables of `migres.toml`."""
