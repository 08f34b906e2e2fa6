"""Parallel text as ids, in batches of sentences of like length."""
import torch

from fconv import BOS, EOS, PAD

LONGEST = 60  # pieces; longer sentences are cut


def load(pieces, prefix):
    """Pairs (source ids, target ids), each with EOS, of prefix.en and prefix.fr."""
    def sentences(path):
        with open(path, encoding='utf-8') as lines:
            return [pieces.EncodeAsIds(line.rstrip('\n'))[:LONGEST] for line in lines]
    pairs = zip(sentences(prefix + '.en'), sentences(prefix + '.fr'))
    return [(source + [EOS], target + [EOS]) for source, target in pairs if source and target]


def batches(pairs, max_tokens, random):
    """Lists of indices, in random order: sorted by length first, so that a batch has little padding."""
    order = list(range(len(pairs)))
    random.shuffle(order)
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    cut, batch, longest = [], [], 0
    for i in order:
        longest = max(longest, *map(len, pairs[i]))
        if batch and longest * (len(batch) + 1) > max_tokens:
            cut.append(batch)
            batch, longest = [], max(map(len, pairs[i]))
        batch.append(i)
    cut.append(batch)
    random.shuffle(cut)
    return cut


def padded(sentences):
    longest = max(map(len, sentences))
    return torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in sentences])


def tensors(pairs, batch):
    """source, decoder input (starts with BOS), target"""
    source, target = padded([pairs[i][0] for i in batch]), padded([pairs[i][1] for i in batch])
    return source, torch.cat([torch.full((len(batch), 1), BOS), target[:, :-1]], 1), target
