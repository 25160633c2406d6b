"""Building: synonyms, taking up what was cut short, and what an index over another one pays for."""

import json
import subprocess
import sys
from pathlib import Path

import dspy
import numpy as np
import pytest
from support.graph_passages import PASSAGES, TRIPLES, Knowing

from retrieval import Passage, UsageError
from retrieval.hipporag import HippoRAG
from retrieval.hipporag.build import _synonyms
from retrieval.hipporag.openie import Unfinished

pytestmark = pytest.mark.needs("faiss")


def build(passages: list[Passage], out: Path, knowing: Knowing, **settings: object) -> HippoRAG:
    return HippoRAG.build(passages, out, encoder="words", lm=knowing.lm, **settings)  # type: ignore[arg-type]


def test_the_index_holds_what_it_was_made_of(tmp_path: Path, knowing: Knowing) -> None:
    index = build(PASSAGES, tmp_path / "new" / "index", knowing)
    about = json.loads((index.path / "hipporag.json").read_text())
    assert (about["phrases"], about["facts"], about["unread"]) == (7, 5, [])
    assert about["lm"]["model"] == "test/scripted"
    assert about["encoder"]["model"] == "words"
    assert about["encoder"]["normalize"] is True
    assert len(about["prompts"]) == len(about["corpus"]) == 64
    assert [index.passage(row).id for row in range(len(index))] == list(TRIPLES)
    facts = [json.loads(line) for line in (index.path / "facts.jsonl").read_text().splitlines()]
    assert facts[0] == ["ada quill", "was born in", "lund"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["index"]


def test_synonyms_are_the_neighbours_from_the_threshold_on() -> None:
    turned = [[np.cos(a), np.sin(a)] for a in (0.0, 0.5, 1.0, 0.1)]
    found = _synonyms(["boat", "ship", "liner", "no"], np.array(turned, np.float32), 0.8)
    pairs = {(int(a), int(b)): float(c) for a, b, c in zip(*found, strict=True)}
    assert pairs.keys() == {(0, 1), (0, 3), (1, 0), (1, 2), (1, 3), (2, 1)}  # "no" is too short to look for others
    assert pairs[0, 1] == pytest.approx(np.cos(0.5))


def test_a_phrase_has_at_most_a_hundred_synonyms() -> None:
    same = np.tile(np.array([[1, 0]], np.float32), (150, 1))
    found = _synonyms([f"phrase {n}" for n in range(150)], same, 0.8)
    assert set(np.bincount(found.first).tolist()) == {100}
    assert not (found.first == found.second).any()


def test_without_any_phrase_there_are_no_synonyms_and_searches_are_dense(tmp_path: Path, knowing: Knowing) -> None:
    knowing.triples = dict.fromkeys(knowing.triples, "[]")
    index = build(PASSAGES, tmp_path / "index", knowing)
    assert index.facts == 0
    knowing.asked.clear()
    with dspy.context(lm=knowing.lm):
        assert index("a town in Sweden", 1)[0].id == "lund"
    assert knowing.asked == []


# Builds over an LM that kills the process at one of its calls. Prints what the LM is asked.
KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[3])
from support.graph_passages import PASSAGES, Knowing
from support.scripted import Function, engine_lm
from support.word_encoder import WordEncoder
from retrieval.dense import encoder
from retrieval.hipporag import HippoRAG, search

knowing = Knowing(PASSAGES)

def reply(system, user):
    if len(knowing.asked) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return knowing.reply(system, user)

encoder.LoadedEncoder = search.LoadedEncoder = WordEncoder
HippoRAG.build(PASSAGES, sys.argv[1], encoder="words", lm=engine_lm(Function(reply)), lm_calls=1)
print(len(knowing.asked))
"""


def test_a_killed_build_is_taken_up_again(tmp_path: Path) -> None:
    out = tmp_path / "index"
    program = [sys.executable, "-c", KILLED, out]
    tests = str(Path(__file__).parents[2])
    killed = subprocess.run([*program, "7", tests], check=False)
    assert killed.returncode == -9
    assert not out.exists()
    done = subprocess.run([*program, "-1", tests], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["3"]
    assert len(HippoRAG(out)) == 5
    assert [file.name for file in tmp_path.iterdir()] == ["index"]


def test_an_index_over_another_pays_for_what_is_new_and_what_was_unread(tmp_path: Path, knowing: Knowing) -> None:
    out = tmp_path / "index"
    said, knowing.triples["zorx"] = knowing.triples["zorx"], "{}"
    index = build(PASSAGES[:4], out, knowing)
    assert index.unread == ["zorx"]
    assert index.facts == 4
    knowing.asked.clear()
    knowing.triples["zorx"] = said
    with pytest.raises(UsageError, match="exists: choose another directory, or say --overwrite"):
        build(PASSAGES, out, knowing)
    index = build(PASSAGES, out, knowing, overwrite=True)
    assert sorted(knowing.asked) == [("entities", "rain"), ("triples", "rain"), ("triples", "zorx")]
    assert (index.unread, index.facts) == ([], 5)
    knowing.asked.clear()
    build(PASSAGES, out, knowing, overwrite=True, resume=False)
    assert len(knowing.asked) == 10


def test_an_unread_reply_of_an_unfinished_build_is_not_paid_again(tmp_path: Path, knowing: Knowing) -> None:
    knowing.triples["ada"] = "{}"
    with pytest.raises(Unfinished, match="limit of 5"):
        build(PASSAGES, tmp_path / "index", knowing, max_calls=5, lm_calls=1)
    knowing.asked.clear()
    index = build(PASSAGES, tmp_path / "index", knowing)
    assert ("triples", "ada") not in knowing.asked
    assert index.unread == ["ada"]


def test_what_cannot_be_built_is_refused(tmp_path: Path, knowing: Knowing) -> None:
    out = tmp_path / "index"
    for wrong in ({"lm_calls": 0}, {"max_calls": 0}, {"batch_size": 0}, {"synonyms": 0.0}, {"synonyms": 1.1}):
        with pytest.raises(UsageError, match="a build needs batches of at least 1"):
            build(PASSAGES, out, knowing, **wrong)
    with dspy.context(lm=None), pytest.raises(UsageError, match="the facts of the passages are asked of an LM"):
        HippoRAG.build(PASSAGES, out, encoder="words")
    assert not out.exists()
    assert knowing.asked == []
