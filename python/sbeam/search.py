"""Draws leaves without replacement from trees whose nodes are any Python objects."""
from __future__ import annotations

import ctypes
from typing import (Any, Callable, Dict, Iterable, List, NoReturn, Optional, Sequence,
                    SupportsIndex, Tuple)

import numpy as np

from . import _structs as s
from ._arrays import count, is_tensor, to_doubles, to_numpy
from ._config import Config, to_int, to_seed
from ._errors import ArgumentError, LimitError, ModelError, StateError
from ._library import call, call_counting, lib
from .decoder import number_inputs
from .found import Found, Leaf, Result
from .results import make_sequence

_MOST_ROOTS = 4096
_MOST_RESULTS = 10**7
_MOST_STEPS = 10**6
_INT32_P = ctypes.POINTER(ctypes.c_int32)

Children = Callable[[List[Any]], Sequence[Any]]
Step = Callable[[List[Any], List[int]], Sequence[Any]]


class _Node:
    """A state that was evaluated."""

    __slots__ = ("state", "path", "row", "known")

    def __init__(self, state: Any, path: Any) -> None:
        self.state = state
        self.path = path  # (path of the parent, choice), None for the root
        self.row: Optional[np.ndarray] = None
        self.known: Dict[int, "_Node"] = {}  # children whose row may be needed again


def _read_path(path: Any) -> Tuple[int, ...]:
    choices = []
    while path is not None:
        path, choice = path
        choices.append(choice)
    return tuple(reversed(choices))


class Search:
    """Draws leaves without replacement from trees of any states, round by round.

        with sbeam.Search(children, step, roots, seed=1) as search:
            while ... you want more ...:
                found = search.round(k)             # one Found for each root
                for result in found[0].rounds[-1]:  # the new leaves of the first root
                    print(result.value, result.log_p)

    Use it if you do not know the number of rounds beforehand; sbeam.search(..., rounds=r) gives the
    same results and needs less memory. The arguments are those of sbeam.search. A round never
    repeats a leaf of earlier rounds; r rounds of k give the leaves of one round of r * k, bit for
    bit. A root whose leaves have all been found gives no new ones. No state is evaluated twice.

    The weights are right only if you chose the number of leaves beforehand. If you stop as soon as
    you like what you see, choose the number with one search and estimate from another one (another
    draw or another seed).

    The search keeps the states that it may need later until you close it. After an exception of
    your functions, or Ctrl-C, the search has ended: it frees everything, and you can only close
    it. Only one thread at a time may use a search."""

    def __init__(self, children: Children, step: Step, roots: Iterable[Any], *,
                 seed: Optional[int] = None, streams: Optional[Iterable[int]] = None,
                 draw: int = 0, parallel: int = 1) -> None:
        self._decoder: Optional[int] = None  # opened by the first round, which knows its size
        self._is_closed = self._is_busy = False
        self._continues = True
        self._kept: Dict[int, Optional[_Node]] = {}  # by the decoder's number; None for a leaf
        for name, function in (("children", children), ("step", step)):
            if not callable(function):
                raise ArgumentError("%s is of type %s; expected a function"
                                    % (name, type(function).__name__))
        self._children, self._step = children, step
        states = _to_items(roots, "roots is", "a list of states")
        if len(states) > _MOST_ROOTS:
            raise ArgumentError("there are %d roots; expected at most %d: search them in several "
                                "calls, each with its own streams" % (len(states), _MOST_ROOTS))
        _, self._streams, self._draws = number_inputs(len(states), 1.0, streams,
                                                      to_int(draw, "draw", 0, 2**64 - 1))
        self._config = Config({"seed": to_seed(seed), "parallel": parallel,
                               "max_len": _MOST_STEPS})
        self._sizes: Tuple[int, ...] = ()
        self._roots: List[Optional[_Node]] = [_Node(state, None) for state in states]
        self._values: List[Dict[Tuple[int, ...], Any]] = [{} for _ in states]  # of leaves
        self._evaluated = [0] * len(states)
        self._found: List[Optional[Found]] = [None] * len(states)

    # --- opening and closing ---

    def close(self) -> None:
        """Frees the search and its states. What it found stays. Closing it twice does no harm."""
        if self._is_busy:
            raise StateError("the search is running and cannot be closed")
        self._free()

    def _free(self) -> None:
        self._is_closed = True
        decoder, self._decoder = self._decoder, None
        if decoder is not None:
            lib.sb_decoder_close(decoder)
        self._roots, self._values, self._found = [], [], []
        self._kept = {}

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_decoder", None) is not None:
            self._free()

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a Search can be neither copied nor pickled")

    @property
    def seed(self) -> int:
        return int(self._config.struct.seed)

    # --- rounds ---

    def round(self, k: int) -> List[Found]:
        """Draws k more leaves of each root. Returns what was found in all rounds so far, one Found
        for each root; its rounds[-1] are the new leaves."""
        return self._run((to_int(k, "k", 1, max(_MOST_RESULTS - sum(self._sizes), 1)),))

    def _run(self, sizes: Tuple[int, ...]) -> List[Found]:
        """Draws leaves for one more round, or for all rounds of a search that does not continue."""
        if self._is_busy:
            raise StateError("the search is running: neither its own functions nor another thread "
                             "can use it")
        if self._is_closed:
            raise StateError("the search is closed, or it has ended with an exception")
        self._is_busy = True
        is_done = False
        try:
            self._begin(sizes)
            while not lib.sb_decoder_done(self._decoder):
                self._advance()
                self._collect()
            found: List[Any] = list(self._found)
            is_done = True
            return found
        finally:
            self._is_busy = False
            if not is_done:
                self._free()

    def _begin(self, sizes: Tuple[int, ...]) -> None:
        is_first = self._decoder is None
        if is_first:
            self._config.struct.k = sum(sizes)
            spec = s.sb_decoder_spec(eos=-1, row_type=s.ROW_DOUBLE, keeps_states=True,
                                     max_slots=max(len(self._roots), 1),
                                     continues=self._continues)
            decoder = ctypes.c_void_p()
            call("sb_decoder_open", ctypes.byref(decoder), ctypes.byref(spec),
                 ctypes.byref(self._config.struct))
            self._decoder = decoder.value
        for i, (stream, draw) in enumerate(zip(self._streams, self._draws)):
            if is_first:
                call("sb_decoder_add", self._decoder, ctypes.byref(s.sb_job(stream, draw, 0)), None)
            else:
                call("sb_decoder_continue", self._decoder, i, sizes[0])
        self._sizes += sizes
        self._collect()  # roots whose leaves have all been found are done

    # --- steps ---

    def _advance(self) -> None:
        """Steps and evaluates the states that the decoder wants next."""
        lists = [_INT32_P() for _ in range(4)]
        n = lib.sb_decoder_rows(self._decoder, None, *map(ctypes.byref, lists[:2]))
        released = _INT32_P()
        n_released = call_counting("sb_decoder_states", self._decoder,
                                   *map(ctypes.byref, lists[2:4]), ctypes.byref(released))
        choices, roots, before, after = (pointer[:n] for pointer in lists[:4])
        for number in released[:n_released] if n_released > 0 else ():
            del self._kept[number]
        nodes: List[Optional[_Node]] = [None] * n
        unknown = []
        for i in range(n):
            if before[i] < 0:
                nodes[i] = self._start(roots[i])
                continue
            nodes[i] = self._parent(before[i]).known.get(choices[i])
            if nodes[i] is None:
                unknown.append(i)
        if unknown:
            stepped = self._step_nodes([(self._parent(before[i]), choices[i], roots[i])
                                        for i in unknown])
            for i, node in zip(unknown, stepped):
                nodes[i] = node
        self._evaluate([(node, root) for node, root in zip(nodes, roots)
                        if node is not None and node.row is None])
        rows = [_NO_CHILDREN if node is None or node.row is None else node.row for node in nodes]
        widths = np.array([len(row) for row in rows], dtype=np.int32)
        scores: np.ndarray = np.concatenate(rows)
        self._kept.update(zip(after, nodes))
        call("sb_decoder_advance_ragged", self._decoder, scores.ctypes.data,
             widths.ctypes.data_as(_INT32_P))
        if not self._continues:  # no row is needed again
            for node in nodes:
                if node is not None:
                    node.row = None

    def _parent(self, number: int) -> _Node:
        node = self._kept[number]
        assert node is not None  # a leaf has no children
        return node

    def _start(self, root: int) -> Optional[_Node]:
        """Returns the node of a root, or None if it is a leaf."""
        node = self._roots[root]
        assert node is not None  # a root starts once, unless the search keeps it
        if isinstance(node.state, Leaf):
            self._values[root][()] = node.state.value
            return None
        if not self._continues:
            self._roots[root] = None
        return node

    def _step_nodes(self, wanted: List[Tuple[_Node, int, int]]) -> List[Optional[_Node]]:
        """Returns the nodes that follow from (parent, choice, root); None for a leaf."""
        answers = _to_items(self._step([parent.state for parent, _, _ in wanted],
                                       [choice for _, choice, _ in wanted]),
                            "step returned", "a list of states and Leaf objects", len(wanted))
        nodes: List[Optional[_Node]] = []
        for (parent, choice, root), answer in zip(wanted, answers):
            path = (parent.path, choice)
            if isinstance(answer, Leaf):
                self._values[root][_read_path(path)] = answer.value
                nodes.append(None)
                continue
            node = _Node(answer, path)
            nodes.append(node)
            if self._continues:
                parent.known[choice] = node
        return nodes

    def _evaluate(self, wanted: List[Tuple[_Node, int]]) -> None:
        """Computes the rows of nodes, which are given with the numbers of their roots."""
        if not wanted:
            return
        answer: Any = self._children([node.state for node, _ in wanted])
        if is_tensor(answer):  # one copy from another device for all rows
            answer = to_numpy(answer, "the answer of children")
        rows = _to_items(answer, "children returned", "a list of arrays of log-probabilities",
                         len(wanted))
        for (node, root), given in zip(wanted, rows):
            row = self._read_row(given, node, root)
            # A search that continues must not depend on memory that the host may use again.
            node.row = row.copy() if self._continues else row
            self._evaluated[root] += 1

    def _read_row(self, given: Any, node: _Node, root: int) -> np.ndarray:
        """Returns the answer for one node as an array. Only an error costs the time to name the
        choices, which may be many."""
        try:
            row = to_doubles(given, "the log-probabilities")
            _check_row(row)
        except (ArgumentError, ModelError) as problem:
            where = "root %d, after the choices %s" % (root, _read_path(node.path))
            raise type(problem)("%s: %s" % (where, problem)) from problem.__cause__
        return row

    def _collect(self) -> None:
        """Copies the results of the roots that have finished."""
        while True:
            root = lib.sb_decoder_finished(self._decoder)
            if root < 0:
                return
            result = ctypes.POINTER(s.sb_result)()
            call("sb_result_open", ctypes.byref(result))
            try:
                call("sb_decoder_take", self._decoder, root, result)
                self._found[root] = self._make_found(root, result.contents)
            finally:
                lib.sb_result_close(result)

    def _make_found(self, root: int, c: s.sb_result) -> Found:
        results = []
        for i in range(c.n_sequences):
            leaf = make_sequence(c.sequences[i], None)
            if leaf.end != "leaf":
                raise LimitError("root %d has no leaf after %d steps; expected a Leaf before"
                                 % (root, _MOST_STEPS))
            results.append(Result(self._values[root][leaf.tokens], leaf.tokens, leaf.log_p, leaf.g,
                                  leaf.log_weight))
        ends = np.cumsum(self._sizes).tolist()
        kappas = tuple(results[end].g if end < len(results) else c.kappa for end in ends)
        return Found(c.stream, c.draw, c.seed, tuple(results), self._sizes, kappas,
                     self._evaluated[root])


def search(children: Children, step: Step, roots: Iterable[Any], k: int, *,
           seed: Optional[int] = None, rounds: int = 1, streams: Optional[Iterable[int]] = None,
           draw: int = 0, parallel: int = 1) -> List[Found]:
    """Draws k distinct leaves of each tree, without replacement. The states of a tree are any
    Python objects.

        def children(states):               # the states of all roots together
            return [log_probabilities_of(state) for state in states]

        def step(states, choices):          # the child number choices[i] of states[i]
            return [sbeam.Leaf(result) or the next state, for each of them]

    children  gives an array of log-probabilities for each state. Widths may differ. Each array is
              normalised, so the logarithms of weights are accepted; -inf is a child of
              probability zero. One array of shape (n_states, width) is accepted, too, with -inf
              for children that do not exist
    step      gives for each state and choice the next state, or a Leaf with a finished result
    roots     a list of states: one tree for each, at most 4096
    k         number of leaves of each root
    rounds    number of rounds of k leaves; no round repeats a leaf of another one
    seed      the key of all noise; None: random below 2^53. The result holds it
    streams   the number of each root; default 0, 1, ...
    draw      the number of the draw. Seed, stream and draw determine the noise: in a loop with a
              fixed seed, give each repetition another draw
    parallel  number of states of a root that are evaluated together. 1 evaluates only states on the
              way to a result. A larger number makes larger batches and fewer calls, but evaluates
              some states in vain; the results are the same

    Returns one Found for each root, with min(k * rounds, number of leaves) results. A state is
    stepped and evaluated at most once, and freed when no result can come from it. The functions
    should not depend on the other states of a call, and must not change a state: several children
    may follow from it.

    Exceptions of your functions pass through unchanged. A row with NaN or +inf, and a state
    without possible children, raise a ModelError that names the root and the choices."""
    to_int(k, "k", 1, _MOST_RESULTS)
    to_int(rounds, "rounds", 1, _MOST_RESULTS // k)
    with Search(children, step, roots, seed=seed, streams=streams, draw=draw,
                parallel=parallel) as run:
        run._continues = False
        return run._run((k,) * rounds)


# --- answers of the host ---

_NO_CHILDREN = np.empty(0, dtype=np.float64)


def _to_items(answer: Any, what: str, expected: str, n: Optional[int] = None) -> List[Any]:
    """Returns a list, which must have n items if n is given."""
    try:
        if isinstance(answer, (str, bytes, dict)):
            raise TypeError
        iterator = iter(answer)
    except TypeError:
        raise ArgumentError("%s an object of type %s; expected %s"
                            % (what, type(answer).__name__, expected)) from None
    items = list(iterator)  # a TypeError of a generator is the host's and passes through
    if n is not None and len(items) != n:
        raise ArgumentError("%s %s for %s; expected %s, one for each state"
                            % (what, count(len(items), "item"), count(n, "state"), expected))
    return items


def _check_row(row: np.ndarray) -> None:
    """Raises a ModelError unless the row is a distribution."""
    top = row.max() if len(row) > 0 else -np.inf
    if top == -np.inf:
        why = "every child has probability zero" if len(row) > 0 else "the array is empty"
        raise ModelError("the state has no possible children (%s); expected step to return a Leaf "
                         "for a finished result, and children to give -inf for a choice that leads "
                         "nowhere" % why)
    if not top < np.inf:
        bad = int(np.argmin(row < np.inf))
        raise ModelError("the log-probability of child %d is %g; expected a finite number or -inf"
                         % (bad, row[bad]))
