"""Shows how far scripts/figures is: a bar with the time left on a terminal, else a line for each unit."""
import os
import sys
import time

BAR_WIDTH = 24
# At first the costs count as seconds; the measured time soon outweighs this number of them.
FIRST_SECONDS = 20
ERASE_LINE = '\r\033[K'


class Progress:
    def __init__(self, stream=sys.stderr, clock=time.monotonic):
        self.stream, self.clock = stream, clock
        self.since = clock()
        self.is_terminal = stream.isatty() and os.environ.get('TERM', 'dumb') != 'dumb'
        self.costs = {}        # of all units, which experiments may share
        self.finished = set()
        self.n_found = 0       # units that were finished before this run
        self.done_cost = 0     # of all finished units
        self.found_cost = 0    # of those that were finished before this run

    def add(self, unit, cost, is_found):
        """Adds a unit to the list of all units, unless it is there."""
        if unit in self.costs:
            return
        self.costs[unit] = cost
        if is_found:
            self.finish(unit, is_found=True)

    def start(self):
        """Begins to measure the time."""
        self.since = self.clock()

    def finish(self, unit, is_found=False, name=''):
        """Counts a finished unit, the first time that it is reported."""
        if unit in self.finished:
            return
        self.finished.add(unit)
        cost = self.costs[unit]
        self.done_cost += cost
        if is_found:
            self.n_found += 1
            self.found_cost += cost
        elif not self.is_terminal:
            print(f'{len(self.finished):3d} of {len(self.costs)}, {self.percent():3d} %, {self.time_left()}: {name}',
                  file=self.stream, flush=True)

    def seconds(self):
        return int(self.clock() - self.since)

    def total(self):
        return sum(self.costs.values())

    def percent(self):
        return 100 * self.done_cost // self.total() if self.total() else 100

    def time_left(self):
        spent = self.seconds() + FIRST_SECONDS
        worth = self.done_cost - self.found_cost + FIRST_SECONDS
        left = (self.total() - self.done_cost) * spent // worth
        return f'about {(left + 30) // 60} min left' if left >= 90 else f'about {left} s left'

    def show_bar(self, what):
        """Draws the bar again, if there is a terminal; `what` is the current work."""
        if not self.is_terminal:
            return
        filled = BAR_WIDTH * self.done_cost // self.total() if self.total() else BAR_WIDTH
        bar = '#' * filled + '.' * (BAR_WIDTH - filled)
        line = f'[{bar}] {self.percent():3d} %  {self.time_left()}  {what}'
        self.stream.write(ERASE_LINE + line[:self.columns() - 1])
        self.stream.flush()

    def columns(self):
        if os.environ.get('COLUMNS', '').isdigit():
            return int(os.environ['COLUMNS'])
        try:
            return os.get_terminal_size(self.stream.fileno()).columns
        except OSError:
            return 80

    def clear(self):
        if self.is_terminal:
            self.stream.write(ERASE_LINE)
            self.stream.flush()
