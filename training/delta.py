"""What training changed, as the file that forgekit ships: low-rank differences in half precision.

A trained matrix W + D is kept as two thin ones, D ~ b @ a, by the singular values of D (Eckart and Young,
1936); vectors and the head are kept whole.
"""

from __future__ import annotations

from pathlib import Path

import torch
from network import Network
from safetensors.torch import save_file
from torch import Tensor


def delta_of(network: Network, before: dict[str, Tensor], rank: int) -> dict[str, Tensor]:
    """Return the tensors to ship, by name.

    Args:
        network: after training.
        before: the encoder's own weights, as of `network.bert.state_dict()` before training.
        rank: of each difference; 0 keeps the matrices whole.
    """
    out = {f"head.{name}": tensor.detach() for name, tensor in network.head.state_dict().items()}
    trained = {name for name, weight in network.bert.named_parameters() if weight.requires_grad}
    for name, after in network.bert.state_dict().items():
        if name not in trained:
            continue
        if after.ndim < 2 or not rank or not name.startswith("encoder."):
            out[name] = after
            continue
        u, s, v = torch.linalg.svd((after - before[name]).float(), full_matrices=False)
        root = s[:rank].sqrt()
        out[f"{name}.b"] = u[:, :rank] * root
        out[f"{name}.a"] = root[:, None] * v[:rank]
    return {name: tensor.to(torch.float16).contiguous() for name, tensor in out.items()}


def apply_delta(network: Network, delta: dict[str, Tensor], before: dict[str, Tensor]) -> None:
    """Set a network's weights to what a delta says, so that what is measured is what is shipped."""
    weights = dict(before)
    for name, tensor in delta.items():
        if name.endswith(".b"):
            whole = name.removesuffix(".b")
            weights[whole] = before[whole] + tensor.float() @ delta[f"{whole}.a"].float()
        elif not name.endswith(".a") and not name.startswith("head."):
            weights[name] = tensor.float()
    network.bert.load_state_dict(weights)
    network.head.load_state_dict(
        {name.removeprefix("head."): t.float() for name, t in delta.items() if name.startswith("head.")}
    )


def write_delta(delta: dict[str, Tensor], path: Path) -> None:
    """Write a delta as a safetensors file."""
    save_file(delta, path)
    path.chmod(0o644)  # safetensors lets nobody else read what it writes, and a wheel keeps that
