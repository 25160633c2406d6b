"""The `k` best rows of a query without a look at most of them: compiled by numba, once, and kept on disk.

What is found is what sorting all rows by their scores gives, to the last bit: a row that may be among the best gets its
score summed in the order of the query's words, in float32, as bm25s sums it. All else is bounds.

1. Each window of rows gets a bound on its scores: the sum of its columns' bounds.
2. The windows with the highest bounds are scored in full. That gives a floor under the `k` best.
3. Columns that together lift no row to the floor are put aside. The others are summed, block of rows by block, where a
   block has a window that may reach the floor. A row whose sum and its window's bound on the columns put aside reach
   the floor is completed with these, and is given up when it no longer can.

In a corpus that is small beside `k` all rows are summed at once instead.

That is MAXSCORE (Turtle & Flood 1995) with bounds by windows of rows (Dimopoulos, Nepomnyachiy & Suel, SIGIR 2013).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["best_rows", "is_compiled"]

SMALL = 1 << 10  # passages for each of the k wanted: up to that the sums of all take less time than bounds
BLOCK_BITS = 14  # rows summed at a time; their sums stay in the processor's cache

_ASIDE = 0.7  # of the floor: what the columns put aside may add up to
_MORE = 8  # windows scored first, beside k
_LEVELS = 1 << 16  # of bounds, when the highest are looked for
_ROUNDING = 1e-6  # more than what a sum of float32 is off by, relative, per addend

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Starts: TypeAlias = NDArray[np.uint32]
Floats: TypeAlias = NDArray[np.float32]


def _compiled(function: Callable[..., Any]) -> Any:
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba has no place where it could keep what it compiled
        return njit(nogil=True)(function)


@_compiled
def _first_from(rows: Ints, begin: int, end: int, row: int) -> int:
    """The first place from `begin` to before `end` whose row is at least `row`, or `end`."""
    while begin < end:
        middle = (begin + end) >> 1
        if rows[middle] < row:
            begin = middle + 1
        else:
            end = middle
    return begin


@_compiled
def _gallop(rows: Ints, begin: int, end: int, row: int) -> int:
    """`_first_from`, quick when the place is near `begin`."""
    step = 1
    while begin < end and rows[begin] < row:
        if begin + step >= end or rows[begin + step] >= row:
            return int(_first_from(rows, begin + 1, min(begin + step, end), row))
        begin += step
        step <<= 1
    return begin


@_compiled
def _behind(score: float, row: int, other_score: float, other_row: int) -> bool:
    return score < other_score or (score == other_score and row > other_row)


@_compiled
def _push(best_scores: Floats, best: Ints, size: int, score: float, row: int) -> int:
    """Put a row on the heap of the best, whose worst is at the top; the heap's new size."""
    if size < len(best):
        place = size
        while place > 0 and _behind(score, row, best_scores[(place - 1) >> 1], best[(place - 1) >> 1]):
            best_scores[place], best[place] = best_scores[(place - 1) >> 1], best[(place - 1) >> 1]
            place = (place - 1) >> 1
        best_scores[place], best[place] = score, row
        return size + 1
    if not _behind(best_scores[0], best[0], score, row):
        return size
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _behind(best_scores[child + 1], best[child + 1], best_scores[child], best[child]):
            child += 1
        if not _behind(best_scores[child], best[child], score, row):
            break
        best_scores[place], best[place] = best_scores[child], best[child]
        place = child
    best_scores[place], best[place] = score, row
    return size


@_compiled
def _add_bounds(sums: Ints, bounds: Bytes, times: int) -> None:
    for window in range(len(sums)):
        sums[window] += times * np.int32(bounds[window])


@_compiled
def _add_highest(sums: Ints, rows: Ints, scores: Floats, factor: float, window_bits: int) -> None:
    """Add the bounds of a column that has none on disk: the highest score in each window, rounded up."""
    window, highest = -1, np.float32(0)
    for place in range(len(rows)):
        other = rows[place] >> window_bits
        if other != window:
            if window >= 0:
                sums[window] += np.int32(highest * factor) + 1
            window, highest = other, scores[place]
        elif scores[place] > highest:
            highest = scores[place]
    if window >= 0:
        sums[window] += np.int32(highest * factor) + 1


@_compiled
def _highest_windows(sums: Ints, count: int) -> Ints:
    """The windows with the highest bounds, ascending: `count`, or all that have a bound."""
    top, shift = sums.max(), 0
    while top >> shift >= _LEVELS:
        shift += 1
    sizes = np.zeros((top >> shift) + 1, np.int64)
    for window in range(len(sums)):
        sizes[sums[window] >> shift] += 1
    level, left = len(sizes) - 1, count
    while level > 0 and sizes[level] < left:
        left -= sizes[level]
        level -= 1
    chosen, size = np.empty(min(count, len(sums)), np.int64), 0
    for window in range(len(sums)):
        at_level = sums[window] >> shift == level
        if sums[window] > 0 and (sums[window] >> shift > level or (at_level and left > 0)):
            left -= at_level
            chosen[size] = window
            size += 1
    return chosen[:size]


@_compiled
def _best_of_all(query: Ints, indptr: Ints, rows: Ints, scores: Floats, passages: int, k: int) -> tuple[Ints, Floats]:
    """What `best_rows` gives, without bounds."""
    summed = np.zeros(passages, np.float32)
    for column in query:
        for place in range(indptr[column], indptr[column + 1]):
            summed[rows[place]] += scores[place]
    size, best, best_scores = 0, np.empty(min(k, passages), np.int64), np.empty(min(k, passages), np.float32)
    least = np.float32(0)  # rows ascend: one that has no more than the worst of the best is behind it
    for row in range(passages):
        if summed[row] > least:
            size = _push(best_scores, best, size, summed[row], row)
            least = best_scores[0] if size == len(best) else least
    return best[:size], best_scores[:size]


@_compiled
def best_rows(
    query: Ints,
    indptr: Ints,
    rows: Ints,
    scores: Floats,
    dense: Ints,
    tops: Ints,
    bounds: Bytes,
    starts: Starts,
    step: float,
    passages: int,
    k: int,
    small: int,
    window_bits: int,
    span_bits: int,
    block_bits: int,
) -> tuple[Ints, Floats]:
    """The at most `k` rows with the highest scores above 0, and the scores, in no order; of equal ones the first rows.

    Args:
        query: The column of each word of the query, in their order; at least one.
        indptr, rows, scores: The matrix of scores, column by column.
        dense, tops, bounds, starts, step: See `retrieval.bm25.bounds`.
        passages: Number of rows.
        k: At least 1.
        small: Up to so many passages for each of `k`, all are summed.
        window_bits, span_bits, block_bits: Rows of a window, from one of the starts to the next, and of a block, as
            powers of two, ascending.
    """
    if passages <= k * small:
        ranked: tuple[Ints, Floats] = _best_of_all(query, indptr, rows, scores, passages, k)
        return ranked
    # Each column once: where it begins and ends, how often the query has it, and where its bounds are, or -1.
    columns = np.unique(query)
    count = len(columns)
    word_column = np.searchsorted(columns, query)
    begins, ends = indptr[columns], indptr[columns + 1]
    times, bounded = np.zeros(count, np.int64), np.empty(count, np.int64)
    for number in word_column:
        times[number] += 1
    for number in range(count):
        place = _first_from(dense, 0, len(dense), columns[number])
        bounded[number] = place if place < len(dense) and dense[place] == columns[number] else -1
    exact = max(0.0, 1 - _ROUNDING * (len(query) + 8))  # of the floor: no sum that rounding lowered is below

    sums = np.zeros(((passages - 1) >> window_bits) + 1, np.int32)
    for number in range(count):
        if bounded[number] >= 0:
            _add_bounds(sums, bounds[bounded[number]], times[number])
        else:
            part = slice(begins[number], ends[number])
            _add_highest(sums, rows[part], scores[part], times[number] / step, window_bits)

    promising = _highest_windows(sums, k + _MORE)
    totals = np.zeros((len(promising), 1 << window_bits), np.float32)
    for number in word_column:  # column by column, each of which is read onwards
        place, end, dense_place = begins[number], ends[number], bounded[number]
        for n in range(len(promising)):
            first = promising[n] << window_bits
            if dense_place >= 0:
                if bounds[dense_place, promising[n]] == 0:
                    continue
                place = max(place, begins[number] + np.int64(starts[dense_place, first >> span_bits]))
            place = _gallop(rows, place, end, first)
            while place < end and rows[place] < first + (1 << window_bits):
                totals[n, rows[place] - first] += scores[place]
                place += 1
    size, best, best_scores = 0, np.empty(min(k, passages), np.int64), np.empty(min(k, passages), np.float32)
    least_score = np.float32(0)  # rows ascend: one that has no more than the worst of the best is behind it
    for n in range(len(promising)):
        for offset in range(1 << window_bits):
            if totals[n, offset] > least_score:
                size = _push(best_scores, best, size, totals[n, offset], (promising[n] << window_bits) + offset)
                least_score = best_scores[0] if size == len(best) else least_score
        sums[promising[n]] = 0  # done

    floor = exact * best_scores[0] if size == len(best) else 0.0
    weights = np.full(count, np.inf)
    for number in range(count):
        if bounded[number] >= 0:
            weights[number] = step * times[number] * tops[bounded[number]]
    by_weight, together, put_aside = np.argsort(weights), 0.0, 0
    while put_aside < count and together + weights[by_weight[put_aside]] <= _ASIDE * floor:
        together += weights[by_weight[put_aside]]
        put_aside += 1
    aside, others = by_weight[:put_aside][::-1].copy(), by_weight[put_aside:].copy()

    places, after = begins.copy(), begins.copy()
    summed = np.zeros(1 << block_bits, np.float32)
    summed_bits = summed.view(np.int32)  # in the same order as the sums, and compared many at a time
    column_scores = np.zeros(count, np.float32)
    least_bits = np.empty(1, np.float32)
    aside_bounds = np.empty(1 << (block_bits - window_bits), np.int32)
    for block in range(0, passages, 1 << block_bits):
        window = block >> window_bits
        windows = sums[window : window + len(aside_bounds)]
        least = max(1, np.int64(floor / step))
        if windows.max() < least:
            continue
        block_end = min(block + (1 << block_bits), passages)
        for number in others:
            dense_place = bounded[number]
            if dense_place >= 0:
                last = min(block_end + (1 << span_bits) - 1 >> span_bits, starts.shape[1] - 1)
                places[number] = begins[number] + np.int64(starts[dense_place, block >> span_bits])
                after[number] = begins[number] + np.int64(starts[dense_place, last])
            else:
                places[number] = _gallop(rows, after[number], ends[number], block)
                after[number] = _gallop(rows, places[number], ends[number], block_end)
            often = np.float32(times[number])
            for place in range(places[number], after[number]):
                summed[rows[place] - block] += often * scores[place]
        aside_bounds[:] = 0
        for number in aside:
            _add_bounds(aside_bounds[: len(windows)], bounds[bounded[number], window:], times[number])

        for n in range(len(windows)):
            if windows[n] < least:
                continue
            first, bound, highest = n << window_bits, step * aside_bounds[n], np.int32(0)
            least_bits[0] = max(0.0, (floor - bound) * exact)
            for bits in summed_bits[first : first + (1 << window_bits)]:
                highest = max(highest, bits)
            if highest < least_bits.view(np.int32)[0]:
                continue
            for offset in range(first, min(first + (1 << window_bits), block_end - block)):
                if summed[offset] + bound < floor:
                    continue
                row, score, rest = block + offset, float(summed[offset]), bound
                for number in aside:
                    if score + rest < floor:
                        break
                    dense_place = bounded[number]
                    window_bound, found = bounds[dense_place, window + n], np.float32(0)
                    if window_bound:
                        span, begin = row >> span_bits, begins[number]
                        end = begin + np.int64(starts[dense_place, span + 1])
                        place = _first_from(rows, begin + np.int64(starts[dense_place, span]), end, row)
                        if place < end and rows[place] == row:
                            found = scores[place]
                        score += times[number] * found
                        rest -= step * times[number] * window_bound
                    column_scores[number] = found
                if score <= 0 or score + rest < floor:
                    continue
                for number in others:
                    place = _first_from(rows, places[number], after[number], row)
                    there = place < after[number] and rows[place] == row
                    column_scores[number] = scores[place] if there else np.float32(0)
                total = np.float32(0)
                for number in word_column:
                    total += column_scores[number]
                size = _push(best_scores, best, size, total, row)
                floor = exact * best_scores[0] if size == len(best) else 0.0
        summed[:] = 0
    return best[:size], best_scores[:size]


def is_compiled() -> bool:
    """Whether an earlier process has kept the compiled code."""
    kept = best_rows.stats.cache_path
    return kept is not None and any(Path(kept).glob("kernel.best_rows-*.nbc"))
