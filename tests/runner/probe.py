"""Finds out whether programs that are built with a sanitizer can start on this machine."""
import os
import subprocess
import tempfile
from pathlib import Path


def why_not(flags, wrapper=(), env=None):
    """Builds and runs a program with these flags of the compiler. Returns None if it starts, otherwise a reason."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "a.c", Path(folder) / "a"
        source.write_text("int main(void) { return 0; }\n")
        for command in (["cc", *flags.split(), "-o", program, source], [*wrapper, program]):
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, timeout=60,
                                      check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                return str(error)
            if done.returncode != 0:
                said = done.stdout.decode(errors="replace").strip().splitlines()
                return said[-1] if said else "%s ended with %d" % (command[0], done.returncode)
    return None
