"""Tests what scripts/setup says and calls, with programs in PATH that only note how they were called."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PINNED = re.compile(r'[a-z0-9-]+==[0-9][0-9a-z.+]* --hash=sha256:[0-9a-f]{64}')

# Each notes its name and arguments in $NOTES.
NOTE = '#!/bin/sh\necho "${0##*/} $*" >>"$NOTES"\n'
PROGRAMS = {
    'id': '#!/bin/sh\necho 1000\n',
    'dpkg-query': '#!/bin/sh\nfor package; do :; done\ncase " $MISSING " in *" $package "*) exit 1 ;; esac\n'
                  'echo all installed\n',
    'apt-get': NOTE + 'exit 1\n',
    'sudo': NOTE + 'exit 1\n',
    # A Python that can make virtual environments, and has no modules.
    'python': NOTE + 'case "$*" in\n*ensurepip*) exit 0 ;;\n"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;\n'
                     '*) exit 1 ;;\nesac\n',
}


def pinned_lines(name):
    return [line for line in (TOP / 'scripts' / name).read_text().splitlines() if not line.startswith('#')]


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in PROGRAMS.items():
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        self.notes = self.folder / 'notes'
        self.notes.write_text('')

    def run_setup(self, *arguments, **variables):
        """Returns the exit status and the messages; self.called() then lists the calls."""
        env = {**os.environ, 'PATH': f"{self.folder}:{os.environ['PATH']}", 'NOTES': str(self.notes), 'MISSING': '',
               'PYTHON': str(self.folder / 'python'), 'SBEAM_CACHE': str(self.folder / 'cache'),
               'SBEAM_UNVERIFIED': '', 'MODULES': '', **variables}
        done = subprocess.run([TOP / 'scripts/setup', *arguments], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding='utf-8', check=False)
        return done.returncode, done.stdout

    def called(self, part):
        return [line for line in self.notes.read_text().splitlines() if part in line]

    def test_says_before_sudo(self):
        status, said = self.run_setup(MISSING='mandoc')
        self.assertEqual(status, 1)
        self.assertIn('setup: installing with sudo: mandoc\n', said)
        self.assertTrue(self.called('sudo env'))

    def test_nothing_missing_needs_no_sudo(self):
        self.assertEqual(self.run_setup(), (0, ''))
        self.assertEqual(self.called('sudo'), [])

    def test_pip_takes_only_known_files(self):
        status, said = self.run_setup('--all', MISSING='python3-torch', LLAMA_DIR='/nowhere')
        installs = self.called('pip install')
        self.assertEqual(len(installs), 2)  # as pip is configured, and with PyTorch's own index
        for line in installs:
            self.assertIn('--require-hashes --only-binary :all: -r scripts/requirements-torch.txt '
                          '-r scripts/requirements-hf.txt -r scripts/requirements-plots.txt', line)
        self.assertIn('https://download.pytorch.org/whl/cpu', installs[1])
        self.assertIn('SBEAM_UNVERIFIED=1', said)
        self.assertIn('setup: installing with sudo: python3-torch\n', said)
        self.assertEqual((status, list((self.folder / 'cache').glob('torch*'))), (1, []))

    def test_a_virtual_environment_is_extended(self):
        """One with PyTorch but without Transformers is kept, also if pip fails."""
        venv = self.cached_venv()
        for pip_status, expected in (0, 0), (1, 1):
            self.notes.write_text('')
            status, said = self.run_setup('--with', 'hf', PIP_STATUS=str(pip_status))
            self.assertEqual(status, expected, said)
            self.assertIn('setup: installing into ' + str(venv) + ': transformers', said)
            self.assertIn('-r scripts/requirements-torch.txt -r scripts/requirements-hf.txt',
                          self.called('pip install')[0])
            self.assertEqual(self.called('-m venv'), [])
            self.assertEqual((venv / 'mine').read_text(), 'kept')

    def test_nothing_to_extend(self):
        self.cached_venv()
        self.assertEqual(self.run_setup('--with', 'hf', MODULES='transformers'), (0, ''))
        self.assertEqual(self.called('pip install'), [])

    def cached_venv(self):
        """Makes the folder of a virtual environment with NumPy, PyTorch and the modules in $MODULES."""
        version = re.search('^torch_version=(.*)$', (TOP / 'scripts/cache.sh').read_text(), re.M).group(1)
        venv = self.folder / 'cache' / ('torch-' + version)
        (venv / 'bin').mkdir(parents=True)
        (venv / 'mine').write_text('kept')
        for path in venv / 'bin/python', self.folder / 'python':
            path.write_text(NOTE + 'case "$*" in\n*"pip install"*) exit $PIP_STATUS ;;\n'
                                   '*transformers*) test -n "$MODULES" ;;\n"-m venv"*) exit 1 ;;\n*) exit 0 ;;\nesac\n')
            path.chmod(0o755)
        return venv

    def test_unverified_is_a_wish(self):
        _, said = self.run_setup('--with', 'torch', MISSING='python3-torch', SBEAM_UNVERIFIED='1')
        installs = self.called('pip install')
        self.assertEqual(len(installs), 1)
        self.assertNotIn('--require-hashes', installs[0])
        self.assertIn('what pip finds is not checked', said)


class Pins(unittest.TestCase):
    def test_every_line_has_a_checksum(self):
        for name in ('requirements-torch.txt', 'requirements-hf.txt', 'requirements-plots.txt',
                     'requirements-wheel.txt'):
            for line in pinned_lines(name):
                self.assertRegex(line, f'^{PINNED.pattern}$')

    def test_version_of_torch(self):
        version = re.search('^torch_version=(.*)$', (TOP / 'scripts/cache.sh').read_text(), re.M).group(1)
        self.assertIn(f'torch=={version}+cpu ', pinned_lines('requirements-torch.txt')[0])
