"""MIGRES against the paper's cases (Table 17), turn by turn; its memory, its switches, and replies that are no use.

What is asked, found, known and missing in each turn of the cases is the paper's, told in our own words. Each case is
replayed twice: with the passages that reach the leaf in the table, whole and in its order; and with the scores of the
lexical stand-in, on whose scale -2 lets the same passages pass, some of them cut down. Entailment is always the lexical
one.
"""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.citation_replies import numbered
from support.patience import PATIENCE
from support.prompt_reading import inputs
from support.score_table import ScoreTable
from support.scripted import UNPARSABLE, Reply, scripted

from programs.instruments.cost import Cost, measured
from programs.migres import MIGRES
from retrieval import Memory, Passage, Retriever, UsageError
from retrieval.bm25.search import BM25
from retrieval.ranking.entailment import Entailment
from retrieval.ranking.scorers import Scorer
from retrieval.ranking.sentences import split_sentences
from signatures.answer import AnswerShort, AnswerYesNo
from signatures.detect import DetectMissing, DetectMissingYesNo
from signatures.extract import ExtractSnippet, ExtractStatements, SummarizePassage
from signatures.query import AskForMissing
from signatures.verify import CheckClaims
from signatures.write import WriteKnowledgeOrNone


def leaf(*statements: tuple[str, Any], when: str = "") -> Reply:
    found = [{"statement": text, "passages": numbers} for text, numbers in statements]
    return Reply(ExtractStatements, {"statements": json.dumps(found)}, when)


def main(answer: str, missing: str = "", explanation: str = "So it is.", when: str = "") -> Reply:
    return Reply(DetectMissing, {"answer": answer, "explanation": explanation, "missing": missing}, when)


def unanswerable(missing: str, when: str = "") -> Reply:
    return main("unanswerable", missing, "It is not said.", when)


def queries(*texts: str, when: str = "") -> Reply:
    return Reply(AskForMissing, {"queries": json.dumps(texts)}, when)


def checked(*holding: int, when: str = "") -> Reply:
    return Reply(CheckClaims, {"holding": json.dumps(holding)}, when)


def knows(text: str, when: str = "") -> Reply:
    return Reply(WriteKnowledgeOrNone, {"knowledge": text}, when)


def anyway(answer: str, when: str = "") -> Reply:
    return Reply(AnswerShort, {"reasoning": "From memory.", "answer": answer}, when)


def run(
    retriever: Retriever, question: str, replies: Sequence[Reply], **settings: Any
) -> tuple[dspy.Prediction, Cost, list[dict[str, str]]]:
    with scripted(*[Reply(r.to, r.fields, r.when, r.delay) for r in replies]) as script, measured() as cost:
        seen = MIGRES(retriever, **settings)(question=question)
    return seen, cost, [inputs(user) for _, user in script.prompts]


def ids(passages: list[Passage]) -> list[str]:
    return [passage.id for passage in passages]


class Passing(Scorer):
    """As the paper's reranker: for each query these passages pass, at the threshold of Table 11, and no sentence."""

    def __init__(self, passing: dict[str, dict[str, float]], table: Sequence[Passage]) -> None:
        self.passing = passing
        self.ids = {f"{passage.title} {passage.text}".strip(): passage.id for passage in table}

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        scores = self.passing.get(query, {})
        return [scores.get(self.ids.get(text, ""), -5.0) for text in texts]


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[dict[str, str]]]:
    """Replays a case over BM25 with these scores, and gives what the LM is shown."""

    def replay(case: Any, scores: dict[str, dict[str, float]], replies: Sequence[Reply]) -> list[dict[str, str]]:
        scorer = Passing(scores, case.table)
        monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", {"cross-encoder:some/model": scorer}.__getitem__)
        retriever = BM25.build(case.table, tmp_path / "index")
        seen, _, prompts = run(retriever, case.question, replies, reranker="cross-encoder:some/model")
        assert seen.queries == list(case.asked)
        assert [fact["fact"] for fact in seen.known_facts] == list(case.facts)
        return prompts

    return replay


class TestCase1:
    question = "Do the directors of the films I Come With The Rain and Levity (Film) share a nationality?"
    table = (
        Passage(
            "rain",
            "Tran Anh Hung, a French director born in Vietnam, wrote and made I Come with the Rain, an atmospheric "
            "thriller of 2009 in the manner of film noir, Its music",
            "I Come with the Rain",
        ),
        Passage(
            "levity",
            "Ed Solomon directed Levity, a drama film of 2003 with Billy Bob Thornton, ..., Day after day he has "
            "looked at a picture of Abner Easley, the boy whose life he took, and now he goes back to the old city to "
            "be redeemed. There he moves",
            "Levity (film)",
        ),
        Passage("solomon", "The American filmmaker Edward James Solomon was born on September 15, 1960.", "Ed Solomon"),
        # Two of ours, which do not pass.
        Passage("rainman", "Rain Man tells of two brothers.", "Rain Man"),
        Passage("hung", "To be hung out to dry is to be left alone in trouble.", "Hung out"),
    )
    # What passes, as the leaf sees it.
    rain, levity, solomon = (f"{passage.title} | {passage.text}" for passage in table[:3])
    asked = (
        question,
        'Of which nationality is the director of "Levity"?',
        'By whom was the film "Levity" directed?',
        'Can you tell of which nationality the director of "Levity" is?',
        'Of which nationality is Ed Solomon, who directed "Levity"?',
        'Is it certain of which nationality Ed Solomon is, who directed "Levity"?',
    )
    facts = (
        "I Come with the Rain is by the French director Tran Anh Hung, who was born in Vietnam.",
        'It was Ed Solomon who directed the film "Levity".',
        "Ed Solomon, a filmmaker, is American",
    )
    missing = 'Of which nationality the director of "Levity" is.'
    replies = (
        leaf((facts[0], [1])),
        unanswerable(missing),
        queries(*asked[1:4]),
        leaf((facts[1], [1])),
        unanswerable(missing),
        queries(*asked[4:]),
        leaf((facts[2], [1])),
        main("No", explanation="The one is American, the other is not."),
    )

    def test_turn_by_turn(self, tmp_path: Path) -> None:
        retriever = BM25.build(self.table, tmp_path / "index")
        seen, cost, prompts = run(retriever, self.question, self.replies, threshold=-2.0)
        assert prompts == [
            # Iteration 1
            {"context": numbered(self.rain), "question": self.question},
            {"facts": numbered(self.facts[0]), "question": self.question},
            # Iteration 2: of the three queries one finds a passage that passes, and the leaf is asked that one.
            {
                "question": self.question,
                "history": self.question,
                "facts": numbered(self.facts[0]),
                "missing": self.missing,
            },
            {"context": numbered(self.levity), "question": self.asked[2]},
            {"facts": numbered(*self.facts[:2]), "question": self.question},
            # Iteration 3
            {
                "question": self.question,
                "history": "\n".join(self.asked[:4]),
                "facts": numbered(*self.facts[:2]),
                "missing": self.missing,
            },
            {"context": numbered(self.solomon), "question": self.asked[4]},
            {"facts": numbered(*self.facts), "question": self.question},
        ]
        assert seen.answer == "No"
        assert seen.queries == list(self.asked)
        assert set(ids(seen.passages)) == {"rain", "levity", "solomon", "rainman"}
        assert [(p.id, p.text) for p in seen.evidence] == [(f"lm:fact-{n}", t) for n, t in enumerate(self.facts, 1)]
        assert seen.known_facts == [
            {"fact": self.facts[0], "passages": ["rain"]},
            {"fact": self.facts[1], "passages": ["levity"]},
            {"fact": self.facts[2], "passages": ["solomon"]},
        ]
        assert (seen.unanswerable, seen.knowledge) == (False, [])
        # What Table 5 counts: the words of the sentences that reached the leaf.
        words = [len(text.replace(" | ", " ").split()) for text in (self.rain, self.levity, self.solomon)]
        assert seen.external_tokens == sum(words)
        first, second, third = seen.iterations
        assert set(first.pop("retrieved")) == {"rain", "levity", "rainman"}
        assert first == {
            "queries": [self.question],
            "kept": ["rain"],
            "shown": ["rain"],
            "facts": [seen.known_facts[0]],
            "explanation": "It is not said.",
            "missing": self.missing,
        }
        assert (second["queries"], second["kept"]) == (list(self.asked[1:4]), ["levity"])
        assert (second["facts"], second["missing"]) == ([seen.known_facts[1]], self.missing)
        assert (third["queries"], third["kept"]) == (list(self.asked[4:]), ["solomon"])
        assert (third["facts"], third["missing"]) == ([seen.known_facts[2]], "")
        assert third["explanation"] == "The one is American, the other is not."
        # The promise of the class docstring: 3r - 1 LM calls; 1 search and up to 3 per round.
        assert (cost.lm_calls, cost.searches, cost.unparsable) == (8, 6, 0)


class TestCase2:
    question = "My Cousin From Warsaw or Payment On Demand: of which film did the director die first?"
    table = (
        Passage(
            "german",
            "Carl Boese directed My Cousin from Warsaw, a German comedy film of 1931 with Fritz Schulz, Liane Haid and "
            'Tala Birell. In French there is another version, "Ma cousine de Varsovie", directed by Carmine Gallone.',
        ),
        Passage(
            "french",
            "Carmine Gallone directed My Cousin from Warsaw, a French-German comedy film of 1931 with Madeleine "
            "Lambert, Elvire Popesco and André Roanne.",
        ),
        Passage(
            "gallone",
            "Carmine Gallone (10 September 1885 to 4 April 1973), an Italian, wrote and produced films and was a "
            "director praised early on.",
        ),
        Passage(
            "boese",
            "Carl Boese (26 August 1887 to 6 July 1958), a German, produced and wrote films and was a director. From "
            "1917 to 1957 he directed 158 of them.",
        ),
        Passage("demand", "Demand and supply meet in a price.", "Demand"),  # ours, which does not pass
    )
    asked = (
        question,
        'For the director of "Payment On Demand", what is the date of death?',
        '"Payment on Demand" had a director: when did he die?',
        "When did My Cousin From Warsaw's director die?",
        'Carl Boese directed "My Cousin From Warsaw": when did this director die?',
        'Carmine Gallone directed "My Cousin From Warsaw": when did this director die?',
    )
    # What the lexical scorer leaves of the passage; its second sentence names the French version.
    german = table[0].text.partition(" In French")[0]
    known = (
        'Curtis Bernhardt directed "Payment On Demand". Worms in Germany is where, on April 15, 1899, he was born; on '
        "February 22, 1981, he died in Pacific Palisades, California, in the United States."
    )
    facts = (
        "The German comedy film My Cousin from Warsaw of 1931 was directed by Carl Boese",
        "The French-German comedy film My Cousin from Warsaw of 1931 was directed by Carmine Gallone",
        "Curtis Bernhardt, who directed 'Payment On Demand', died on February 22, 1981",
        "On July 6, 1958, Carl Boese died",
        "On April 4, 1973, Carmine Gallone died",
    )
    missing = (
        "When the two directors, of 'Payment On Demand' and of 'My Cousin From Warsaw', died.",
        "When My Cousin from Warsaw's director died.",
    )
    replies = (
        leaf((facts[0], [2]), (facts[1], [1])),  # equally good passages stay in the order of BM25
        unanswerable(missing[0]),
        queries(*asked[1:4]),
        knows(known),
        leaf((facts[2], [1])),
        unanswerable(missing[1]),
        queries(*asked[4:]),
        leaf((facts[3], [1]), (facts[4], [2])),
        main("My Cousin from Warsaw"),
    )

    def test_as_in_the_table(self, passing: Callable[..., list[dict[str, str]]]) -> None:
        """But for what the LM knows: the table asks for it about the first query alone."""
        found = {self.asked[0]: {"german": 5.0, "french": 4.0}}
        scores = found | {self.asked[4]: {"boese": 4.0}, self.asked[5]: {"gallone": 5.0}}
        replies = [
            leaf((self.facts[0], [1]), (self.facts[1], [2])),
            *self.replies[1:-2],
            leaf((self.facts[3], [2]), (self.facts[4], [1])),
            self.replies[-1],
        ]
        texts = {passage.id: passage.text for passage in self.table}
        assert passing(self, scores, replies) == [
            {"context": numbered(texts["german"], texts["french"]), "question": self.question},
            {"facts": numbered(*self.facts[:2]), "question": self.question},
            {
                "question": self.question,
                "history": self.question,
                "facts": numbered(*self.facts[:2]),
                "missing": self.missing[0],
            },
            {"questions": " ".join(self.asked[1:4])},
            {"context": numbered(self.known), "question": " ".join(self.asked[1:4])},
            {"facts": numbered(*self.facts[:3]), "question": self.question},
            {
                "question": self.question,
                "history": "\n".join(self.asked[:4]),
                "facts": numbered(*self.facts[:3]),
                "missing": self.missing[1],
            },
            # The queries in the order in which they were written, whatever the order of what they found.
            {"context": numbered(texts["gallone"], texts["boese"]), "question": " ".join(self.asked[4:])},
            {"facts": numbered(*self.facts), "question": self.question},
        ]

    def test_turn_by_turn(self, tmp_path: Path) -> None:
        retriever = BM25.build(self.table, tmp_path / "index")
        seen, cost, prompts = run(retriever, self.question, self.replies, threshold=-2.0)
        texts = {passage.id: passage.text for passage in self.table}
        assert [prompt for prompt in prompts if "history" not in prompt] == [
            # Iteration 1
            {"context": numbered(texts["french"], self.german), "question": self.question},
            {"facts": numbered(*self.facts[:2]), "question": self.question},
            # Iteration 2: the third query finds both passages on the film again, but they have said what they know. The
            # paper shows the first query alone in this turn; here what the LM knows is asked for all of them.
            {"questions": " ".join(self.asked[1:4])},
            {"context": numbered(self.known), "question": " ".join(self.asked[1:4])},
            {"facts": numbered(*self.facts[:3]), "question": self.question},
            # Iteration 3: a passage for each of the two queries, the one that fits its query best first. That one says
            # more as a whole than any of its sentences.
            {"context": numbered(texts["boese"], texts["gallone"]), "question": " ".join(self.asked[4:])},
            {"facts": numbered(*self.facts), "question": self.question},
        ]
        assert [prompt for prompt in prompts if "history" in prompt] == [
            {
                "question": self.question,
                "history": self.question,
                "facts": numbered(*self.facts[:2]),
                "missing": self.missing[0],
            },
            {
                "question": self.question,
                "history": "\n".join(self.asked[:4]),
                "facts": numbered(*self.facts[:3]),
                "missing": self.missing[1],
            },
        ]
        assert seen.answer == "My Cousin from Warsaw"
        assert seen.queries == list(self.asked)
        assert [(fact["fact"], fact["passages"]) for fact in seen.known_facts] == [
            (self.facts[0], ["german"]),
            (self.facts[1], ["french"]),
            (self.facts[2], ["lm:knowledge-2"]),
            (self.facts[3], ["boese"]),
            (self.facts[4], ["gallone"]),
        ]
        assert [turn["kept"] for turn in seen.iterations] == [["french", "german"], [], ["boese", "gallone"]]
        assert [turn["shown"] for turn in seen.iterations] == [
            ["french", "german"],
            ["lm:knowledge-2"],
            ["boese", "gallone"],
        ]
        assert {"german", "french"} <= set(seen.iterations[1]["retrieved"])
        assert [turn["missing"] for turn in seen.iterations] == [*self.missing, ""]
        assert [(p.id, p.text) for p in seen.knowledge] == [("lm:knowledge-2", self.known)]
        # What the LM knows is no external knowledge.
        shown = (self.german, texts["french"], texts["boese"], texts["gallone"])
        assert seen.external_tokens == sum(len(text.split()) for text in shown)
        assert (cost.lm_calls, cost.searches, cost.unparsable) == (9, 6, 0)

    def test_with_the_lm_as_the_judge_of_entailment(self, tmp_path: Path) -> None:
        """The same facts, with one call more for each round that has some."""
        retriever = BM25.build(self.table, tmp_path / "index")
        checks = [checked(1, 2, when=self.facts[0]), checked(1, when=self.facts[2]), checked(1, 2, when=self.facts[3])]
        with_, cost, prompts = run(retriever, self.question, [*self.replies, *checks], threshold=-2.0, entailment="lm")
        without, _, _ = run(retriever, self.question, self.replies, threshold=-2.0)
        assert with_.toDict() == without.toDict()
        assert (cost.lm_calls, cost.searches, cost.unparsable) == (12, 6, 0)
        texts = {passage.id: passage.text for passage in self.table}
        assert [prompt for prompt in prompts if "claims" in prompt] == [
            {
                "context": numbered(texts["french"], self.german),
                "question": self.question,
                "claims": numbered(f"passage 2 | {self.facts[0]}", f"passage 1 | {self.facts[1]}"),
            },
            {
                "context": numbered(self.known),
                "question": " ".join(self.asked[1:4]),
                "claims": numbered(f"passage 1 | {self.facts[2]}"),
            },
            {
                "context": numbered(texts["boese"], texts["gallone"]),
                "question": " ".join(self.asked[4:]),
                "claims": numbered(f"passage 1 | {self.facts[3]}", f"passage 2 | {self.facts[4]}"),
            },
        ]


class TestTable16:
    """What the three compressions leave of a passage."""

    question = "Of which film did the director die later, School On Fire or What Will You Do When You Catch Me?"
    first = "Ringo Lam directed School on Fire, an action film from Hong Kong of 1988."
    passage = Passage(
        "school",
        f"{first} The film tells of Chu Yuen Fong (Fennie Yuen), a pupil, whom the triads no longer let go once she "
        "has told a court how they beat someone up. Brother Smart (Roy Cheung), who leads them, hears of it and has "
        "Yuen Fong pay for her safety, and from there it gets worse and worse. The film tells of Chu Yuen Fong (Fennie "
        "Yuen), a pupil, whom the triads no longer let go once she has told a",
        "School on Fire",
    )
    summary = (
        'Ringo Lam made the action film "School on Fire" in Hong Kong in 1988. In it the triads get hold of Chu Yuen '
        "Fong, who has spoken against them in court. Ringo Lam is the director who died later. Where the question asks "
        'for "What Will You Do When You Catch Me?" this is irrelevant.'
    )

    @pytest.mark.parametrize(
        ("compression", "compressed", "shown"),
        [
            ("summary", Reply(SummarizePassage, {"summary": summary}), summary),
            ("snippet", Reply(ExtractSnippet, {"snippet": "Irrelevant."}), None),
            ("filter", None, first),
        ],
        ids=["SUMM", "SNIPPET", "Sentence-level Filtering"],
    )
    def test_what_the_leaf_is_shown(
        self, compression: Any, compressed: Reply | None, shown: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The title is in front of each sentence that is scored, and once in what is shown."""
        whole = f"School on Fire {self.passage.text}"
        scores = {f"School on Fire {text}": -1.0 for text in split_sentences(self.passage.text)}
        scorer = ScoreTable(scores | {whole: 4.0, f"School on Fire {self.first}": 5.0})
        monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", lambda spec: scorer)
        replies = [*([compressed] if compressed else []), *([leaf()] if shown else []), main("School On Fire")]
        options = {"compression": compression, "threshold": 3.0, "knowledge": False}
        _, _, prompts = run(Memory([self.passage]), self.question, replies, **options)
        read = [prompt["context"] for prompt in prompts if "context" in prompt]
        assert read == ([f"[1] School on Fire | {shown}"] if shown else [])


# A made-up case for the rest. With threshold -6 everything that is found passes the filter.
QUESTION = "Where was the finder of the planet Zorx born?"
WHO, WHERE = "Who found the planet Zorx?", "Where was Ada Quill born?"
ZORX = Passage("zorx", "Zorx is a planet found by Ada Quill.", "Zorx")
ADA = Passage("ada", "Ada Quill was born in Lund. She liked bread.", "Ada Quill")
BAKERS = Passage("bakers", "The Zorxes were a band of bakers.")
FINDER, BIRTH = "Ada Quill found the planet Zorx.", "Ada Quill was born in Lund."
NOBODY, NOWHERE = "It is not known who found it.", "It is not known where she was born."


def table(**found: list[str]) -> Memory:
    """The question finds zorx and bakers, and what else is asked finds what is given."""
    named = {"who": WHO, "where": WHERE, "nobody": NOBODY}
    answers = {QUESTION: ["zorx", "bakers"], **{named[name]: listed for name, listed in found.items()}}
    return Memory([ZORX, ADA, BAKERS], {WHO: [], WHERE: [], NOBODY: [], NOWHERE: [], **answers})


def shown(seen: dspy.Prediction) -> list[list[str]]:
    return [turn["shown"] for turn in seen.iterations]


class TestCalls:
    """The promises of the class docstring."""

    def test_two_at_least(self) -> None:
        seen, cost, _ = run(table(), QUESTION, [leaf((FINDER, [1])), main("Lund")], threshold=-6.0)
        assert seen.answer == "Lund"
        assert (cost.lm_calls, cost.searches) == (2, 1)

    def test_one_where_there_is_nothing_to_read(self) -> None:
        seen, cost, prompts = run(Memory([]), QUESTION, [main("Lund")], knowledge=False)
        assert prompts == [{"facts": "", "question": QUESTION}]
        assert (seen.answer, seen.known_facts, shown(seen)) == ("Lund", [], [[]])
        assert (cost.lm_calls, cost.searches) == (1, 1)

    def test_twenty_at_most_with_five_rounds(self) -> None:
        names = ["one", "two", "three", "four", "five"]
        facts = [f"It is number {name}." for name in names]
        replies: list[Reply] = []
        for n, fact in enumerate(facts):
            replies += [queries(*(f"query {n} for {letter}" for letter in "abcd"))] * bool(n)
            replies += [knows(fact), leaf((fact, [1])), unanswerable("Which number it is.")]
        seen, cost, _ = run(Memory([]), QUESTION, [*replies, anyway("Lund")])
        assert [fact["passages"] for fact in seen.known_facts] == [[f"lm:knowledge-{n}"] for n in range(1, 6)]
        assert seen.queries == [QUESTION, *(f"query {n} for {letter}" for n in range(1, 5) for letter in "abc")]
        assert (cost.lm_calls, cost.searches) == (20, 13)

    def test_main_is_skipped_without_new_facts_but_not_in_the_last_round(self) -> None:
        replies = [
            leaf(),
            unanswerable(NOBODY),
            queries(WHO),
            leaf(),
            queries(WHERE),
            leaf(),
            main("Lund"),
        ]
        seen, cost, prompts = run(
            table(who=["zorx"], where=["ada"]), QUESTION, replies, threshold=-6.0, rounds=3, answer_anyway=False
        )
        assert [turn["explanation"] for turn in seen.iterations] == ["It is not said.", None, "So it is."]
        assert [turn["missing"] for turn in seen.iterations] == [NOBODY, None, ""]
        # What was missing before is missing still.
        assert [prompt["missing"] for prompt in prompts if "missing" in prompt] == [NOBODY, NOBODY]
        assert (seen.answer, cost.lm_calls) == ("Lund", 7)

    def test_the_searches_of_a_round_run_side_by_side(self) -> None:
        meeting = threading.Barrier(3, timeout=PATIENCE)

        class Waiting(Memory):
            def search(self, query: str, k: int) -> list[Passage]:
                if query != QUESTION:
                    meeting.wait()
                return super().search(query, k)

        three = ["Who is the one?", "Who is the two?", "Who is the three?"]
        replies = [unanswerable(NOBODY), queries(*three), main("Lund")]
        seen, _, _ = run(Waiting([]), QUESTION, replies, rounds=2, knowledge=False)
        assert seen.queries == [QUESTION, *three]


class TestMemory:
    def test_what_supported_a_fact_is_not_shown_again_and_nothing_more_than_twice(self) -> None:
        both = ["zorx", "bakers"]
        retriever = Memory([ZORX, BAKERS], dict.fromkeys((QUESTION, WHO, WHERE), both))
        replies = [
            leaf((FINDER, [1])),
            unanswerable(NOWHERE),
            queries(WHO),
            leaf(when="[1] The Zorxes"),
            queries(WHERE),
            unanswerable(NOWHERE),
        ]
        seen, cost, _ = run(
            retriever, QUESTION, replies, threshold=-6.0, rounds=3, knowledge=False, answer_anyway=False
        )
        assert [turn["retrieved"] for turn in seen.iterations] == [both, both, both]
        assert shown(seen) == [both, ["bakers"], []]
        assert cost.lm_calls == 6

    def test_what_supported_nothing_gets_a_second_chance(self) -> None:
        retriever = Memory([ZORX], {query: ["zorx"] for query in (QUESTION, WHO, WHERE)})
        replies = [leaf(), unanswerable(NOBODY), queries(WHO), leaf((FINDER, [1])), main("Lund")]
        seen, _, _ = run(retriever, QUESTION, replies, threshold=-6.0)
        assert shown(seen) == [["zorx"], ["zorx"]]
        assert seen.known_facts == [{"fact": FINDER, "passages": ["zorx"]}]

    def test_a_fact_that_is_known_is_not_new(self) -> None:
        retriever = Memory([ZORX, ADA], {QUESTION: ["zorx"], WHO: ["ada"]})
        again = leaf((FINDER.upper(), [1]), (BIRTH, [1]), (BIRTH, [1]))
        replies = [leaf((FINDER, [1])), unanswerable(NOWHERE), queries(WHO), again, main("Lund")]
        seen, _, _ = run(retriever, QUESTION, replies, threshold=-6.0, entailment="none")
        assert [turn["facts"] for turn in seen.iterations] == [
            [{"fact": FINDER, "passages": ["zorx"]}],
            [{"fact": BIRTH, "passages": ["ada"]}],
        ]


class TestQueries:
    def follow(self, *replies: Reply, retriever: Retriever | None = None, **settings: Any) -> dspy.Prediction:
        """One round without an answer, then these replies."""
        return run(
            retriever or Memory([]), QUESTION, [unanswerable(NOBODY), *replies], rounds=2, knowledge=False, **settings
        )[0]

    def test_numbering_history_and_repetitions_are_left_out_before_three_are_taken(self) -> None:
        """A name alone is a query, however short."""
        listed = queries(f"1. {QUESTION.upper()}", f"2. {WHO}", "- Lund", "", WHO.lower(), "(3) Ada Quill", "Malmö")
        assert self.follow(listed, main("Lund")).queries == [QUESTION, WHO, "Lund", "Ada Quill"]

    @pytest.mark.parametrize(
        "useless",
        [
            [queries()],
            [queries(QUESTION, " ")],
            [Reply(AskForMissing, UNPARSABLE)] * 2,
        ],
    )
    def test_without_a_new_query_the_question_is_searched_with_again(self, useless: list[Reply]) -> None:
        assert self.follow(*useless, main("Lund")).queries == [QUESTION, QUESTION]

    def test_an_lm_that_repeats_its_query_gets_to_the_next_passages_of_the_question(self) -> None:
        """The second passage has the answer, and the first is shown twice before it."""
        where = "Where did the finder of Zorx die?"
        first = Passage("first", "The finder of Zorx did not die in Lund.")
        second = Passage("second", "The finder of Zorx died in Warsaw.")
        died = "The finder of Zorx died in Warsaw."
        replies = [leaf(), unanswerable(NOWHERE), queries(WHERE), leaf(), queries(WHERE), leaf((died, [1]))]
        retriever = Memory([first, second], {where: ["first", "second"], WHERE: ["first"]})
        seen, _, _ = run(retriever, where, [*replies, main("Warsaw")], threshold=-6.0, k=1, knowledge=False)
        assert (seen.answer, seen.queries) == ("Warsaw", [where, WHERE, where])
        assert shown(seen) == [["first"], ["first"], ["second"]]

    def test_what_one_query_finds_may_be_what_another_asks_for(self) -> None:
        """The first query finds nothing, and its answer among what the second finds."""
        bread = "Who baked bread for Malmö?"
        retriever = Memory([ZORX, ADA], {QUESTION: [], WHERE: [], bread: ["ada", "zorx"]})
        replies = [unanswerable(NOBODY), queries(WHERE, bread), leaf((BIRTH, [1])), main("Lund")]
        seen, _, prompts = run(retriever, QUESTION, replies, rounds=2, knowledge=False, threshold=3.0)
        assert prompts[2] == {"context": f"[1] Ada Quill | {BIRTH}", "question": WHERE}
        assert (seen.iterations[1]["kept"], seen.iterations[1]["retrieved"]) == (["ada"], ["ada", "zorx"])

    def test_a_passage_that_several_queries_keep_is_shown_once_as_it_fits_best(self) -> None:
        """For Lund its first sentence is enough, for bread the second: the better score decides."""
        both = Memory([ZORX, ADA], {QUESTION: [], "bread in Lund or Malmö?": ["ada"], "born in Lund?": ["ada", "zorx"]})
        listed = queries("bread in Lund or Malmö?", "born in Lund?")
        replies = [unanswerable(NOBODY), listed, leaf((BIRTH, [1])), main("Lund")]
        seen, _, prompts = run(both, QUESTION, replies, rounds=2, knowledge=False, threshold=0.0)
        assert prompts[2] == {"context": "[1] Ada Quill | Ada Quill was born in Lund.", "question": "born in Lund?"}
        assert seen.iterations[1]["kept"] == ["ada"]

    def test_a_passage_that_fits_two_queries_alike_is_shown_for_the_first(self) -> None:
        """Each query has one of its two words in the passage."""
        retriever = Memory([ZORX], {QUESTION: [], "the red Zorx?": ["zorx"], "the blue Zorx?": ["zorx"]})
        replies = [unanswerable(NOBODY), queries("the red Zorx?", "the blue Zorx?"), leaf(), main("Lund")]
        _, _, prompts = run(retriever, QUESTION, replies, rounds=2, knowledge=False, threshold=-6.0)
        assert prompts[2]["question"] == "the red Zorx?"

    def test_the_leaf_reads_the_k_best_of_all_queries(self) -> None:
        """The first query has two of its three words in what it finds, the second all."""
        retriever = Memory([ZORX, ADA], {QUESTION: [], "a planet Zorx of bread?": ["zorx"], WHERE: ["ada"]})
        replies = [unanswerable(NOBODY), queries("a planet Zorx of bread?", WHERE), leaf(), main("Lund")]
        seen, _, prompts = run(retriever, QUESTION, replies, rounds=2, knowledge=False, k=1)
        assert [turn["kept"] for turn in seen.iterations] == [[], ["ada", "zorx"]]
        assert shown(seen) == [[], ["ada"]]
        assert prompts[2]["question"] == WHERE

    def test_m_is_what_the_retriever_is_asked_for(self) -> None:
        seen, _, _ = run(table(), QUESTION, [leaf(), main("Lund")], threshold=-6.0, m=1)
        assert ids(seen.passages) == ["zorx"]


class TestMain:
    @pytest.mark.parametrize("short", ["", "n/a", "The finder"[:9]])
    def test_missing_information_that_says_nothing_is_replaced_by_the_explanation(self, short: str) -> None:
        first = main("Unanswerable.", short, "Nobody says who found it.")
        _, _, prompts = run(Memory([]), QUESTION, [first, queries(WHO), main("Lund")], rounds=2, knowledge=False)
        assert prompts[1]["missing"] == "Nobody says who found it."

    def test_ten_characters_are_enough(self) -> None:
        first = main("unanswerable", "The finder", "Nobody says.")
        _, _, prompts = run(Memory([]), QUESTION, [first, queries(WHO), main("Lund")], rounds=2, knowledge=False)
        assert prompts[1]["missing"] == "The finder"

    def test_what_was_missing_before_is_missing_still_where_it_says_nothing(self) -> None:
        again = [main("unanswerable", "", ""), queries(WHERE)]
        replies = [unanswerable(NOBODY), queries(WHO), knows(FINDER), leaf((FINDER, [1])), *again]
        replies = [knows("[NONE]"), *replies, knows("[NONE]"), main("Lund")]
        _, _, prompts = run(Memory([]), QUESTION, replies, rounds=3)
        assert [prompt["missing"] for prompt in prompts if "missing" in prompt] == [NOBODY, NOBODY]

    @pytest.mark.parametrize(
        "said", ["unanswerable", "The question is UNANSWERABLE.", "", " \n"], ids=["word", "sentence", "empty", "blank"]
    )
    def test_no_answer_goes_on(self, said: str) -> None:
        replies = [main(said, NOBODY), queries(WHO), main(" Lund ")]
        seen, _, _ = run(Memory([]), QUESTION, replies, rounds=2, knowledge=False)
        assert (seen.answer, len(seen.iterations), seen.unanswerable) == ("Lund", 2, False)

    def test_an_unparsable_verdict_goes_on_and_is_counted(self) -> None:
        garbled = [Reply(DetectMissing, "Lund, I should say.")] * 2
        seen, cost, prompts = run(
            Memory([]), QUESTION, [*garbled, queries(WHO), main("Lund")], rounds=2, knowledge=False
        )
        assert prompts[2]["missing"] == ""
        assert seen.iterations[0]["missing"] == ""
        assert (seen.answer, cost.unparsable) == ("Lund", 1)

    @pytest.mark.parametrize(
        ("said", "answer"),
        [("**Yes**", "yes"), ("No, they do not.", "no"), ("unanswerable", ""), ("The facts do not say so.", "")],
    )
    def test_commonsense_questions_are_decided(self, said: str, answer: str) -> None:
        decide = Reply(DetectMissingYesNo, {"answer": said, "explanation": "So.", "missing": NOBODY})
        decided, _, _ = run(
            Memory([]), QUESTION, [decide], preset="commonsense", rounds=1, knowledge=False, answer_anyway=False
        )
        assert (decided.answer, decided.unanswerable) == (answer, not answer)

    def test_the_last_answer_may_rest_on_what_the_lm_knows(self) -> None:
        replies = [leaf((FINDER, [1])), unanswerable(NOWHERE), anyway(" Lund ")]
        seen, cost, prompts = run(table(), QUESTION, replies, threshold=-6.0, rounds=1)
        assert prompts[2] == {"context": numbered(FINDER), "question": QUESTION}
        assert ids(seen.evidence) == ["lm:fact-1"]
        assert (seen.answer, seen.unanswerable, cost.lm_calls) == ("Lund", True, 3)

    def test_the_last_answer_is_to_the_question_with_the_facts_of_all_rounds(self) -> None:
        replies = [
            leaf((FINDER, [1])),
            unanswerable(NOWHERE),
            queries(WHERE),
            leaf((BIRTH, [1])),
            unanswerable(NOWHERE),
        ]
        _, _, prompts = run(table(where=["ada"]), QUESTION, [*replies, anyway("Lund")], threshold=-6.0, rounds=2)
        assert prompts[-1] == {"context": numbered(FINDER, BIRTH), "question": QUESTION}

    def test_for_yes_or_no_the_last_answer_is_decided(self) -> None:
        decide = Reply(DetectMissingYesNo, {"answer": "unanswerable", "explanation": "So.", "missing": NOBODY})
        replies = [decide, Reply(AnswerYesNo, {"reasoning": "From memory.", "answer": "False"})]
        seen, _, _ = run(Memory([]), QUESTION, replies, preset="commonsense", rounds=1, knowledge=False)
        assert (seen.answer, seen.unanswerable) == ("no", True)

    def test_without_it_the_answer_is_empty(self) -> None:
        replies = [leaf((FINDER, [1])), unanswerable(NOWHERE)]
        seen, cost, _ = run(table(), QUESTION, replies, threshold=-6.0, rounds=1, answer_anyway=False)
        assert (seen.answer, seen.unanswerable, cost.lm_calls) == ("", True, 2)
        assert ids(seen.evidence) == ["lm:fact-1"]


class Judge(Entailment):
    """Gives each hypothesis the probability of a table; `pairs` is what it was asked."""

    def __init__(self, probabilities: dict[str, float]) -> None:
        self.probabilities = probabilities
        self.pairs: list[tuple[str, str]] = []

    def batch(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.pairs += pairs
        return [self.probabilities[hypothesis] for _, hypothesis in pairs]


class TestCitations:
    """The question finds zorx, which is [1], and bakers, which is [2]."""

    unsupported = (
        ("Ada Quill found the moon.", [1]),  # not entailed
        (FINDER, [2]),  # by another passage
        (FINDER, []),  # not cited
        (FINDER, [0, 3, -1, 10**30]),  # no such passage
        (" \n", [1]),
    )

    def facts(self, *statements: tuple[str, Any], entailment: str = "lexical") -> list[Any]:
        replies = [leaf(*statements), main("Lund")]
        seen, _, _ = run(table(), QUESTION, replies, threshold=-6.0, entailment=entailment)
        return [(fact["fact"], fact["passages"]) for fact in seen.known_facts]

    @pytest.mark.parametrize("statement", unsupported)
    def test_a_statement_that_no_cited_passage_entails_is_dropped(self, statement: tuple[str, Any]) -> None:
        assert self.facts(statement) == []

    def test_without_entailment_the_citations_are_believed(self) -> None:
        found = self.facts(*self.unsupported, (BIRTH, [2, 1, 7]), entailment="none")
        assert found == [("Ada Quill found the moon.", ["zorx"]), (FINDER, ["bakers"]), (BIRTH, ["zorx", "bakers"])]

    def test_what_the_lm_knows_has_to_entail_it_as_well(self) -> None:
        replies = [knows("Ada Quill found Zorx."), leaf((BIRTH, [1])), main("Lund")]
        seen, _, prompts = run(Memory([]), QUESTION, replies)
        assert prompts[2]["facts"] == ""
        assert seen.known_facts == []

    def test_a_model_reads_the_passage_with_its_title_and_an_even_chance_is_enough(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judge = Judge({FINDER: 0.5, BIRTH: 0.49})
        monkeypatch.setattr("retrieval.ranking.entailment.load_entailment", {"nli:some/model": judge}.__getitem__)
        assert self.facts((FINDER, [1]), (BIRTH, [1]), entailment="nli:some/model") == [(FINDER, ["zorx"])]
        assert judge.pairs == [(f"Zorx {ZORX.text}", FINDER), (f"Zorx {ZORX.text}", BIRTH)]

    @pytest.mark.parametrize("garbled", ["Ada found it.", '[[ ## statements ## ]]\n{"Ada": 1}', UNPARSABLE])
    def test_an_unparsable_reply_has_no_facts_and_is_counted(self, garbled: str) -> None:
        replies = [*[Reply(ExtractStatements, garbled)] * 2, main("Lund")]
        seen, cost, prompts = run(table(), QUESTION, replies, threshold=-6.0)
        assert prompts[-1]["facts"] == ""
        assert (seen.known_facts, cost.unparsable) == ([], 1)


class TestKnowledge:
    def test_it_is_asked_for_when_nothing_passes_the_filter(self) -> None:
        """Of the question's four words bakers has none and zorx two."""
        answers = {QUESTION: ["zorx", "bakers"]}
        replies = [knows(f"{FINDER} [DONE]"), leaf((FINDER, [1])), main("Lund")]
        seen, cost, prompts = run(Memory([ZORX, BAKERS], answers), QUESTION, replies, threshold=0.5)
        assert prompts[:2] == [{"questions": QUESTION}, {"context": numbered(FINDER), "question": QUESTION}]
        assert seen.iterations[0]["retrieved"] == ["zorx", "bakers"]
        assert (seen.iterations[0]["kept"], shown(seen)) == ([], [["lm:knowledge-1"]])
        assert [(p.id, p.text) for p in seen.knowledge] == [("lm:knowledge-1", FINDER)]
        assert seen.known_facts == [{"fact": FINDER, "passages": ["lm:knowledge-1"]}]
        assert (seen.external_tokens, cost.lm_calls) == (0, 3)

    def test_it_is_not_when_something_does(self) -> None:
        seen, _, _ = run(table(), QUESTION, [leaf((FINDER, [1])), main("Lund")], threshold=0.0)
        assert (shown(seen), seen.knowledge) == ([["zorx"]], [])

    def test_without_it_the_leaf_has_nothing_to_read(self) -> None:
        seen, cost, _ = run(table(), QUESTION, [main("Lund")], threshold=5.0, knowledge=False)
        assert (shown(seen), seen.knowledge, cost.lm_calls) == ([[]], [], 1)

    @pytest.mark.parametrize("declined", ["[NONE]", "", "I'm sorry, but I do not have information about this."])
    def test_an_lm_that_declines_has_written_nothing(self, declined: str) -> None:
        seen, cost, _ = run(Memory([]), QUESTION, [knows(declined), main("Lund")])
        assert (shown(seen), seen.knowledge, cost.lm_calls) == ([[]], [], 2)

    def test_knowledge_behind_a_refusal_and_an_answer_behind_one_count(self) -> None:
        said = "I do not know who found Zorx. Ada Quill was born in Lund."
        answer = "The facts do not say where, but she was born in Lund."
        seen, _, _ = run(Memory([]), QUESTION, [knows(said), leaf((BIRTH, [1])), main(answer)])
        assert (seen.answer, seen.unanswerable) == (answer, False)
        assert [passage.text for passage in seen.knowledge] == [said]


class TestCompression:
    """The question finds zorx, ada and bakers, in the order of their scores."""

    found = Memory([ZORX, ADA, BAKERS], {QUESTION: ["ada", "bakers", "zorx"]})
    words = tuple(len(f"{passage.title} {passage.text}".split()) for passage in (ZORX, ADA))

    @pytest.mark.parametrize(
        ("compression", "to"), [("summary", SummarizePassage), ("snippet", ExtractSnippet)], ids=["summary", "snippet"]
    )
    def test_the_lm_makes_each_passage_shorter(self, compression: Any, to: type[dspy.Signature]) -> None:
        replies = [
            Reply(to, {compression: " Ada Quill\nfound Zorx. "}, when="[1] Zorx |"),
            Reply(to, {compression: '"Irrelevant."'}, when="[1] Ada Quill |"),
            Reply(to, {compression: "Bakers."}, when="[1] The Zorxes"),
            leaf(),
            main("Lund"),
        ]
        seen, cost, prompts = run(self.found, QUESTION, replies, threshold=-6.0, k=2, compression=compression)
        # The two best first; one of them is irrelevant, so the next best is looked at.
        assert {prompt["passage"] for prompt in prompts[:2]} == {
            f"[1] Zorx | {ZORX.text}",
            f"[1] Ada Quill | {ADA.text}",
        }
        assert [prompt["question"] for prompt in prompts[:3]] == [QUESTION] * 3
        assert prompts[3]["context"] == "[1] Zorx | Ada Quill found Zorx.\n[2] Bakers."
        assert (seen.iterations[0]["kept"], shown(seen)) == (["zorx", "ada", "bakers"], [["zorx", "bakers"]])
        # Table 5 counts what was given to the LM to be compressed, too.
        assert seen.external_tokens == 5 + 1 + sum(self.words) + len(BAKERS.text.split())
        assert cost.lm_calls == 5

    def test_without_it_passages_are_shown_whole(self) -> None:
        """Of bread the question says nothing, and the title is not there to be put in front of it."""
        found = Memory([Passage("zorx", f"{ZORX.text} She liked bread.")], {QUESTION: ["zorx"]})
        replies = [leaf(), main("Lund")]
        with_, _, cut = run(found, QUESTION, replies, threshold=-2.0)
        without, _, whole = run(found, QUESTION, replies, threshold=-2.0, compression="off")
        assert [cut[0]["context"], whole[0]["context"]] == [f"[1] {ZORX.text}", f"[1] {ZORX.text} She liked bread."]
        assert without.external_tokens == with_.external_tokens + len(["She", "liked", "bread."])

    def test_the_lm_writes_what_it_knows_where_it_finds_all_that_is_kept_irrelevant(self) -> None:
        irrelevant = Reply(SummarizePassage, {"summary": "irrelevant"})
        replies = [*[irrelevant] * 3, knows(FINDER), leaf((FINDER, [1])), main("Lund")]
        seen, _, _ = run(self.found, QUESTION, replies, threshold=-6.0, compression="summary")
        assert (seen.iterations[0]["kept"], shown(seen)) == (["zorx", "ada", "bakers"], [["lm:knowledge-1"]])

    def test_irrelevant_passages_count_as_shown(self) -> None:
        retriever = Memory([ZORX], {query: ["zorx"] for query in (QUESTION, WHO, WHERE)})
        irrelevant = Reply(SummarizePassage, {"summary": "irrelevant"})
        replies = [irrelevant, unanswerable(NOBODY), queries(WHO), irrelevant, queries(WHERE), main("Lund")]
        settings = {"threshold": -6.0, "rounds": 3, "knowledge": False, "compression": "summary"}
        seen, cost, _ = run(retriever, QUESTION, replies, **settings)
        assert [turn["kept"] for turn in seen.iterations] == [["zorx"], ["zorx"], []]
        assert shown(seen) == [[], [], []]
        assert cost.lm_calls == 6


class TestSettings:
    @pytest.mark.parametrize(
        ("preset", "rounds", "logit", "lexical"),
        [("multihop", 5, 3.0, 0.0), ("odqa", 3, 5.0, 2.0), ("commonsense", 5, 0.0, -1.5)],
    )
    def test_presets(
        self, preset: Any, rounds: int, logit: float, lexical: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Table 11 for a cross-encoder; T is what the loop does, not only what is stored."""
        detect = DetectMissingYesNo if preset == "commonsense" else DetectMissing
        verdict = Reply(detect, {"answer": "unanswerable", "explanation": "", "missing": NOBODY})
        replies = [verdict, *[queries("Who is one?")] * (rounds - 1), verdict]
        # In the rounds between there are no new facts.
        seen, _, _ = run(Memory([]), QUESTION, replies, preset=preset, knowledge=False, answer_anyway=False)
        assert len(seen.iterations) == rounds
        assert MIGRES(Memory([]), preset=preset).threshold == lexical
        monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", lambda spec: spec)
        made = MIGRES(Memory([]), preset=preset, reranker="cross-encoder:some/model")
        assert (made.threshold, made.scorer) == (logit, "cross-encoder:some/model")
        assert (made.m, made.k) == (50, 5)

    @pytest.mark.parametrize("compression", ["filter", "off"])
    def test_a_threshold_goes_before_the_preset(self, compression: Any) -> None:
        """zorx has two of the question's four words, which scores 0."""
        made = {"compression": compression, "knowledge": False}
        replies = [leaf(), main("Lund")]
        assert shown(run(table(), QUESTION, replies, threshold=0.0, **made)[0]) == [["zorx"]]
        assert shown(run(table(), QUESTION, [main("Lund")], threshold=0.1, **made)[0]) == [[]]

    def test_a_reranker_on_another_scale_needs_a_threshold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("retrieval.ranking.scorers.load_scorer", lambda spec: spec)
        with pytest.raises(UsageError, match="reranker upr: give the setting threshold"):
            MIGRES(Memory([]), reranker="upr:some/model")
        assert MIGRES(Memory([]), reranker="upr:some/model", threshold=-2.5).threshold == -2.5

    def test_only_what_the_settings_use_is_a_predictor(self) -> None:
        everything = MIGRES(Memory([]), compression="summary", entailment="lm")
        names = [name for name, _ in everything.named_predictors()]
        assert names == ["compress", "recall", "extract", "check", "detect", "subquery", "answer.predict"]
        least = MIGRES(Memory([]), knowledge=False, answer_anyway=False)
        assert [name for name, _ in least.named_predictors()] == ["extract", "detect", "subquery"]
