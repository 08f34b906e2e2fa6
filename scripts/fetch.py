"""Downloads one file of a package index such as PyPI, and keeps it only if its checksum is right.

    fetch.py INDEX PROJECT FILE SHA256 FOLDER      for example https://pypi.org/simple numpy numpy-2.4.6.tar.gz ...

`pip download` cannot be used: for a source distribution it also installs and runs what is needed to build it, without
a check.
"""
import hashlib
import html
import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

TIMEOUT = 60  # seconds without an answer
CHUNK = 1 << 20


class FetchFailed(Exception):
    """The file could not be downloaded, or its checksum is wrong. The message says why."""


def find_link(page, address, file):
    """Returns the address of a file from the page of a project, as PEP 503 describes it."""
    for link in re.findall(r'<a\s[^>]*href\s*=\s*["\']([^"\']*)', page, re.I):
        link = urllib.parse.urldefrag(urllib.parse.urljoin(address, html.unescape(link))).url
        if urllib.parse.unquote(link.rsplit('/', 1)[-1]) == file:
            return link
    raise FetchFailed(f'{address} lists no file {file}')


def download(address, target):
    """Writes the file and returns its checksum."""
    total = hashlib.sha256()
    with urllib.request.urlopen(address, timeout=TIMEOUT) as source, open(target, 'wb') as file:
        while True:
            chunk = source.read(CHUNK)
            if not chunk:
                return total.hexdigest()
            total.update(chunk)
            file.write(chunk)


def fetch(index, project, file, sha256, folder):
    address = f"{index.rstrip('/')}/{project}/"
    target = Path(folder) / file
    part = target.with_name(file + '.part')
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as source:
            page = source.read().decode('utf-8', 'replace')
            link = find_link(page, source.geturl(), file)
        found = download(link, part)
        if found != sha256:
            raise FetchFailed(f'{link} is not the file that was tested: expected sha256 {sha256}, found {found}')
        part.replace(target)
    except (OSError, ValueError) as error:  # urllib's errors are OSError; ValueError: not an address
        raise FetchFailed(f'{address} {file}: {error}') from error
    finally:
        if part.exists():
            part.unlink()


def main(arguments):
    if len(arguments) != 5:
        print(__doc__, end='', file=sys.stderr)
        return 2
    try:
        fetch(*arguments)
    except FetchFailed as error:
        print(f'fetch: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
