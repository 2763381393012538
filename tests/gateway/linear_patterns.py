"""Is a regular expression linear on every text? A proof over its automaton, for Python's backtracking matcher.

    superlinear(r"(\\w+\\s?)*$")      # "two ways around the loop at ..." : exponential
    superlinear(r"\\w+@")            # "begins anew inside the loop at ...": quadratic when searched for
    superlinear(r"(?<!\\w)\\w+@")     # None

A matcher that backtracks tries the paths of an automaton one after the other. Their number grows with the text when
there is a state with two ways back to itself on the same characters (exponentially), or two states, each with a way
back to itself and the first with a way to the second, all on the same characters (polynomially): A. Weber, H. Seidl,
"On the degree of ambiguity of finite automata", 1991; N. Weideman and others, "Analyzing matching time behavior of
backtracking regular expression matchers", 2016. For `search` and `finditer` the automaton begins with a loop over
anything, which is the text before the match. Where a loop may simply end as a match, nothing is tried again.

What errs only towards "superlinear": look-around is taken to hold, possessive and atomic groups to give back.
Characters stand for their classes: all that a pattern names, their neighbours, and one of each sort.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_SORTS = "aZ0_ \n\té\u00dfЯяم\u0661張-.,:;@/'\"’|+(<>\\\u200b\u00a0"
_MOST_WAYS = 10_000
_COPIES = 3  # of what is repeated a fixed number of times; more of them read the same characters


@dataclass
class _Automaton:
    """States with edges on characters, and edges on nothing."""

    alphabet: str
    is_searched: bool
    on: list[list[tuple[frozenset[str], int]]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    maybe: set[int] = field(default_factory=set)
    """States behind which a condition must hold."""
    single: set[int] = field(default_factory=set)
    """Groups that read one character."""

    def state(self) -> int:
        self.on.append([])
        self.free.append([])
        return len(self.on) - 1

    def characters(self, keep: Any) -> frozenset[str]:
        return frozenset(filter(keep, self.alphabet))


def superlinear(pattern: str, flags: int = 0, *, is_searched: bool = True) -> str | None:
    """Why matching is not linear in the text; None when it is.

    Args:
        is_searched: with `search` or `finditer`; otherwise the whole text is matched from its first character.
    """
    compiled = re.compile(pattern, flags)
    items = list(_parser.parse(pattern, compiled.flags))
    once = _why(items, compiled.flags, is_searched=False, may_end=is_searched)
    if once is not None or not is_searched:
        return once
    # At a place that is not the text's first, each way on its own: an attempt is what all of them take together.
    ways = items[0][1][1] if len(items) == 1 and items[0][0] is op.BRANCH else [items]
    found = [_why(list(way), compiled.flags, is_searched=True, may_end=True) for way in ways]
    return next((each for each in found if each is not None), None)


def _why(items: list[Any], flags: int, *, is_searched: bool, may_end: bool) -> str | None:
    automaton = _Automaton("".join(sorted({*_SORTS, *_named(items)})), is_searched)
    start = before = automaton.state()
    if is_searched:
        automaton.on[before].append((automaton.characters(lambda _: True), before))
        start = automaton.state()
        items = _guard(automaton, items, before, start, flags)
    end = _build(automaton, items, start, flags)
    return _ambiguity(automaton, before, end, may_end=may_end)


def _guard(automaton: _Automaton, items: list[Any], before: int, start: int, flags: int) -> list[Any]:
    """Join the text before to the pattern's start, through a look-behind of one character if it begins with one."""
    if items and items[0][0] in (op.ASSERT, op.ASSERT_NOT) and items[0][1][0] < 0:
        inner = list(items[0][1][1])
        if len(inner) == 1 and (held := _class(automaton, inner[0], flags)) is not None:
            if items[0][0] is op.ASSERT_NOT:
                held = automaton.characters(lambda each: each not in held)
            automaton.on[before].append((held, start))
            return items[1:]
    if items and items[0] == (op.AT, op.AT_BOUNDARY) and len(items) > 1:
        first = _first(automaton, items[1], flags)
        if first and all(re.match(r"\w", each) for each in first):
            automaton.on[before].append((automaton.characters(lambda each: not re.match(r"\w", each)), start))
            return items[1:]
    automaton.free[before].append(start)
    return items


def _first(automaton: _Automaton, item: Any, flags: int) -> frozenset[str] | None:
    """What an item may begin with, where that is easily said."""
    kind, value = item
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT) and value[0]:
        return _first(automaton, next(iter(value[2])), flags)
    if kind is op.SUBPATTERN:
        return _first(automaton, next(iter(value[3])), flags) if len(value[3]) else None
    if kind is op.BRANCH:
        firsts = [_first(automaton, next(iter(each)), flags) if len(each) else None for each in value[1]]
        return None if None in firsts else frozenset().union(*firsts)  # type: ignore[arg-type]
    return _class(automaton, item, flags)


def _class(automaton: _Automaton, item: Any, flags: int) -> frozenset[str] | None:
    """The characters of an item that reads one; None for any other."""
    kind, value = item
    if kind not in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
        return None
    one = _parser.SubPattern(_parser.State())
    one.append((kind, value))
    one.state.flags = flags
    matcher = re._compiler.compile(one, flags & ~re.DEBUG)  # type: ignore[attr-defined]
    return automaton.characters(matcher.fullmatch)


def _named(tree: Iterable[Any]) -> Iterator[str]:
    """Every character that a pattern names, and its neighbours, in both cases."""
    for item in tree:
        if isinstance(item, tuple) and len(item) == 2 and item[0] in (op.LITERAL, op.NOT_LITERAL):
            yield from _around(item[1])
        elif isinstance(item, tuple) and len(item) == 2 and item[0] is op.RANGE:
            yield from (*_around(item[1][0]), *_around(item[1][1]))
        elif isinstance(item, list | tuple | _parser.SubPattern):
            yield from _named(item)


def _around(code: int) -> Iterator[str]:
    for each in (code - 1, code, code + 1):
        if 0 <= each <= 0x10FFFF:
            yield from {chr(each), chr(each).lower()[0], chr(each).upper()[0]}


def _build(automaton: _Automaton, items: Iterable[Any], state: int, flags: int) -> int:
    """Add a sequence behind `state`; the state behind it."""
    for kind, value in items:
        if (held := _class(automaton, (kind, value), flags)) is not None:
            after = automaton.state()
            automaton.on[state].append((held, after))
            state = after
        elif kind is op.SUBPATTERN:
            number, added, removed, inner = value
            if inner.getwidth() == (1, 1):
                automaton.single.add(number)
            state = _build(automaton, inner, state, (flags | added) & ~removed)
        elif kind is op.ATOMIC_GROUP:
            state = _build(automaton, value, state, flags)
        elif kind is op.BRANCH:
            after = automaton.state()
            for branch in value[1]:
                way = automaton.state()
                automaton.free[state].append(way)
                automaton.free[_build(automaton, branch, way, flags)].append(after)
            state = after
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            state = _repeat(automaton, *value, state, flags)
        elif kind is op.AT and automaton.is_searched and _is_first(value, flags):
            return automaton.state()  # which nothing leads to: the text has begun before
        elif kind is op.AT and value is op.AT_BEGINNING and automaton.is_searched:
            after = automaton.state()
            automaton.on[state].append((frozenset("\n"), after))
            state = after
        elif kind in (op.ASSERT, op.ASSERT_NOT, op.AT):
            after = automaton.state()
            automaton.free[state].append(after)
            automaton.maybe.add(after)
            state = after
        elif kind is op.GROUPREF and value in automaton.single:
            after = automaton.state()
            automaton.on[state].append((automaton.characters(lambda _: True), after))
            state = after
        else:
            raise NotImplementedError(f"{kind}: a pattern with this is not shown to be linear")
    return state


def _is_first(value: Any, flags: int) -> bool:
    """True for an anchor that only holds at the first character of a text."""
    return value is op.AT_BEGINNING_STRING or (value is op.AT_BEGINNING and not flags & re.MULTILINE)


def _repeat(automaton: _Automaton, least: int, most: Any, inner: Any, state: int, flags: int) -> int:
    is_endless = most is op.MAXREPEAT
    for _ in range(min(least, _COPIES)):
        state = _build(automaton, inner, state, flags)
    if is_endless:
        loop = automaton.state()
        automaton.free[state].append(loop)
        automaton.free[_build(automaton, inner, loop, flags)].append(loop)
        after = automaton.state()
        automaton.free[loop].append(after)
        return after
    after = automaton.state()
    automaton.free[state].append(after)
    for _ in range(min(most - least, _COPIES)):
        state = _build(automaton, inner, state, flags)
        automaton.free[state].append(after)
    return after


def _ambiguity(automaton: _Automaton, start: int, end: int, *, may_end: bool) -> str | None:
    held_by = [held for edges in automaton.on for held, _ in edges]
    alike = {tuple(each in held for held in held_by): each for each in automaton.alphabet}
    telling = frozenset(alike.values())  # one of those that every edge treats alike
    # Steps on one character: where to, and whether there are several ways there on nothing.
    steps: dict[int, dict[str, dict[int, int]]] = {}
    ends: set[int] = set()
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if state in steps:
            continue
        steps[state] = ways = {}
        for way in _free_ways(automaton, state):
            if way[-1] == end and automaton.maybe.isdisjoint(way):
                ends.add(state)
            for held, after in automaton.on[way[-1]]:
                for character in held & telling:
                    onward = ways.setdefault(character, {})
                    onward[after] = onward.get(after, 0) + 1
                waiting.append(after)
    reached = _reached(steps)
    loops = [state for state in steps if reached[state] >> state & 1]
    for state in loops:
        if may_end and state in ends:
            continue
        if _has_two_ways_back(steps, reached, state):
            return f"two ways around the loop at state {state}"
    for first in loops:
        for second in loops:
            if first == second or not reached[first] >> second & 1 or (may_end and second in ends):
                continue
            # What has ended well within the loop was no waste: only ways around it that can't end count.
            spared = ends if may_end else set()
            if _meets(steps, reached, (first, first, second), (first, second, second), spared):
                what = "begins anew inside" if first == start else f"the loop at state {first} reads the same as"
                return f"{what} the loop at state {second}"
    return None


def _free_ways(automaton: _Automaton, state: int) -> Iterator[tuple[int, ...]]:
    """Every way on nothing from a state, without passing an edge twice: `(a*)*` has several ways from `a` to `a`."""
    stack: list[tuple[tuple[int, ...], frozenset[tuple[int, int]]]] = [((state,), frozenset())]
    for _ in range(_MOST_WAYS):
        if not stack:
            return
        way, passed = stack.pop()
        yield way
        edges = [(way[-1], after) for after in automaton.free[way[-1]]]
        stack += [((*way, edge[1]), passed | {edge}) for edge in edges if edge not in passed]
    raise NotImplementedError("too many ways on nothing: not shown to be linear")


_Steps = dict[int, dict[str, dict[int, int]]]


def _reached(steps: _Steps) -> dict[int, int]:
    """Return the states that each state leads to on at least one character: bit n stands for state n."""
    after = {state: frozenset[int]().union(*ways.values()) for state, ways in steps.items()}
    reached = dict.fromkeys(steps, 0)
    is_complete = False
    while not is_complete:
        is_complete = True
        for state in reversed(steps):  # the last states first, because most edges lead to a later state
            found = reached[state]
            for each in after[state]:
                found |= reached[each] | 1 << each
            is_complete = is_complete and found == reached[state]
            reached[state] = found
    return reached


def _meets(
    steps: _Steps,
    reached: dict[int, int],
    places: tuple[int, int, int],
    goal: tuple[int, int, int],
    spared: Collection[int],
) -> bool:
    """Return whether on some characters, at least one, each place leads to its goal.

    Args:
        reached: states that each state leads to; places that do not lead to their goal are not followed.
        spared: states that the last of them does not pass.
    """
    useful = [{state for state in steps if state == end or reached[state] >> end & 1} for end in goal]
    seen, waiting = set[tuple[int, int, int]](), deque([places])
    while waiting:
        for after in _together(steps, waiting.popleft(), useful):
            if after == goal:
                return True
            if after not in seen and after[-1] not in spared:
                seen.add(after)
                waiting.append(after)
    return False


def _together(steps: _Steps, places: tuple[int, int, int], useful: list[set[int]]) -> set[tuple[int, int, int]]:
    result: set[tuple[int, int, int]] = set()
    first, second, third = (steps[place] for place in places)
    for character in first.keys() & second.keys() & third.keys():
        ways = (each[character].keys() & held for each, held in zip((first, second, third), useful, strict=True))
        result.update(product(*ways))
    return result


def _has_two_ways_back(steps: _Steps, reached: dict[int, int], state: int) -> bool:
    """Return whether two ways lead from a state back to itself on the same characters."""
    seen, waiting = set[tuple[int, int, bool]](), deque([(state, state, False)])
    while waiting:
        one, other, differ = waiting.popleft()
        for character in steps[one].keys() & steps[other].keys():
            for a, ways in steps[one][character].items():
                if not reached[a] >> state & 1:
                    continue
                for b in steps[other][character]:
                    if not reached[b] >> state & 1:
                        continue
                    after = (a, b, differ or a != b or (one == other and a == b and ways > 1))
                    if after == (state, state, True):
                        return True
                    if after not in seen:
                        seen.add(after)
                        waiting.append(after)
    return False
