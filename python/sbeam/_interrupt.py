"""Ctrl-C during long calls.

Python runs signal handlers in the main thread, between its own instructions: a call into C would
hold them up until it returns. So in the main thread the call is made by a helper thread, and the
main one waits in a way that a handler can break; what the handler raises ends the work through an
sb_interrupt, and goes on to the caller once C has returned."""
from __future__ import annotations

import ctypes
import threading
from typing import Callable, List

from ._library import call, lib


class Interrupt:
    """An sb_interrupt of one call."""

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


def run_interruptibly(work: Callable[[], None], interrupt: Interrupt) -> None:
    """Runs `work`, which must end soon after the interrupt is raised."""
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    problems: List[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            work()
        except BaseException as problem:  # goes on to the caller
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
                if helper.ident is None:  # it never began
                    break
                done.wait()
            except BaseException:  # pressed again: C must still return first
                continue
        raise
    helper.join()
    if problems:
        raise problems[0]
