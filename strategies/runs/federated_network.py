"""Flat weights as a torch module, for model.safetensors."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from curator.learning.training import Trained
from devices.network import FloatArray, Shape


class TwoLayers(nn.Module):
    """The four tensors of :class:`devices.network.Shape`, named as the curator's GCN names its own."""

    def __init__(self, weights: FloatArray, shape: Shape) -> None:
        super().__init__()
        names = ("weight1", "bias1", "weight2", "bias2")
        for name, part in zip(names, shape.parts(weights), strict=True):
            setattr(self, name, nn.Parameter(torch.tensor(np.asarray(part, np.float32))))


def trained_model(weights: FloatArray, shape: Shape, predictions: np.ndarray, rounds: int, seconds: float) -> Trained:
    """Return the trained network in the form that a result takes."""
    return Trained(TwoLayers(weights, shape), predictions, rounds, math.nan, seconds)
