"""A Transformer (Vaswani et al. 2017) that teaches the convolutional network; sbeam does not run it.

Layers normalise their input, not their output. One embedding serves source, target and output.
Shapes: b sentences, s source and t target positions, d the width.
"""
import torch
from torch import nn
from torch.nn import functional as F

from fconv import PAD, dropout


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key_value, self.output = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def forward(self, x, memory, mask):
        """x (b, t, d) attends to memory (b, s, d); mask (b or 1, 1, t or 1, s) is -inf for what is hidden."""
        b, t, d = x.shape
        split = lambda y: y.view(b, -1, self.heads, d // self.heads).transpose(1, 2)
        key, value = map(split, self.key_value(memory).chunk(2, 2))
        weights = (split(self.query(x) * (d // self.heads) ** -0.5) @ key.transpose(2, 3) + mask).softmax(3)
        return self.output((weights.to(value.dtype) @ value).transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, d, inner, heads, dropout, sees_source):
        super().__init__()
        self.dropout = dropout
        self.own_norm, self.own = nn.LayerNorm(d), Attention(d, heads)
        if sees_source:
            self.source_norm, self.source = nn.LayerNorm(d), Attention(d, heads)
        self.inner_norm, self.widen, self.narrow = nn.LayerNorm(d), nn.Linear(d, inner), nn.Linear(inner, d)

    def drop(self, x):
        return dropout(x, self.dropout, self.training)

    def forward(self, x, mask, source=None, source_mask=None):
        y = self.own_norm(x)
        x = x + self.drop(self.own(y, y, mask))
        if source is not None:
            x = x + self.drop(self.source(self.source_norm(x), source, source_mask))
        return x + self.drop(self.narrow(F.relu(self.widen(self.inner_norm(x)))))


class Transformer(nn.Module):
    def __init__(self, vocab, width=320, encoder_layers=5, decoder_layers=4, heads=5, positions=128,
                 dropout=0.3):
        super().__init__()
        self.sizes = dict(vocab=vocab, width=width, encoder_layers=encoder_layers,
                          decoder_layers=decoder_layers, heads=heads, positions=positions)
        self.dropout = dropout
        self.tokens = nn.Embedding(vocab, width, PAD)
        self.positions = nn.ModuleList(nn.Embedding(positions, width) for _ in range(2))
        for module in (self.tokens, *self.positions):
            nn.init.normal_(module.weight, 0, width ** -0.5)
        layers = lambda n, sees: nn.ModuleList(Layer(width, 4 * width, heads, dropout, sees) for _ in range(n))
        self.encoder, self.decoder = layers(encoder_layers, False), layers(decoder_layers, True)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(vocab))

    def embed(self, ids, side):
        x = self.tokens(ids) * self.tokens.weight.size(1) ** 0.5 + self.positions[side](torch.arange(ids.size(1)))
        return dropout(x, self.dropout, self.training)

    def encode(self, source):
        """(b, s) ids -> (b, s, d), mask (b, 1, 1, s)"""
        mask = torch.zeros(source.shape).masked_fill(source == PAD, -1e9)[:, None, None, :]
        x = self.embed(source, 0)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.norms[0](x), mask

    def decode(self, target, encoded):
        """(b, t) ids, each the token before the one predicted -> logits (b, t, vocab)"""
        source, source_mask = encoded
        mask = torch.full((target.size(1),) * 2, -1e9).triu(1)[None, None]
        x = self.embed(target, 1)
        for layer in self.decoder:
            x = layer(x, mask, source, source_mask)
        return F.linear(self.norms[1](x), self.tokens.weight, self.bias)
