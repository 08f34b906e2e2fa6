#!/usr/bin/env python3
"""Make tests/data/tiny-fconv and tiny-fconv-f16: small models with random weights, and their logits.

    make_tiny.py tests/data

Between them they have what real models rarely have all at once: growing widths, kernels of 1, 3, 4 and 5,
residuals over none, one and two layers, a layer without attention, output embeddings of their own or tied,
other widths of the embeddings than of the layers, position offsets. The logits are those of forward.py, in
double, of the weights as the file holds them.
"""
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', '..', 'tools')]
import forward  # noqa: E402
import modelfile  # noqa: E402

EOS = 2
TINY = dict(
    name='tiny-fconv', dtype='f32', seed=1, embedding=12, output=10, positions=40, position_offset=2, tied=False,
    start=EOS, unused=[0, 1], source=['<Lua-heritage>', '<pad>', '</s>', '<unk>'] + [f's{i}' for i in range(33)],
    target=['<Lua-heritage>', '<pad>', '</s>', '<unk>'] + [f't{i}' for i in range(47)],
    encoder=[(8, 3, 1), (16, 4, 1), (16, 5, 0), (24, 1, 2), (24, 2, 3)],
    decoder=[(16, 3, 1, True), (16, 4, 1, False), (24, 5, 2, True), (20, 1, 0, True), (28, 2, 3, True)])
HALF = dict(
    name='tiny-fconv-f16', dtype='f16', seed=2, embedding=16, output=16, positions=32, position_offset=0, tied=True,
    start=1, unused=[0, 1, 3], source=['<pad>', '<s>', '</s>', '<unk>', 'naïve', 'cœur'] + list('abcdefghijklm'),
    target=['<pad>', '<s>', '</s>', '<unk>', 'élève', '€'] + list('abcdefghijklmnopqrst'),
    encoder=[(16, 3, 1), (16, 3, 1)], decoder=[(16, 3, 1, True), (16, 3, 1, True)])


def random_weights(size, random):
    """By the rule of fairseq: what comes in with variance 1 goes out so; embeddings are somewhat larger."""
    weights = {}

    def put(name, n_out, n_in, scale=1.0):
        weights[name + '.weight'] = random.normal(0, scale / np.sqrt(np.prod(n_in)), (n_out, *np.atleast_1d(n_in)))
        weights[name + '.bias'] = random.normal(0, 0.3, n_out)

    e = size['embedding']
    for half, words in (('encoder', size['source']), ('decoder', size['target'])):
        weights[half + '.tokens'] = random.normal(0, 0.6, (len(words), e))
        weights[half + '.positions'] = random.normal(0, 0.4, (size['positions'], e))
        widths = [size[half][0][0]]
        put(half + '.input', widths[0], e)
        for i, (width, kernel, residual, *attention) in enumerate(size[half]):
            layer = f'{half}.layers.{i}'
            put(layer + '.conv', 2 * width, (kernel, widths[-1]), 1.4)
            if residual > 0 and widths[-residual] != width:
                put(layer + '.residual', width, widths[-residual])
            if attention == [True]:
                put(layer + '.query', e, width)
                put(layer + '.context', width, e)
            widths.append(width)
        put(half + ('.output' if half == 'encoder' else '.hidden'), e if half == 'encoder' else size['output'],
            widths[-1])
    put('decoder.output', len(size['target']), size['output'], 3.0)
    if size['tied']:
        del weights['decoder.output.weight']
    return weights


def describe(size):
    keys = 'width', 'kernel', 'residual', 'attention'
    return {'architecture': 'fconv', 'version': 1,
            'about': {'name': size['name'], 'licence': 'of sbeam', 'origin': 'random weights, for tests'},
            'position_offset': size['position_offset'], 'source': {'eos': EOS, 'unknown': 3},
            'target': {'start': size['start'], 'eos': EOS, 'unknown': 3, 'unused': size['unused']},
            'encoder': [dict(zip(keys, layer)) for layer in size['encoder']],
            'decoder': [dict(zip(keys, layer)) for layer in size['decoder']]}


def references(path, size, random):
    tensors, description = modelfile.read_model(path)
    model, out = forward.Forward(tensors, description), {}
    longest = size['positions'] - size['position_offset']
    for i, (n_source, n_target) in enumerate([(2, 6), (5, 9), (11, 12), (1, 4), (longest, longest)]):
        source = [int(x) for x in random.integers(3, len(size['source']), n_source - 1)] + [EOS]
        previous = [size['start']] + [int(x) for x in random.integers(4, len(size['target']), n_target - 1)]
        out[f's{i}.source'], out[f's{i}.previous'] = (np.array(ids, '<i4') for ids in (source, previous))
        out[f's{i}.logits'] = model.logits(source, previous).numpy().astype('<f4')
    return out


def make(size, folder):
    random = np.random.default_rng(size['seed'])
    folder = os.path.join(folder, size['name'])
    os.makedirs(folder, exist_ok=True)
    path = folder + '/model.safetensors'
    texts = {side + '.dictionary': ''.join(word + '\n' for word in size[side]).encode()
             for side in ('source', 'target')}
    modelfile.write_model(path, describe(size), random_weights(size, random), texts, size['dtype'])
    modelfile.write(folder + '/reference.safetensors', references(path, size, random), {'sbeam-reference': '1'})


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: make_tiny.py FOLDER')
    for tiny in (TINY, HALF):
        make(tiny, sys.argv[1])
