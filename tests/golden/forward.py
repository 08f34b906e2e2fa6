#!/usr/bin/env python3
"""The arithmetic of a model file, in PyTorch and in double: a slow, obvious reference.

    forward.py MODEL REFERENCE     how far the logits of a reference file are from it, relative to the largest

Follows the description of the format (models/README.md) word by word and shares nothing with the C code or
with train/fconv.py. One sentence at a time; all positions of the target at once.
"""
import math
import os
import sys

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
import modelfile  # noqa: E402

SQRT_HALF = math.sqrt(0.5)


class Forward:
    def __init__(self, tensors, description, dtype=torch.float64):
        self.description = description
        self.weights = {name: torch.from_numpy(array.copy()).to(dtype) for name, array in tensors.items()
                        if array.dtype.kind == 'f'}

    def linear(self, name, x):
        return F.linear(x, self.weights[name + '.weight'], self.weights[name + '.bias'])

    def embed(self, half, ids):
        first = self.description['position_offset']
        rows = self.weights[half + '.positions'][first:first + len(ids)]
        return self.weights[half + '.tokens'][torch.tensor(ids)] + rows

    def convolve(self, name, x, left, right):
        """(n, w_in) -> (n, w_out), zeros around, gated."""
        weight = self.weights[name + '.conv.weight'].transpose(1, 2)  # (2 w_out, w_in, kernel) as conv1d has it
        padded = F.pad(x.t().unsqueeze(0), (left, right))
        return F.glu(F.conv1d(padded, weight, self.weights[name + '.conv.bias']), 1)[0].t()

    def add_residual(self, name, layer, h, inputs):
        """inputs[i] is what layer i read; the last one is this layer's own."""
        if layer['residual'] == 0:
            return h
        source = inputs[len(inputs) - layer['residual']]
        if name + '.residual.weight' in self.weights:
            source = self.linear(name + '.residual', source)
        return (h + source) * SQRT_HALF

    def encode(self, source):
        """keys, values"""
        embedded = self.embed('encoder', source)
        inputs = [self.linear('encoder.input', embedded)]
        for i, layer in enumerate(self.description['encoder']):
            name, kernel = f'encoder.layers.{i}', layer['kernel']
            h = self.convolve(name, inputs[-1], (kernel - 1) // 2, kernel // 2)
            inputs.append(self.add_residual(name, layer, h, inputs))
        keys = self.linear('encoder.output', inputs[-1])
        return keys, (keys + embedded) * SQRT_HALF

    def attend(self, name, h, embedded, keys, values):
        query = (self.linear(name + '.query', h) + embedded) * SQRT_HALF
        mean = torch.softmax(query @ keys.t(), 1) @ values
        return (self.linear(name + '.context', mean * math.sqrt(len(keys))) + h) * SQRT_HALF

    def logits(self, source, previous):
        """Row i: the scores of what follows previous[: i + 1]."""
        keys, values = self.encode(source)
        embedded = self.embed('decoder', previous)
        inputs = [self.linear('decoder.input', embedded)]
        for i, layer in enumerate(self.description['decoder']):
            name = f'decoder.layers.{i}'
            h = self.convolve(name, inputs[-1], layer['kernel'] - 1, 0)
            if layer['attention']:
                h = self.attend(name, h, embedded, keys, values)
            inputs.append(self.add_residual(name, layer, h, inputs))
        output = self.weights.get('decoder.output.weight', self.weights['decoder.tokens'])
        return F.linear(self.linear('decoder.hidden', inputs[-1]), output, self.weights['decoder.output.bias'])


def worst_error(model_path, reference_path):
    """The largest over all logits of the support, each relative to the largest of its sentence."""
    tensors, description = modelfile.read_model(model_path)
    reference, _ = modelfile.read(reference_path)
    model, worst = Forward(tensors, description), 0.0
    for name in (name for name in reference if name.endswith('.logits')):
        sentence = name.split('.')[0]
        found = model.logits(reference[sentence + '.source'].tolist(), reference[sentence + '.previous'].tolist())
        used = np.delete(np.arange(found.shape[1]), description['target']['unused'])
        expected = reference[name][:, used]
        worst = max(worst, np.abs(found.numpy()[:, used] - expected).max() / np.abs(expected).max())
    return worst


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: forward.py MODEL REFERENCE')
    print(f'{worst_error(*sys.argv[1:]):.1e}')
