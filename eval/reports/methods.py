"""The page that compares all methods, as Markdown: a table for each LM at a glance, then one for each data set."""

from collections.abc import Callable, Collection, Iterable, Sequence
from math import fsum

from eval.records.lines import Line
from eval.reports.formats import heading
from eval.reports.verdict import times

__all__ = ["is_page", "page"]

_MADE_BY = "Made by `odqa eval table`, never by hand"

_OF_ALL = f"""\
# All methods, compared

{_MADE_BY}: every program by every data set that it fits, with its default
settings, over a BM25 index of the data set's own passages. `docs/methods/table.toml` says what is run;
[table.csv](table.csv) has every figure.
"""

_OF_A_SET = f"""\
# Methods, compared

{_MADE_BY}, from the runs of sets; [table.csv](table.csv) has every figure.
"""

_ABOUT = """\
- **Ceiling**: the LM is the oracle, which never errs. It is told the gold, and answers by it as far as the program
  shows it the gold passages. What is missing to 100 was lost by the search, and by the steps between search and
  answer.
- **Floor**: the LM is the extractive reader, which copies from the passages and knows nothing. Floors on data sets
  other than HotPotQA were made before the reader was rewritten: made anew they may move by some points.
- The ceiling of a closed book (`genread`, `self_verification`) says nothing: the oracle is told the answers.
- A ceiling can lie below the floor: the oracle answers only where it is shown all gold passages, and PopQA's are the
  pages of subject and object, of which one suffices.
- What a method gives with a language model lies between. It stands here for the LMs that were asked.
"""

_REPEAT = """\
To repeat all this, index the passages of each data set, and run the set. To add an LM, name it: what others have run
is kept.

    odqa index --backend bm25 --corpus hotpotqa.corpus.jsonl.gz --out indexes/hotpotqa
    odqa eval table docs/methods/table.toml --data DIR
    odqa eval table docs/methods/table.toml --data DIR --limit 10   # a first look
    odqa eval table docs/methods/table.toml --data DIR --lm openai/my-model --max-usd 5
    odqa eval table docs/methods/real_models.toml --data DIR              # small instruct models, run on this machine
"""

_MARKS = """\
Scores in percent, in brackets their 95 % confidence intervals: EM, or accuracy where the answer is yes or no.
**Found**, **kept**: the share of the gold passages that the searches found, and that the answering call was shown;
(m) if only m questions have gold. *Notes*: the answering call is shown nothing but what the LM wrote, and that does
not say of which passages it is. **Depth**: LM calls that wait for one another. Calls, depth, searches and tokens are
per question; with floor and ceiling, tokens are estimates, and replies are shorter than a language model's.

Language models have a table of their own. **To direct**: the difference in EM to `direct` with the same LM on the same
questions, and how likely one as large is by chance. **Lost**: wrong answers for which a part of the gold was not found,
was found and dropped, or was shown and misread. **Answered**: questions with an answer that is no refusal. Seconds are
those of the machine, whatever else it did."""

_NO_GOLD = "no gold passages are known: the oracle goes by whether passages state the answer"
_NAMES = {"floor": "Floor", "ceiling": "Ceiling"}
_COSTS = {
    "lm_calls": "LM calls",
    "depth": "depth",
    "searches": "searches",
    "tokens_in": "tokens in",
    "tokens_out": "tokens out",
}


def page(lines: Sequence[Line], programs: Sequence[str], cards: Collection[str]) -> str:
    """The page; the same lines give the same page.

    Args:
        lines: The figures of all runs, as `eval.records.lines.merged` orders them.
        programs: The names of all programs.
        cards: Those whose cards lie beside the page; where all do, it is the page of all methods.
    """
    tasks = list(dict.fromkeys(line.task for line in lines))
    made = [line for line in lines if line.n]
    lms = _order(lines)
    fitting = {(line.task, line.program) for line in lines}
    parts = [_OF_ALL, _ABOUT, _REPEAT] if set(programs) <= set(cards) else [_OF_A_SET, _ABOUT]

    def named(name: str, variant: str = "") -> str:
        return f"{f'[{name}]({name}.md)' if name in cards else name}{f', {variant}' if variant else ''}"

    for lm in lms:
        if of_lm := [line for line in made if line.lm == lm]:
            name, table = _NAMES.get(lm, lm), _glance(of_lm, tasks, fitting, named)
            parts += [f"## {name} at a glance", "", *_verdict(of_lm, named), *table, ""]
    parts += [
        "## What is missing",
        "",
        *_missing(lines, lms, programs, fitting, named),
        "",
        "## By data set",
        "",
        _MARKS,
        "",
    ]
    for task in tasks:
        parts += [f"### {task}", "", *_folded([line for line in made if line.task == task], named), ""]
    return "\n".join(parts)


def _order(lines: Sequence[Line]) -> list[str]:
    """The LMs: language models, the one with the best score first, then ceiling and floor."""
    best = {lm: max(line.score for line in lines if line.lm == lm) for lm in {line.lm for line in lines}}
    return sorted(best, key=lambda lm: (lm == "floor", lm == "ceiling", -best[lm], lm))


def is_page(text: str) -> bool:
    """Whether the text is a page that `page` made, and not somebody's own."""
    return text.partition("\n\n")[2].startswith(_MADE_BY)


def _verdict(lines: Sequence[Line], named: Callable[..., str]) -> Iterable[str]:
    """The best program of an LM on all its data sets, beside `direct`, in a sentence."""
    tasks = {line.task for line in lines}
    means = {key: mean for key, mean in _means(lines, tasks).items() if mean is not None}
    usual = ("direct", "")
    told = {(line.program, line.variant) for line in lines if _told(line)}
    best = max(means.keys() - told, key=lambda key: (means[key], key), default=usual)
    if best == usual or usual not in means:
        return
    one, other = ([line for line in lines if (line.program, line.variant) == key] for key in (best, usual))
    calls, others = (fsum(line.lm_calls for line in of) / len(of) for of in (one, other))
    where = f"on average over {len(tasks)} data sets" if len(tasks) > 1 else f"on {one[0].task}"
    p = one[0].to_direct_p if len(tasks) == 1 else None
    chance = "" if p is None else f"; chance {'can' if p >= 0.05 else 'does not'} explain that (p {p:.2f})"
    scores = f"{_percent(means[best])} % {where}, and {named('direct')} {_percent(means[usual])} %"
    yield f"{named(*best)} is best, with {scores}{chance}; it {times(calls, others, 'direct')}."
    yield ""


def _told(line: Line) -> bool:
    """Whether the score says nothing: the oracle is told the answers, and a closed book shows it no passages."""
    return line.lm == "ceiling" and not line.searches


def _means(lines: Sequence[Line], tasks: Collection[str]) -> dict[tuple[str, str], float | None]:
    """The mean score over these data sets of each program with its variant; None where it lacks one of them."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for line in lines:
        scores.setdefault((line.program, line.variant), {})[line.task] = line.score
    return {
        key: fsum(by[task] for task in tasks) / max(len(tasks), 1) if by.keys() >= set(tasks) else None
        for key, by in scores.items()
    }


def _folded(lines: Sequence[Line], named: Callable[..., str]) -> Iterable[str]:
    """The figures of a data set, which open at a click; GitHub shows this as the site does."""
    names = []
    for lm in _order(lines):
        best = max(
            (line for line in lines if line.lm == lm and not _told(line)), key=lambda line: line.score, default=None
        )
        names += [f"{best.program} {_percent(best.score)} ({lm})"] if best else []
    yield from ('<details markdown="1">', f"<summary>All figures. Best: {', '.join(names) or 'none yet'}</summary>")
    yield from ("", *_task(lines, named), "", "</details>")


def _glance(
    lines: Sequence[Line], tasks: Sequence[str], fitting: set[tuple[str, str]], named: Callable[..., str]
) -> Iterable[str]:
    """A line per program: its score by data set, and what a question costs on average over these. The best come first,
    by the mean over the data sets that all have."""
    yield from _head(["program", *tasks, *_COSTS.values()], left=1)
    of_each = {key: {line.task for line in lines if (line.program, line.variant) == key} for key in _means(lines, ())}
    means_of = _means(lines, set.intersection(*of_each.values()))
    for program, variant in sorted(of_each, key=lambda key: (-(means_of[key] or 0.0), key)):
        own = {line.task: line for line in lines if (line.program, line.variant) == (program, variant)}
        scores = [
            _percent(own[task].score) if task in own else "missing" if (task, program) in fitting else ""
            for task in tasks
        ]
        means = {name: fsum(getattr(line, name) for line in own.values()) / len(own) for name in _COSTS}
        yield _row([named(program, variant), *scores, *(_amount(*mean) for mean in means.items())])


def _task(lines: Sequence[Line], named: Callable[..., str]) -> Iterable[str]:
    """What is common to the runs, and a line for each."""
    if not lines:
        yield "Not run yet."
        return
    settings = sorted({line.settings for line in lines} - {""})
    gold = sorted({line.gold for line in lines} - {""})
    about = [
        f"retriever {', '.join(f'`{name}`' for name in dict.fromkeys(line.retriever for line in lines))}",
        *([f"settings, of the programs that have them: {'; '.join(settings)}"] if settings else []),
        f"gold passages by {' and '.join(gold)}" if gold else _NO_GOLD,
    ]
    (metric, *_) = [heading(line.metric) for line in lines]
    yield f"{'. '.join(part[0].upper() + part[1:] for part in about)}."
    yield ""
    if models := [line for line in lines if line.lm not in _NAMES]:
        yield from _models(models, metric, named)
        yield ""
    lines = sorted((line for line in lines if line.lm in _NAMES), key=lambda line: (line.lm, -line.score))
    yield from _head(["program", "LM", "n", metric, "found", "kept", *_COSTS.values(), "unparsable", "failed"], left=2)
    for line in lines:
        n = _asked(line)
        costs = [_amount(name, getattr(line, name)) for name in _COSTS]
        counts = [str(line.unparsable or ""), str(line.failed or "")]
        score = _score(line.score, line.score_low, line.score_high)
        yield _row([named(line.program, line.variant), line.lm, n, score, *_gold(line), *costs, *counts])


def _models(lines: Sequence[Line], metric: str, named: Callable[..., str]) -> Iterable[str]:
    """The runs of language models, the best first."""
    lost = "lost: not found, dropped, misread"
    names = [metric, "F1", "to direct", "found", "kept", lost, "answered", "LM calls", "tokens in", "tokens out", "s"]
    yield from _head(["program", "LM", "n", *names, "unparsable", "failed"], left=2)
    for line in sorted(lines, key=lambda line: (line.lm, -line.score)):
        gain = "" if line.to_direct is None else f"{100 * line.to_direct:+.0f} (p {line.to_direct_p:.2f})"
        ways = (line.not_found, line.dropped, line.misread)
        costs = [_amount(name, getattr(line, name)) for name in ("lm_calls", "tokens_in", "tokens_out")]
        yield _row(
            [
                *(named(line.program, line.variant), line.lm, _asked(line)),
                _score(line.score, line.score_low, line.score_high),
                "" if line.f1 is None else _score(line.f1, line.f1_low, line.f1_high),
                gain,
                *_gold(line),
                ", ".join("" if way is None else str(way) for way in ways),
                "" if line.answered is None else str(line.answered),
                *costs,
                "" if line.seconds is None else f"{line.seconds:.0f}",
                *(str(line.unparsable or ""), str(line.failed or "")),
            ]
        )


def _asked(line: Line) -> str:
    return f"{line.n}" if line.n == line.asked else f"{line.n} of {line.asked}"


def _gold(line: Line) -> list[str]:
    if line.found is None:
        return ["–", "–"]
    some = f" ({line.gold_n})" if line.gold_n < line.n else ""
    found = _score(line.found, line.found_low, line.found_high) + some
    return [found, "*Notes*" if line.kept is None else _score(line.kept, line.kept_low, line.kept_high)]


def _missing(
    lines: Sequence[Line],
    lms: Sequence[str],
    programs: Sequence[str],
    fitting: set[tuple[str, str]],
    named: Callable[..., str],
) -> Iterable[str]:
    """What has not been run: programs, by LM what the sets have or others were asked, and questions of runs."""
    if unknown := [program for program in programs if program not in {program for _, program in fitting}]:
        yield f"- {', '.join(map(named, unknown))}: nothing has been run."
    if not {line.lm for line in lines if line.n} - _NAMES.keys():
        yield "- No language model has been asked yet."
    for lm in lms:
        there = {(line.task, line.program) for line in lines if line.lm == lm and line.n}
        for task in dict.fromkeys(line.task for line in lines):
            wanted = {program for of, program in fitting if of == task}
            lacking = sorted(program for program in wanted if (task, program) not in there)
            if lacking:
                which = "" if len(lacking) == len(wanted) else f" with {', '.join(lacking)}"
                yield f"- {lm}: {task}{which}."
    for line in lines:
        if 0 < line.n < line.asked:
            yield f"- {line.lm}: {line.asked - line.n} of {line.asked} questions of {line.task} with {line.program}."
    counts = sorted({line.asked for line in lines})
    yield f"- More questions: these are the first {' or '.join(map(str, counts))} of each data set."


def _head(names: Sequence[str], left: int) -> list[str]:
    return [_row(names), _row([":--" if n < left else "--:" for n in range(len(names))])]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _score(share: float, low: float | None, high: float | None) -> str:
    return f"{_percent(share)} [{_percent(low or 0.0)}, {_percent(high or 0.0)}]"


def _amount(name: str, value: float) -> str:
    return f"{value:,.0f}" if name.startswith("tokens") else f"{value:.1f}"
