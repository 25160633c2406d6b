"""What runs come to, in one sentence for above their figures."""

from collections.abc import Sequence

from eval.figures.comparison import Compared, Comparison, Difference
from eval.figures.summary import Figures
from eval.reports.formats import heading, p_value

__all__ = ["of_one", "times", "verdict"]

_DONE = {"em": "answered {} of {} exactly", "accuracy": "answered {} of {} right"}
_AS_MANY = "costs as many LM calls"
_PARTS = ("", "half", "a third", "a quarter", "a fifth", "a sixth", "a seventh", "an eighth", "a ninth", "a tenth")


def of_one(name: str, figures: Figures, metric: str) -> str:
    """How a run did by a metric that it has, and its LM calls."""
    return f"{name} {_score(figures, metric)}, with {_calls(figures.cost['lm_calls'])} per question."


def verdict(comparison: Comparison) -> str:
    """Which run is best by the first metric, whether chance can explain that, and what it costs.

    Of more than two runs, the best one is compared with each other by p corrected for all pairs.
    """
    metric = comparison.metrics[0]
    costs = {run.name: run.summary.total.cost["lm_calls"] for run in comparison.runs}
    means = {run.name: run.summary.total.scores[metric].mean for run in comparison.runs}
    best, *others = sorted(comparison.runs, key=lambda run: (-means[run.name], costs[run.name]))

    def spent(other: Compared) -> str:
        return times(costs[best.name], costs[other.name], other.short)

    if len(others) > 1:
        pairs = {other.short: _between(best, other, comparison) for other in others}
        chance = [name for name, pair in pairs.items() if pair is None or pair.p_corrected >= 0.05]
        sure = [name for name in pairs if name not in chance]
        parts = [f"{best.short} is best: it {_score(best.summary.total, metric)}"]
        parts += [f"chance does not explain its lead over {_listed(sure)}"] if sure else []
        parts += [f"chance can explain its lead over {_listed(chance)}"] if chance else []
        cheapest = min(others, key=lambda run: costs[run.name])
        return f"{'; '.join(parts)}; beside {cheapest.short}, the cheapest other, it {spent(cheapest)}."
    (other,) = others
    difference = _between(best, other, comparison)
    lead = abs(difference.mean) if difference else 0.0
    if difference is None or lead < 1e-9:
        names = " and ".join(run.short for run in comparison.runs)
        who = "each" if spent(other) == _AS_MANY else best.short
        return f"{names} are equal by {heading(metric)}; {who} {spent(other)}."
    if metric in _DONE:
        what = _DONE[metric].format(f"{round(lead * difference.n)} more", difference.n)
    else:
        what = f"is ahead of {other.short} by {100 * lead:.1f} points of {heading(metric)}"
    explained = "chance can explain that" if difference.p >= 0.05 else "chance does not explain that"
    p = p_value(difference.p)
    return f"{best.short} {what}; {explained} ({'p ' if p[0] == '<' else 'p = '}{p}); it {spent(other)}."


def _calls(number: float) -> str:
    return f"{number:.3g} LM call{'' if number == 1 else 's'}"


def times(calls: float, others: float, other: str) -> str:
    """What costs so many LM calls beside another that costs so many."""
    if not calls or not others:
        return f"costs {_calls(calls)} per question, and {other} {others:.3g}"
    ratio = calls / others
    if 0.95 < ratio < 1.05:
        return _AS_MANY
    if ratio > 1:
        return f"costs {ratio:.2g} times the LM calls"
    part = round(1 / ratio)
    if 2 <= part <= len(_PARTS) and abs(1 / ratio / part - 1) < 0.1:
        return f"costs {_PARTS[part - 1]} of the LM calls"
    return f"costs {100 * ratio:.2g} % of the LM calls"


def _between(one: Compared, other: Compared, comparison: Comparison) -> Difference | None:
    names, metric = {one.name, other.name}, comparison.metrics[0]
    alike = (d for d in comparison.differences if d.metric == metric and d.type is None)
    return next((d for d in alike if {d.first, d.second} == names), None)


def _score(figures: Figures, metric: str) -> str:
    score = figures.scores[metric]
    if metric in _DONE:
        return _DONE[metric].format(round(score.mean * score.n), score.n)
    return f"has {100 * score.mean:.1f} % by {heading(metric)}"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
