"""BlendFilter: three queries for one question, a filter by the LM for what each finds, an answer over what is left.

Wang et al., "BlendFilter: Advancing Retrieval-Augmented Large Language Models via Query Generation Blending and
Knowledge Filtering", EMNLP 2024; section 3, Algorithm 1 and appendix F. The paper asks in two completions for a
judgement and then ids, and for reasoning and then a short answer. Here one typed reply holds both, which saves calls.

question -> [q, external draft + q, passage from memory + q] -> k passages each -> filter each -> union -> answer
"""

from functools import partial
from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import Filtered, Reading, result
from programs.steps.search import Search, search_for, search_with_drafts
from programs.steps.settings import Count, checked
from programs.steps.side_by_side import side_by_side
from programs.steps.text import as_text, blend, one_line
from retrieval import AnyRetriever, Passage, UsageError, as_retriever, number, pick, union
from signatures.answer import REASONING, AnswerShort, AnswerYesNo
from signatures.select import NameTopic, SelectPassages, SelectPassagesOrNone, set_aside
from signatures.write import WritePassage

__all__ = ["BlendFilter"]


class BlendFilter(Method):
    """Search with the question, with a draft answer and with a passage from memory; filter what each finds; answer.

    The question alone often finds too little, above all where the answer takes several steps. The draft and the
    LM's own knowledge name what to look for, and the LM's filter removes the noise that they bring in.

    Per question:
        LM calls: 7; 6 with style "yesno".
        Searches: 3.
        Depth: 3 LM calls, the first after one search.

    In the result:
        topic: what the question is about in general; None where the filter needs no topic.
        found: passage ids before filtering, by the name of the list (q, q_ex, q_in; or union).
        kept: passage ids after filtering, by the name of the list.
        unfiltered: names of the lists that were kept whole, because the selection could not be parsed.
        reasoning: the reasoning that led to the answer.

    Args:
        retriever: Finds the passages. The paper uses ColBERTv2, and in 4.3 to 4.5 also BM25, over the abstracts of
            Wikipedia of 2017.
        k: Passages per query. Paper: 5 (appendix D); 3 to 8 in Fig. 3.
        style: Form of the answers: "short" for a short phrase, filtering with a topic (HotPotQA, 2WikiMultiHopQA);
            "yesno" for yes or no, filtering without one (StrategyQA).
        original: Search with the question as it is (q). Table 5 leaves it out.
        external: Search with the draft answer over the first passages in front of the question (q_ex). Table 5 leaves
            it out.
        internal: Search with a passage from the LM's own memory in front of the question (q_in). Table 5 leaves it out.
        filter: "each" filters the passages of each query by themselves, as in the paper; "union" filters their union
            (Remark 2); "off" keeps everything.
        hops: Turns of external augmentation, each drafting over what the last one found. Paper: 1 (Remark 1).
    """

    reads: ClassVar[dict[str, Reading]] = {
        "kept": Filtered(
            found="found",
            whole="unfiltered",
            names={
                "q": "the question",
                "q_ex": "the query with the draft answer",
                "q_in": "the query with the passage from memory",
                "union": "the question and its queries",
            },
        )
    }
    zero_shot: ClassVar[tuple[str, ...]] = ("recall", "topic", "select")  # no demonstrations in the paper's prompts
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 5,
        style: Literal["short", "yesno"] = "short",
        original: bool = True,
        external: bool = True,
        internal: bool = True,
        filter: Literal["each", "union", "off"] = "each",
        hops: Count = 1,
    ) -> None:
        super().__init__()
        if not (original or external or internal):
            raise UsageError(
                "BlendFilter needs at least one of the queries: set original, external or internal to True"
            )
        self.retriever = as_retriever(retriever)
        self.k = k
        self.original = original
        self.hops = hops
        self.filter = filter
        answer = AnswerYesNo if style == "yesno" else AnswerShort
        select = SelectPassagesOrNone if style == "yesno" else SelectPassages
        self.draft = chain_of_thought(answer, REASONING) if external else None
        self.recall = dspy.Predict(WritePassage) if internal else None
        self.topic = dspy.Predict(NameTopic) if "topic" in select.input_fields and filter != "off" else None
        self.select = chain_of_thought(select) if filter != "off" else None
        self.answer = chain_of_thought(answer, REASONING)

    def forward(self, question: str) -> dspy.Prediction:
        # Query blending and retrieval (3.2; Algorithm 1, lines 1-4). The two augmentations run side by side, together
        # with the first step of filtering, which asks for the topic of the question.
        by_draft, by_memory, topic = side_by_side(
            partial(self._external, question), partial(self._internal, question), partial(self._topic, question)
        )
        lists: dict[str, list[Passage]] = {}
        if self.original:
            lists["q"] = by_draft[0].found
        if self.draft:
            lists["q_ex"] = by_draft[-1].found
        if self.recall:
            lists["q_in"] = by_memory[0].found

        # Knowledge filtering (3.3; Algorithm 1, line 5): each list by itself, or their union (Remark 2).
        if self.filter == "union":
            lists = {"union": union(*lists.values())}
        kept = lists
        unfiltered: list[str] = []
        if self.select:
            selections = side_by_side(*(partial(self._select, question, topic, found) for found in lists.values()))
            chosen = dict(zip(lists, selections, strict=True))
            kept = {name: found if chosen[name] is None else pick(found, chosen[name]) for name, found in lists.items()}
            unfiltered = [name for name in lists if chosen[name] is None]
        evidence = union(*kept.values())  # line 6

        # Answer generation (3.4; Algorithm 1, line 7).
        reply = ask(self.answer, context=number(evidence), question=question)
        searches = by_draft + by_memory
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            topic=topic,
            found={name: [passage.id for passage in found] for name, found in lists.items()},
            kept={name: [passage.id for passage in found] for name, found in kept.items()},
            unfiltered=unfiltered,
            reasoning=as_text(reply.reasoning),
        )

    def _external(self, question: str) -> list[Search]:
        """K_q = R(q), then per hop a_ex = M(CoT(q, K)), q_ex = a_ex || q and K_qex = R(q_ex)."""
        if not (self.original or self.draft):
            return []
        return search_with_drafts(self.retriever, self.draft, question, self.k, self.hops if self.draft else 0)

    def _internal(self, question: str) -> list[Search]:
        """a_in = M(q), q_in = a_in || q and K_qin = R(q_in)."""
        if not self.recall:
            return []
        recalled = one_line(ask(self.recall, question=question).passage)
        return [search_for(self.retriever, blend(recalled, question), self.k)]

    def _topic(self, question: str) -> str | None:
        return as_text(ask(self.topic, question=question).topic) if self.topic else None

    def _select(self, question: str, topic: str | None, found: list[Passage]) -> list[int] | None:
        """Numbers of the passages that the LM keeps; None where its reply could not be parsed."""
        if not found:
            return []
        about = {"topic": set_aside(one_line(topic).rstrip("."))} if self.topic else {}
        return ask(self.select, context=number(found), question=question, **about).relevant  # type: ignore[no-any-return]


if __name__ == "__main__":
    from programs.commands.method import main

    main(BlendFilter)
