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

from pathlib import Path
from typing import Any

import numpy as np

from retrieval.bm25.compiled import (
    Bounds,
    Bytes,
    Columns,
    Floats,
    Ints,
    Matrix,
    Sizes,
    Sums,
    first_from,
    gallop,
    inlined,
    push_all,
)
from retrieval.compiled import compiled, push

__all__ = ["Bounds", "Matrix", "Sizes", "best_rows", "is_compiled"]

SMALL = 1 << 10  # passages for each of the k wanted: up to that the sums of all take less time than bounds
BLOCK_BITS = 14  # rows summed at a time; their sums stay in the processor's cache

_ASIDE = 0.7  # of the floor: what the columns put aside may add up to
_MORE = 8  # windows scored first, beside k
_LEVELS = 1 << 16  # of bounds, when the highest are looked for
_ROUNDING = 1e-6  # more than what a sum of float32 is off by, relative, per addend


@compiled
def _add_bounds(sums: Ints, bounds: Bytes, times: int) -> None:
    for window in range(len(sums)):
        sums[window] += times * np.int32(bounds[window])


@compiled
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


@compiled
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


@compiled
def _best_of_all(query: Ints, matrix: Matrix, passages: int, k: int) -> tuple[Ints, Floats]:
    """What `best_rows` gives, without bounds."""
    summed = np.zeros(passages, np.float32)
    for column in query:
        for place in range(matrix.indptr[column], matrix.indptr[column + 1]):
            summed[matrix.rows[place]] += matrix.scores[place]
    best, best_scores = np.empty(min(k, passages), np.int64), np.empty(min(k, passages), np.float32)
    size = push_all(best_scores, best, 0, summed, 0)
    return best[:size], best_scores[:size]


@compiled
def _columns_of(query: Ints, matrix: Matrix, bounds: Bounds) -> Columns:
    columns = np.unique(query)
    times, bounded = np.zeros(len(columns), np.int64), np.empty(len(columns), np.int64)
    of_word = np.searchsorted(columns, query)
    for number in of_word:
        times[number] += 1
    for number in range(len(columns)):
        place = first_from(bounds.columns, 0, len(bounds.columns), columns[number])
        there = place < len(bounds.columns) and bounds.columns[place] == columns[number]
        bounded[number] = place if there else -1
    return Columns(of_word, matrix.indptr[columns], matrix.indptr[columns + 1], times, bounded)


@compiled
def _window_bounds(columns: Columns, matrix: Matrix, bounds: Bounds, sizes: Sizes) -> Ints:
    """Step 1: the bound on the scores of each window."""
    sums = np.zeros(((sizes.passages - 1) >> sizes.window) + 1, np.int32)
    for number in range(len(columns.times)):
        if columns.bounded[number] >= 0:
            _add_bounds(sums, bounds.values[columns.bounded[number]], columns.times[number])
        else:
            part = slice(columns.begins[number], columns.ends[number])
            factor = columns.times[number] / bounds.step
            _add_highest(sums, matrix.rows[part], matrix.scores[part], factor, sizes.window)
    return sums


@compiled
def _window_totals(windows: Ints, columns: Columns, matrix: Matrix, bounds: Bounds, sizes: Sizes) -> Any:
    """Step 2: the scores of all rows of these windows, which ascend."""
    totals = np.zeros((len(windows), 1 << sizes.window), np.float32)
    for number in columns.of_word:  # column by column, each of which is read onwards
        place, end, bounded = columns.begins[number], columns.ends[number], columns.bounded[number]
        for n in range(len(windows)):
            first = windows[n] << sizes.window
            if bounded >= 0:
                if bounds.values[bounded, windows[n]] == 0:
                    continue
                place = max(place, columns.begins[number] + np.int64(bounds.starts[bounded, first >> sizes.span]))
            place = gallop(matrix.rows, place, end, first)
            while place < end and matrix.rows[place] < first + (1 << sizes.window):
                totals[n, matrix.rows[place] - first] += matrix.scores[place]
                place += 1
    return totals


@compiled
def _put_aside(columns: Columns, bounds: Bounds, floor: float) -> tuple[Ints, Ints]:
    """Step 3: the columns that together lift no row to the floor, the weightiest first, and the others."""
    weights = np.full(len(columns.times), np.inf)
    for number in range(len(weights)):
        if columns.bounded[number] >= 0:
            weights[number] = bounds.step * columns.times[number] * bounds.tops[columns.bounded[number]]
    by_weight, together, count = np.argsort(weights), 0.0, 0
    while count < len(weights) and together + weights[by_weight[count]] <= _ASIDE * floor:
        together += weights[by_weight[count]]
        count += 1
    return by_weight[:count][::-1].copy(), by_weight[count:].copy()


@compiled
def _sum_block(
    block: int, others: Ints, columns: Columns, matrix: Matrix, bounds: Bounds, sizes: Sizes, sums: Sums
) -> None:
    """Sum the columns that are not put aside over a block, and note where each has the block's scores."""
    block_end = min(block + (1 << sizes.block), sizes.passages)
    for number in others:
        bounded = columns.bounded[number]
        if bounded >= 0:
            last = min(block_end + (1 << sizes.span) - 1 >> sizes.span, bounds.starts.shape[1] - 1)
            sums.places[number] = columns.begins[number] + np.int64(bounds.starts[bounded, block >> sizes.span])
            sums.after[number] = columns.begins[number] + np.int64(bounds.starts[bounded, last])
        else:
            sums.places[number] = gallop(matrix.rows, sums.after[number], columns.ends[number], block)
            sums.after[number] = gallop(matrix.rows, sums.places[number], columns.ends[number], block_end)
        often = np.float32(columns.times[number])
        for place in range(sums.places[number], sums.after[number]):
            sums.summed[matrix.rows[place] - block] += often * matrix.scores[place]


@inlined
def _reaches(
    row: int,
    score: float,
    rest: float,
    floor: float,
    aside: Ints,
    columns: Columns,
    matrix: Matrix,
    bounds: Bounds,
    sizes: Sizes,
    sums: Sums,
) -> bool:
    """Whether a row may reach the floor with the columns put aside, whose scores for it are noted then.

    Args:
        score: The sum of the row's scores in the other columns.
        rest: The bound on what the columns put aside add to it.
    """
    for number in aside:
        if score + rest < floor:
            return False
        bounded, found = columns.bounded[number], np.float32(0)
        window_bound = bounds.values[bounded, row >> sizes.window]
        if window_bound:
            span, begin = row >> sizes.span, columns.begins[number]
            end = begin + np.int64(bounds.starts[bounded, span + 1])
            place = first_from(matrix.rows, begin + np.int64(bounds.starts[bounded, span]), end, row)
            if place < end and matrix.rows[place] == row:
                found = matrix.scores[place]
            score += columns.times[number] * found
            rest -= bounds.step * columns.times[number] * window_bound
        sums.row[number] = found
    return score > 0 and score + rest >= floor


@inlined
def _total(row: int, others: Ints, columns: Columns, matrix: Matrix, sums: Sums) -> Any:
    """The score of a row whose scores in the columns put aside are noted, summed in the order of the query's words."""
    for number in others:
        place = first_from(matrix.rows, sums.places[number], sums.after[number], row)
        there = place < sums.after[number] and matrix.rows[place] == row
        sums.row[number] = matrix.scores[place] if there else np.float32(0)
    total = np.float32(0)
    for number in columns.of_word:
        total += sums.row[number]
    return total


@compiled
def best_rows(query: Ints, matrix: Matrix, bounds: Bounds, sizes: Sizes, k: int, small: int) -> tuple[Ints, Floats]:
    """The at most `k` rows with the highest scores above 0, and the scores, in no order; of equal ones the first rows.

    Args:
        query: The column of each word of the query, in their order; at least one.
        matrix, bounds: The scores of all passages, and the bounds on them.
        sizes: How many passages there are, and rows of a window, of a span and of a block.
        k: At least 1.
        small: Up to so many passages for each of `k`, all are summed.
    """
    if sizes.passages <= k * small:
        ranked: tuple[Ints, Floats] = _best_of_all(query, matrix, sizes.passages, k)
        return ranked
    columns = _columns_of(query, matrix, bounds)
    exact = max(0.0, 1 - _ROUNDING * (len(query) + 8))  # of the floor: no sum that rounding lowered is below
    window_sums = _window_bounds(columns, matrix, bounds, sizes)
    promising = _highest_windows(window_sums, k + _MORE)
    totals = _window_totals(promising, columns, matrix, bounds, sizes)
    most = min(k, sizes.passages)
    size, best, best_scores = 0, np.empty(most, np.int64), np.empty(most, np.float32)
    for n in range(len(promising)):
        size = push_all(best_scores, best, size, totals[n], promising[n] << sizes.window)
        window_sums[promising[n]] = 0  # done
    floor = exact * best_scores[0] if size == len(best) else 0.0
    aside, others = _put_aside(columns, bounds, floor)

    rows = np.zeros(1 << sizes.block, np.float32)
    sums = Sums(rows, columns.begins.copy(), columns.begins.copy(), np.zeros(len(columns.times), np.float32))
    least_sum = np.empty(1, np.float32)
    row_bits, least_bits = rows.view(np.int32), least_sum.view(np.int32)  # in the same order, quicker to compare
    aside_bounds = np.empty(1 << (sizes.block - sizes.window), np.int32)
    for block in range(0, sizes.passages, 1 << sizes.block):
        window = block >> sizes.window
        windows = window_sums[window : window + len(aside_bounds)]
        least = max(1, np.int64(floor / bounds.step))
        if windows.max() < least:
            continue
        _sum_block(block, others, columns, matrix, bounds, sizes, sums)
        aside_bounds[:] = 0
        for number in aside:
            values = bounds.values[columns.bounded[number], window:]
            _add_bounds(aside_bounds[: len(windows)], values, columns.times[number])
        for n in range(len(windows)):
            if windows[n] < least:
                continue
            first, bound, highest = n << sizes.window, bounds.step * aside_bounds[n], np.int32(0)
            least_sum[0] = max(0.0, (floor - bound) * exact)
            for bits in row_bits[first : first + (1 << sizes.window)]:  # a call in its place costs a fifth
                highest = max(highest, bits)
            if highest < least_bits[0]:
                continue
            for offset in range(first, min(first + (1 << sizes.window), sizes.passages - block)):
                row, score = block + offset, float(rows[offset])
                if score + bound < floor:
                    continue
                if _reaches(row, score, bound, floor, aside, columns, matrix, bounds, sizes, sums):
                    size = push(best_scores, best, size, _total(row, others, columns, matrix, sums), row)
                    floor = exact * best_scores[0] if size == len(best) else 0.0
        rows[:] = 0
    return best[:size], best_scores[:size]


def is_compiled() -> bool:
    """Whether an earlier process has kept the compiled code."""
    kept = best_rows.stats.cache_path
    return kept is not None and any(Path(kept).glob("kernel.best_rows-*.nbc"))
