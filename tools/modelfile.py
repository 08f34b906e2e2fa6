"""Writes and reads sbeam model files, which are safetensors, with numpy only.

A file is 8 bytes of header size (little-endian), a JSON header and the bytes of the tensors. The header gives
the type, shape and offsets of each tensor and, under "__metadata__", a map of texts. The text called "sbeam" is
the description of the model (models/README.md describes the format).
"""
import json
import os

import numpy as np

TYPES = {'F32': np.dtype('<f4'), 'F16': np.dtype('<f2'), 'I32': np.dtype('<i4'), 'U8': np.dtype('u1')}
NAMES = {dtype: name for name, dtype in TYPES.items()}
ALIGNMENT = 8
LARGEST_HEADER = 100_000_000


class FileError(Exception):
    """Raised for a file that cannot be used; the message says which file and why."""


def write(path, tensors, metadata):
    """Writes a map of arrays and a map of texts. On failure an existing file stays as it was."""
    header, order, end = {'__metadata__': metadata}, [], 0
    # The widest elements come first, so that every tensor is aligned without gaps.
    for name, array in sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize):
        if array.dtype not in NAMES:
            raise FileError(f'{path}: tensor {name} is {array.dtype}; expected one of {", ".join(TYPES)}')
        header[name] = {'dtype': NAMES[array.dtype], 'shape': list(array.shape),
                        'data_offsets': [end, end + array.nbytes]}
        end += array.nbytes
        order.append(array)
    text = json.dumps(header, ensure_ascii=False, separators=(',', ':')).encode('utf-8')
    text += b' ' * (-len(text) % ALIGNMENT)
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileError(f'{path}: not a regular file; expected a file, or nothing yet')
    part = path + '.new'
    try:
        with open(part, 'wb') as file:
            file.write(len(text).to_bytes(8, 'little') + text)
            for array in order:
                file.write(np.ascontiguousarray(array).tobytes())
        os.replace(part, path)
    except OSError as error:
        if os.path.isfile(part):
            os.remove(part)
        raise FileError(f'{path}: {error.strerror}') from None


def read(path):
    """Returns the tensors and the metadata of a file."""
    with open(path, 'rb') as file:
        data = file.read()
    size = int.from_bytes(data[:8], 'little')
    if len(data) < 8 or size > LARGEST_HEADER or 8 + size > len(data):
        raise FileError(f'{path}: not a safetensors file')
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == '__metadata__':
            continue
        begin, end = entry['data_offsets']
        if entry['dtype'] not in TYPES or not 0 <= begin <= end <= len(data) - 8 - size:
            raise FileError(f'{path}: tensor {name} has an unknown type or lies outside of the file')
        values = np.frombuffer(data[8 + size + begin:8 + size + end], TYPES[entry['dtype']])
        tensors[name] = values.reshape(entry['shape'])
    return tensors, header.get('__metadata__', {})


def write_model(path, description, weights, texts, dtype):
    """Writes a model: its description, its weights (rounded to dtype, 'f32' or 'f16') and its U8 tensors."""
    wanted = TYPES[dtype.upper()]
    tensors = {}
    for name, array in weights.items():
        tensors[name] = array.astype(wanted)
        if not np.isfinite(tensors[name]).all():
            raise FileError(f'{path}: {name} has numbers that are not finite in {dtype}')
    tensors.update((name, np.frombuffer(text, np.uint8)) for name, text in texts.items())
    write(path, tensors, {'sbeam': json.dumps(description, ensure_ascii=False)})


def read_model(path):
    """Returns the tensors and the description of a model."""
    tensors, metadata = read(path)
    if 'sbeam' not in metadata:
        raise FileError(f'{path}: not an sbeam model: the metadata has no entry "sbeam"')
    return tensors, json.loads(metadata['sbeam'])


def fold(v, g):
    """Returns the weight g v / |v| of weight norm, in double.

    The norm runs over all axes except the one along which g varies, which the shape of g shows.
    """
    v, g = np.asarray(v, np.float64), np.asarray(g, np.float64)
    if g.ndim != v.ndim or any(n not in (1, m) for n, m in zip(g.shape, v.shape)):
        raise FileError(f'weight norm: g of shape {g.shape} does not fit v of shape {v.shape}')
    axes = tuple(axis for axis in range(v.ndim) if g.shape[axis] == 1)
    return v * (g / np.sqrt((v * v).sum(axes, keepdims=True)))
