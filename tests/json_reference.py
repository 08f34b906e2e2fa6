#!/usr/bin/env python3
"""Compares the JSON reader with Python's json module: json_reference.py JSON_CANONICAL [N_TEXTS]

Texts are written from random values in random ways, and then damaged in most cases. Both readers must accept the same
texts and find the same values, to the last bit of each number. Python's reader is made strict: texts
that RFC 8259 does not allow, or that sbeam documents as refused (src/text/json.h), raise an error here. The seed is
fixed. Exits with 1 if the readers differ, or if fewer texts than expected were accepted or refused."""
import json
import random
import struct
import subprocess
import sys

SPECIAL = ["NaN", "Infinity", "-Infinity", "-", "+1", "01", "-0", "-01", "1.", ".5", "1e", "1e5", "1E+05", "1e-05", "0e0",
           "1e308", "1e309", "-1e309", "1e-400", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "-9223372036854775809", "1.0e+", "00", "0.10", "tru", "True", "nul", "nullx", "0x10", "1_000", "'a'", '"', "{",
           "}", "[", "]", ",", ":", "//", "/**/", "[1,]", '{"a":1,}', '{"a"}', '{"a":1,"a":2}', '"\\u0000"', '"\\ud800"',
           '"\\udc00"', '"\\ud83d\\ude00"', '"\\uD83D\\uDE0"', '"\\x"', '"\\', '"\\u00"', '"\t"', '"\x7f"', "\x00", "\x0b",
           "\x0c", "\u00a0", "\u2028", "\ufeff", '"\u2028"', '"\U0001f600"']
BYTES = [b"\xff", b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98"]


def random_text(rng):
    alphabet = 'ab"\\/\b\f\n\r\t\x01\x1f\x7f é€\u2028\uffff\U0001f600\U0010ffff'
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(8)))


def random_number(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return str(rng.randrange(-10, 10))
    if kind == 1:
        return str(rng.choice([rng.randrange(-2**63 - 2, 2**63 + 2), rng.randrange(2**63 - 2, 2**64 + 2)]))
    if kind == 2:
        return repr(rng.uniform(-20, 0))
    if kind == 3:
        bits = rng.randrange(2**64)
        return "%.*e" % (rng.randrange(25), struct.unpack("<d", struct.pack("<Q", bits))[0])
    digits = "".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 40)))
    return "%d.%s%s" % (rng.randrange(100), digits, rng.choice(["", "e3", "E-7", "e+300", "e-310", "e-345"]))


def write_string(rng, text):
    """Quotes a text, with each character as itself or by some escape."""
    written = []
    for c in text:
        short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(c)
        must = c in '"\\' or ord(c) < 0x20
        choice = rng.randrange(3)
        if choice == 0 and not must:
            written.append(c)
        elif choice == 1 and short:
            written.append(short)
        else:
            pair = c.encode("utf-16-be")
            form = rng.choice(["\\u%04x", "\\u%04X"])
            written += [form % (pair[i] << 8 | pair[i + 1]) for i in range(0, len(pair), 2)]
    return '"' + "".join(written) + '"'


def write_value(rng, depth):
    blank = rng.choice(["", "", "", " ", "\n", "\r\n\t"])
    kind = rng.randrange(8 if depth < 6 else 6)
    if kind == 0:
        text = rng.choice(["true", "false", "null"])
    elif kind <= 3:
        text = random_number(rng)
    elif kind <= 5:
        text = write_string(rng, random_text(rng))
    elif kind == 6:
        text = "[" + ",".join(write_value(rng, depth + 1) for _ in range(rng.randrange(6))) + blank + "]"
    else:
        n = rng.choice([0, 1, 2, 3, 5, 16, 17, 25])
        text = "{" + ",".join(blank + write_string(rng, random_text(rng) + str(rng.randrange(1000))) + blank + ":" +
                              write_value(rng, depth + 2) for _ in range(n)) + blank + "}"
    return blank + text + blank


def write_text(rng):
    root = write_value(rng, 0) if rng.randrange(20) == 0 else rng.choice(["[%s,%s]", '{"r":%s,"s":%s}']) % (
        write_value(rng, 1), write_value(rng, 1))
    text = root.encode("utf-8")
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice([0, 0, 1, 1, 2, 10]))
        new = rng.choice([b"", b"", bytes([rng.randrange(256)]), rng.choice(SPECIAL).encode("utf-8"), rng.choice(BYTES),
                          text[:20]])
        text = text[:at] + new + text[end:]
    return text


# --- the reference ---


def refuse(reason):
    raise ValueError(reason)


def pairs(members):
    result = dict(members)
    if len(result) != len(members):
        refuse("a key twice")
    if any("\0" in key for key in result):
        refuse("a zero byte in a key")
    return result


def whole(text):
    value = int(text)
    return value if -2**63 <= value < 2**64 else refuse("a whole number out of range")


def real(text):
    value = float(text)
    return value if abs(value) != float("inf") else refuse("a number out of range")


DECODER = json.JSONDecoder(object_pairs_hook=pairs, parse_int=whole, parse_float=real, parse_constant=refuse, strict=True)


def canonical(value):
    if isinstance(value, dict):
        return "{" + ",".join(canonical(key) + ":" + canonical(item) for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "r%016x" % struct.unpack("<Q", struct.pack("<d", value))[0]
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    value.encode("utf-8")  # refuses half of a surrogate pair
    return '"' + "".join(short.get(c) or ("\\u%04x" % ord(c) if c < " " or c == "\x7f" else c) for c in value) + '"'


def expected(text):
    """Returns the canonical form, or None if the text must be refused."""
    try:
        value = DECODER.decode(text.decode("utf-8"))
        return canonical(value) if isinstance(value, (dict, list)) else None
    except ValueError:  # JSONDecodeError and UnicodeError are, too
        return None


def main():
    n_texts = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    rng = random.Random(1)
    texts = [b"[" + special.encode("utf-8") + b"]" for special in SPECIAL]
    texts += [b'["' + broken + b'"]' for broken in BYTES] + [special.encode("utf-8") for special in SPECIAL]
    texts += [write_text(rng) for _ in range(n_texts)]
    sent = b"".join(b"%d\n%s" % (len(text), text) for text in texts)
    done = subprocess.run([sys.argv[1]], input=sent, stdout=subprocess.PIPE, check=True, timeout=600)
    answers = done.stdout.decode("utf-8").split("\n")
    assert len(answers) == len(texts) + 1, "%d answers for %d texts" % (len(answers), len(texts))
    n_accepted = n_wrong = 0
    for text, answer in zip(texts, answers):
        want = expected(text)
        n_accepted += want is not None
        found = None if answer.startswith("refused: ") else answer
        if found != want:
            n_wrong += 1
            print("%r:\n    expected %s\n    found    %s" % (text, want or "a refusal", answer))
    print("%d texts: %d accepted, %d refused, %d differences" % (len(texts), n_accepted, len(texts) - n_accepted, n_wrong))
    if not len(texts) / 4 < n_accepted < len(texts) * 3 / 4:
        print("expected a quarter to three quarters of the texts to be accepted")
        n_wrong += 1
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
