"""The slow steps of a ColBERT search as compiled loops, which run side by side in threads.

None checks where it reads but for what a damaged file could get wrong.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from retrieval.compiled import compiled, push

__all__ = ["best_candidates", "maxsim", "maxsim_of_centroids", "nearest_centroids"]

_REORDERED = {"reassoc", "contract", "nsz", "arcp"}  # sums may be taken in any order; all else is as IEEE 754 has it
_BLOCK = 1 << 15  # passages whose votes are counted at a time: they fit a core's cache
_NONE = np.float32(-9999.0)  # of a passage without tokens, below all others


@compiled
def nearest_centroids(
    nearness: NDArray[np.float32], first: int, tokens: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each token of a query its `count` nearest centroids, nearest first, and how near they are: tokens x count.

    Of equally near ones the lower number counts. `nearness` is centroids x tokens of several queries, of which this
    query has so many from `first` on.
    """
    cells = np.zeros((tokens, count), np.int64)
    found = np.full((tokens, count), -np.inf, np.float32)
    last = np.full(tokens, -np.inf, np.float32)
    for cell in range(nearness.shape[0]):
        hits = 0
        for token in range(tokens):
            hits += nearness[cell, first + token] > last[token]
        if hits == 0:  # as nearly always
            continue
        for token in range(tokens):
            near = nearness[cell, first + token]
            if near > last[token]:
                place = count - 1
                while place > 0 and found[token, place - 1] < near:
                    found[token, place] = found[token, place - 1]
                    cells[token, place] = cells[token, place - 1]
                    place -= 1
                found[token, place] = near
                cells[token, place] = cell
                last[token] = found[token, count - 1]
    return cells, found


@compiled
def best_candidates(
    ivf: NDArray[np.int32],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    tokens: NDArray[np.int64],
    gains: NDArray[np.float32],
    passages: int,
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The passages with the highest sum of gains, each query token counting once: with the first list that names it.

    Args:
        ivf: The passages of all centroids; those of one centroid are in order.
        begins, ends: Where in it the list of each probed centroid begins and ends.
        tokens: The query's token that probes the centroid; a token's lists follow each other, the nearest first.
        gains: What the token gives the passages of the list, none below 0.
        passages: How many there are.
        limit: At most so many are found; of equal ones those in lower rows.

    Returns:
        Rows, in no order, and their sums.
    """
    limit = min(limit, passages)
    places = begins.copy()
    sums = np.zeros(_BLOCK, np.float32)
    seen = np.zeros(_BLOCK, np.int16)  # by which token, counted from 1
    best = np.empty(limit, np.float32)
    rows = np.empty(limit, np.int64)
    size = 0
    for start in range(0, passages, _BLOCK):
        stop = min(start + _BLOCK, passages)
        for n in range(len(places)):
            place, end, gain, token = places[n], ends[n], gains[n], tokens[n] + 1
            while place < end and ivf[place] < stop:
                row = max(ivf[place] - start, 0)  # is below 0 only if the file is damaged
                sums[row] += gain * (seen[row] != token)
                seen[row] = token
                place += 1
            places[n] = place
        for row in range(stop - start):
            if seen[row] and (size < limit or sums[row] > best[0]):  # rows ascend: an equal one is no better
                size = push(best, rows, size, sums[row], start + row)
        sums[:] = 0
        seen[:] = 0
    return rows[:size], best[:size]


@compiled
def maxsim_of_centroids(
    codes: NDArray[np.int32],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int64],
    nearness: NDArray[np.float32],
    first: int,
    scores: NDArray[np.float32],
    tokens: int,
) -> bool:
    """Fill `scores` with MaxSim of passages when centroids stand for their tokens.

    Args:
        codes: The centroids of a chunk's tokens.
        begins, lengths: The first token of each passage, and the number of its tokens.
        nearness, first, tokens: See `nearest_centroids`.

    Returns:
        Whether all codes are of centroids that there are; if not, the scores are not filled.
    """
    best = np.empty(tokens, np.float32)
    for n in range(len(begins)):
        best[:] = _NONE
        for place in range(begins[n], begins[n] + lengths[n]):
            cell = codes[place]
            if cell < 0 or cell >= nearness.shape[0]:
                return False
            for token in range(tokens):
                best[token] = max(best[token], nearness[cell, first + token])
        scores[n] = best.sum()
    return True


@partial(compiled, fastmath=_REORDERED)
def maxsim(
    codes: NDArray[np.int32],
    residuals: NDArray[np.uint8],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int64],
    centroids: NDArray[np.float32],
    numbers: NDArray[np.float32],
    query: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> bool:
    """Fill `scores` with MaxSim of passages, whose vectors are made one at a time and never leave the core's cache.

    Args:
        codes, begins, lengths: See `maxsim_of_centroids`; likewise what is returned.
        residuals: The residuals of the chunk's tokens, tokens x bytes.
        centroids, query: Centroids and tokens x numbers.
        numbers: What each byte of a residual stands for: 256 x numbers per byte.
    """
    tokens, dim = query.shape
    width = numbers.shape[1]
    longest = 0
    for n in range(len(lengths)):
        longest = max(longest, lengths[n])
    vectors = np.empty((longest, dim), np.float32)
    best = np.empty(tokens, np.float32)
    for n in range(len(begins)):
        last = lengths[n] - 1
        for row in range(lengths[n]):
            place, vector = begins[n] + row, vectors[row]
            cell = codes[place]
            if cell < 0 or cell >= len(centroids):
                return False
            for byte in range(residuals.shape[1]):
                for part in range(width):
                    vector[byte * width + part] = numbers[residuals[place, byte], part]
            norm = np.float32(0)
            for number in range(dim):
                vector[number] += centroids[cell, number]
                norm += vector[number] * vector[number]
            norm = max(np.sqrt(norm), np.float32(1e-12))
            for number in range(dim):
                vector[number] /= norm
        best[:] = _NONE
        for row in range(0, last + 1, 4):  # four at a time, so that each number of the query is read for four
            one, two = vectors[row], vectors[min(row + 1, last)]
            three, four = vectors[min(row + 2, last)], vectors[min(row + 3, last)]
            for token in range(tokens):
                asked = query[token]
                a = b = c = d = np.float32(0)
                for number in range(dim):
                    a += one[number] * asked[number]
                    b += two[number] * asked[number]
                    c += three[number] * asked[number]
                    d += four[number] * asked[number]
                best[token] = max(best[token], max(max(a, b), max(c, d)))
        scores[n] = best.sum()
    return True
