"""Ends long calls of the library on Ctrl-C and at the exit of the process.

Ctrl-C. Python runs signal handlers in the main thread, between two instructions of Python. During a
call into C they would wait until it returns. Therefore the main thread lets a helper thread make
the call, and waits in a way that a handler can break. An exception of the handler raises the
sb_interrupt of the call, and passes on to the caller after C has returned.

Exit. A daemon thread still runs while the process unloads its libraries. Therefore all calls are
interrupted at exit, and the process waits until they have returned."""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from typing import Callable, Dict, Iterator, List, Optional

from ._library import call, lib


class Interrupt:
    """The sb_interrupt of one call."""

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        call("sb_interrupt_open", ctypes.byref(handle))
        self.handle = handle

    def raise_(self) -> None:
        lib.sb_interrupt_raise(self.handle)

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        if handle is not None:
            lib.sb_interrupt_close(handle)


class _UnderWay:
    """The long calls that are running now, in all threads."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.calls: List[Optional[Interrupt]] = []
        self.is_at_exit = False


_under_way = _UnderWay()


def _forget_calls() -> None:
    """Runs in the child of a fork, which has none of the other threads."""
    global _under_way
    _under_way = _UnderWay()


def _end_calls() -> None:
    """Runs at exit: interrupts all calls and waits for them."""
    with _under_way.changed:
        _under_way.is_at_exit = True
        for interrupt in _under_way.calls:
            if interrupt is not None:
                interrupt.raise_()
        _under_way.changed.wait_for(lambda: not _under_way.calls)


os.register_at_fork(after_in_child=_forget_calls)
atexit.register(_end_calls)


def _stay_if_at_exit(under_way: _UnderWay) -> None:
    """Stops the current thread for good at exit. Only daemon threads are left then, and they end
    with the process."""
    if under_way.is_at_exit and threading.current_thread() is not threading.main_thread():
        threading.Event().wait()


@contextlib.contextmanager
def long_call(interrupt: Optional[Interrupt] = None) -> Iterator[None]:
    """Surrounds a long call: at exit the process raises its interrupt, if it has one, and waits
    until it has returned."""
    under_way = _under_way
    _stay_if_at_exit(under_way)
    with under_way.changed:
        under_way.calls.append(interrupt)
    try:
        yield
    finally:
        with under_way.changed:
            under_way.calls.remove(interrupt)
            under_way.changed.notify_all()
        _stay_if_at_exit(under_way)


def run_interruptibly(work: Callable[[], None], interrupt: Interrupt) -> None:
    """Runs `work`, which must return soon after the interrupt is raised. Raises its exception."""
    if threading.current_thread() is not threading.main_thread():
        with long_call(interrupt):
            work()
        return
    problems: List[BaseException] = []
    done = threading.Event()
    owner: Dict[str, str] = {}  # the first thread that writes its name decides about the work

    def run() -> None:
        try:
            if owner.setdefault("owner", "helper") == "helper":
                work()
        except BaseException as problem:  # raised below, in the thread of the caller
            problems.append(problem)
        finally:
            done.set()

    helper = threading.Thread(target=run, name="sbeam-draw")
    try:
        helper.start()
        done.wait()
    except BaseException:
        while not done.is_set():
            try:
                interrupt.raise_()
                # An exception may come before, during or after the start of the thread. If the
                # thread has not begun yet, it may still begin, but does nothing then.
                if owner.setdefault("owner", "caller") == "caller":
                    break
                done.wait()
            except BaseException:  # Ctrl-C again: C must still return first
                continue
        raise
    helper.join()
    if problems:
        raise problems[0]
