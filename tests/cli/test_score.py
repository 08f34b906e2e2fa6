"""sbeam score and sbeam tree."""
import json
import re


def n_scores(result):
    return len(result.records[0]["token_log_p"])


def test_score(t):
    r = t.run("score", "-m", t.fig1, stdin="\t0 1 1\n\t1 0\n").exits(0, "score")
    r.has_lines(2, "score: two records")
    r.prints(r'^\{"stream":0,"input":"","output":"0 1 1","tokens":\[0,1,1\],"log_p":-1\.386294361119[0-9]*,'
             r'"token_log_p":\[-0\.51[0-9]*,-0\.40[0-9]*,-0\.47[0-9]*\]\}$',
             "score: 0.25 on a tree, nothing appended")
    r = t.run("score", "-m", t.arpa, "--threads", "3", stdin="a\tb c\n")
    r.check(n_scores(r) == 3, "score: EOS is appended")
    tokens = t.run("score", "-m", t.arpa, "--input", "jsonl", stdin='{"input":"a","tokens":[4,5]}\n')
    t.same(tokens.out, r.out, "score: tokens instead of text")
    r = t.run("score", "-m", t.arpa, "--no-eos", stdin="a\tb c\n")
    r.check(n_scores(r) == 2, "score: --no-eos")
    limited = t.run("score", "-m", t.arpa, "--max-len", "2", stdin="a\tb c\n")
    t.same(limited.out, r.out, "score: an output of --max-len tokens ends there")
    t.run("score", "-m", t.arpa, "--max-len", "1", stdin="a\tb c\n").exits(1, "score: a longer one is an error")
    r = t.run("score", "-m", t.chain, stdin="b\tb\n")
    r.prints(r'"log_p":null,"token_log_p":\[null,', "score: -inf is null")


def test_score_refusals(t):
    r = t.run("score", "-m", t.arpa, stdin="a\tb\nno tab\n").exits(1, "score: no tab")
    r.says(":2: ", "score: the line is named")
    r.has_lines(1, "score: what came before is written")
    t.run("score", "-m", t.arpa, "--input", "jsonl", stdin='{"input":"a"}\n').exits(1, "score: no output")
    r = t.run("score", "-m", t.arpa, "--input", "jsonl", stdin='{"input":"a","tokens":[99]}\n')
    r.exits(1, "score: no such token")


def test_score_agrees(t):
    pairs = "a\tb c\n" * 1000
    one, four = (t.run("score", "-m", t.arpa, "--threads", n, stdin=pairs).out for n in (1, 4))
    t.same(four, one, "score: threads change nothing")
    drawn = json.loads(t.draw("-m", t.arpa, "-k", "1", "--seed", "5", "a"))["sequences"][0]
    r = t.run("score", "-m", t.arpa, "--input", "jsonl",
              stdin=json.dumps({"input": "a", "tokens": drawn["tokens"]}) + "\n")
    r.check(abs(r.records[0]["log_p"] - drawn["log_p"]) < 1e-9, "score agrees with draw")


def test_tree(t):
    r = t.run("tree", "-m", t.fig1, "-k", "3", "--seed", "7").exits(0, "tree")
    r.prints(r"●1 .*2\.26", "tree: ranks and G")
    r = t.run("tree", "-m", t.fig1, "-k", "3", "--seed", "7", "-f", "svg").prints("^<svg ", "tree: svg")
    r.check(sum("<g class=" in line for line in r.lines) == 15, "tree: fifteen nodes")
    for seed in range(1, 6):
        r = t.run("tree", "-m", t.fig1, "-k", "3", "--seed", seed, "-f", "jsonl")
        leaves = re.findall(r'"g":([-0-9.e]+),"role":"required","rank":([0-9])', r.out)
        drawn = t.run("draw", "-m", t.fig1, "-k", "3", "--seed", seed, "-f", "tsv").rows[1:]
        t.same(sorted((rank, g) for g, rank in leaves), [(row[7], row[10]) for row in drawn],
               "tree: the leaves of draw, seed %d" % seed)
    r = t.run("tree", "-m", t.chain, "-k", "3").exits(1, "tree: too large")
    r.says("too many", "tree: says so")
    t.run("tree", "-m", t.chain, "-k", "3", "--max-len", "3", "a").exits(0, "tree: a prefix and --max-len")
    t.write("noncharacter.json", '{"format":"sbeam-tree","tree":{"\ufffe":[1,null]}}')
    r = t.run("tree", "-m", "noncharacter.json", "--seed", "1", "-f", "svg")
    r.check("\ufffe" not in r.out, "tree: no characters that XML forbids")
