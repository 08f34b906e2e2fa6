"""Tests the download of a pinned file, from a small server that is laid out as a package index."""
import functools
import hashlib
import http.server
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / 'scripts'))
import fetch  # noqa: E402

CONTENT = b'the source'
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Fetch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        top = Path(folder.name)
        for name in 'simple/a', 'files', 'out':
            (top / name).mkdir(parents=True)
        (top / 'files/a+b-1.tar.gz').write_bytes(CONTENT)
        (top / 'simple/a/index.html').write_text(
            '<!DOCTYPE html><a href="../../files/a-1.whl#sha256=0">a-1.whl</a>\n'
            f'<a data-x="1" href="../../files/a%2Bb-1.tar.gz#sha256={SHA256}">a+b-1.tar.gz</a>\n')
        self.out = top / 'out'
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=str(top)))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.index = f'http://127.0.0.1:{server.server_address[1]}/simple/'

    def names(self):
        return [path.name for path in self.out.iterdir()]

    def refuses(self, reason, file, sha256=SHA256, index=None):
        with self.assertRaisesRegex(fetch.FetchFailed, reason):
            fetch.fetch(index or self.index, 'a', file, sha256, self.out)
        self.assertEqual(self.names(), [])

    def test_whole(self):
        fetch.fetch(self.index, 'a', 'a+b-1.tar.gz', SHA256, self.out)
        self.assertEqual(self.names(), ['a+b-1.tar.gz'])
        self.assertEqual((self.out / 'a+b-1.tar.gz').read_bytes(), CONTENT)

    def test_other_content(self):
        self.refuses('not the file that was tested: expected sha256 0', 'a+b-1.tar.gz', '0' * 64)

    def test_missing(self):
        self.refuses('lists no file a-2.tar.gz', 'a-2.tar.gz')
        self.refuses('404', 'a-1.whl')

    def test_no_index(self):
        self.refuses('a-1.tar.gz', 'a-1.tar.gz', index='file:///nowhere')
        self.refuses('a-1.tar.gz', 'a-1.tar.gz', index='not an address')


if __name__ == '__main__':
    unittest.main()
