"""Tests model files that are cut short while they are in use: there is an error message or no difference, never a
silent end by a signal."""
import fcntl
import os
import shutil
import struct
import subprocess
import termios
import time

from harness import TIMEOUT, Result, to_text


def wait_until_read(process):
    """Waits until the command has read all that was written to its pipe, or has ended. It opens its model before it
    reads."""
    deadline = time.monotonic() + TIMEOUT
    while process.poll() is None and struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4))[0] > 0:
        if time.monotonic() > deadline:
            process.kill()
            raise TimeoutError("the command does not read its input")
        time.sleep(0.01)


def draw_changed(t, model, change, first, second, *options):
    """Runs draw with the model, waits until it reads the first line, calls `change`, and gives it the second line."""
    command = [t.sbeam, "draw", "-m", model, "-k", "2", "--seed", "1", "--batch", "1", "-f", "jsonl", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=t.folder, env=t.environment) as process:
        process.stdin.write(first.encode() + b"\n")
        process.stdin.flush()
        wait_until_read(process)
        change()
        out, err = process.communicate(second.encode() + b"\n", timeout=TIMEOUT)
        return Result(t, process.returncode, to_text(out), to_text(err))


def is_built(t, model):
    return not t.run("info", model).says_line("built without")


def test_cut_large(t):
    """The shipped model is large enough to be mapped."""
    model = t.folder / "large.safetensors"
    shutil.copyfile(t.models / "enfr-everyday.safetensors", model)
    if not is_built(t, model):
        t.skip("a mapped model that is cut short; this build has no neural models or no SentencePiece")
        return
    for options in ((), ("--threads", "2")):
        shutil.copyfile(t.models / "enfr-everyday.safetensors", model)
        r = draw_changed(t, model.name, lambda: os.truncate(model, 0), "Hello.", "Where are you?", *options)
        r.exits(1, "cut short: the command fails" + " with threads" * bool(options))
        r.check(r.err.startswith("sbeam draw: the model file 'large.safetensors' was cut short") and
                r.err.count("\n") == 1, "cut short: the message names the file, once")


def test_cut_small(t):
    """A small model is read into memory, so later changes of its file do not matter."""
    model = t.folder / "small.safetensors"
    shutil.copyfile(t.data / "tiny-fconv/model.safetensors", model)
    if not is_built(t, model):
        t.skip("a small model that is cut short; this build has no neural models")
        return
    whole = draw_changed(t, model.name, lambda: None, "s1 s2", "s3 s4")
    cut = draw_changed(t, model.name, lambda: os.truncate(model, 0), "s1 s2", "s3 s4")
    cut.exits(0, "a small file that is cut short: the command goes on")
    t.same(cut.out, whole.out, "a small file that is cut short: the same answers")


def test_cut_gguf(t):
    if "SBEAM_GGUF" not in os.environ or t.run("--version").prints_line(r"^llama.cpp: (no|.*\(not found\))$"):
        t.skip("a GGUF model that is cut short: SBEAM_GGUF is not set, or this build has no llama.cpp")
        return
    model = t.folder / "model.gguf"
    shutil.copyfile(os.environ["SBEAM_GGUF"], model)
    r = draw_changed(t, model.name, lambda: os.truncate(model, 0), "Once", "Twice", "--max-len", "3")
    r.exits(1, "a GGUF file that is cut short: the command fails")
    r.says("^sbeam draw: the model file 'model.gguf' was cut short", "a GGUF file that is cut short: the message")
