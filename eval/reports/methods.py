"""The page that compares all methods, as Markdown: a table for each LM at a glance, then one for each data set."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from eval.records.lines import Line
from eval.reports.formats import COSTS, heading
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
  other than HotPotQA and 2WikiMultiHopQA were made before the reader was rewritten: made anew they may move by some
  points, those of methods that reason in steps by more.
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

_Columns = Mapping[str, Callable[[Line], str]]
"""What stands in a line of a table under each heading."""
_COSTS: _Columns = {
    COSTS["lm_calls"]: lambda line: f"{line.lm_calls:.1f}",
    COSTS["depth"]: lambda line: f"{line.depth:.1f}",
    COSTS["searches"]: lambda line: f"{line.searches:.1f}",
    COSTS["input_tokens"]: lambda line: f"{line.tokens_in:,.0f}",
    COSTS["output_tokens"]: lambda line: f"{line.tokens_out:,.0f}",
}
_GOLD: _Columns = {"found": lambda line: _found(line), "kept": lambda line: _kept(line)}
_WRONG: _Columns = {
    "unparsable": lambda line: str(line.unparsable or ""),
    "failed": lambda line: str(line.failed or ""),
}
_OF_MODELS: _Columns = {
    "F1": lambda line: _score(line.f1, line.f1_low, line.f1_high),
    "to direct": lambda line: (
        "" if line.to_direct is None else f"{100 * line.to_direct:+.0f} (p {line.to_direct_p:.2f})"
    ),
    **_GOLD,
    "lost: not found, dropped, misread": lambda line: ", ".join(
        _or_none(way) for way in (line.not_found, line.dropped, line.misread)
    ),
    "answered": lambda line: _or_none(line.answered),
    **{name: text for name, text in _COSTS.items() if name not in (COSTS["depth"], COSTS["searches"])},
    "s": lambda line: _or_none(line.seconds, "{:.0f}".format),
}


def page(lines: Sequence[Line], programs: Sequence[str], cards: Collection[str]) -> str:
    """The page; the same lines give the same page.

    Args:
        lines: The figures of all runs, as `eval.records.lines.merged` orders them.
        programs: The names of all programs.
        cards: Those whose cards lie beside the page; where all do, it is the page of all methods.
    """
    return _Page(lines, programs, cards).text()


def is_page(text: str) -> bool:
    """Whether the text is a page that `page` made, and not somebody's own."""
    return text.partition("\n\n")[2].startswith(_MADE_BY)


@dataclass(frozen=True)
class _Page:
    lines: Sequence[Line]
    programs: Sequence[str]
    cards: Collection[str]

    def text(self) -> str:
        made = [line for line in self.lines if line.n]
        parts = [_OF_ALL, _ABOUT, _REPEAT] if set(self.programs) <= set(self.cards) else [_OF_A_SET, _ABOUT]
        for lm in _order(self.lines):
            if of_lm := [line for line in made if line.lm == lm]:
                parts += [f"## {_NAMES.get(lm, lm)} at a glance", "", *self.verdict(of_lm), *self.glance(of_lm), ""]
        parts += ["## What is missing", "", *self.missing(), "", "## By data set", "", _MARKS, ""]
        for task in self.tasks:
            parts += [f"### {task}", "", *self.folded([line for line in made if line.task == task]), ""]
        return "\n".join(parts)

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(line.task for line in self.lines))

    @property
    def fitting(self) -> set[tuple[str, str]]:
        """The data sets with the programs that fit them."""
        return {(line.task, line.program) for line in self.lines}

    def named(self, program: str, variant: str = "") -> str:
        name = f"[{program}]({program}.md)" if program in self.cards else program
        return f"{name}, {variant}" if variant else name

    def verdict(self, lines: Sequence[Line]) -> Iterable[str]:
        """The best program of an LM on all its data sets, beside `direct`, in a sentence."""
        tasks = {line.task for line in lines}
        means = {key: mean for key, mean in _means(lines, tasks).items() if mean is not None}
        usual = ("direct", "")
        told = {_key(line) for line in lines if _told(line)}
        best = max(means.keys() - told, key=lambda key: (means[key], key), default=usual)
        if best == usual or usual not in means:
            return
        one, other = ([line for line in lines if _key(line) == key] for key in (best, usual))
        calls, others = (fsum(line.lm_calls for line in of) / len(of) for of in (one, other))
        where = f"on average over {len(tasks)} data sets" if len(tasks) > 1 else f"on {one[0].task}"
        p = one[0].to_direct_p if len(tasks) == 1 else None
        chance = "" if p is None else f"; chance {'can' if p >= 0.05 else 'does not'} explain that (p {p:.2f})"
        scores = f"{_percent(means[best])} % {where}, and {self.named('direct')} {_percent(means[usual])} %"
        yield f"{self.named(*best)} is best, with {scores}{chance}; it {times(calls, others, 'direct')}."
        yield ""

    def glance(self, lines: Sequence[Line]) -> Iterable[str]:
        """A line per program: its score by data set, and what a question costs on average over these. The best come
        first, by the mean over the data sets that all have."""
        of_each = {key: {line.task: line for line in lines if _key(line) == key} for key in map(_key, lines)}
        means = _means(lines, set.intersection(*({*own} for own in of_each.values())))
        rows = []
        for key in sorted(of_each, key=lambda key: (-(means[key] or 0.0), key)):
            own, count = of_each[key], len(of_each[key])
            missing = {task: "missing" for task, program in self.fitting if program == key[0]}
            scores = [_percent(own[task].score) if task in own else missing.get(task, "") for task in self.tasks]
            spent = ("lm_calls", "depth", "searches", "tokens_in", "tokens_out")
            mean = {name: fsum(getattr(line, name) for line in own.values()) / count for name in spent}
            costs = lines[0].model_copy(update=mean)
            rows.append([self.named(*key), *scores, *(text(costs) for text in _COSTS.values())])
        return _table(["program", *self.tasks, *_COSTS], rows, left=1)

    def folded(self, lines: Sequence[Line]) -> Iterable[str]:
        """The figures of a data set, which open at a click; GitHub shows this as the site does."""
        best = []
        for lm in _order(lines):
            scores = {line.score: line for line in reversed(lines) if line.lm == lm and not _told(line)}
            best += [f"{scores[max(scores)].program} {_percent(max(scores))} ({lm})"] if scores else []
        yield from ('<details markdown="1">', f"<summary>All figures. Best: {', '.join(best) or 'none yet'}</summary>")
        yield from ("", *(self.figures(lines) if lines else ["Not run yet."]), "", "</details>")

    def figures(self, lines: Sequence[Line]) -> Iterable[str]:
        """What is common to the runs of a data set, and a line for each: those of language models by themselves."""
        settings = sorted({line.settings for line in lines} - {""})
        gold = sorted({line.gold for line in lines} - {""})
        retrievers = ", ".join(f"`{name}`" for name in dict.fromkeys(line.retriever for line in lines))
        programs_having = f" Settings, of the programs that have them: {'; '.join(settings)}." if settings else ""
        compared = f"Gold passages by {' and '.join(gold)}." if gold else f"{_NO_GOLD[0].upper()}{_NO_GOLD[1:]}."
        yield f"Retriever {retrievers}.{programs_having} {compared}"
        yield ""
        first: _Columns = {
            "program": lambda line: self.named(line.program, line.variant),
            "LM": lambda line: line.lm,
            "n": lambda line: f"{line.n}" if line.n == line.asked else f"{line.n} of {line.asked}",
            heading(lines[0].metric): lambda line: _score(line.score, line.score_low, line.score_high),
        }
        models = sorted((line for line in lines if line.lm not in _NAMES), key=lambda line: (line.lm, -line.score))
        others = sorted((line for line in lines if line.lm in _NAMES), key=lambda line: (line.lm, -line.score))
        if models:
            yield from _of_lines({**first, **_OF_MODELS, **_WRONG}, models)
            yield ""
        yield from _of_lines({**first, **_GOLD, **_COSTS, **_WRONG}, others)

    def missing(self) -> Iterable[str]:
        """What has not been run: programs, by LM what the sets have or others were asked, and questions of runs."""
        fitting = self.fitting
        if unknown := [program for program in self.programs if program not in {program for _, program in fitting}]:
            yield f"- {', '.join(map(self.named, unknown))}: nothing has been run."
        if not {line.lm for line in self.lines if line.n} - _NAMES.keys():
            yield "- No language model has been asked yet."
        for lm in _order(self.lines):
            there = {(line.task, line.program) for line in self.lines if line.lm == lm and line.n}
            for task in self.tasks:
                wanted = {program for of, program in fitting if of == task}
                lacking = sorted(program for program in wanted if (task, program) not in there)
                if lacking:
                    which = "" if len(lacking) == len(wanted) else f" with {', '.join(lacking)}"
                    yield f"- {lm}: {task}{which}."
        for line in self.lines:
            if 0 < line.n < line.asked:
                left = f"{line.asked - line.n} of {line.asked} questions"
                yield f"- {line.lm}: {left} of {line.task} with {line.program}."
        counts = sorted({line.asked for line in self.lines})
        yield f"- More questions: these are the first {' or '.join(map(str, counts))} of each data set."


def _order(lines: Sequence[Line]) -> list[str]:
    """The LMs: language models, the one with the best score first, then ceiling and floor."""
    best = {lm: max(line.score for line in lines if line.lm == lm) for lm in {line.lm for line in lines}}
    return sorted(best, key=lambda lm: (lm == "floor", lm == "ceiling", -best[lm], lm))


def _key(line: Line) -> tuple[str, str]:
    return line.program, line.variant


def _told(line: Line) -> bool:
    """Whether the score says nothing: the oracle is told the answers, and a closed book shows it no passages."""
    return line.lm == "ceiling" and not line.searches


def _means(lines: Sequence[Line], tasks: Collection[str]) -> dict[tuple[str, str], float | None]:
    """The mean score over these data sets of each program with its variant; None where it lacks one of them."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for line in lines:
        scores.setdefault(_key(line), {})[line.task] = line.score
    return {
        key: fsum(by[task] for task in tasks) / max(len(tasks), 1) if by.keys() >= set(tasks) else None
        for key, by in scores.items()
    }


def _of_lines(columns: _Columns, lines: Sequence[Line]) -> list[str]:
    return _table(list(columns), [[text(line) for text in columns.values()] for line in lines], left=2)


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> list[str]:
    rule = [":--" if n < left else "--:" for n in range(len(names))]
    return [f"| {' | '.join(cells)} |" for cells in (names, rule, *rows)]


def _found(line: Line) -> str:
    some = f" ({line.gold_n})" if line.gold_n < line.n else ""
    return "–" if line.found is None else _score(line.found, line.found_low, line.found_high) + some


def _kept(line: Line) -> str:
    if line.found is None:
        return "–"
    return "*Notes*" if line.kept is None else _score(line.kept, line.kept_low, line.kept_high)


def _or_none(figure: float | None, written: Callable[[float], str] = str) -> str:
    return "" if figure is None else written(figure)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _score(share: float | None, low: float | None, high: float | None) -> str:
    return "" if share is None else f"{_percent(share)} [{_percent(low or 0.0)}, {_percent(high or 0.0)}]"
