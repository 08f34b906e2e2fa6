"""Reads files of torch.save, without torch and without running the code that a pickle names.

A pickle may name any class and call it. Old checkpoints name classes that are not installed; a hostile one could
name something worse. Only the classes of tensors, maps and arguments are looked up here; all others become empty
objects. There are two containers. The newer (since torch 1.6) is a zip archive with NAME/data.pkl and a file for
each storage. The older (since 2017) is five pickles in a row, then the storages, each with its number of elements.
"""
import argparse
import collections
import io
import pickle
import zipfile

import numpy as np

from modelfile import FileError

MAGIC, PROTOCOL = 0x1950a86a20f9469cfc6c, 1001  # of the older container
STORAGES = {'FloatStorage': '<f4', 'HalfStorage': '<f2', 'DoubleStorage': '<f8', 'LongStorage': '<i8',
            'IntStorage': '<i4', 'ShortStorage': '<i2', 'CharStorage': 'i1', 'ByteStorage': 'u1', 'BoolStorage': '?'}


class Unknown:
    """Stands for an object of a class that is not looked up; ignores everything that a pickle puts into it."""

    def __init__(self, *_, **__):
        pass

    def __setstate__(self, _):
        pass

    def __setitem__(self, *_):
        pass

    def append(self, _):
        pass

    def extend(self, _):
        pass


class Storage:
    """A flat array that several tensors may view. `values` is set later if the container is the older one."""

    def __init__(self, dtype, size):
        self.dtype, self.size, self.values = np.dtype(dtype), size, None


class View:
    """A part of a storage that torch 0.2 saved like a separate storage."""

    def __init__(self, storage, first, size):
        self.dtype, self.storage, self.first, self.size = storage.dtype, storage, first, size

    @property
    def values(self):
        return self.storage.values[self.first:self.first + self.size]


MOST_DIMENSIONS = 8


class Tensor:
    """A tensor whose storage may not be read yet; array() gives its values once it is."""

    def __init__(self, storage, offset, shape, stride, *_):
        self.storage, self.offset, self.shape, self.stride = storage, offset, shape, stride

    def array(self):
        values, size = self.storage.values, self.storage.dtype.itemsize
        if len(self.shape) > MOST_DIMENSIONS or len(self.shape) != len(self.stride):
            raise FileError(f'a tensor of {len(self.shape)} dimensions; expected at most {MOST_DIMENSIONS}')
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.stride))
        if min((self.offset, *self.stride, *self.shape)) < 0 or (0 not in self.shape and last >= len(values)):
            raise FileError(f'a tensor of shape {tuple(self.shape)} is larger than its storage')
        strides = [step * size for step in self.stride]
        return np.lib.stride_tricks.as_strided(values[self.offset:], self.shape, strides).copy()


class Shape:
    """Stands for torch.Size, which is a tuple."""

    def __new__(cls, items=()):
        return tuple(items)


KNOWN = {('collections', 'OrderedDict'): collections.OrderedDict, ('argparse', 'Namespace'): argparse.Namespace,
         ('torch', 'Size'): Shape, ('torch._utils', '_rebuild_tensor'): Tensor,
         ('torch._utils', '_rebuild_tensor_v2'): Tensor,
         ('torch._utils', '_rebuild_parameter'): lambda tensor, *_: tensor}


class Unpickler(pickle.Unpickler):
    def __init__(self, file, load_storage):
        super().__init__(file, encoding='utf-8')
        self.load_storage = load_storage

    def find_class(self, module, name):
        if module in ('torch', 'torch.cuda') and name in STORAGES:
            return STORAGES[name]  # stands for the class, which is never called
        return KNOWN.get((module, name), Unknown)

    def persistent_load(self, saved):
        if saved[0] == 'storage' and isinstance(saved[1], str):
            return self.load_storage(*saved[1:])
        return Unknown()


def resolve(value):
    """Replaces tensors by arrays; only in maps, because state dicts have them there."""
    if isinstance(value, Tensor):
        return value.array()
    if isinstance(value, dict):
        return {key: resolve(item) for key, item in value.items()}
    return value


def read_zip(path):
    with zipfile.ZipFile(path) as archive:
        inside = [name for name in archive.namelist() if name.endswith('/data.pkl')]
        if not inside:
            raise FileError('a zip archive without data.pkl')
        folder, storages = inside[0][:-len('.pkl')], {}

        def load_storage(dtype, key, _, size, *__):
            if key not in storages:
                storage = storages[key] = Storage(dtype, size)
                storage.values = np.frombuffer(archive.read(f'{folder}/{key}'), storage.dtype)
            return storages[key]
        return resolve(Unpickler(io.BytesIO(archive.read(inside[0])), load_storage).load())


def read_legacy(path):
    storages = {}

    def load_storage(dtype, key, _, size, view=None):
        storage = storages.setdefault(key, Storage(dtype, size))
        return storage if view is None else View(storage, *view[1:])

    with open(path, 'rb') as file:
        def load():
            return Unpickler(file, load_storage).load()
        if load() != MAGIC or load() != PROTOCOL:
            raise FileError('expected a file of torch.save')
        load()  # sizes of C types on the machine that wrote it
        state, keys = load(), load()
        for key in keys:
            storage, n = storages[key], int.from_bytes(file.read(8), 'little')
            data = file.read(n * storage.dtype.itemsize)
            if n != storage.size or len(data) != n * storage.dtype.itemsize:
                raise FileError(f'storage {key} is cut short')
            storage.values = np.frombuffer(data, storage.dtype)
    return resolve(state)


def read(path):
    """Returns what torch.load would return, with numpy arrays for the tensors in maps."""
    try:
        return read_zip(path) if zipfile.is_zipfile(path) else read_legacy(path)
    except FileError as error:
        raise FileError(f'{path}: {error}') from None
    except OSError:
        raise
    except Exception as error:  # a pickle can fail in any way
        raise FileError(f'{path}: not a file of torch.save: {type(error).__name__}: {error}') from None
