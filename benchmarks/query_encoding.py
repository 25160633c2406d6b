"""Encoding queries of ColBERT by torch and by ONNX Runtime: time, and how far the vectors differ.

    pip install onnx onnxscript onnxruntime && python benchmarks/query_encoding.py [--checkpoint DIR]

Both encode the same queries of 32 tokens, in turns, one at a time and 32 at once; milliseconds of the wall and of the
processor per query, medians of the rounds. The model is exported in single precision, as our search runs it. By
default the checkpoint is made from all-MiniLM-L6-v2, which has a fifth of the weights of ColBERTv2's BERT.
"""

import argparse
import runpy
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import torch

from retrieval.colbert.encoder import Checkpoint

CHECKPOINT = Path(__file__).parents[1] / "tests" / "support" / "colbert_checkpoint.py"
QUERIES = [f"who was the {n} engineer that built the longest bridge over the river" for n in range(32)]
ROUNDS = 5

Encode = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Vectors(torch.nn.Module):
    """What a query's tokens become, as colbert-ai's model computes it."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.bert, self.linear = model.bert, model.linear

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(self.linear(self.bert(ids, attention_mask=mask)[0]), dim=2)


def exported(vectors: Vectors, ids: torch.Tensor, mask: torch.Tensor, file: Path, threads: int) -> Encode:
    names = {"input_names": ["ids", "mask"], "output_names": ["vectors"]}
    sizes = {"ids": {0: "queries", 1: "tokens"}, "mask": {0: "queries", 1: "tokens"}}
    torch.onnx.export(vectors, (ids, mask), str(file), **names, dynamic_axes=sizes, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: torch.from_numpy(session.run(None, {"ids": ids.numpy(), "mask": mask.numpy()})[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, help="of ColBERT (default: one made from all-MiniLM-L6-v2)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of each (default: %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as temporary, torch.inference_mode():
        work = Path(temporary)
        path = arguments.checkpoint or runpy.run_path(str(CHECKPOINT))["make"](work / "checkpoint", dim=128)
        checkpoint = Checkpoint(path, torch.device("cpu"))
        ids, mask = checkpoint._queries.tensorize(QUERIES)
        by_torch = Vectors(checkpoint._model).eval()
        engines: dict[str, Encode] = {
            "torch": by_torch,
            "ONNX Runtime": exported(by_torch, ids[:2], mask[:2], work / "model.onnx", arguments.threads),
        }
        one, other = (encode(ids, mask) for encode in engines.values())
        assert torch.allclose(one, torch.stack(checkpoint.encode_queries(QUERIES)), atol=1e-5)
        print(f"largest difference of a product of two vectors: {(one @ one.mT - other @ other.mT).abs().max():.1e}")
        for at_once in (1, 32):
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
            for _ in range(ROUNDS):
                for name, encode in engines.items():
                    wall, processor = time.perf_counter(), time.process_time()
                    for first in range(0, len(QUERIES), at_once):
                        encode(ids[first : first + at_once], mask[first : first + at_once])
                    seconds = time.perf_counter() - wall, time.process_time() - processor
                    taken[name].append((seconds[0] / len(QUERIES), seconds[1] / len(QUERIES)))
            for name, rounds in taken.items():
                wall, processor = (1000 * statistics.median(times) for times in zip(*rounds, strict=True))
                print(f"{name}, {at_once} at once: {wall:.1f} ms, {processor:.1f} ms of the processor")


if __name__ == "__main__":
    main()
