"""Tests --allow of sbeam draw and sbeam verify."""
import gzip
import json
import math

LIST = "sun\nsun rain\ncloud cloud\n"


def weather(t):
    return str(t.models / "weather.json")


def test_lines_are_drawn(t):
    t.write("list.txt", LIST)
    given = ("draw", "-m", weather(t), "--seed", "1", "-f", "jsonl")
    [all_] = t.run(*given, "-k", "9", "--allow", "list.txt").exits(0, "--allow: draws").records
    t.same(sorted(s["text"] for s in all_["sequences"]), sorted(LIST.splitlines()), "--allow: each line once")
    t.check(all_["exhausted"], "--allow: there are no others")
    t.check(abs(sum(math.exp(s["log_p"]) for s in all_["sequences"]) - 1) < 1e-12, "--allow: rows are renormalised")
    [free] = t.run(*given, "-k", "100000", "--max-len", "3").records
    of_model = {s["text"]: s["log_p_model"] for s in free["sequences"] if s["end"] == "eos"}
    t.check(all(abs(s["log_p_model"] - of_model[s["text"]]) < 1e-12 for s in all_["sequences"]),
            "--allow: log_p_model is that of the unchanged model")
    for method in ("sbs", "beam", "sample", "diverse", "reject", "explicit", "resample", "commit", "beam-sample"):
        [record] = t.run(*given, "-k", "2", "--method", method, "--allow", "list.txt").records
        t.check({s["text"] for s in record["sequences"]} <= set(LIST.splitlines()), "--allow: method %s" % method)
    [cached] = t.run(*given, "-k", "9", "--cache", "1", "--allow", "list.txt").records
    t.same(cached, all_, "--allow: with a cache of rows")


def test_forms_of_the_file(t):
    given = ("draw", "-m", weather(t), "--seed", "1", "-f", "jsonl", "-k", "3", "--allow")
    t.write("list.txt", LIST)
    plain = t.run(*given, "list.txt").records
    forms = {"gzip": gzip.compress(LIST.encode()), "CRLF": LIST.replace("\n", "\r\n"), "no last newline": LIST[:-1],
             "duplicates": LIST + LIST, "another order": "".join(sorted(LIST.splitlines(True))),
             "more blanks": LIST.replace(" ", "  ")}
    for name, content in forms.items():
        t.write("other", content)
        t.same(t.run(*given, "other").records, plain, "--allow: %s" % name)
    t.same(t.run(*given, "list.txt", "--pretokenized").records[0]["allow"], plain[0]["allow"],
           "--allow: text of words is tokens")


def test_empty_lines(t):
    t.write("list.txt", "a b\n\nb\n")
    t.write("empty.json", '{"format":"sbeam-chain","vocab":["a","b","e"],"eos":"e","start":[0.5,0.3,0.2],'
            '"next":{"a":[0.1,0.3,0.6],"b":[0.45,0.45,0.1]}}')
    [record] = t.run("draw", "-m", "empty.json", "-k", "9", "--seed", "1", "-f", "jsonl", "--allow", "list.txt").records
    t.same({s["text"]: round(math.exp(s["log_p"]), 12) for s in record["sequences"]}, {"a b": 0.5, "b": 0.3, "": 0.2},
           "--allow: an empty line is the empty output")


def refuse(t, name, content, pattern, *options, model=None, code=1):
    t.write("list.txt", content)
    r = t.run("draw", "-m", model or weather(t), "-k", "2", "--allow", "list.txt", *options)
    r.exits(code, "--allow: " + name)
    r.says(pattern, "--allow: says why: " + name)
    t.same(r.out, "", "--allow: prints nothing: " + name)


def test_refusals(t):
    refuse(t, "an unknown token", "sun\nsun snow\n", r"^sbeam draw: list.txt:2: the model has no token 'snow'$")
    refuse(t, "the end token", "sun </s>\n", r"list.txt:1: (the line holds the end token|the model has no token)")
    refuse(t, "an empty file", "", r"^sbeam draw: list.txt has no lines; expected one permitted output a line$")
    refuse(t, "longer than max-len", "sun\nsun rain rain\n",
           "allow: line 2 has 3 tokens; expected at most max-len, which is 2$", "--max-len", "2")
    refuse(t, "stop strings", LIST, "--allow does not go with --stop", "--stop", "sun", code=2)
    refuse(t, "damaged gzip", gzip.compress(LIST.encode())[:-9], "list.txt")
    refuse(t, "nothing left", "sun\n", "step 1, row 0: the model, allow, ban and min-len together exclude every token",
           "--ban", "sun")
    r = t.run("draw", "-m", weather(t), "--allow", "nowhere.txt").exits(1, "--allow: no file")
    r.says("nowhere.txt", "--allow: names the file")
    # A tree has no end token, so a line cannot be the beginning of another.
    words = t.run("draw", "-m", t.fig1, "-k", "99", "--seed", "1", "-f", "jsonl").records[0]["sequences"]
    longest = max((s["text"].split() for s in words), key=len)
    refuse(t, "a prefix without an end token", "%s\n%s\n" % (" ".join(longest), longest[0]),
           "allow: line 2 is the beginning of line 1, but the model has no end token", model=t.fig1)
    t.write("list.txt", longest[0] + "\n")
    [record] = t.run("draw", "-m", t.fig1, "--seed", "1", "-f", "jsonl", "--allow", "list.txt").records
    t.same([(s["text"], s["end"]) for s in record["sequences"]], [(longest[0], "leaf")],
           "--allow: without an end token a line ends as a leaf")


def test_subwords(t):
    t.write("list.txt", "Bonjour !\nMerci.\nAu revoir.\n")
    r = t.run("draw", "-k", "9", "--seed", "1", "-f", "jsonl", "--allow", "list.txt", "Thank you.")
    if "built without" in r.err:
        return t.skip("this build has no neural models")
    draws = r.exits(0, "--allow: subwords").out
    [record] = r.records
    t.same(sorted(s["text"] for s in record["sequences"]), ["Au revoir.", "Bonjour !", "Merci."],
           "--allow: outputs of subwords are the lines")
    t.run("verify", "--allow", "list.txt", stdin=draws).prints("bit for bit", "verify --allow: subwords")
    t.write("list.txt", "Merci.\nMerci  bien.\n")
    r = t.run("draw", "-k", "9", "--allow", "list.txt", "Thank you.").exits(1, "--allow: text that is normalised")
    r.says("list.txt:2: the model cannot spell 'Merci  bien.': it would write 'Merci bien.'$", "--allow: says how")
    t.write("list.txt", "\u6f22\n")
    r = t.run("draw", "-k", "9", "--allow", "list.txt", "Thank you.").exits(1, "--allow: an unknown character")
    r.says("list.txt:1: the model cannot spell", "--allow: names the line")


def test_verify(t):
    t.write("list.txt", LIST)
    t.write("other.txt", LIST + "rain\n")
    draws = t.draw("-m", weather(t), "-k", "2", "--seed", "3", "--draws", "3", "--allow", "list.txt")
    verify = ("verify", "-m", weather(t), "--sample", "all")
    t.run(*verify, "--allow", "list.txt", stdin=draws).prints("bit for bit", "verify --allow: the same draws")
    r = t.run(*verify, stdin=draws).exits(1, "verify: without the list")
    r.says('standard input:1: .*limited to a list of permitted outputs .*with --allow$', "verify: says what is missing")
    r = t.run(*verify, "--allow", "other.txt", stdin=draws).exits(1, "verify: another list")
    r.says('its "allow" is [0-9a-f]{16}, but the checksum of this list is [0-9a-f]{16}$', "verify: names both lists")
    changed = [json.loads(line) for line in draws.splitlines()]
    for record in changed:
        del record["allow"]
    r = t.run(*verify, "--allow", "list.txt", stdin="\n".join(map(json.dumps, changed)))
    r.exits(1, "verify: a record that hides its list")
    plain = t.draw("-m", weather(t), "-k", "2", "--seed", "3")
    t.run(*verify, "--allow", "list.txt", stdin=plain + draws).prints("^repeated  4 draws", "verify: both kinds")
    r = t.run("estimate", "-m", weather(t), "--f", "length", "--truth", "exact", "--summary",
              stdin=draws)
    r.exits(1, "estimate: the exact value needs the list")
    r.says("cannot be made again without the list", "estimate: says why")
    t.run("estimate", "--f", "length", stdin=draws).exits(0, "estimate: an estimate does not")
