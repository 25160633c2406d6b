"""Building dense indexes: builds that are interrupted or killed, and models that change meanwhile."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support.word_passages import PASSAGES, scores

from retrieval import Passage, UsageError
from retrieval.dense import Dense, Encoder
from retrieval.dense import build as module

pytestmark = pytest.mark.needs("sentence_transformers", "faiss")


@pytest.fixture
def encoded(encoded: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the passages that builds encode, in pieces of 8."""
    monkeypatch.setattr(module, "_SHARD", 8)
    return encoded


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.iterdir()}


# Builds with an encoder that needs no weights, and kills itself at a passage. Prints the ids of what it encodes.
KILLED = """
import os, signal, sys
import numpy as np
from retrieval import Passage
from retrieval.dense import Dense, build, encoder, search

class Model:
    def __init__(self, encoder, device, *, trusted=True):
        self.encoder = encoder

    def probe(self):
        return np.ones((2, 2), np.float32)

    def encode_passages(self, passages, batch_size):
        print(*(passage.id for passage in passages))
        return np.array([[float(passage.id)] * 2 for passage in passages], np.float32)

def passages():
    for n in range(100):
        if n == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield Passage(str(n), f"text {n}")

encoder.LoadedEncoder = search.LoadedEncoder = Model
build._SHARD = 8
Dense.build(passages(), sys.argv[1], encoder="none")
"""


class TestBuild:
    def test_an_index_is_the_same_however_often_its_build_was_interrupted(
        self, encoder: str, index: Dense, encoded: list[str], tmp_path: Path
    ) -> None:
        out = tmp_path / "index"

        def broken(at: int) -> Iterator[Passage]:
            yield from PASSAGES[:at]
            raise KeyboardInterrupt

        for at in 5, 20, 20, 41:
            with pytest.raises(KeyboardInterrupt):
                Dense.build(broken(at), out, encoder=encoder, device="cpu")
            assert not out.exists()
        Dense.build(PASSAGES, out, encoder=encoder, device="cpu")
        assert encoded == [passage.id for passage in PASSAGES]  # each once
        assert [file.name for file in tmp_path.iterdir()] == ["index"]
        assert scores(Dense(out, device="cpu")("cat", 50)) == pytest.approx(scores(index("cat", 50)), rel=1e-4)

    def test_a_killed_build_is_taken_up_again(self, tmp_path: Path) -> None:
        out = tmp_path / "index"
        program = [sys.executable, "-c", KILLED, out]
        killed = subprocess.run([*program, "37"], check=False)
        assert killed.returncode == -9
        assert not out.exists()
        done = subprocess.run([*program, "-1"], check=True, capture_output=True, text=True)
        assert done.stdout.split() == [str(n) for n in range(32, 100)]
        lines = (out / "corpus.jsonl").read_text().splitlines()
        assert [json.loads(line)["id"] for line in lines] == [str(n) for n in range(100)]
        assert np.load(out / "vectors.npy").tolist() == [[n, n] for n in range(100)]
        assert [file.name for file in tmp_path.iterdir()] == ["index"]

    def test_what_changed_is_encoded_again(self, encoder: str, encoded: list[str], tmp_path: Path) -> None:
        self.interrupt(PASSAGES[:40], tmp_path / "index", encoder)
        changed = [*PASSAGES[:10], Passage("id10", "another text"), *PASSAGES[11:40]]
        encoded.clear()
        Dense.build(changed, tmp_path / "index", encoder=encoder, device="cpu")
        assert encoded == [f"id{n}" for n in range(8, 16)]

    @pytest.mark.parametrize("change", ["model", "prefix", "resume"])
    def test_nothing_is_kept_of_another_encoder_or_if_so_asked(
        self, tiny: Callable[..., str], encoder: str, encoded: list[str], tmp_path: Path, change: str
    ) -> None:
        self.interrupt(PASSAGES[:16], tmp_path / "index", encoder)
        encoded.clear()
        other = {
            "model": Encoder(tiny("bert", seed=1)),
            "prefix": Encoder(encoder, passage_prefix="passage: "),
            "resume": Encoder(encoder),
        }[change]
        Dense.build(PASSAGES[:16], tmp_path / "index", encoder=other, resume=change != "resume", device="cpu")
        assert encoded == [f"id{n}" for n in range(16)]

    @staticmethod
    def interrupt(passages: list[Passage], out: Path, encoder: str) -> None:
        def broken() -> Iterator[Passage]:
            yield from passages
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Dense.build(broken(), out, encoder=encoder, device="cpu")

    def test_unfit_settings_and_models_are_refused(self, encoder: str, tmp_path: Path) -> None:
        out = tmp_path / "index"
        with pytest.raises(UsageError, match="batches of at least 1, not 0"):
            Dense.build(PASSAGES, out, encoder=encoder, batch_size=0)
        with pytest.raises(UsageError, match="cannot load the model '/nowhere/at/all'") as error:
            Dense.build(PASSAGES, out, encoder="/nowhere/at/all")
        assert "\n" not in str(error.value)
        assert not out.exists()
