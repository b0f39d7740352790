# SPDX-License-Identifier: MIT
"""sonde.heap: what is alive in this process, what grew, and why.

    from sonde import heap

    before = heap.snapshot()
    ...
    after = heap.snapshot()
    print(after)                      # what holds much, and objects by type
    print(after - before)             # what grew
    print(heap.why_alive(obj))        # the way from a module, a variable or the interpreter to the object
    heap.show_backrefs(obj, filename="chain.svg")

A snapshot follows what the interpreter's garbage collector tracks and all that this refers to.  It runs no code of the program,
starts no collection and makes no object while it looks.  Answers are addresses: they keep nothing alive.  Wherever an object is
asked about, it can be given itself or as its address (so an int is always an address).
"""
import collections
import os
import sys

from . import _sonde

__all__ = [
    "Change", "Difference", "Groups", "Path", "Picture", "Row", "Snapshot", "Step", "growth", "show_backrefs", "show_growth",
    "show_most_common_types", "show_refs", "snapshot", "why_alive",
]

_ROWS = 20  # of a printed table

Row = collections.namedtuple("Row", "name count bytes retained")
Row.__doc__ = "A group of objects: how many, their bytes, and what they retain (None without references)."
Change = collections.namedtuple("Change", "name count bytes count_delta bytes_delta rises")
Change.__doc__ = "A type in the last of several snapshots, compared with the first; in how many intervals its count rose."
Step = collections.namedtuple("Step", "address type name")
Step.__doc__ = "An object on a path, and how the one before refers to it; of the first one, what is known of it."


def _mib(n):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(n) >= size:
            return "{0:,.1f} {1}".format(n / size, unit)
    return "{0:,} B".format(n)


def _table(head, rows, more):
    """Numbers to the right, the name at the end."""
    cells = [head] + rows
    widths = [max(len(row[i]) for row in cells) for i in range(len(head) - 1)]
    lines = ["  ".join([cell.rjust(width) for cell, width in zip(row, widths)] + [row[-1]]) for row in cells]
    if more > 0:
        lines.append("{0:,} more rows".format(more))
    return "\n".join(lines)


class Path(tuple):
    """The steps from a root to an object, the root first: each has `address`, `type` and `name`.

    `root` is the kind of the root: module, thread (a variable of a function that runs), type, interpreter, or C (references that
    are counted and were not found).  `text` is the path as one would write it: app.cache._store['x'].
    """

    def __new__(cls, found):
        self = super().__new__(cls, [Step(*step) for step in found[2]])
        self.root, self.text = found[0], found[1]
        return self

    def __str__(self):
        lines = [self.text, "  root: {0}".format(self.root)]
        for step in self:
            lines.append("  {0} at 0x{1:x}{2}".format(step.type, step.address, "  " + step.name if step.name else ""))
        return "\n".join(lines)

    def __repr__(self):
        return "<Path of {0} steps: {1}>".format(len(self), self.text)


class Groups:
    """Objects by a kind; `rows` has name, count, bytes and retained of each, the largest first."""

    def __init__(self, kind, rows):
        self.kind = kind
        self.rows = [Row(*row) for row in rows]

    def __iter__(self):
        return iter(self.rows)

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        return "<Groups by {0}: {1:,} rows>".format(self.kind, len(self.rows))

    def __str__(self):
        total = sum(row.bytes for row in self.rows) or 1
        has_retained = any(row.retained is not None for row in self.rows)
        head = ["count", "bytes", "%"] + (["retained"] if has_retained else []) + [self.kind]
        rows = [["{0:,}".format(row.count), "{0:,}".format(row.bytes), "{0:.1f}".format(100 * row.bytes / total)]
                + (["{0:,}".format(row.retained)] if has_retained else []) + [row.name] for row in self.rows[:_ROWS]]
        return _table(head, rows, len(self.rows) - _ROWS)


class Difference:
    """What a later snapshot has and an earlier one has not: by type in `rows`, by object in `added` and `gone`.

    An object is the same when its address and its type's name are; an address that was used again deceives.
    """

    def __init__(self, after, before):
        self._after, self._before = after, before
        self.rows = [Change(*row) for row in _sonde.heap_changes((before, after)) if row[3] or row[4]]

    @property
    def added(self):
        """The objects of the later snapshot that the earlier one has not, as a set of the later one."""
        return self._after.only_in(self._before)

    @property
    def gone(self):
        """The objects of the earlier snapshot that the later one has not, as a set of the earlier one."""
        return self._before.only_in(self._after)

    @property
    def count(self):
        """By how much the number of objects changed."""
        return self._after.count - self._before.count

    @property
    def bytes(self):
        """By how much the bytes changed."""
        return self._after.bytes - self._before.bytes

    def __repr__(self):
        return "<Difference of two snapshots: {0:+,} objects, {1:+,} bytes>".format(self.count, self.bytes)

    def __str__(self):
        head = "{0:+,} objects, {1:+,} bytes".format(self.count, self.bytes)
        return head + "\n" + _changes(self.rows, _ROWS) if self.rows else head


def _changes(rows, limit):
    head = ["count", "+/-", "bytes", "+/-", "type"]
    cells = [["{0:,}".format(row.count), "{0:+,}".format(row.count_delta), "{0:,}".format(row.bytes),
              "{0:+,}".format(row.bytes_delta), row.name] for row in rows[:limit]]
    return _table(head, cells, len(rows) - limit)


class Snapshot:
    """The objects of this process at one moment: made by snapshot()."""

    def __init__(self, found):
        self._found = found

    @property
    def count(self):
        """How many objects there are."""
        return self._found.count

    @property
    def bytes(self):
        """The sum of their sizes, as sys.getsizeof tells them (a __sizeof__ written in Python is not called)."""
        return self._found.bytes

    @property
    def held_bytes(self):
        """Bytes of attribute values that stand beside their objects (3.11 and 3.12), which no size counts."""
        return self._found.held_bytes

    @property
    def edges(self):
        """How many references there are; None for graph=False."""
        return self._found.edges

    @property
    def garbage(self):
        """What no root reaches, and the collector has not freed yet, as a set."""
        return self._found.garbage

    @property
    def other_interpreters(self):
        """How many other interpreters the process has; their objects are not in the snapshot."""
        return self._found.other_interpreters

    @property
    def rss_bytes(self):
        """The memory of the whole process when the snapshot was taken."""
        return self._found.rss_bytes

    def __contains__(self, x):
        return x in self._found

    def size(self, x):
        """Returns the bytes of one object, as sys.getsizeof tells them."""
        return self._found.size(x)

    def held(self, x):
        """Returns the bytes of attribute values that stand beside the object (3.11 and 3.12)."""
        return self._found.held(x)

    def retained(self, x):
        """Returns the bytes that would go if the object went: its own and those of all that it dominates."""
        return self._found.retained(x)

    def dominator(self, x):
        """Returns the address of the nearest object without which nothing would lead to x; None: there is no single one."""
        return self._found.dominator(x)

    def referents(self, x):
        """Returns the addresses of what the object refers to, in its own order."""
        return self._found.referents(x)

    def referrers(self, x):
        """Returns the addresses of what refers to the object, each as often as it does."""
        return self._found.referrers(x)

    def path(self, x):
        """Returns a shortest Path from a root to the object; None: it is garbage."""
        found = self._found.path(x)
        return None if found is None else Path(found)

    def paths(self, x, n=10):
        """Returns at most n different Paths to the object, the shortest first."""
        return [Path(found) for found in self._found.paths(x, n)]

    def find(self, type):
        """Returns the objects of a class as a set: of the class itself, or of all whose name is "Session" or "app.Session"."""
        return self._found.find(type)

    def by(self, kind, of=None):
        """Returns Groups by type, owner (a dict is its object's), size, module or referrers; `of` a set: of these alone."""
        return Groups(kind, self._found.by(kind) if of is None else of._rows(kind))

    def suspects(self):
        """Returns what holds a tenth of all bytes or more, as dicts, the largest first; "sentence" says it."""
        return self._found.suspects()

    def __sub__(self, before):
        if not isinstance(before, Snapshot):
            return NotImplemented
        return Difference(self._found, before._found)

    def __repr__(self):
        return "<Snapshot of {0:,} objects, {1:,} bytes>".format(self.count, self.bytes)

    def __str__(self):
        lines = []
        if self.edges is not None:
            lines += [one["sentence"] for one in self.suspects()]
        lines.append("{0:,} objects, {1:,} bytes; the process has {2}, of which {3} are no objects that were found".format(
            self.count, self.bytes, _mib(self.rss_bytes), _mib(max(0, self.rss_bytes - self.bytes - self.held_bytes))))
        if self.edges is not None and self.garbage.count:
            lines.append("{0:,} of them are garbage: {1:,} bytes".format(self.garbage.count, self.garbage.bytes))
        if self.other_interpreters:
            lines.append("{0} other interpreter{1} of the process {2} not looked at".format(
                self.other_interpreters, "s" if self.other_interpreters > 1 else "", "are" if self.other_interpreters > 1 else "is"))
        lines.append(str(self.by("type")))
        return "\n".join(lines)


def _taken(graph, skip):
    """A snapshot of C; `skip` frames on top are ours, and this one."""
    return _sonde.heap_snapshot(graph, skip + 1)


def snapshot(*, graph=True):
    """Takes a snapshot of the objects of this interpreter.  With graph=False it has types and sizes alone, which is faster."""
    return Snapshot(_taken(graph, 1))


def growth(*snapshots):
    """Compares snapshots, the first one taken first: rows of Change, those that grew most in bytes first."""
    if len(snapshots) < 2:
        raise ValueError("growth() compares two snapshots or more")
    return [Change(*row) for row in _sonde.heap_changes(tuple(one._found for one in snapshots))]


def why_alive(obj):
    """Returns the shortest Path from a root to an object; print it.

    Variables that hold the object itself count only where nothing else leads to it.
    """
    found = _taken(True, 1).path_from_others(obj)
    return None if found is None else Path(found)


def show_most_common_types(limit=10, file=None):
    """Prints the types with most objects."""
    rows = sorted((Row(*row) for row in _taken(False, 1).by("type")), key=lambda row: (-row.count, row.name))[:limit]
    cells = [["{0:,}".format(row.count), "{0:,}".format(row.bytes), row.name] for row in rows]
    print(_table(["count", "bytes", "type"], cells, 0), file=file)


_last = ""  # what show_growth saw, as one text, so that it is no growth itself


def show_growth(limit=10, since=None, file=None):
    """Prints the types with more objects than at the last call, or than in the snapshot `since`; those that grew most first."""
    global _last
    now = _taken(False, 1).by("type")
    before = (line.rsplit("\t", 2) for line in _last.splitlines()) if since is None else (row[:3] for row in since.by("type"))
    before = {name: (int(n), int(size)) for name, n, size in before}
    rows = []
    for name, n, size, _ in now:
        old_n, old_size = before.get(name, (0, 0))
        if n > old_n:
            rows.append(Change(name, n, size, n - old_n, size - old_size, 1))
    rows.sort(key=lambda row: (-row.count_delta, row.name))
    if since is None:
        _last = "\n".join("{0}\t{1}\t{2}".format(*row) for row in now)
    if rows:
        cells = [["{0:,}".format(row.count), "{0:+,}".format(row.count_delta), "{0:+,}".format(row.bytes_delta), row.name] for row in rows[:limit]]
        print(_table(["count", "+/-", "bytes +/-", "type"], cells, 0), file=file)


class Picture:
    """Objects and references, drawn: the value of a notebook's cell shows it; save("x.svg") or save("x.dot") writes a file."""

    def __init__(self, draw):
        self._draw = draw

    def _repr_svg_(self):
        return self._draw(True).decode()

    def save(self, filename, force=False):
        """Writes the picture.  A file that is there already is replaced with force=True alone."""
        suffix = os.path.splitext(os.fspath(filename))[1].lower()
        if suffix not in (".svg", ".dot"):
            raise ValueError("a picture is written as .svg or .dot, not {0}".format(suffix or "without a suffix"))
        drawn = self._draw(suffix == ".svg")
        with open(filename, "wb" if force else "xb") as out:
            out.write(drawn)


def _show(objs, is_backwards, max_depth, too_many, filename, force):
    is_list = type(objs) in (list, tuple)
    wanted = tuple(id(one) for one in objs) if is_list else (id(objs),)
    found = _taken(True, 2)
    missing = [one for one in wanted if one not in found]
    if missing:
        found.size(missing[0])  # which says so
    # Our frames hold what is asked about, where frames are objects; a name for one would be a cycle.
    hidden = (id(sys._getframe(0)), id(sys._getframe(1))) + ((id(objs),) if is_list else ())
    picture = Picture(lambda is_svg: _sonde.heap_picture(found, wanted, hidden, is_backwards, max_depth, too_many, is_svg))
    if filename is not None:
        picture.save(filename, force)
    return picture


def show_refs(objs, max_depth=3, too_many=10, filename=None, force=False):
    """Draws what an object, or each of a list, refers to, so many steps far: a Picture, written to filename (.svg, .dot) if given."""
    return _show(objs, False, max_depth, too_many, filename, force)


def show_backrefs(objs, max_depth=3, too_many=10, filename=None, force=False):
    """Draws what refers to an object, or to each of a list, so many steps far: a Picture, written to filename (.svg, .dot) if given."""
    return _show(objs, True, max_depth, too_many, filename, force)
