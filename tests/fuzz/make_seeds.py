#!/usr/bin/env python3
"""Make the seeds of fuzz_seq2seq: make_seeds.py tests/fuzz/corpus/seq2seq

Two whole models of less than 3.5 KB, which fit the fuzzers' 4096 bytes, one of them in half precision; and
recipes (fuzz_seq2seq.c says what they are) of models with more layers.
"""
import json
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', '..', 'tools')]
import modelfile  # noqa: E402

WORDS = 'abcde'


def shapes(encoder, decoder, embedding, output, positions, tied):
    """The shape of each weight, of layers (width, kernel, residual, attention)."""
    found = {}

    def put(name, n_out, *n_in):
        found[name + '.weight'] = (n_out, *n_in)
        found[name + '.bias'] = (n_out,)

    for half, layers in (('encoder', encoder), ('decoder', decoder)):
        found[half + '.tokens'] = (len(WORDS), embedding)
        found[half + '.positions'] = (positions, embedding)
        widths = [layers[0][0]]
        put(half + '.input', widths[0], embedding)
        for i, (width, kernel, residual, attention) in enumerate(layers):
            layer = f'{half}.layers.{i}'
            put(layer + '.conv', 2 * width, kernel, widths[-1])
            if residual > 0 and widths[-residual] != width:
                put(layer + '.residual', width, widths[-residual])
            if attention:
                put(layer + '.query', embedding, width)
                put(layer + '.context', width, embedding)
            widths.append(width)
        if half == 'encoder':
            put('encoder.output', embedding, widths[-1])
        else:
            put('decoder.hidden', output, widths[-1])
    put('decoder.output', len(WORDS), output)
    if tied:
        del found['decoder.output.weight']
    return found


def describe(encoder, decoder, offset):
    def layers(list_):
        return [{'width': width, 'kernel': kernel, 'residual': residual, **({'attention': True} if attention else {})}
                for width, kernel, residual, attention in list_]
    return {'architecture': 'fconv', 'version': 1, 'position_offset': offset, 'source': {'eos': 1, 'unknown': 2},
            'target': {'start': 0, 'eos': 1, 'unused': [0]}, 'encoder': layers(encoder), 'decoder': layers(decoder)}


def main(folder):
    random = np.random.default_rng(1)
    small = [(2, 2, 1, False)], [(2, 3, 1, True), (3, 1, 2, False)]
    for name, dtype, embedding in (('nano', 'f32', 2), ('nano-f16', 'f16', 3)):
        weights = {key: random.normal(0, 1, shape)
                   for key, shape in shapes(*small, embedding, embedding, 8, dtype == 'f16').items()}
        texts = {side + '.dictionary': ''.join(word + '\n' for word in WORDS).encode() for side in ('source', 'target')}
        modelfile.write_model(os.path.join(folder, name), describe(*small, 1), weights, texts, dtype)
        if os.path.getsize(os.path.join(folder, name)) > 3500:
            sys.exit(f'{name} is too large')
    deep = [(3, 3, 1, False), (2, 4, 2, False), (5, 1, 0, False)], \
        [(4, 5, 0, True), (2, 2, 2, True), (4, 1, 3, False), (17, 3, 1, True)]
    wide = [(1, 1, 0, False)], [(1, 1, 1, True)]
    for name, layers, embedding in (('recipe-small', small, 2), ('recipe-deep', deep, 6), ('recipe-wide', wide, 64)):
        lines = [json.dumps(describe(*layers, 0), separators=(',', ':'))]
        for key, shape in shapes(*layers, embedding, 3, 20, False).items():
            lines.append(' '.join([key, 'F16' if 'bias' in key else 'F32', *map(str, shape)]))
        lines += [f'{side}.dictionary U8 {2 * len(WORDS)}' for side in ('source', 'target')]
        with open(os.path.join(folder, name), 'wb') as file:
            file.write('\n'.join(lines).encode() + b'\n\n' + random.normal(0, 1, 16).astype('<f4').tobytes())


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit('usage: make_seeds.py FOLDER')
    main(sys.argv[1])
