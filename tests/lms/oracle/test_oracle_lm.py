"""The oracle as an LM: the ceiling of methods, and its error rate."""

import dspy
import pytest

from lms.oracle import Gold, OracleEngine, oracle_lm
from programs.adaptive_rag import AdaptiveRAG
from programs.blendfilter import BlendFilter
from programs.chain_of_rewrite import ChainOfRewrite
from programs.direct import Direct
from programs.hop import Hop
from programs.ircot import IRCoT
from programs.migres import MIGRES
from programs.par2_rag import PAR2RAG
from programs.qpaug import QPaug
from programs.react import ReAct
from programs.search_o1 import SearchO1
from programs.self_ask import SelfAsk
from retrieval import Memory, Passage, UsageError, number
from signatures.answer import AnswerYesNo
from signatures.select import SelectPassages
from signatures.verify import AlignMissing

FILM = Passage(
    "1", "The Lighthouse Keeper is a 1951 British drama film directed by Ada Quill.", "The Lighthouse Keeper"
)
DIRECTOR = Passage("2", "Ada Quill was a British film director. She was born in Whitby.", "Ada Quill")
RIVER = Passage("3", "The Orm is a river in Norway, by which a lighthouse keeper was born.", "Orm (river)")
QUESTION = "Where was the director of the lighthouse film born?"
GOLD = Gold(QUESTION, ("Whitby", "Whitby, England"), (("The Lighthouse Keeper", "Ada Quill"),))
ORM = Gold("Is the Orm in Norway?", ("yes",), (("Orm (river)",),))
ENOUGH = number([RIVER, FILM, DIRECTOR])
MULTIHOP = Memory([FILM, DIRECTOR, RIVER])


def ask(
    signature: type[dspy.Signature], lm: dspy.LM | None = None, adapter: object = None, **inputs: str
) -> dspy.Prediction:
    with dspy.context(lm=lm or oracle_lm([GOLD, ORM]), adapter=adapter):
        return dspy.ChainOfThought(signature)(**inputs)


def test_the_error_rate_is_kept_and_repeats() -> None:
    golds = [Gold(f"Which city governs Land{n} today?", (f"City {n}",), ((f"Land{n}",),)) for n in range(100)]
    program = Direct(Memory([Passage(str(n), f"City {n}.", f"Land{n}") for n in range(100)]))

    def right(rate: float, seed: int = 0) -> list[bool]:
        with dspy.context(lm=oracle_lm(golds, error_rate=rate, seed=seed)):
            return [program(question=gold.question).answer == gold.answers[0] for gold in golds]

    assert (sum(right(0.0)), sum(right(1.0))) == (100, 0)
    some = right(0.3)
    assert 55 <= sum(some) <= 85  # 70 within three standard deviations
    assert some == right(0.3)
    assert some != right(0.3, seed=1)


def test_wrong_calls_select_nothing_gold() -> None:
    lm = oracle_lm([GOLD, ORM], error_rate=1.0)
    assert ask(SelectPassages, lm, topic="film", context=ENOUGH, question=QUESTION).relevant == [1]
    assert ask(AnswerYesNo, lm, context=number([RIVER]), question=ORM.question).answer == "no"


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_refuses_what_is_no_rate(rate: float) -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        OracleEngine([GOLD], error_rate=rate)
    with pytest.raises(UsageError, match="at least one"):
        OracleEngine([])


@pytest.mark.parametrize(
    "program",
    [
        BlendFilter(MULTIHOP, k=2),
        QPaug(MULTIHOP, k=2),
        ChainOfRewrite(MULTIHOP, n=3, k=2),
        MIGRES(MULTIHOP, m=2, threshold=-100.0),
        SelfAsk(MULTIHOP, k=2),
        ReAct(MULTIHOP, k=2),
        IRCoT(MULTIHOP, k=1),
        SearchO1(MULTIHOP, k=1),
        Hop(MULTIHOP, k=1),
        PAR2RAG(MULTIHOP, k=1, searches=1),
        AdaptiveRAG(MULTIHOP, k_multiple=1),
    ],
    ids=lambda program: type(program).__name__,
)
def test_methods_reach_their_ceiling(program: dspy.Module) -> None:
    with dspy.context(lm=oracle_lm([GOLD, ORM])):
        assert program(question=QUESTION).answer == "Whitby"


def test_the_ceiling_is_the_retrievers() -> None:
    with dspy.context(lm=oracle_lm([GOLD, ORM])):
        for program in (BlendFilter, QPaug, MIGRES, ChainOfRewrite):
            assert program(Memory([FILM, RIVER])).forward(question=QUESTION).answer == "unknown"


def test_a_prompt_with_a_step_for_its_question_is_about_the_question() -> None:
    knowing = oracle_lm([Gold(QUESTION, ("Whitby",), GOLD.titles, steps=(("Who directed it?", "Ada Quill"),)), ORM])
    assert ask(AlignMissing, knowing, missing="The director.", questions="[1] Who directed it?").aligned


def test_it_is_named_by_its_error_rate() -> None:
    assert oracle_lm([GOLD]).model == "oracle/perfect"
    assert oracle_lm([GOLD], error_rate=0.25).model == "oracle/error-rate-0.25"
