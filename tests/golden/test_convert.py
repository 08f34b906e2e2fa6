#!/usr/bin/env python3
"""Tests of tools/convert_fairseq.py on small checkpoints: test_convert.py

Needs numpy. Prints "N passed, N failed"; exit 1 if anything failed. The checkpoints are of today's form and of the
first fairseq-py's (2017): no version and weight norm over another axis in the decoder, no residuals in the
arguments, objects of classes that are not installed. Two are files, one for each container of torch.save, written
by torch with `test_convert.py --make tests/data`. tests/golden/prepare.py converts some of fairseq's own.
"""
import argparse
import collections
import os
import pickle
import sys
import tempfile
import traceback
import types

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, '..', 'data')
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tools'))
import convert_fairseq  # noqa: E402
import fairseq_files  # noqa: E402
import modelfile  # noqa: E402
import torch_file  # noqa: E402

FILES = 'fairseq-zip.pt', 'fairseq-legacy.pt'
ENCODER, DECODER = '[(4, 3)] * 2 + [(6, 1)]', '[(4, 3), (6, 2)] + [(6, 3, 2)]'


def expect(wanted, call, *arguments):
    """The call fails, and its message has this in it."""
    try:
        call(*arguments)
    except modelfile.FileError as error:
        assert wanted in str(error), f'expected "{wanted}" in "{error}"'
    else:
        raise AssertionError(f'no error; expected "{wanted}"')


class Fake:
    """A checkpoint of random weights w, each stored as v and g of weight norm; remembers the weights."""

    def __init__(self, seed, old):
        self.random, self.old = np.random.default_rng(seed), old
        self.state, self.weights = collections.OrderedDict(), {}
        self.half('encoder', [(4, 3, 1), (4, 3, 1), (6, 1, 1)], 9)
        self.half('decoder', [(4, 3, 1), (6, 2, 1), (6, 3, 2)], 11)
        self.linear('encoder.fc2', 5, 6)
        for i, width in ((0, 4), (2, 6)):
            self.linear(f'decoder.attention.{i}.in_projection', 5, width)
            self.linear(f'decoder.attention.{i}.out_projection', width, 5)
        self.linear('decoder.fc2', 3, 6)
        self.linear('decoder.fc3', 11, 3)
        if not old:
            self.state['decoder.version'] = np.array([2], '<f4')

    def normal(self, *shape):
        return self.random.normal(size=shape).astype('<f4')

    def put(self, name, weight, axis):
        """v is any multiple of the weight along the axis, g its norm there."""
        shape = [n if i == axis else 1 for i, n in enumerate(weight.shape)]
        others = tuple(i for i in range(weight.ndim) if i != axis)
        norm = np.linalg.norm(weight.astype('<f8').transpose(axis, *others).reshape(shape[axis], -1), axis=1)
        self.state[name + '.weight_g'] = norm.reshape(shape).astype('<f4')
        self.state[name + '.weight_v'] = weight * self.random.uniform(0.5, 1.5, shape).astype('<f4')
        self.state[name + '.bias'] = self.normal(weight.shape[2 if weight.ndim == 3 else 0])
        self.weights[name] = weight

    def linear(self, name, n_out, n_in):
        self.put(name, self.normal(n_out, n_in), 0)

    def half(self, half, layers, vocabulary):
        self.state[half + '.embed_tokens.weight'] = self.normal(vocabulary, 5)
        self.state[half + '.embed_positions.weight'] = self.normal(16, 5)
        widths = [layers[0][0]]
        self.linear(half + '.fc1', widths[0], 5)
        for i, (width, kernel, residual) in enumerate(layers):
            if widths[-residual] != width:
                self.linear(f'{half}.projections.{i}', width, widths[-residual])
            self.put(f'{half}.convolutions.{i}', self.normal(kernel, widths[-1], 2 * width),
                     0 if self.old and half == 'decoder' else 2)
            widths.append(width)

    def args(self, **more):
        return argparse.Namespace(**{**dict(arch='fconv', encoder_layers=ENCODER, decoder_layers=DECODER,
                                            decoder_attention='[True, False, True]'), **more})

    def convert(self, args=None):
        return convert_fairseq.convert(self.state, args or self.args())


def check_weights(plain, state, weights):
    names = {'fc1': 'input', 'in_projection': 'query', 'out_projection': 'context'}
    for name, weight in plain.items():
        half, *middle, last = name.split('.')
        if last in ('fc2', 'fc3'):
            ours = {'encoder.fc2': 'encoder.output', 'decoder.fc2': 'decoder.hidden'}.get(name, 'decoder.output')
        elif middle and middle[0] in ('convolutions', 'projections'):
            ours = f'{half}.layers.{last}.' + {'convolutions': 'conv', 'projections': 'residual'}[middle[0]]
        else:
            ours = '.'.join([half] + [f'layers.{middle[1]}' for _ in middle[:1]] + [names[last]])
        expected = np.einsum('kio->oki', weight) if weight.ndim == 3 else weight
        np.testing.assert_allclose(weights[ours + '.weight'], expected, rtol=2e-6)
        np.testing.assert_array_equal(weights[ours + '.bias'], state[name + '.bias'])
    assert len(weights) == 4 + 2 * len(plain)


def test_new_checkpoint():
    fake = Fake(1, old=False)
    weights, description = fake.convert()
    check_weights(fake.weights, fake.state, weights)
    assert description['position_offset'] == 2 and description['target']['start'] == 2
    assert description['encoder'] == [dict(width=4, kernel=3, residual=1)] * 2 + [dict(width=6, kernel=1, residual=1)]
    assert [layer['attention'] for layer in description['decoder']] == [True, False, True]
    assert [layer['residual'] for layer in description['decoder']] == [1, 1, 2]
    assert weights['decoder.layers.1.conv.weight'].shape == (12, 2, 4)


def test_old_weight_norm():
    """The decoder's norm goes over all but the kernel: g has as many numbers as the kernel is wide."""
    fake = Fake(2, old=True)
    assert fake.state['decoder.convolutions.0.weight_g'].shape == (3, 1, 1)
    assert fake.state['encoder.convolutions.0.weight_g'].shape == (1, 1, 8)
    check_weights(fake.weights, fake.state, fake.convert()[0])


def test_name_instead_of_layers():
    fake = Fake(3, old=True)
    del fake.state['decoder.projections.2.weight_v'], fake.state['decoder.projections.2.weight_g']
    del fake.state['decoder.projections.2.bias'], fake.weights['decoder.projections.2']
    weights, description = fake.convert(argparse.Namespace(arch='fconv_wmt_en_fr'))
    check_weights(fake.weights, fake.state, weights)
    assert [layer['residual'] for layer in description['decoder']] == [1, 1, 1]


def test_tied_and_plain_weights():
    fake = Fake(4, old=False)
    for end in ('_g', '_v'):
        del fake.state['decoder.fc3.weight' + end]
    fake.state['decoder.fc3.weight'] = fake.state['decoder.embed_tokens.weight']
    assert 'decoder.output.weight' not in fake.convert()[0]


def test_refusals():
    fake = Fake(5, old=False)
    expect('architecture transformer; expected fconv', convert_fairseq.convert,
           {'encoder.layers.0.fc1.weight': np.zeros((2, 2))}, argparse.Namespace(arch='transformer'))
    language_model = {name: array for name, array in fake.state.items() if name.startswith('decoder')}
    expect('architecture fconv_lm; expected fconv', convert_fairseq.convert, language_model,
           argparse.Namespace(arch='fconv_lm'))
    expect("the arguments say [(4, 3)] * 3", fake.convert, fake.args(encoder_layers='[(4, 3)] * 3'))
    expect('the arguments say True', fake.convert, fake.args(decoder_attention='True'))
    fake.state['decoder.selfattention.0.weight'] = np.zeros(2, '<f4')
    expect('no tensors such as decoder.selfattention.0.weight', fake.convert)
    del fake.state['decoder.selfattention.0.weight'], fake.state['encoder.fc2.bias']
    expect('no tensor encoder.fc2.bias', fake.convert)


def test_expressions():
    assert convert_fairseq.evaluate('[(512, 3)] * 2 + 1 * [(768, 1, 0)]') == [(512, 3)] * 2 + [(768, 1, 0)]
    assert convert_fairseq.evaluate('True') is True
    for bad in ('[(8, 3)] * 900 * 900', '__import__("os")', '[(1, 2)', '[1] * 10 ** 9', '[1] * 1000000000', '[x for x in y]', '[(1,2)]*[3]'):
        expect('expected layers such as', convert_fairseq.evaluate, bad)


def make(folder):
    """Writes FILES. The plain weights are beside the others, as the answer."""
    import torch
    module = types.ModuleType('fairseq.criterions')
    module.Criterion = type('Criterion', (), {'__module__': 'fairseq.criterions'})
    sys.modules['fairseq'], sys.modules['fairseq.criterions'] = types.ModuleType('fairseq'), module
    fake = Fake(6, old=True)
    parts = [collections.OrderedDict((name, torch.from_numpy(array)) for name, array in tensors.items())
             for tensors in (fake.state, fake.weights)]
    # One that lies in its storage otherwise than in rows, and two of one storage.
    parts[0]['decoder.fc3.weight_v'] = parts[0]['decoder.fc3.weight_v'].t().contiguous().t()
    both = torch.stack([parts[0]['encoder.fc1.bias'], parts[0]['decoder.fc1.bias']])
    parts[0]['encoder.fc1.bias'], parts[0]['decoder.fc1.bias'] = both
    state = {'args': fake.args(criterion=module.Criterion()), 'epoch': 3, 'optimizer': {'state': module.Criterion()},
             'model': parts[0], 'plain': parts[1]}
    for name in FILES:
        torch.save(state, os.path.join(folder, name), _use_new_zipfile_serialization=name == FILES[0])


def test_files():
    states = [torch_file.read(os.path.join(DATA, name)) for name in FILES]
    for name, state in zip(FILES, states):
        arrays, args = fairseq_files.read_checkpoint(os.path.join(DATA, name))
        assert args.encoder_layers == ENCODER and isinstance(args.criterion, torch_file.Unknown)
        check_weights(state['plain'], arrays, convert_fairseq.convert(arrays, args)[0])
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, states[0]['model'][key])


def test_newer_arguments():
    """fairseq 0.10 and later keep them in "cfg", under "model"."""
    with tempfile.TemporaryDirectory() as folder:
        for model in (argparse.Namespace(encoder_layers=ENCODER), {'encoder_layers': ENCODER}):
            state = {'model': {}, 'args': None, 'cfg': {'model': model}}
            with open(folder + '/a.pt', 'wb') as file:
                for item in (torch_file.MAGIC, torch_file.PROTOCOL, {}, state, []):
                    pickle.dump(item, file)
            assert fairseq_files.read_checkpoint(folder + '/a.pt')[1].encoder_layers == ENCODER


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_broken_files():
    with tempfile.TemporaryDirectory() as folder:
        def read(*objects):
            with open(folder + '/a.pt', 'wb') as file:
                file.write(b''.join(pickle.dumps(item) for item in objects))
            return fairseq_files.read_checkpoint(folder + '/a.pt')
        # No function that a pickle names is called.
        read(torch_file.MAGIC, torch_file.PROTOCOL, {}, {'model': {}, 'args': Hostile(folder + '/made')}, [])
        assert not os.path.exists(folder + '/made')
        expect('a.pt: expected a file of torch.save', read, 7, 7)
        expect('a.pt: no "model" inside', read, torch_file.MAGIC, torch_file.PROTOCOL, {}, [1], [])
        expect('a.pt: not a file of torch.save', read)
        with open(os.path.join(DATA, FILES[1]), 'rb') as file, open(folder + '/cut.pt', 'wb') as cut:
            cut.write(file.read()[:-5])
        expect('is cut short', torch_file.read, folder + '/cut.pt')


def test_dictionaries():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + '/dict.fr.txt'

        def read(text):
            with open(path, 'w', encoding='utf-8', newline='\n') as file:
                file.write(text)
            return fairseq_files.read_dictionary(path)
        assert read('la 10\nl\u00a0eau 4\n5 6 3\nmadeupword0000 0\n') == \
            fairseq_files.SPECIAL + ['la', 'l\u00a0eau', '5_6', 'madeupword0000']
        assert read('a 3\nb 2\na 1 #fairseq:overwrite\n<unk> 1\n') == \
            fairseq_files.SPECIAL + ['a<4>', 'b', 'a', '<unk><7>']
        expect('dict.fr.txt:2: expected "token count", found "b"', read, 'a 3\nb\n')
        expect('dict.fr.txt: 5 types (including 4 special ones), but the checkpoint has 11 in decoder.embed_tokens',
               convert_fairseq.check_vocabulary, read('a 3\n'), path, Fake(7, old=False).convert()[0], 'decoder')


def main():
    if sys.argv[1:2] == ['--make']:
        return make(sys.argv[2])
    failed = passed = 0
    sys.stderr = open(os.devnull, 'w', encoding='ascii')  # remarks about dictionaries
    for name, test in sorted(globals().items()):
        if not name.startswith('test_'):
            continue
        try:
            test()
            passed += 1
        except Exception:  # whatever it is, the other tests run
            failed += 1
            print(f'not ok {name}\n{traceback.format_exc()}', end='')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
