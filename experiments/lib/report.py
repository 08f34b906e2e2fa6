"""Writes OUT/report.html, one self-contained page, from the results of the experiments in OUT.

The part of an experiment has its title and question from its README.md, and from OUT the claims that were checked
(claims.csv), figures (*.svg) and tables (findings*.csv). All numbers come from OUT.
"""
import base64
import html
import os
import re
import subprocess
import time
from pathlib import Path

from lib import EXPERIMENTS, commands, files, tables

HERE = Path(__file__).resolve().parent
FOLDED_FROM = 16  # rows of a table
NUMBER = re.compile(r'[-+]?[0-9.]+(e[-+]?[0-9]+)?')
QUICK = '''<p class=warning><b>This is a quick run:</b> few sentences, small k and few draws. It shows that
everything works; its figures are not results.</p>'''


def escape(text):
    return html.escape(text, quote=False).replace('"', '&quot;')


# --- the READMEs ---

class Readme:
    """The README.md of an experiment."""

    def __init__(self, name):
        self.lines = (HERE.parent / name / 'README.md').read_text(encoding='utf-8').splitlines()
        self.title = next(line[2:] for line in self.lines if line.startswith('# '))

    def section(self, is_heading):
        """Returns the lines below the headings for which is_heading is true."""
        inside, lines = False, []
        for line in self.lines:
            if line.startswith('#'):
                inside = is_heading(line.lower())
            elif inside:
                lines.append(line)
        return lines

    def question(self):
        lines = self.section(lambda heading: re.match('##+ question', heading))
        return lines if any(lines) else self.section(lambda heading: heading.startswith('# '))

    def about(self, file):
        """Returns the name of a file and its description in the table of files."""
        for line in self.lines:
            cells = re.split(' *[|] *', line)
            if len(cells) > 2 and f'`{file.name}`' in cells[1]:
                return f'<b>{file.name}</b>: {inline(cells[2])}'
        return f'<b>{file.name}</b>'


def inline(line):
    """Converts the Markdown that a line of the READMEs has: code, emphasis; of a link its text."""
    line = re.sub(r'`([^`]*)`', r'<code>\1</code>', escape(line))
    line = re.sub(r'\*\*([^*]*)\*\*', r'<b>\1</b>', line)
    line = re.sub(r'(^|[ (])\*([^*]+)\*', r'\1<em>\2</em>', line)
    return re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', line)


def paragraphs(lines):
    """Yields lines of HTML; empty lines separate paragraphs."""
    is_open = False
    for line in [*lines, '']:
        if not line.strip(' '):
            if is_open:
                yield '</p>'
            is_open = False
        else:
            yield inline(line) if is_open else '<p>' + inline(line)
            is_open = True


# --- the parts of the page; each function yields lines of HTML ---

def table(file, readme):
    """Numbers are aligned right. A long table is folded."""
    header, *rows = tables.read_rows(file)
    is_folded = len(rows) >= FOLDED_FROM
    if is_folded:
        yield f'<details><summary>{readme.about(file)} ({len(rows)} rows)</summary>'
    else:
        yield f'<p class=note>{readme.about(file)}</p>'
    if not rows:
        yield '<p class=note>This table has no rows.</p>'
        return
    yield '<div class=wide><table>'
    titles = ''.join(f"<th>{escape(name).replace('_', ' ')}</th>" for name in header)
    yield f'<thead><tr>{titles}</tr></thead><tbody>'
    for row in rows:
        yield f"<tr>{''.join(map(cell, row))}</tr>"
    yield '</tbody></table></div>'
    if is_folded:
        yield '</details>'


def cell(text):
    kind = ' class=n' if NUMBER.fullmatch(text) else ''
    return f'<td{kind}>{re.sub("^-", chr(0x2212), escape(text))}</td>'


def claims(file):
    yield '<ul class=claims>'
    for text, held, cases in tables.read_rows(file)[1:]:
        mark, word = verdict(int(held), int(cases))
        yield f'<li class={mark}><b>{word}</b> ({held} of {cases}): {escape(text)}</li>'
    yield '</ul>'


def verdict(held, cases):
    """Returns the class and the words for a claim that held in some of its cases."""
    if cases == 0:
        return 'none', 'no case'
    if held == cases:
        return 'all', 'held'
    if held > cases / 2:
        return 'most', 'held in part'
    return 'few', 'mostly did not hold' if held else 'did not hold'


def seeds(name):
    """Returns the seeds that the program of an experiment sets, as words."""
    program = (HERE.parent / name / 'run.py').read_text()
    if 'estimate_draws' in program:
        program = (HERE / 'estimate_draws.py').read_text()
    found = re.findall(r'^([A-Z_]*SEED) = (\d+)', program, re.MULTILINE)
    return ', '.join(f"{constant.lower().replace('_', ' ')} {number}" for constant, number in found)


def experiment_part(out, name):
    results, readme = out / name, Readme(name)
    yield f'<section id="{name}"><h2>{escape(readme.title)}</h2>'
    yield from paragraphs(readme.question())
    if (results / 'claims.csv').exists():
        yield from claims(results / 'claims.csv')
    for file in sorted(results.glob('*.svg')):
        image = base64.b64encode(file.read_bytes()).decode()
        yield (f'<figure><img alt="{name}: {file.stem}" src="data:image/svg+xml;base64,{image}">'
               f'<figcaption>{readme.about(file)}</figcaption></figure>')
    for file in sorted(results.glob('findings*.csv')):
        yield from table(file, readme)
    links = ''.join(f' <a href="{name}/{file.name}">{file.name}</a>' for file in sorted(results.glob('*.csv')))
    yield f'<p class=note>experiments/{name}/run.sh; {seeds(name)}. Data:{links}</p></section>'


def machine():
    try:
        processor = re.search(r'^model name[^:]*: (.*)', Path('/proc/cpuinfo').read_text(), re.MULTILINE)
    except OSError:
        processor = None
    system = os.uname()
    return f'{processor[1] if processor else system.machine}, {commands.n_processors()} processors, {system.sysname}'


def version():
    printed = subprocess.run(['sbeam', '--version'], stdout=subprocess.PIPE, check=True, encoding='utf-8').stdout
    return printed.splitlines()[0]


def page(out, is_quick, command):
    names = [name for name in EXPERIMENTS if (out / name).is_dir()]
    yield (HERE / 'report_head.html').read_text(encoding='utf-8').rstrip('\n')
    if is_quick:
        yield QUICK
    yield '<dl>'
    for term, text in (('command', f'<code>{escape(command)}</code>'), ('version', escape(version())),
                       ('date', time.strftime('%Y-%m-%d %H:%M %Z')), ('machine', escape(machine()))):
        yield f'<dt>{term}</dt><dd>{text}</dd>'
    yield '</dl><nav><ol>'
    for name in names:
        yield f'<li><a href="#{name}">{escape(Readme(name).title)}</a></li>'
    yield '</ol></nav>'
    for name in names:
        yield from experiment_part(out, name)
    yield '</body></html>'


def write(out, is_quick, command):
    """Writes the page, completely or not at all. `command` is the command that computed the results."""
    lines = [line + '\n' for line in page(out, is_quick, command)]
    with files.whole(out / 'report.html') as file:
        file.writelines(lines)
