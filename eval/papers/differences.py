"""What the runs of a table and the paper's do not have in common, one sentence each."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.figures.summary import Summary
from eval.metrics.gold import is_yes_no
from eval.papers.measuring import reported
from eval.papers.questions import Questions
from eval.papers.setup import settings_of
from eval.papers.tables import Table, TableRow
from eval.records.run import Run
from eval.records.standing import standing
from eval.runs.asking import Asking
from eval.tasks import choose

__all__ = ["RowRun", "differences"]


@dataclass(frozen=True, slots=True)
class RowRun:
    """The run of a row on a task."""

    row: TableRow
    task: str
    """As the columns have it."""
    summary: Summary
    run: Run
    questions: Questions
    reader: Asking | None
    """How the LM that answers is asked; None where nothing is asked of it."""
    planner: Asking | None
    """Likewise the planner, where it is another one."""


def differences(table: Table, runs: Sequence[RowRun], given: Mapping[str, Any]) -> list[str]:
    """What differs: LMs, retrievers, models, questions and the settings that the caller gave, and which rows are
    incomplete."""
    found = [text for ran in runs for text in (*_lms(ran), *_retrievers(ran))]
    found += _shared(runs)
    found += [f"Adapter: {lm.adapter}" for ran in runs for lm in (ran.reader, ran.planner) if lm]
    for ran in runs:
        found += (*_decoding(table, ran), *_unknown(ran), *_models(table, ran), *_settings(table, ran, given))
        found += _questions(table, ran)
    return list(dict.fromkeys(found))


def _lms(ran: RowRun) -> Iterator[str]:
    state = ran.summary.manifest.state
    shown = ran.summary.manifest.entries().get("demonstrations")
    paper = {"none": "as in the paper", "optional": "the paper few-shot", "required": "the paper few-shot"}
    shots = f"zero-shot, {paper.get(str(ran.row.demonstrations), f'the paper {ran.row.demonstrations}-shot')}"
    if state:
        shots = f"with the state {state['file']}"
    if shown:
        lacking = f" without {shown['without']}" if shown["without"] else ""
        shots = f"{shown['count']} labelled demonstrations of {shown['source']}{lacking}"
    for role, lm, name in (("Reader", ran.reader, ran.row.reader), ("Planner", ran.planner, ran.row.planner)):
        if lm is not None:
            yield f"{role}: {lm} (paper: {name or 'not named'}); {shots}"
    if ran.summary.manifest.entries().get("answers") is False:
        yield "No answers are asked for where all columns look at what was found alone"


def _retrievers(ran: RowRun) -> Iterator[str]:
    manifest = ran.summary.manifest
    if manifest.retriever != "none":
        yield f"Retrieval: {manifest.retriever} (paper: {ran.row.retriever})"
    if against := manifest.settings.get("against"):
        yield f"Against: {against}"


def _shared(runs: Sequence[RowRun]) -> Iterator[str]:
    """What stands for several of the paper's."""
    roles: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)  # of the paper, by what stands for them here
    for ran in runs:
        roles["retriever", str(ran.summary.manifest.retriever)][ran.row.retriever] = None
        for lm, name in ((ran.reader, ran.row.reader), (ran.planner, ran.row.planner)):
            if lm is not None and name is not None:
                roles["LM", str(lm)][name] = None
    for (kind, _), names in roles.items():
        if len(names) > 1:
            yield f"One {kind} stands for {', '.join(names)}: rows that differ in it alone have the same figures"


def _models(table: Table, ran: RowRun) -> Iterator[str]:
    """Models whose place something else takes. A row or a table that names a setting has it as the paper does."""
    of_paper = {
        name: model for name, model in table.models.items() if name not in {**table.settings, **ran.row.settings}
    }
    for name, value in ran.summary.manifest.settings.items():
        model = of_paper.get(name)
        if model and value != model and not str(value).startswith(f"{model}:"):
            yield f"{ran.row.program}: {name} {value}{_MEANS.get(value, '')} (paper: {model})"


def _decoding(table: Table, ran: RowRun) -> Iterator[str]:
    """The LMs that may draw their replies where the paper's decode greedily. A local model draws only if it is told."""
    for lm in (ran.reader, ran.planner):
        if table.greedy and lm is not None and lm.temperature != 0 and not standing(lm.lm):
            if lm.temperature is not None:
                yield f"Decoding: {lm.lm} at temperature {lm.temperature:g} (paper: greedy)"
            elif not lm.lm.startswith("gguf:"):
                yield f"Decoding: {lm.lm} at its provider's default temperature (paper: greedy, as by --temperature 0)"


def _unknown(ran: RowRun) -> Iterator[str]:
    """Where probabilities came from, of "unknown" with Chain-of-Rewrite and of answers with other methods, if not from
    log-probabilities alone."""
    counts: Counter[str] = Counter()
    for own in reported(ran.run.rows):
        counts.update(own.get("measured_by", {}))
    unknown = ran.row.program == "chain_of_rewrite"
    what = "p(unknown)" if unknown else "the probability of an answer"
    words = {
        "stated": "stated by the LM",
        "binary": "1 or 0 by the candidate alone" if unknown else "1, with no number,",
    }
    if others := [f"{words[kind]} for {counts[kind]}" for kind in words if counts[kind]]:
        total = counts.total()
        yield f"{ran.row.name}: {what} is {', '.join(others)} of {total} documents (paper: log-probabilities)"


def _settings(table: Table, ran: RowRun, given: Mapping[str, Any]) -> Iterator[str]:
    """What the caller set beside the paper's own, and what a row did not take."""
    row, manifest = ran.row, ran.summary.manifest
    usual = {**settings_of(row.program), **table.settings_for(row, ran.task, {})}
    for name in given:
        if name not in manifest.settings:
            continue
        value = manifest.settings[name]
        if name in table.fixed_in(row):
            if value != given[name]:
                yield f"{row.name}: --set {name} is refused; the row has {name} {value}"
        elif name not in table.models and value != (own := usual[name]):
            default = "the program's own" if own is None else own
            yield f"{row.name}: {name} {value}, by --set (without it: {default})"


_MEANS = {"lexical": ", which compares words", "none": ", which leaves it out"}


def _questions(table: Table, ran: RowRun) -> Iterator[str]:
    total, row = ran.summary.total, ran.row
    yield f"Questions: {total.n} of {ran.questions.where}"
    asked = ran.questions.examples
    left_out = sum(map(is_yes_no, asked))
    for column in table.columns:
        metric = (column.metric or "").partition("@")[0]
        if left_out and metric in ("answer_recall", "top_k_accuracy") and column.task == ran.task:
            yield f"{column.name}: leaves out {left_out} of {len(asked)} questions, which are answered by yes or no"
        if metric == "migres_em" and column.task and column.task == ran.task:
            aliases = choose(column.task)[0].aliases
            if aliases and not any(question.get("answers")[1:] for question in asked):
                yield f"{column.name}: each answer has one name here (paper: all those in {aliases} of the data set)"
    if total.failed:
        yield f"{row.name}: {total.failed} of {total.n} questions failed and count 0"
    if not ran.summary.complete:
        yield f"{row.name}: INCOMPLETE, {total.n} of {ran.summary.questions} questions"
