"""Parallel text as ids, in batches of sentences of like length."""
import random

import torch

from fconv import BOS, EOS, PAD

LONGEST = 60  # pieces; longer sentences are cut


def read(prefix):
    """Pairs of lines of prefix.en and prefix.fr."""
    def lines(path):
        with open(path, encoding='utf-8') as file:
            return [line.rstrip('\n') for line in file]
    return list(zip(lines(prefix + '.en'), lines(prefix + '.fr')))


def encode(pieces, lines, sampling=0.0):
    """Pairs (source ids, target ids), each with EOS.

    With sampling > 0 half of the sources are split at random (Kudo 2018, subword regularisation), so that
    the encoder often sees short pieces and single letters, of which rare names are made. Targets are
    always split in the best way: a model that learned several ways to spell a text would draw all of them.
    """
    def source_ids(line):
        if sampling > 0 and random.random() < 0.5:
            return pieces.SampleEncodeAsIds(line, -1, sampling)
        return pieces.EncodeAsIds(line)
    pairs = [(source_ids(source)[:LONGEST], pieces.EncodeAsIds(target)[:LONGEST]) for source, target in lines]
    return [(source + [EOS], target + [EOS]) for source, target in pairs if source and target]


def batches(pairs, max_tokens, generator):
    """Lists of indices, in random order: sorted by length first, so that a batch has little padding."""
    order = list(range(len(pairs)))
    generator.shuffle(order)
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    cut, batch, longest = [], [], 0
    for i in order:
        longest = max(longest, *map(len, pairs[i]))
        if batch and longest * (len(batch) + 1) > max_tokens:
            cut.append(batch)
            batch, longest = [], max(map(len, pairs[i]))
        batch.append(i)
    cut.append(batch)
    generator.shuffle(cut)
    return cut


def padded(sentences):
    longest = max(map(len, sentences))
    return torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in sentences])


def tensors(pairs, batch):
    """source, decoder input (starts with BOS), target"""
    source, target = padded([pairs[i][0] for i in batch]), padded([pairs[i][1] for i in batch])
    return source, torch.cat([torch.full((len(batch), 1), BOS), target[:, :-1]], 1), target
