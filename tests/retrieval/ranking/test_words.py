"""Words that carry content."""

from concurrent.futures import ThreadPoolExecutor

from retrieval.ranking.words import content_words


def test_content_words_are_stems_and_negations_stay() -> None:
    assert content_words("Was the Tower NOT built by builders?") == {"tower", "not", "built", "builder"}


def test_threads_may_stem_at_once() -> None:
    texts = [f"towers builders {n}" for n in range(50)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(content_words, texts)) == [{"tower", "builder", str(n)} for n in range(50)]
