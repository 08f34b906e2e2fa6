"""Where a model comes from, the default model, and sbeam info."""
import shutil

DEFAULT = "enfr-everyday.safetensors"


def copy_program(t, folder):
    """Copies sbeam to where no model is near it."""
    (t.folder / folder).mkdir(parents=True)
    shutil.copy(t.sbeam, t.folder / folder / "sbeam")
    return str(t.folder / folder / "sbeam")


def test_files(t):
    r = t.run("draw", "-m", "missing.json").exits(1, "missing model file")
    r.says("missing.json", "missing model file is named")
    r = t.usage("a model without a name", "draw", "-m", "")
    r.says("file is empty", "a model without a name: why")
    t.run("draw", "-k", "2", env={"SBEAM_MODEL": t.fig1}).exits(0, "SBEAM_MODEL")


def test_no_model(t):
    alone = copy_program(t, "alone/bin")
    if t.run("info", program=alone).code == 0:
        t.check(True, "no model: skipped, since a default model is installed")
        return
    for command in ("draw", "score", "tree", "info"):
        r = t.run(command, program=alone).exits(2, "no model: %s" % command)
        r.says("SBEAM_MODEL", "no model: %s says how to give one" % command)
        r.says("%s, is not in .*/alone/bin, .*/alone/bin/models, .*/alone/models, .* or .*/alone/share/sbeam$" %
               DEFAULT, "no model: %s says where it looked" % command)
    deep = copy_program(t, "/".join(["a" * 100] * 3) + "/bin")
    t.run("info", program=deep).says(r"is not in \.\.\./bin, .* or \.\.\./share/sbeam$",
                                     "no model: long places are shortened")
    t.run("draw", program=alone, env={"SBEAM_MODEL": ""}).exits(2, "no model: an empty SBEAM_MODEL is none")


def test_default_model(t):
    alone = copy_program(t, "alone/bin")
    for place in ("alone/share/sbeam", "alone/models", "alone/bin/models", "alone/bin"):
        (t.folder / place).mkdir(parents=True, exist_ok=True)
        copy = t.folder / place / DEFAULT
        shutil.copy(t.fig1, copy)
        r = t.run("info", program=alone).exits(0, "default model in %s" % place)
        r.prints("^kind +tree$", "default model in %s is described" % place)
        r = t.run("draw", "-k", "2", "--seed", "1", program=alone)
        r.exits(0, "default model in %s is drawn from" % place)
        if place != "alone/bin":
            copy.unlink()
    r = t.run("tree", "-k", "2", "--seed", "1", "-f", "svg", program=alone)
    r.prints(DEFAULT, "default model: tree names it")
    chain = {"SBEAM_MODEL": t.chain}
    r = t.run("info", program=alone, env=chain)
    r.prints("^kind +chain$", "SBEAM_MODEL comes before the default model")
    r = t.run("info", "-m", t.fig1, program=alone, env=chain)
    r.prints("^kind +tree$", "-m comes before SBEAM_MODEL")
    t.write("alone/bin/" + DEFAULT, "broken\n")
    r = t.run("draw", program=alone).exits(1, "default model that is none")
    r.says("alone/bin/%s: not a model file" % DEFAULT, "default model that is none is named")


def test_info(t):
    r = t.run("info", "-m", t.fig1).exits(0, "info")
    r.prints("^leaves +8$", "info: text")
    r = t.run("info", "-f", "jsonl", t.fig1)
    r.prints(r'^\{.*"leaves":8[,}]', "info: numbers are numbers")
    r.prints('"kind":"tree"', "info: words are strings")
    t.write("escape.json", r'{"format":"sbeam-chain","vocab":["a","\u001b[31m"],"eos":"\u001b[31m","start":[1,0],'
            '"next":{"a":[0,1]}}')
    r = t.run("info", "escape.json")
    r.check(r.code == 0 and "\033" not in r.out, "info: no control characters in the text")
