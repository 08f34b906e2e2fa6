"""The convolutional sequence-to-sequence model of Gehring et al. (2017), as sbeam runs it.

Modules carry the names that their tensors have in a model file, so that exporting is folding the weight
norm and reordering the convolutions. Shapes: b sentences, s source and t target positions, d the width.
"""
import math

import numpy
import torch
from torch import nn
from torch.nn import functional as F

PAD, BOS, EOS, UNK = 0, 1, 2, 3  # as spm_train was told (see README.md)
SQRT_HALF = math.sqrt(0.5)  # keeps the variance of a sum of two


noise = numpy.random.Generator(numpy.random.SFC64(1))


def dropout(x, p, training):
    """As F.dropout, with p rounded to 1/256: random bytes are ten times faster than torch's on a CPU."""
    threshold = round(256 * p)
    if not training or threshold == 0:
        return x
    keep = torch.frombuffer(bytearray(noise.bytes(x.numel())), dtype=torch.uint8).view(x.shape) >= threshold
    return x * (keep * (256 / (256 - threshold))).to(x.dtype)


def normed(module, deviation, **norm):
    """Weight norm on a fresh layer, whose initial deviation keeps the variance of activations."""
    nn.init.normal_(module.weight, 0, deviation)
    nn.init.zeros_(module.bias)
    return nn.utils.parametrizations.weight_norm(module, **norm)


def linear(n_in, n_out, keep=1.0):
    return normed(nn.Linear(n_in, n_out), math.sqrt(keep / n_in))


def convolution(n_in, n_out, kernel, keep):
    """Twice the channels: the second half gates the first (4: a gate halves, and halves the variance)."""
    return normed(nn.Conv1d(n_in, 2 * n_out, kernel), math.sqrt(4 * keep / (kernel * n_in)), dim=0)


def embedding(n, d, padding=None):
    module = nn.Embedding(n, d, padding)
    nn.init.normal_(module.weight, 0, 0.1)
    return module


class Layer(nn.Module):
    def __init__(self, d, kernel, keep, attention):
        super().__init__()
        self.conv = convolution(d, d, kernel, keep)
        if attention:
            self.query, self.context = linear(d, d), linear(d, d)


class Half(nn.Module):
    """What encoder and decoder share: embeddings, a projection in, layers, a projection out."""

    def __init__(self, vocab, d, n_layers, kernel, positions, keep, attention):
        super().__init__()
        self.tokens, self.positions = embedding(vocab, d, PAD), embedding(positions, d)
        self.input, self.output = linear(d, d, keep), linear(d, d)
        self.layers = nn.ModuleList(Layer(d, kernel, keep, attention) for _ in range(n_layers))

    def embed(self, ids):
        return self.tokens(ids) + self.positions(torch.arange(ids.size(1)))


class FConv(nn.Module):
    """Output embedding tied to the target's token embedding, attention to the source in each layer."""

    def __init__(self, vocab, width=256, encoder_layers=4, decoder_layers=3, kernel=3, positions=128,
                 dropout=0.1):
        super().__init__()
        self.sizes = dict(vocab=vocab, width=width, encoder_layers=encoder_layers,
                          decoder_layers=decoder_layers, kernel=kernel, positions=positions)
        self.kernel, self.dropout = kernel, dropout
        keep = 1 - dropout
        self.encoder = Half(vocab, width, encoder_layers, kernel, positions, keep, False)
        self.decoder = Half(vocab, width, decoder_layers, kernel, positions, keep, True)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def drop(self, x):
        return dropout(x, self.dropout, self.training)

    def gated(self, layer, x, before):
        """(b, n, d) -> (b, n, d): convolution over a padded window, gated linear unit.

        One product of the windows laid side by side: on a CPU faster than a convolution.
        """
        n, conv = x.size(1), layer.conv
        x = F.pad(self.drop(x), (0, 0, before, self.kernel - 1 - before))
        windows = torch.cat([x[:, i:i + n] for i in range(self.kernel)], 2)
        return F.glu(F.linear(windows, conv.weight.transpose(1, 2).flatten(1), conv.bias), 2)

    def encode(self, source):
        """(b, s) ids -> keys (b, s, d), values (b, s, d), is_pad (b, s)"""
        half, is_pad = self.encoder, source == PAD
        embedded = self.drop(half.embed(source))
        x = half.input(embedded).masked_fill(is_pad.unsqueeze(2), 0)
        for layer in half.layers:
            x = (self.gated(layer, x, self.kernel // 2) + x) * SQRT_HALF
            x = x.masked_fill(is_pad.unsqueeze(2), 0)
        keys = half.output(x)
        return keys, (keys + embedded) * SQRT_HALF, is_pad

    def decode(self, target, encoded):
        """(b, t) ids, each the token before the one predicted -> logits (b, t, vocab)"""
        half, (keys, values, is_pad) = self.decoder, encoded
        embedded = self.drop(half.embed(target))
        x = half.input(embedded)
        # Attention averages s vectors: the root of s restores the variance.
        scale = (~is_pad).sum(1).float().sqrt().view(-1, 1, 1)
        for layer in half.layers:
            h = self.gated(layer, x, self.kernel - 1)
            query = (layer.query(h) + embedded) * SQRT_HALF
            weights = torch.bmm(query, keys.transpose(1, 2)).masked_fill(is_pad.unsqueeze(1), -1e9).softmax(2)
            h = (h + layer.context(torch.bmm(weights, values) * scale)) * SQRT_HALF
            x = (h + x) * SQRT_HALF
        return F.linear(self.drop(half.output(x)), half.tokens.weight, self.bias)
