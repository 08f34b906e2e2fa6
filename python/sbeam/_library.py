"""Finds and loads libsbeam.so, and declares the prototypes of the functions in use.

The library is the first that exists of: the file that the environment variable SBEAM_LIBRARY names,
the copy of an installed package, which is in a folder next to the package, and for a package in its
source tree build/libsbeam.so, which scripts/build makes, or the library that an editable
installation makes. ctypes.CDLL releases Python's global lock during each call."""
from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import sysconfig
from ctypes import (POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint64,
                    c_void_p)
from pathlib import Path
from typing import Any, Iterator, List, Optional

from . import _structs as s
from ._errors import make_error
from ._version import __version__

PACKAGE = Path(__file__).resolve().parent
SOURCE_TREE = PACKAGE.parent.parent
# meson-python, which makes the wheel, chooses the name of the folder. On a few systems pip puts
# native files into another folder than Python files.
PACKAGED_LIBRARIES = [Path(folder) / ".sbeam.mesonpy.libs" / "libsbeam.so"
                      for folder in (PACKAGE.parent, sysconfig.get_path("platlib"))]
BUILT_LIBRARIES = [SOURCE_TREE / "build" / "libsbeam.so",
                   SOURCE_TREE / "build" / ("cp%d%d" % sys.version_info[:2]) / "libsbeam.so"]
INSTALL_COMMAND = "pip install ."

_error_p = POINTER(s.sb_error)
_config_p = POINTER(s.sb_config)
_handle = c_void_p
_handle_p = POINTER(c_void_p)

# name: (type of the result, types of the arguments)
PROTOTYPES = {
    "sb_version": (c_char_p, []),
    "sb_cpu": (c_char_p, []),
    "sb_free": (None, [c_void_p]),
    "sb_config_default": (None, [_config_p]),
    "sb_config_check": (c_int, [_config_p, _error_p]),
    "sb_config_set": (c_int, [_config_p, c_char_p, c_char_p, _error_p]),
    "sb_config_option": (POINTER(s.sb_option), [c_size_t]),
    "sb_method_name": (c_char_p, [c_int]),
    "sb_method_get_info": (POINTER(s.sb_method_info), [c_int]),
    "sb_end_name": (c_char_p, [c_int]),
    "sb_stopped_by_name": (c_char_p, [c_int]),
    "sb_model_open": (c_int, [_handle_p, c_char_p, _error_p]),
    "sb_model_close": (None, [_handle]),
    "sb_model_get_info": (POINTER(s.sb_model_info), [_handle]),
    "sb_model_has_leaves": (c_bool, [_handle]),
    "sb_model_has_own_text": (c_bool, [_handle]),
    "sb_model_describe": (None, [_handle, s.DESCRIBE_FN, c_void_p]),
    "sb_model_set_marker": (c_int, [_handle, c_char_p, _error_p]),
    "sb_model_set_pretokenized": (c_int, [_handle, c_bool, _error_p]),
    "sb_model_set_special": (c_int, [_handle, c_bool, _error_p]),
    "sb_model_token_text": (c_char_p, [_handle, c_int32]),
    "sb_model_find_token": (c_int32, [_handle, c_char_p, c_size_t]),
    "sb_model_encode": (c_int, [_handle, c_char_p, c_size_t, POINTER(POINTER(c_int32)),
                                POINTER(c_int32), _error_p]),
    "sb_model_decode": (c_int, [_handle, POINTER(c_int32), c_int32, _handle_p, _error_p]),
    "sb_score": (c_int, [_handle, c_char_p, c_size_t, POINTER(c_int32), c_int32,
                         POINTER(c_double), _error_p]),
    "sb_plan_default": (None, [POINTER(s.sb_plan)]),
    "sb_plan_check": (c_int, [POINTER(s.sb_plan), _error_p]),
    "sb_plan_set": (c_int, [POINTER(s.sb_plan), c_char_p, c_char_p, _error_p]),
    "sb_plan_option": (POINTER(s.sb_option), [c_size_t]),
    "sb_draw_all": (c_int, [_handle, _config_p, POINTER(s.sb_plan), POINTER(s.sb_pipe), _error_p]),
    "sb_interrupt_open": (c_int, [_handle_p, _error_p]),
    "sb_interrupt_close": (None, [_handle]),
    "sb_interrupt_raise": (None, [_handle]),
    "sb_cursor_open": (c_int, [_handle_p, _handle, POINTER(s.sb_cursor_spec), _config_p, _error_p]),
    "sb_cursor_close": (None, [_handle]),
    "sb_cursor_set_interrupt": (None, [_handle, _handle]),
    "sb_cursor_next": (c_int, [_handle, POINTER(s.sb_sequence), _error_p]),
    "sb_cursor_threshold": (c_double, [_handle]),
    "sb_cursor_get_result": (c_int, [_handle, POINTER(s.sb_result), _error_p]),
    "sb_cursor_get_use": (s.sb_cursor_use, [_handle]),
    "sb_result_open": (c_int, [POINTER(POINTER(s.sb_result)), _error_p]),
    "sb_result_close": (None, [POINTER(s.sb_result)]),
    "sb_sequence_text": (c_int, [_handle, _config_p, POINTER(s.sb_sequence), _handle_p, _error_p]),
    "sb_record_writer_open": (c_int, [_handle_p, _handle, _config_p, _error_p]),
    "sb_record_writer_close": (None, [_handle]),
    "sb_record_write": (c_int, [_handle, POINTER(s.sb_input), POINTER(s.sb_result), _handle_p,
                                POINTER(c_size_t), _error_p]),
    "sb_record_writer_text": (c_char_p, [_handle, c_size_t]),
    "sb_decoder_open": (c_int, [_handle_p, POINTER(s.sb_decoder_spec), _config_p, _error_p]),
    "sb_decoder_close": (None, [_handle]),
    "sb_decoder_add": (c_int, [_handle, POINTER(s.sb_job), POINTER(c_int32), _error_p]),
    "sb_decoder_rows": (c_int32, [_handle] + [POINTER(POINTER(c_int32))] * 3),
    "sb_decoder_states": (c_int32, [_handle] + [POINTER(POINTER(c_int32))] * 3 + [_error_p]),
    "sb_decoder_set_row_type": (c_int, [_handle, c_int, _error_p]),
    "sb_decoder_advance": (c_int, [_handle, c_void_p, c_size_t, _error_p]),
    "sb_decoder_advance_ragged": (c_int, [_handle, c_void_p, POINTER(c_int32), _error_p]),
    "sb_decoder_continue": (c_int, [_handle, c_int32, c_int32, _error_p]),
    "sb_decoder_finished": (c_int32, [_handle]),
    "sb_decoder_take": (c_int, [_handle, c_int32, POINTER(s.sb_result), _error_p]),
    "sb_decoder_done": (c_bool, [_handle]),
    "sb_log_weight": (c_double, [c_double, c_double]),
    "sb_topk_open": (c_int, [_handle_p, c_int32, c_uint64, _error_p]),
    "sb_topk_close": (None, [_handle]),
    "sb_topk_push_all": (c_int, [_handle, POINTER(c_double), c_size_t, _error_p]),
    "sb_topk_items": (c_int, [_handle, POINTER(POINTER(s.sb_topk_item)), POINTER(c_int32),
                              POINTER(c_double), _error_p]),
    "sb_trie_open": (c_int, [_handle_p, c_void_p, c_void_p, c_size_t, _error_p]),
    "sb_trie_open_texts": (c_int, [_handle_p, _handle, POINTER(c_char_p), POINTER(c_size_t),
                                   c_size_t, _error_p]),
    "sb_trie_read": (c_int, [_handle_p, _handle, c_char_p, _error_p]),
    "sb_trie_close": (None, [_handle]),
    "sb_trie_get_info": (POINTER(s.sb_trie_info), [_handle]),
    "sb_estimator_name": (c_char_p, [c_int]),
    "sb_estimate_compute": (c_int, [c_int, POINTER(c_double), POINTER(c_double), c_size_t,
                                    c_double, POINTER(s.sb_estimate), _error_p]),
    "sb_tokenizer_name": (c_char_p, [c_int]),
    "sb_smoothing_name": (c_char_p, [c_int]),
    "sb_bleu_config_default": (None, [POINTER(s.sb_bleu_config)]),
    "sb_bleu_config_check": (c_int, [POINTER(s.sb_bleu_config), _error_p]),
    "sb_bleu_references_open": (c_int, [_handle_p, POINTER(s.sb_bleu_config), POINTER(s.sb_text),
                                        c_size_t, _error_p]),
    "sb_bleu_references_close": (None, [_handle]),
    "sb_bleu_count": (c_int, [_handle, c_char_p, c_size_t, POINTER(s.sb_bleu_counts), _error_p]),
    "sb_bleu_counts_add": (None, [POINTER(s.sb_bleu_counts)] * 2),
    "sb_bleu_score": (None, [POINTER(s.sb_bleu_counts), POINTER(s.sb_bleu_config),
                             POINTER(s.sb_bleu)]),
    "sb_bleu_sentence": (c_int, [_handle, c_char_p, c_size_t, POINTER(s.sb_bleu), _error_p]),
    "sb_bleu_signature": (None, [POINTER(s.sb_bleu_config), c_size_t, c_char_p, c_size_t]),
    "sb_diversity_compute": (c_int, [c_int, POINTER(s.sb_text), c_size_t, POINTER(s.sb_diversity),
                                     _error_p]),
}


def _is_source_tree() -> bool:
    return (SOURCE_TREE / "meson.build").exists()


def find_library() -> str:
    """Returns the path of the library. Raises an ImportError with the places that were tried."""
    given = os.environ.get("SBEAM_LIBRARY")
    if given:
        return given
    places = BUILT_LIBRARIES if _is_source_tree() else PACKAGED_LIBRARIES
    for place in places:
        if place.exists():
            return str(place)
    raise ImportError("sbeam: %s does not exist: %s, or name the library in the environment "
                      "variable SBEAM_LIBRARY" % (places[0], _advise()))


def is_packaged() -> bool:
    """Returns whether the library in use is the package's own copy."""
    return Path(find_library()) in PACKAGED_LIBRARIES


def _advise() -> str:
    """Returns what to do about a library that does not fit."""
    if os.environ.get("SBEAM_LIBRARY"):
        return "correct or unset the environment variable SBEAM_LIBRARY"
    if _is_source_tree():
        return "run scripts/build"
    return "install the package again, in the source tree: " + INSTALL_COMMAND


def _command_places() -> Iterator[Path]:
    if _is_source_tree():
        yield SOURCE_TREE / "build" / "sbeam"
    else:  # pip installs PREFIX/lib/python3.N/site-packages/sbeam and PREFIX/bin/sbeam
        for folder in list(PACKAGE.parents)[:4]:
            yield folder / "bin" / "sbeam"
    for name in os.environ.get("PATH", "").split(os.pathsep):
        if name:
            yield Path(name) / "sbeam"


def offer_llama() -> None:
    """Names the libraries of the package llama-cpp-python, if it is installed, in the environment
    variable SBEAM_LLAMA_PACKAGE, where libsbeam.so looks for llama.cpp (src/model/llama_library.c).
    Does not import that package, which takes long and needs other packages."""
    if os.environ.get("SBEAM_LLAMA_PACKAGE"):
        return
    try:
        spec = importlib.util.find_spec("llama_cpp")
    except (ImportError, ValueError):  # a module of this name that was made by hand
        return
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        folder = os.path.join(place, "lib")
        if os.path.exists(os.path.join(folder, "libllama.so")):
            os.environ["SBEAM_LLAMA_PACKAGE"] = folder
            return


def find_command() -> Optional[str]:
    """Returns the path of the command: the one that belongs to the package, or the first on PATH.
    Returns None if there is none."""
    for place in _command_places():
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    return None


def _load() -> ctypes.CDLL:
    path = find_library()
    try:
        library = ctypes.CDLL(path)
    except OSError as problem:
        raise ImportError("sbeam: the library cannot be loaded: %s; %s"
                          % (problem, _advise())) from problem
    try:
        for name, (result, arguments) in PROTOTYPES.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError:
        raise ImportError("sbeam: %s has no %s: it is not libsbeam, or it is older than this "
                          "package (%s); %s" % (path, name, __version__, _advise())) from None
    found = library.sb_version().decode()
    # Before 1.0 structs may change between minor versions.
    if found.split(".")[:2] != __version__.split(".")[:2]:
        raise ImportError("sbeam: %s is version %s, but this package is for version %s; %s"
                          % (path, found, __version__, _advise()))
    return library


lib = _load()


def call(name: str, *arguments: Any) -> None:
    """Calls a function whose last argument is an sb_error. Raises the error that it reports."""
    error = s.sb_error()
    status = getattr(lib, name)(*arguments, byref(error))
    if status != 0:
        raise make_error(status, error.message.decode("utf-8", "replace"))


def call_counting(name: str, *arguments: Any) -> int:
    """Calls a function that returns a number or, on failure, -1. Its last argument is an sb_error.
    Raises the error that it reports."""
    error = s.sb_error()
    number: int = getattr(lib, name)(*arguments, byref(error))
    if number < 0:
        raise make_error(error.status, error.message.decode("utf-8", "replace"))
    return number


def names_of(function: str) -> List[str]:
    """Returns the names that a function gives for 0, 1, ... up to the first NULL."""
    names: List[str] = []
    while True:
        name = getattr(lib, function)(len(names))
        if name is None:
            return names
        names.append(name.decode())
