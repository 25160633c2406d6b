"""Chain-of-Rewrite against the case of the paper's figures (1, 3, 4 and 5), its switches, and replies that are no use.

The question and the article that it shares no telling word with are the paper's, of whose figures the text has no more.
The other documents, who finds what and the probabilities are ours, and small enough to compute by hand.
"""

import json
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request, Response, TokenLogprob, TopLogprob
from support.patience import PATIENCE
from support.prompt_reading import inputs
from support.scripted import UNPARSABLE, Function, Reply, Script, engine_lm, render, scripted

from programs.chain_of_rewrite import ChainOfRewrite
from programs.instruments.cost import measured
from retrieval import Memory, Passage
from signatures.answer import AnswerEntity
from signatures.extract import AnalyseDocument, NameCandidate
from signatures.query import ListExplicitQueries, ListRelatedQueries

QUESTION = "What genre is The Trip?"
TABLE = [
    Passage("genre", "what kind of art a work is , the one or the other", "Genre"),
    Passage("hop", "a genre of slow electronic music , the one which is from Bristol", "Trip hop"),
    Passage("italy", "It is what Michael Winterbottom cut from the second season", "The Trip to Italy"),
    Passage("film", "a film about drugs by Roger Corman . It is a psychedelic drama .", "The Trip (1967 film)"),
    Passage(
        "series",
        "Rob Brydon and Steve Coogan dine in the north of England. It is a British television sitcom. There are four "
        "seasons.",
        "The Trip (2010 TV series)",
    ),
    Passage("list", "the channel of each sitcom and its genre , what fans keep", "List of British sitcoms"),
]
EXPLICIT = ["1. genre of the 2010 TV series The Trip", "2. genre of the 1967 film The Trip"]
# Four keywords in all, so each query gets the four of them: who finds what does not hang on the draw.
KEYWORDS = [["BBC Two", "Steve Coogan"], ["- Roger Corman", "steve coogan", "drama"]]

CLARIFY = Reply(ListExplicitQueries, {"queries": json.dumps(EXPLICIT)})
EXPAND = [
    Reply(
        ListRelatedQueries,
        {"related": json.dumps([f"what kind of series is it | {', '.join(keywords)}"])},
        when=explicit[3:],
    )
    for explicit, keywords in zip(EXPLICIT, KEYWORDS, strict=True)
]


def reading(id: str, evidence: str, candidate: str, **fields: Any) -> list[Reply]:
    """What the LM says of one document: the analysis, then the candidate, which is asked for with the analysis."""
    (passage,) = (passage for passage in TABLE if passage.id == id)
    about = f"[[ ## title ## ]]\n{passage.title}\n\n[[ ## document ## ]]\n{passage.text}\n"
    analysis = Reply(AnalyseDocument, {"analysis": f"On {id}.", "evidence": evidence}, when=about)
    return [analysis, Reply(NameCandidate, {"candidate": candidate, **fields}, when=about)]


SITCOM = "It is a British television sitcom."
READINGS = {
    "genre": reading("genre", "", "unknown"),
    "hop": reading("hop", "", '"Unknown"'),
    "italy": reading("italy", "It is what Michael Winterbottom cut from the second season", "film"),
    "film": reading("film", "- It is a psychedelic drama .\n- It won a prize.", "psychedelic drama"),
    "series": reading("series", f"“{SITCOM}”", "sitcom"),
    "list": reading("list", "Nothing of it is there.", "television sitcom"),
}
# Probability of what was written, and of what could have been written instead.
PROBABILITIES: dict[str, tuple[float, dict[str, float]]] = {
    "unknown": (0.9, {"Unknown": 0.05, "sitcom": 0.02}),
    '"Unknown"': (0.6, {"music": 0.3}),
    "film": (0.5, {"unknown": 0.3, "Unknown": 0.1}),
    "psychedelic drama": (0.7, {"unknown": 0.2}),
    "sitcom": (0.8, {"unknown": 0.1, "unknowns": 0.05}),
    "television sitcom": (0.9, {"unknown": 0.02}),
}
P_UNKNOWN = {"genre": 0.95, "hop": 0.6, "italy": 0.4, "film": 0.2, "series": 0.1, "list": 0.02}
LOG_LIKELIHOODS = {"film": -1.0, "list": -1.5, "italy": -2.0, "series": -3.0, "hop": -4.0, "genre": -5.0}


class Scored:
    """The scripted LM with log-probabilities."""

    supported_params = ("logprobs", "top_logprobs")

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def complete(self, request: Request) -> Response:
        response = self.engine.complete(request)
        text = response.message.text
        if request.config.logprobs is None or "[[ ## candidate ## ]]\n" not in text:
            return response
        value = text.partition("[[ ## candidate ## ]]\n")[2]
        p, others = PROBABILITIES[value]
        head = TokenLogprob("[[ ## candidate ## ]]\n", -0.1)
        top = tuple(TopLogprob(token, math.log(other)) for token, other in others.items())
        return replace(response, logprobs=(head, TokenLogprob(value, math.log(p), top=top)))


@contextmanager
def with_logprobs(*replies: Reply) -> Iterator[Script]:
    """As `scripted`, with an LM that gives log-probabilities."""
    with scripted(*copies(replies)) as script, dspy.context(lm=engine_lm(Scored(script))):
        yield script


def copies(replies: Sequence[Reply]) -> list[Reply]:
    """A script uses its replies up."""
    return [Reply(r.to, r.fields, r.when, r.delay) for r in replies]


def answer(text: str, when: str = "") -> Reply:
    return Reply(AnswerEntity, {"answer": text}, when=when)


def readings(*ids: str) -> list[Reply]:
    return [reply for id in ids for reply in READINGS[id]]


class UPR:
    """A scorer with given log-likelihoods of the question."""

    def __init__(self) -> None:
        self.scored: list[str] = []
        self.lock = threading.Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        assert query == QUESTION
        ids = [next(p.id for p in TABLE if text == f"{p.title} {p.text}") for text in texts]
        with self.lock:
            self.scored += ids
        return [LOG_LIKELIHOODS[id] for id in ids]


@pytest.fixture
def upr(monkeypatch: pytest.MonkeyPatch) -> UPR:
    scorer = UPR()
    monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", {"upr:some/model": scorer}.__getitem__)
    return scorer


SMALL = {"m": 3, "n": 5, "k": 2}
CASE = [CLARIFY, *EXPAND, *readings("genre", "hop", "italy", "film", "series")]
MISLED = answer("drama", when="[1] The Trip (1967 film) | It is a psychedelic drama . The answer")
CORRECTED = answer(" television sitcom ", when="[1] List of British sitcoms | the channel of each")
FEEDBACK = [*readings("list"), MISLED, CORRECTED]


def method(**settings: Any) -> ChainOfRewrite:
    return ChainOfRewrite(Memory(TABLE), **(SMALL | settings))


def test_the_case_of_the_figures(upr: UPR) -> None:
    with with_logprobs(*CASE, *FEEDBACK) as script, measured() as cost:
        seen = method(upr="upr:some/model")(question=QUESTION)

    # Fig. 1 and 3, the question: rewritten, it finds the series and the film, which it does not find as it is.
    assert seen.clarifications == ["genre of the 2010 TV series The Trip", "genre of the 1967 film The Trip"]
    assert seen.keywords == ["BBC Two", "Steve Coogan", "Roger Corman", "drama"]
    assert seen.queries[0] == QUESTION
    for query, clarification in zip(seen.queries[1:3], seen.clarifications, strict=True):
        assert query.startswith(clarification + " ")
        words = query.removeprefix(clarification).split()
        assert sorted(words) == ["BBC", "Coogan", "Corman", "Roger", "Steve", "Two", "drama"]
    found = [[p.id for p in Memory(TABLE)(query, 3)] for query in seen.queries[:3]]
    assert found == [["genre", "hop", "italy"], ["series", "film", "hop"], ["film", "series", "hop"]]
    # The best score of each, in words that a query and the passage share: 6, 6, 4, 4, 3.
    assert seen.retrieved == ["series", "film", "genre", "hop", "italy"]

    # Fig. 5, p(unknown): what was written where that is the word, and what could have been written instead.
    p_unknown = {"genre": 0.9 + 0.05, "hop": 0.6, "italy": 0.3 + 0.1, "film": 0.2, "series": 0.1, "list": 0.02}
    assert seen.relevance == pytest.approx({id: 1 - p for id, p in p_unknown.items()})
    assert seen.measured_by == {"logprobs": 6}
    assert (seen.candidates["genre"], seen.candidates["hop"]) == ("unknown", "unknown")
    # Reciprocal ranks of the first round; p(unknown) alone would put the series first, UPR alone the film and Italy.
    #   film   1/62 + 1/61 = 0.03252    series 1/61 + 1/63 = 0.03227    italy  1/63 + 1/62 = 0.03200
    #   hop    1/64 + 1/64              genre  1/65 + 1/65
    # Fig. 3, the documents: sentences that are there, and the answer. The LM's prize is not in the document.
    reads = [user for _, user in script.prompts if "[[ ## context ## ]]" in user]
    assert inputs(reads[0])["context"].splitlines() == [
        f'[1] The Trip (1967 film) | It is a psychedelic drama . The answer to the question "{QUESTION}" is: '
        "psychedelic drama.",
        "[2] The Trip (2010 TV series) | It is a British television sitcom. The answer to the question "
        f'"{QUESTION}" is: sitcom.',
    ]
    assert seen.first_answer == "drama"

    # Fig. 4, query feedback: each candidate behind the question; of what that finds only the list is new, which takes
    # Italy's place among the five best and is the only one to be analysed and scored.
    assert seen.queries[3:] == [f"{QUESTION} psychedelic drama", f"{QUESTION} sitcom"]
    assert upr.scored == ["series", "film", "genre", "hop", "italy", "list"]
    #   list   1/61 + 1/62 = 0.03252    film   1/63 + 1/61 = 0.03227    series 1/62 + 1/63 = 0.03200
    assert seen.ranked == ["list", "film", "series", "hop", "genre"]
    assert seen.ranked_by == ["relevance", "upr"]
    assert [p.id for p in seen.evidence] == ["list", "film"]
    assert [p.score for p in seen.evidence] == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61])
    # The LM cited nothing of the list, so it is shown whole.
    assert seen.evidence[0].text == f'{TABLE[5].text} The answer to the question "{QUESTION}" is: television sitcom.'
    assert seen.answer == "television sitcom"
    assert [p.id for p in seen.passages] == ["genre", "hop", "italy", "series", "film", "list"]

    # The promise of the class docstring, with c = 2, d = 6, a = 2, and one more call and a searches for the feedback.
    assert (cost.lm_calls, cost.searches, cost.unparsable) == (2 + 2 + 2 * 6 + 1, 1 + 2 + 2, 0)
    # Documents are analysed with the question; candidates are named with that analysis.
    assert all(inputs(user)["question"] == QUESTION for _, user in script.prompts if "## question ##" in user)
    named = [inputs(user) for _, user in script.prompts if "[[ ## analysis ## ]]\nOn" in user]
    evidence = {
        "genre": "",
        "hop": "",
        "italy": " It is what Michael Winterbottom cut from the second season",
        "film": " - It is a psychedelic drama . - It won a prize.",
        "series": f" “{SITCOM}”",
        "list": " Nothing of it is there.",
    }
    assert sorted((each["title"], each["document"], each["analysis"]) for each in named) == sorted(
        (passage.title, passage.text, f"On {passage.id}.{evidence[passage.id]}") for passage in TABLE
    )


@pytest.mark.parametrize("lead", ["Evidence 1: ", "The Trip (2010 TV series) "])
def test_a_quote_behind_a_label_or_the_title_is_evidence(lead: str) -> None:
    replies = [*reading("series", f"{lead}{SITCOM}", "sitcom"), answer("sitcom")]
    settings = {"question_rewriting": "off", "query_feedback": False, "rerank_feedback": False, "k": 1}
    with scripted(*copies(replies)):
        seen = ChainOfRewrite(Memory([TABLE[4]]), unknown="binary", **settings)(question=QUESTION)
    assert seen.evidence[0].text.startswith(f"{SITCOM} The answer to the question")


def test_without_a_scorer_p_unknown_ranks_alone_and_the_result_says_so() -> None:
    reads = [answer("sitcom", when="[1] The Trip (2010 TV series)"), answer("sitcom", when="[1] List")]
    with with_logprobs(*CASE, *readings("list"), *reads):
        seen = method()(question=QUESTION)
    assert seen.ranked == ["list", "series", "film", "hop", "genre"]
    assert seen.ranked_by == ["relevance"]


class TestUnknown:
    """Where p(unknown) comes from."""

    def run(self, *replies: Reply, offered: bool, **settings: Any) -> tuple[dspy.Prediction, Script]:
        with (with_logprobs if offered else scripted)(*copies(replies)) as script:
            seen = method(**settings, query_feedback=False)(question=QUESTION)
        return seen, script

    def stating(self, **numbers: str) -> list[Reply]:
        """The case's readings with a number behind each candidate."""
        fields = {id: READINGS[id][1].fields for id in numbers}
        return [
            reply
            for id, number in numbers.items()
            for reply in reading(
                id, READINGS[id][0].fields["evidence"], fields[id]["candidate"], unknown_probability=number
            )
        ]

    @pytest.mark.parametrize(("offered", "unknown"), [(False, "logprobs"), (False, "stated"), (True, "stated")])
    def test_stated_where_the_lm_has_no_log_probabilities_or_it_is_wanted(self, offered: bool, unknown: str) -> None:
        stated = self.stating(genre="1.0", hop="0.9", italy="0.25", film="0.5", series="0.125")
        seen, script = self.run(CLARIFY, *EXPAND, *stated, answer("sitcom"), offered=offered, unknown=unknown)
        assert seen.relevance == {"genre": 0.0, "hop": 1 - 0.9, "italy": 0.75, "film": 0.5, "series": 0.875}
        assert seen.ranked == ["series", "italy", "film", "hop", "genre"]
        assert seen.measured_by == {"stated": 5}
        assert sum("unknown_probability" in user for _, user in script.prompts) == 5

    def test_a_number_that_is_no_probability_leaves_the_candidate_to_decide(self) -> None:
        stated = self.stating(genre="1990", hop="NaN", italy="-0.1", film="1.5", series="0.125")
        seen, _ = self.run(CLARIFY, *EXPAND, *stated, answer("sitcom"), offered=False)
        assert seen.relevance == {"genre": 0.0, "hop": 0.0, "italy": 1.0, "film": 1.0, "series": 0.875}
        assert seen.ranked == ["series", "film", "italy", "genre", "hop"]  # what was measured comes first
        assert seen.measured_by == {"stated": 1, "binary": 4}

    @pytest.mark.parametrize("offered", [False, True])
    def test_binary_asks_for_nothing_more(self, offered: bool) -> None:
        seen, script = self.run(*CASE, answer("sitcom"), offered=offered, unknown="binary")
        assert seen.relevance == {"genre": 0.0, "hop": 0.0, "italy": 1.0, "film": 1.0, "series": 1.0}
        assert seen.ranked == ["series", "film", "italy", "genre", "hop"]  # equals stay in the order of retrieval
        assert seen.measured_by == {"binary": 5}
        assert not [user for _, user in script.prompts if "unknown_probability" in user]

    def test_an_lm_that_offers_log_probabilities_and_then_gives_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Scored, "complete", lambda self, request: self.engine.complete(request))
        seen, _ = self.run(*CASE, answer("sitcom"), offered=True)
        assert seen.measured_by == {"binary": 5}

    def test_a_refusal_in_other_words_is_unknown_whatever_the_probability_of_the_word(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By its tokens alone the document that says nothing would be ranked by 1 - 0.3."""
        said = "Not mentioned in the document."
        monkeypatch.setitem(PROBABILITIES, said, (0.5, {"unknown": 0.3}))
        replies = [*reading("genre", "", said), *readings("hop", "italy"), answer("film")]
        seen, _ = self.run(*replies, offered=True, question_rewriting="off")
        assert seen.candidates == {"genre": "unknown", "hop": "unknown", "italy": "film"}
        assert seen.relevance == pytest.approx({"genre": 0.0, "hop": 1 - 0.6, "italy": 1 - 0.4})
        assert seen.measured_by == {"binary": 1, "logprobs": 2}

    def test_a_state_fits_whatever_p_unknown_comes_from(self) -> None:
        states = [method(unknown=unknown).dump_state() for unknown in ("logprobs", "stated", "binary")]
        assert states[0] == states[1] == states[2]


class TestSwitches:
    def run(self, *replies: Reply, **settings: Any) -> tuple[dspy.Prediction, Any]:
        with with_logprobs(*copies(replies)), measured() as cost:
            seen = method(**settings)(question=QUESTION)
        return seen, cost

    def test_without_question_rewriting_the_question_is_all_that_is_searched_with(self) -> None:
        replies = [*readings("genre", "hop", "italy"), answer("film")]
        seen, cost = self.run(*replies, question_rewriting="off", query_feedback=False)
        assert (seen.queries, seen.clarifications, seen.keywords) == ([QUESTION], [], [])
        assert seen.retrieved == ["genre", "hop", "italy"]
        assert (cost.lm_calls, cost.searches) == (0 + 2 * 3 + 1, 1)

    def test_direct_expansion_adds_keywords_to_the_question(self) -> None:
        expand = Reply(ListRelatedQueries, EXPAND[0].fields, when=f"[[ ## query ## ]]\n{QUESTION}")
        replies = [expand, *readings("genre", "hop", "italy", "series"), answer("sitcom")]
        seen, _ = self.run(*replies, question_rewriting="direct", query_feedback=False)
        assert seen.clarifications == [QUESTION]
        assert seen.keywords == ["BBC Two", "Steve Coogan"]
        assert sorted(seen.queries[1].removeprefix(QUESTION).split()) == ["BBC", "Coogan", "Steve", "Two"]
        assert seen.retrieved[:2] == ["genre", "series"]

    def test_without_document_rewriting_the_best_documents_are_read_as_they_are(self) -> None:
        whole = answer("sitcom", when=f"[1] {TABLE[4].title} | {TABLE[4].text}\n[2] {TABLE[3].title} | {TABLE[3].text}")
        seen, cost = self.run(*CASE, whole, document_rewriting=False, query_feedback=False)
        assert [(p.id, p.text) for p in seen.evidence] == [("series", TABLE[4].text), ("film", TABLE[3].text)]
        assert cost.lm_calls == 2 + 2 + 2 * 5

    def test_without_rerank_feedback_only_the_best_by_the_order_of_retrieval_are_analysed(self) -> None:
        replies = [CLARIFY, *EXPAND, *readings("series", "film"), answer("sitcom")]
        seen, cost = self.run(*replies, rerank_feedback=False, query_feedback=False)
        assert seen.ranked == seen.retrieved == ["series", "film", "genre", "hop", "italy"]
        assert seen.ranked_by == []
        assert set(seen.candidates) == {"series", "film"}
        assert cost.lm_calls == 2 + 2 + 2 * 2

    def test_without_rerank_feedback_upr_ranks_alone(self, upr: UPR) -> None:
        replies = [CLARIFY, *EXPAND, *readings("film", "italy"), answer("film")]
        seen, _ = self.run(*replies, rerank_feedback=False, query_feedback=False, upr="upr:some/model")
        assert seen.ranked == ["film", "italy", "series", "hop", "genre"]
        assert seen.ranked_by == ["upr"]

    def test_without_query_feedback_there_is_one_reading(self) -> None:
        seen, cost = self.run(*CASE, answer("sitcom"), query_feedback=False)
        assert len(seen.queries) == 3
        assert (seen.answer, seen.first_answer) == ("sitcom", "sitcom")
        assert (cost.lm_calls, cost.searches) == (2 + 2 + 2 * 5, 3)

    def test_without_all_of_them_it_retrieves_and_reads(self) -> None:
        off = {"document_rewriting": False, "rerank_feedback": False, "query_feedback": False}
        seen, cost = self.run(answer("?"), question_rewriting="off", **off)
        assert [p.id for p in seen.evidence] == ["genre", "hop"]
        assert (seen.candidates, seen.relevance, seen.measured_by) == ({}, {}, {})
        assert (cost.lm_calls, cost.searches) == (1, 1)
        program = method(question_rewriting="off", **off)
        assert [name for name, _ in program.named_predictors()] == ["answer"]

    def test_query_feedback_alone_analyses_what_it_needs_candidates_of(self) -> None:
        replies = [*readings("genre", "italy"), answer("a film", when="[1] Genre")]
        replies += [answer("still a film", when="[1] Genre")]
        off = {"document_rewriting": False, "rerank_feedback": False, "question_rewriting": "off"}
        table = {QUESTION: ["genre", "italy"], f"{QUESTION} film": ["genre", "italy"]}
        with with_logprobs(*copies(replies)):
            seen = ChainOfRewrite(Memory(TABLE, table), **SMALL, **off)(question=QUESTION)
        assert seen.queries == [QUESTION, f"{QUESTION} film"]
        assert (seen.first_answer, seen.answer) == ("a film", "still a film")

    def test_analyse_top_analyses_the_best_by_retrieval_score_and_ranks_the_others_behind(self) -> None:
        replies = [CLARIFY, *EXPAND, *readings("series", "film", "genre"), answer("sitcom")]
        seen, cost = self.run(*replies, analyse_top=3, query_feedback=False)
        assert set(seen.relevance) == {"series", "film", "genre"}
        assert seen.ranked == ["series", "film", "genre", "hop", "italy"]
        assert cost.lm_calls == 2 + 2 + 2 * 3

    def test_what_analyse_top_left_out_is_analysed_where_upr_brings_it_to_the_top(self, upr: UPR) -> None:
        # film 1/61 + 1/62, series 1/63 + 1/61, italy 1/62 alone: the third of the three best.
        replies = [CLARIFY, *EXPAND, *readings("series", "film", "italy"), answer("sitcom")]
        with with_logprobs(*replies) as script:
            seen = method(analyse_top=2, k=3, query_feedback=False, upr="upr:some/model")(question=QUESTION)
        assert seen.ranked == ["film", "series", "italy", "hop", "genre"]
        assert set(seen.candidates) == {"series", "film", "italy"}
        analyses = [inputs(user) for _, user in script.prompts if "[[ ## document ## ]]" in user]
        assert [each["question"] for each in analyses] == [QUESTION] * 6

    def test_m_n_and_k(self) -> None:
        replies = [CLARIFY, *EXPAND, *readings("series", "film"), answer("sitcom", when="[1] The Trip (2010")]
        seen, _ = self.run(*replies, m=2, n=2, k=1, query_feedback=False)
        assert [p.id for p in seen.passages] == ["genre", "hop", "series", "film"]
        assert seen.retrieved == ["series", "film"]
        assert [p.id for p in seen.evidence] == ["series"]

    def test_the_defaults_are_the_papers(self) -> None:
        class Wide(Memory):
            def search(self, query: str, k: int) -> list[Passage]:
                return [Passage(f"{query} {n}", "text", score=float(-n)) for n in range(k)]

        fields = {"queries": json.dumps(list("abcde")), "related": "[]", "keywords": "[]", "answer": "x"}
        fields |= {"analysis": "", "evidence": "", "candidate": "unknown"}
        with dspy.context(lm=engine_lm(Function(lambda system, user: render(fields)))):
            program = ChainOfRewrite(Wide([]), rerank_feedback=False)
            seen = program(question=QUESTION)
        assert (len(seen.queries), len(seen.passages)) == (6, 6 * 30)
        assert (len(seen.retrieved), len(seen.evidence), program.in_flight) == (100, 5, 16)

    @pytest.mark.parametrize(
        ("scores", "kept"),
        [
            ((1.0, 2.0), "second"),
            ((2.0, 1.0), "first"),
            ((1.0, 1.0), "first"),
            ((None, None), "first"),
            ((None, -5.0), "second"),
        ],
    )
    def test_of_two_copies_the_better_one_counts_and_of_equal_ones_the_first(
        self, scores: tuple[float | None, float | None], kept: str
    ) -> None:
        class Copies(Memory):
            def search(self, query: str, k: int) -> list[Passage]:
                first = query == QUESTION
                return [Passage("copy", "first" if first else "second", score=scores[0 if first else 1])]

        expand = Reply(ListRelatedQueries, {"related": '["trip series | sitcom"]'})
        off = {"document_rewriting": False, "rerank_feedback": False, "query_feedback": False}
        with scripted(expand, answer("x", when=f"[1] {kept}")):
            seen = ChainOfRewrite(Copies([]), question_rewriting="direct", **off)(question=QUESTION)
        assert [p.text for p in seen.evidence] == [kept]

    def test_no_more_documents_than_in_flight_are_analysed_at_the_same_time(self) -> None:
        under_way: list[int] = []
        most: list[int] = []
        meeting = threading.Barrier(2, timeout=PATIENCE)

        def reply(system: str, user: str) -> str:
            if "documents relevant to the query" in system or "[[ ## document ## ]]" in user:
                under_way.append(1)
                most.append(len(under_way))
                meeting.wait()  # two at a time there are
                under_way.pop()
            fields = {"queries": '["a", "b"]', "related": "[]", "analysis": "", "evidence": ""}
            return render(fields | {"candidate": "unknown", "answer": "x"})

        with dspy.context(lm=engine_lm(Function(reply))):
            method(m=6, n=4, in_flight=2, unknown="binary")(question=QUESTION)
        assert len(most) == 2 + 2 * 4
        assert max(most) == 2


def test_when_all_are_unknown_the_reader_gets_the_originals_and_nothing_is_fed_back() -> None:
    kept = [reply for id in READINGS if id != "list" for reply in reading(id, "Nothing.", "unknown")]
    with with_logprobs(CLARIFY, *EXPAND, *kept, answer("comedy")) as script:
        seen = method()(question=QUESTION)
    assert not script.replies
    assert [(p.id, p.text) for p in seen.evidence] == [("series", TABLE[4].text), ("film", TABLE[3].text)]
    assert set(seen.candidates.values()) == {"unknown"}
    assert len(seen.queries) == 3
    assert (seen.answer, seen.first_answer) == ("comedy", "comedy")


def test_candidates_that_are_the_same_are_searched_with_once_and_no_query_twice() -> None:
    same = [*reading("genre", "", "Unknown"), *reading("hop", "", "A hybrid"), *reading("italy", "", "a hybrid")]
    replies = [*same, answer("film"), answer("film")]
    with scripted(*copies(replies)), measured() as cost:
        seen = method(question_rewriting="off", unknown="binary")(question=QUESTION)
    assert seen.queries == [QUESTION, f"{QUESTION} A hybrid"]
    assert cost.searches == 2


def test_a_question_that_gets_no_keywords_is_searched_with_once() -> None:
    expand = Reply(ListRelatedQueries, {"related": "[]", "keywords": "[]"})
    off = {"document_rewriting": False, "rerank_feedback": False, "query_feedback": False}
    with scripted(expand, answer("x")), measured() as cost:
        seen = method(question_rewriting="direct", **off)(question=QUESTION)
    assert (seen.queries, cost.searches) == ([QUESTION], 1)


POOL = [f"word{n}" for n in range(40)]
PINNED = [
    "one",
    "clear 0 word32 word0 word12 word13 word26",
    "clear 1 word26 word2 word39 word20 word16 word3 word0 word11",
    "clear 2 word37 word18 word2 word39 word26",
    "clear 3 word34 word0 word12 word36 word25 word37 word11 word26",
    "clear 4 word11 word7 word22 word36",
]


class TestKeywords:
    def queries(self, question: str) -> list[str]:
        clarify = Reply(ListExplicitQueries, {"queries": json.dumps([f"clear {n}" for n in range(7)])})
        expand = [
            Reply(
                ListRelatedQueries,
                {"related": json.dumps([f"related | {', '.join(POOL[8 * n + i : 8 * n + i + 4])}" for i in (0, 4)])},
                when=f"clear {n}",
            )
            for n in range(5)
        ]
        with scripted(clarify, *expand, answer("a")):
            return list(ChainOfRewrite(Memory([]))(question=question).queries)

    def test_four_to_eight_from_all_expansions_are_added_to_each_of_at_most_five(self) -> None:
        # each expansion gave eight: the draw for the first clarification has words of the first, second, fourth, fifth
        assert self.queries("one") == PINNED
        draws = [query[8:].split() for question in ("two", "three", "four") for query in self.queries(question)[1:]]
        assert len(draws) == 15
        assert {len(draw) for draw in draws} <= {4, 5, 6, 7, 8}
        assert all(len(set(draw)) == len(draw) and set(draw) <= set(POOL) for draw in draws)

    def test_the_draw_is_the_questions_own(self) -> None:
        assert [query[8:] for query in self.queries("two")] != [query[8:] for query in self.queries("three")]

    def test_fewer_than_four_are_all_added(self) -> None:
        clarify = Reply(ListExplicitQueries, {"queries": '["clear"]'})
        expand = Reply(ListRelatedQueries, {"related": '["1. what is it | a, ", "what else is it | A, b"]'})
        with scripted(clarify, expand, answer("a")):
            seen = ChainOfRewrite(Memory([]))(question="q")
        assert sorted(seen.queries[1].split()) == ["a", "b", "clear"]

    @pytest.mark.parametrize(
        "line",
        [
            "what genre is it | BBC Two, sitcom",
            "what genre is it (keywords: BBC Two, sitcom)",
            "what genre is it - Keywords: BBC Two; sitcom.",
            "**what genre is it** **Keywords:** BBC Two, sitcom",
            "what genre is it? - BBC Two, sitcom",
            "what genre is it: BBC Two, sitcom",
            "what genre is it [BBC Two, sitcom]",
            "The Trip: what genre is it | keywords: BBC Two, sitcom",
            'what genre is it | "BBC Two", sitcom"?',
            'what genre is it "in | BBC Two, sitcom?"',
        ],
    )
    def test_they_stand_beside_a_related_query(self, line: str) -> None:
        clarify = Reply(ListExplicitQueries, {"queries": '["clear"]'})
        expand = Reply(ListRelatedQueries, {"related": json.dumps([line, "what else is it like"])})
        with scripted(clarify, expand, answer("a")):
            assert ChainOfRewrite(Memory([]))(question="q").keywords == ["BBC Two", "sitcom"]


class TestUselessReplies:
    @pytest.mark.parametrize("said", [UNPARSABLE, {"queries": "[]"}])
    def test_without_clarifications_the_question_is_expanded(self, said: Any) -> None:
        useless = [Reply(ListExplicitQueries, said) for _ in range(2 if said == UNPARSABLE else 1)]
        expand = Reply(ListRelatedQueries, EXPAND[0].fields, when=f"[[ ## query ## ]]\n{QUESTION}\n")
        replies = [*useless, expand, *readings("genre", "hop", "italy", "series"), answer("x")]
        with scripted(*copies(replies)), measured() as cost:
            seen = method(query_feedback=False, unknown="binary")(question=QUESTION)
        assert (seen.clarifications, seen.keywords) == ([QUESTION], ["BBC Two", "Steve Coogan"])
        first, expanded = seen.queries
        assert (first, sorted(expanded.removeprefix(QUESTION).split())) == (QUESTION, ["BBC", "Coogan", "Steve", "Two"])
        assert cost.unparsable == len(useless) - 1

    def test_an_unparsable_expansion_gives_no_keywords(self) -> None:
        garbled = [Reply(ListRelatedQueries, UNPARSABLE, when="1967 film") for _ in range(2)]
        replies = [CLARIFY, EXPAND[0], *garbled, *readings("genre", "hop", "italy", "series"), answer("x")]
        with scripted(*copies(replies)):
            seen = method(query_feedback=False, unknown="binary")(question=QUESTION)
        assert seen.keywords == ["BBC Two", "Steve Coogan"]
        assert len(seen.queries) == 3

    def test_an_unparsable_analysis_and_an_unparsable_candidate(self) -> None:
        analysis, candidate = READINGS["genre"][0], READINGS["hop"][1]
        garbled = [Reply(r.to, UNPARSABLE, when=r.when) for r in (analysis, candidate) for _ in range(2)]
        named = Reply(NameCandidate, {"candidate": "art"}, when="[[ ## analysis ## ]]\n\n")
        replies = [*garbled, named, READINGS["hop"][0], *readings("italy"), answer("art", when="[1] Genre")]
        with scripted(*copies(replies)), measured() as cost:
            seen = method(question_rewriting="off", query_feedback=False, unknown="binary")(question=QUESTION)
        assert seen.candidates == {"genre": "art", "hop": "unknown", "italy": "film"}
        assert seen.relevance == {"genre": 1.0, "hop": 0.0, "italy": 1.0}
        assert cost.unparsable == 2
        # Without an analysis there is no evidence either: the document is shown whole.
        assert seen.evidence[0].text.startswith(TABLE[0].text + " The answer")

    def test_an_empty_candidate_is_unknown(self) -> None:
        replies = [*reading("genre", "", ""), *reading("hop", "", " unknown. "), *reading("italy", "", "“UNKNOWN”")]
        with scripted(*copies(replies), answer("x")):
            seen = method(question_rewriting="off", unknown="binary")(question=QUESTION)
        assert set(seen.candidates.values()) == {"unknown"}

    def test_nothing_found_is_read_as_nothing(self) -> None:
        with scripted(answer("x", when="[[ ## context ## ]]\n\n")):
            seen = method(question_rewriting="off")(question="xyzzy")
        assert (seen.passages, seen.evidence, seen.answer) == ([], [], "x")

    def test_very_long_replies(self) -> None:
        long = "so it is " * 12_000
        fields = {"queries": json.dumps([long] * 9), "related": json.dumps([f"{long} | {long}, b"])}
        fields |= {"analysis": long, "evidence": long, "candidate": long, "unknown_probability": "0.5", "answer": long}
        with dspy.context(lm=engine_lm(Function(lambda system, user: render(fields)))):
            seen = method()(question=QUESTION)
        assert all(len(query) < 20_000 for query in seen.queries)
        assert all(len(p.text) < 10_000 for p in seen.evidence)
