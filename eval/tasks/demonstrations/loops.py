"""The calls of loops that think, search or ask step by step: each turn, with what the turns before it have gathered.

Of each loop the second call is the one that ends it, so that two demonstrations show an end.
"""

from eval.metrics.gold import statable, states
from eval.tasks.demonstrations.known import Call, Known, bare_title, told_by
from eval.tasks.demonstrations.wording import Worded, as_sentence
from programs.steps.trajectory import turn
from retrieval import Passage, number, union
from retrieval.ranking.sentences import split_sentences
from signatures.verify import analysis_of

__all__ = ["asking", "judging", "planning", "reasoning_on", "searching", "taking_notes", "thinking"]

_SEARCH = {"action": "search", "answer": ""}
_LEFT = 10  # searches at the beginning, which is what Search-o1 allows


def thinking(known: Known, shown: Call) -> list[Call]:
    """The sentences of a chain of thought, one call each; the second call is the one with the answer."""
    told = told_by(known.example)
    if not told or "?" in " ".join(told):  # a question with its answer behind it is not one sentence
        golds = statable(known.example)
        told = sorted(
            (fact.text for fact in known.facts), key=lambda text: states(text, golds)
        )  # the answer comes last
    said = split_sentences(" ".join(map(as_sentence, told)))
    said.append(f"So the answer is {known.example.answer}.")
    calls: list[Call] = [{**shown, "history": "\n".join(said[:n]), "sentence": said[n]} for n in range(len(said))]
    return [calls[0], calls[-1], *calls[1:-1]]


def searching(known: Known) -> list[Call]:
    """The turns of a loop that searches for each step; where steps are unknown, for each gold passage by its title."""
    calls: list[Call] = []
    history: list[str] = []
    asked = {"question": known.example.question}
    searches = _searches(known)
    for n, (query, thought, _, found) in enumerate(searches, 1):
        calls.append({**asked, "steps": "\n".join(history), "thought": thought, **_SEARCH, "query": query})
        history += turn(n, thought, query, found)
    end = {**asked, "steps": "\n".join(history), "thought": known.reasoning["reasoning"], **_finish(known)}
    return [*calls[:1], end, *calls[1:]] if calls else []


def reasoning_on(known: Known) -> list[Call]:
    """The same searches in a chain of reasoning, into which goes what matters of the passages that each one finds.

    Behind the turns come the calls that say what matters.
    """
    calls: list[Call] = []
    condensed: list[Call] = []
    chain: list[str] = []
    asked = {"question": known.example.question}
    searches = _searches(known)
    for n, (query, thought, fact, found) in enumerate(searches, 1):
        left = {"searches_left": str(_LEFT - n + 1)}
        calls.append({**asked, "chain": "\n".join(chain), **left, "thought": thought, **_SEARCH, "query": query})
        lines = turn(n, thought, query, [Passage(f"lm:information-{n}", fact)])
        shown = {**asked, "chain": "\n".join([*chain, lines[0]]), "query": query, "context": number(found)}
        condensed.append({**shown, "information": fact})
        chain += lines
    left = {"searches_left": str(_LEFT - len(searches))}
    end = {**asked, "chain": "\n".join(chain), **left, "thought": known.reasoning["reasoning"], **_finish(known)}
    return [*calls[:1], end, *calls[1:], *condensed] if calls else []


def taking_notes(known: Known) -> list[Call]:
    """The same searches, each for what the notes lack, with the notes on what it finds."""
    calls: list[Call] = []
    notes: list[Passage] = []
    noted: set[str] = set()
    for query, thought, fact, found in _searches(known):
        shown = {"question": known.example.question, "notes": number(notes)}
        relevant = [n for n, passage in enumerate(found, 1) if passage in known.gold and passage.id not in noted]
        noted |= {passage.id for passage in found}
        why = f"Passage {relevant[0]} has what was looked up: {fact}" if relevant else fact
        calls += [
            {**shown, "reasoning": thought, "query": query},
            {**shown, "context": number(found), "reasoning": why, "new_notes": [fact], "relevant": relevant},
        ]
        notes.append(Passage(f"lm:note-{len(notes) + 1}", fact))
    return calls


def planning(known: Known) -> list[Call]:
    """What can be searched for at once: the gold passages whose titles stand in the question."""
    question = known.example.question
    titles = [bare_title(passage.title) for passage in known.gold if passage.title]
    named = [title for title in titles if states(question, [title])]
    return [{"question": question, "searches": named}] if named else []


def judging(known: Known) -> list[Call]:
    """Whether what the same searches have found suffices, before each of them and behind the last."""
    calls: list[Call] = []
    evidence: list[Passage] = []
    asked = {"question": known.example.question}
    for query, thought, _, found in _searches(known):
        not_yet = {"analysis": analysis_of(thought, "unknown"), "sufficient": False, "query": query}
        calls.append({**asked, "context": number(evidence), **not_yet})
        evidence = union(evidence, found)
    if not calls:
        return []
    analysis = analysis_of(known.reasoning["reasoning"], known.example.answer)
    end = {**asked, "context": number(evidence), "analysis": analysis, "sufficient": True, "query": ""}
    return [calls[0], end, *calls[1:]]


def _finish(known: Known) -> Call:
    return {"action": "finish", "query": "", "answer": known.example.answer}


def _searches(known: Known) -> list[tuple[str, str, str, list[Passage]]]:
    """The query of each turn, the thought that leads to it, what it tells, and what it finds.

    None where not all of the steps are known, or where one finds nothing that states its answer.
    """
    if not known.steps_lead_there:
        return []
    steps = [(step.question, step.statement, _found(known, step)) for step in known.steps]
    searches = steps or _searches_by_title(known)
    learned = ["", *(fact for _, fact, _ in searches)]
    turns = [
        (query, f"{before} I have to look up: {query}".strip(), fact, found)
        for before, (query, fact, found) in zip(learned, searches, strict=False)
    ]
    return turns if all(found for _, _, found in searches) else []


def _searches_by_title(known: Known) -> list[tuple[str, str, list[Passage]]]:
    """A search for each gold passage, what it tells, and what is found; none unless all can be named when their turn
    comes: a title has to stand in the question or in what was found before."""
    golds = statable(known.example)
    pairs = list(zip(known.gold, known.facts, strict=True))
    left = sorted(pairs, key=lambda pair: states(pair[0].text, golds))  # what states the answer comes last
    seen = known.example.question
    searches: list[tuple[str, str, list[Passage]]] = []
    while left:
        named = next((pair for pair in left if pair[0].title and states(seen, [bare_title(pair[0].title)])), None)
        if named is None:
            return []
        left.remove(named)
        passage, fact = named
        found = _with(passage, known.retriever(passage.title, known.k), known.k)
        searches.append((passage.title, fact.text, found))
        seen += f" {number(found)}"
    return searches


def asking(known: Known) -> list[Call]:
    """The turns of a loop that asks a follow-up question for each step, or where steps are unknown, for each fact.

    The second call is the one that ends it.
    """
    calls: list[Call] = []
    evidence: list[Passage] = []
    asked = {"question": known.example.question}
    if not known.steps_lead_there:
        return []
    steps = [(step.question, step.answer, _found(known, step)) for step in known.steps]
    searches = _searches_by_title(known)
    by_title = [(f"What is known about {bare_title(title)}?", fact, found) for title, fact, found in searches]
    for n, (question, answer, found) in enumerate(steps or by_title, 1):
        if not found:
            return []
        calls.append({**asked, "context": number(evidence), "needed": True, "follow_up": question})
        evidence = [*union(evidence, found), Passage(f"lm:answer-{n}", answer, question)]
    end = {**asked, "context": number(evidence), "needed": False, "follow_up": ""}
    return [calls[0], end, *calls[1:]] if calls else []


def _with(passage: Passage, found: list[Passage], k: int) -> list[Passage]:
    return found if passage in found else [passage, *found][:k]


def _found(known: Known, step: Worded) -> list[Passage]:
    """Passages that the step's question finds, with a gold one that states its answer; empty if none of them does."""
    stating = [passage for passage in known.gold if states(passage.text, [step.answer])]
    found: list[Passage] = known.retriever(step.question, known.k)
    if any(states(passage.text, [step.answer]) for passage in found):
        return found
    return union(stating, found)[: known.k] if stating else []
