#!/bin/bash
# Writes DIR/report.html, one self-contained page, from the results of the experiments in DIR.
#   experiments/report.sh [--quick] --out DIR [...]      (scripts/figures calls it)
# The part of an experiment has its title and question from its README.md, and from DIR the claims that
# were checked (claims.csv), figures (*.svg) and tables (findings*.csv). All numbers come from DIR.
set -eu -o pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
quick=false
out=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=true ;;
    --out)
        out=${2:?}
        shift
        ;;
    --data) shift 2 ;;
    esac
    shift
done
[ -d "$out" ] || { echo "report: expected --out DIR, a folder with results, found '$out'" >&2 && exit 2; }

escape() {
    sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'
}

# section FILE HEADING: prints the lines under a heading of a README; for "" those under its title.
section() {
    awk -v heading="$2" '
        /^#/ { inside = heading == "" ? /^# / : tolower($0) ~ "^##+ " tolower(heading); next }
        inside' "$1"
}

# Converts the Markdown that the READMEs use: paragraphs, code, emphasis; of a link its text.
paragraphs() {
    escape | sed -E 's/`([^`]*)`/<code>\1<\/code>/g; s/\*\*([^*]*)\*\*/<b>\1<\/b>/g;
        s/(^|[ (])\*([^*]+)\*/\1<em>\2<\/em>/g; s/\[([^]]*)\]\([^)]*\)/\1/g' | awk '
        /^ *$/ { if (open) print "</p>"; open = 0; next }
        !open { printf "<p>"; open = 1 }
        { print }
        END { if (open) print "</p>" }'
}

# about FILE README: prints the name of the file and its description in the README's table of files.
about() {
    local name text
    name=$(basename "$1")
    text=$(awk -F ' *[|] *' -v name="$name" 'index($2, "`" name "`") { print $3 }' "$2" | paragraphs)
    text=${text#<p>}
    printf '<b>%s</b>%s\n' "$name" "${text:+: ${text%</p>}}"
}

# Prints a CSV file as a table, numbers aligned right. A table of over 15 rows is folded.
html_table() { # html_table FILE README
    local file=$1 rows
    rows=$(($(wc -l <"$file") - 1))
    if [ "$rows" -gt 15 ]; then
        echo "<details><summary>$(about "$file" "$2") ($rows rows)</summary>"
    else
        echo "<p class=note>$(about "$file" "$2")</p>"
    fi
    if [ "$rows" -le 0 ]; then
        echo "<p class=note>This table has no rows.</p>"
        return
    fi
    echo '<div class=wide><table>'
    escape <"$file" | awk -F , '
        NR == 1 {
            printf "<thead><tr>"
            for (i = 1; i <= NF; i++) {
                gsub(/_/, " ", $i)
                printf "<th>%s</th>", $i
            }
            print "</tr></thead><tbody>"
            next
        }
        {
            printf "<tr>"
            for (i = 1; i <= NF; i++) {
                number = $i ~ /^[-+]?[0-9.]+(e[-+]?[0-9]+)?$/
                sub(/^-/, "\342\210\222", $i)
                printf "<td%s>%s</td>", number ? " class=n" : "", $i
            }
            print "</tr>"
        }
        END { print "</tbody></table></div>" }'
    if [ "$rows" -gt 15 ]; then
        echo "</details>"
    fi
}

claims() { # claims FILE: a CSV file of "claim,held,cases"
    echo '<ul class=claims>'
    tail -n +2 "$1" | escape | awk -F , '{
        mark = $3 == 0 ? "none" : $2 == $3 ? "all" : $2 > $3 / 2 ? "most" : "few"
        word = mark == "none" ? "no case" : $2 == $3 ? "held" : "held in part"
        if (mark == "few")
            word = $2 == 0 ? "did not hold" : "mostly did not hold"
        printf "<li class=%s><b>%s</b> (%d of %d): %s</li>\n", mark, word, $2, $3, $1
    }'
    echo '</ul>'
}

seeds() { # seeds EXPERIMENT: prints the seeds that its scripts set
    local files=("$here/$1/run.sh")
    grep -q estimate_draws "$here/$1/run.sh" && files+=("$here/estimate_draws.sh")
    sed -n 's/^\([a-z_]*seed\)=\([0-9]*\).*/\1 \2/p' "${files[@]}" | tr _ ' ' | paste -s -d , |
        sed 's/,/, /g'
}

experiment_part() {
    local name=$1 readme=$here/$1/README.md title question file seed
    title=$(sed -n 's/^# //p;T;q' "$readme")
    question=$(section "$readme" Question)
    [ -n "$question" ] || question=$(section "$readme" "")
    echo "<section id=\"$name\"><h2>$(escape <<<"$title")</h2>"
    paragraphs <<<"$question"
    [ -f "$out/$name/claims.csv" ] && claims "$out/$name/claims.csv"
    for file in "$out/$name"/*.svg; do
        [ -e "$file" ] || continue
        printf '<figure><img alt="%s" src="data:image/svg+xml;base64,' "$name: $(basename "$file" .svg)"
        base64 -w 0 "$file"
        echo "\"><figcaption>$(about "$file" "$readme")</figcaption></figure>"
    done
    for file in "$out/$name"/findings*.csv; do
        [ -e "$file" ] && html_table "$file" "$readme"
    done
    seed=$(seeds "$name")
    printf '<p class=note>experiments/%s/run.sh%s. Data:' "$name" "${seed:+; $seed}"
    for file in "$out/$name"/*.csv; do
        printf ' <a href="%s">%s</a>' "$name/$(basename "$file")" "$(basename "$file")"
    done
    echo '</p></section>'
}

machine() {
    local model
    model=$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo 2>/dev/null || true)
    echo "${model:-$(uname -m)}, $(nproc) processors, $(uname -s)"
}

page() {
    cat <<'HTML'
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Stochastic Beam Search: the experiments</title>
<style>
:root { color-scheme: light dark; --text: #1c2024; --soft: #5b6570; --line: #d9dee3; --page: #fff;
  --shade: #f4f6f8; --link: #0060a0; --good: #00744f; --mixed: #8a5a00; --bad: #b03a00; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ec; --soft: #9aa5b1; --line: #39424c;
  --page: #14181c; --shade: #1d2329; --link: #7cc0f4; --good: #4cc79a; --mixed: #e6b450; --bad: #ff9566; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; color: var(--text);
  background: var(--page); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.35rem; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p, ul, dl { max-width: 46rem; }
a { color: var(--link); }
code { background: var(--shade); padding: .1em .3em; border-radius: .2em; font-size: .92em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
nav ol { padding-left: 1.3rem; }
figure { margin: 1.5rem 0; }
img { display: block; width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: .4rem; }
figcaption, .note { color: var(--soft); font-size: .9rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: left; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
td.n { text-align: right; white-space: nowrap; }
summary { cursor: pointer; color: var(--link); margin: 1rem 0; }
.claims { list-style: none; padding: 0; }
.claims li { padding: .35rem .8rem; margin: .35rem 0; background: var(--shade);
  border-left: .25rem solid var(--soft); border-radius: .2rem; }
.claims li.all { border-color: var(--good); } .claims .all b { color: var(--good); }
.claims li.most { border-color: var(--mixed); } .claims .most b { color: var(--mixed); }
.claims li.few { border-color: var(--bad); } .claims .few b { color: var(--bad); }
.warning { background: var(--shade); border: 1px solid var(--mixed); border-radius: .4rem; padding: .6rem 1rem; }
@media (max-width: 45rem) { figure { overflow-x: auto; } figure img { min-width: 48rem; } }
@media print { details { display: block; } body { max-width: none; } }
</style></head><body>
<h1>Stochastic Beam Search: the experiments</h1>
<p>Every figure below was computed by the commands of this repository from a model that comes with
it, in the manner of Kool, van Hoof and Welling, <em>Stochastic Beams and Where to Find Them</em>
(ICML 2019). The claims of the paper are checked case by case, and reported as found.</p>
HTML
    if $quick; then
        echo '<p class=warning><b>This is a quick run:</b> few sentences, small k and few draws. It shows that
everything works; its figures are not results.</p>'
    fi
    echo '<dl>'
    printf '<dt>%s</dt><dd>%s</dd>\n' \
        command "<code>$(escape <<<"${SBEAM_COMMAND:-experiments/report.sh}")</code>" \
        version "$(sbeam --version | head -1 | escape)" \
        date "$(date '+%Y-%m-%d %H:%M %Z')" machine "$(machine | escape)"
    echo '</dl><nav><ol>'
    local name
    for name in "${names[@]}"; do
        printf '<li><a href="#%s">%s</a></li>\n' "$name" \
            "$(sed -n 's/^# //p;T;q' "$here/$name/README.md" | escape)"
    done
    echo '</ol></nav>'
    for name in "${names[@]}"; do
        experiment_part "$name"
    done
    echo '</body></html>'
}

names=()
for name in diversity bleu-estimate entropy-estimate naive evaluations exactness; do
    if [ -d "$out/$name" ] && [ -e "$here/$name/README.md" ]; then
        names+=("$name")
    fi
done
page >"$out/report.html.part"
mv "$out/report.html.part" "$out/report.html"
