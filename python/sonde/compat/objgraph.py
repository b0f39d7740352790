# SPDX-License-Identifier: MIT
"""objgraph's functions, with its arguments, texts and pictures in DOT.

    from sonde.compat import objgraph
    objgraph.show_growth(limit=3)
    objgraph.show_backrefs(objgraph.by_type("Leak")[0], filename="chain.dot")

Tracked objects are counted and found in C.  As in the original, the collector runs before a search, and labels of pictures
come from repr().  sonde.heap does neither, knows sizes, and draws without graphviz.
"""
import collections
import gc
import inspect
import io
import itertools
import operator
import os
import re
import subprocess
import sys
import tempfile
import types

from .. import _sonde

try:
    from IPython import get_ipython as _get_ipython
except ImportError:
    IS_INTERACTIVE = False
else:
    IS_INTERACTIVE = hasattr(_get_ipython(), "kernel")
if IS_INTERACTIVE:
    try:
        import graphviz
    except ImportError:
        IS_INTERACTIVE = False

__version__ = "3.7.0"
__all__ = [
    "at", "at_addrs", "by_type", "count", "find_backref_chain", "find_ref_chain", "get_leaking_objects", "get_new_ids", "growth",
    "is_proper_module", "most_common_types", "show_backrefs", "show_chain", "show_growth", "show_most_common_types", "show_refs", "typestats",
]

# ---- names


def _get_obj_type(obj):
    return type(obj)


def _isinstance(object, classinfo):
    """As isinstance, but by the type itself: __class__ may say anything (mock does)."""
    return issubclass(type(object), classinfo)


def _name_of(kind, shortnames):
    module = None if shortnames else getattr(kind, "__module__", None)
    return "%s.%s" % (module, kind.__name__) if module else kind.__name__


def _short_typename(obj):
    return _name_of(_get_obj_type(obj), True)


def _long_typename(obj):
    return _name_of(_get_obj_type(obj), False)


# ---- counting and finding


def _matching(typename):
    """The types of tracked objects that have this name, with how many objects there are."""
    return [(kind, n) for kind, n in _sonde.heap_tracked_types() if _name_of(kind, "." not in typename) == typename]


def count(typename, objects=None):
    """Returns how many tracked objects, or of `objects`, have a type of this name; with a dot it is a qualified name."""
    if objects is None:
        return sum(n for kind, n in _matching(typename))
    name = _long_typename if "." in typename else _short_typename
    return sum(1 for o in objects if name(o) == typename)


def typestats(objects=None, shortnames=True, filter=None):
    """Returns how many tracked objects, or of `objects`, there are of each type, as a dict; of those alone that `filter` lets through."""
    stats = {}
    if objects is None and filter is None:
        for kind, n in _sonde.heap_tracked_types():
            name = _name_of(kind, shortnames)
            stats[name] = stats.get(name, 0) + n
        return stats
    name_of = _short_typename if shortnames else _long_typename
    if objects is None:
        objects = gc.get_objects()
    try:
        for o in objects:
            if filter is None or filter(o):
                name = name_of(o)
                stats[name] = stats.get(name, 0) + 1
    finally:
        del objects  # a traceback would keep all of them
    return stats


def most_common_types(limit=10, objects=None, shortnames=True, filter=None):
    """Returns the `limit` most frequent types as (name, count), the most frequent first."""
    stats = sorted(typestats(objects, shortnames=shortnames, filter=filter).items(), key=operator.itemgetter(1), reverse=True)
    return stats[:limit] if limit else stats


def show_most_common_types(limit=10, objects=None, shortnames=True, file=None, filter=None):
    """Prints the most frequent types."""
    stats = most_common_types(limit, objects, shortnames=shortnames, filter=filter)
    width = max(len(name) for name, n in stats)
    for name, n in stats:
        (file or sys.stdout).write("%-*s %i\n" % (width, name, n))


def growth(limit=10, peak_stats={}, shortnames=True, filter=None):
    """Returns types with more objects than ever before, as (name, count, more than at the peak), and notes the new peaks in `peak_stats`."""
    gc.collect()
    stats = typestats(shortnames=shortnames, filter=filter)
    grown = []
    for name, n in stats.items():
        if n > peak_stats.get(name, 0):
            grown.append((name, n, n - peak_stats.get(name, 0)))
            peak_stats[name] = n
    grown.sort(key=operator.itemgetter(2), reverse=True)
    return grown[:limit] if limit else grown


def show_growth(limit=10, peak_stats=None, shortnames=True, file=None, filter=None):
    """Prints types with more objects than ever before."""
    more = {} if peak_stats is None else {"peak_stats": peak_stats}
    grown = growth(limit, shortnames=shortnames, filter=filter, **more)
    if grown:
        width = max(len(name) for name, n, delta in grown)
        for name, n, delta in grown:
            (file or sys.stdout).write("%-*s%9d %+9d\n" % (width, name, n, delta))


def get_new_ids(skip_update=False, limit=10, sortby="deltas", shortnames=None, file=None, _state={}):
    """Returns the addresses of objects made since the last call, by the name of their type, and prints how many there are."""
    if not _state:
        _state.update(old=collections.defaultdict(set), current=collections.defaultdict(set), new=collections.defaultdict(set), shortnames=True)
    new = _state["new"]
    if skip_update:
        return new
    if shortnames is not None:
        _state["shortnames"] = shortnames
    name_of = _short_typename if _state["shortnames"] else _long_typename
    gc.collect()
    objects = gc.get_objects()
    old, current = _state["current"], _state["old"]  # what was current is old; the other's sets are used again
    _state["old"], _state["current"] = old, current
    for ids in itertools.chain(current.values(), new.values()):
        ids.clear()
    for o in objects:
        current[name_of(o)].add(id(o))
    del objects
    rows = []
    for name in sorted(set(old) | set(current)):
        if not old[name] and not current[name]:
            for ids in (old, current, new):
                ids.pop(name, None)
            continue
        new[name].update(current[name] - old[name])
        rows.append((name, len(old[name]), len(current[name]), len(new[name]), len(current[name]) - len(old[name])))
    rows.sort(key=operator.itemgetter({"old": 1, "current": 2, "new": 3, "deltas": 4}[sortby], 0), reverse=True)
    rows = rows if limit is None else rows[:limit]
    if rows:
        width = max(len(row[0]) for row in rows)
        rule = "=" * (width + 13 * 4)
        head = "%-*s%13s%13s%13s%13s" % (width, "Type", "Old_ids", "Current_ids", "New_ids", "Count_Deltas")
        lines = ["%-*s%13d%13d%+13d%+13d" % ((width,) + row) for row in rows]
        print("\n".join([rule, head, rule] + lines + [rule]), file=file or sys.stdout)
    return new


def get_leaking_objects(objects=None):
    """Returns tracked objects, or of `objects`, that no tracked object refers to."""
    gc.collect()
    tracked = gc.get_objects()
    if objects is None:
        objects = tracked
    o = None
    try:
        left = set(map(id, objects))
        for o in tracked:
            if o is not objects:
                left.difference_update(map(id, gc.get_referents(o)))
        return [o for o in objects if id(o) in left]
    finally:
        del objects, tracked, o  # a traceback would keep all of them


def by_type(typename, objects=None):
    """Returns tracked objects, or of `objects`, whose type has this name; with a dot it is a qualified name."""
    if objects is None:
        return _sonde.heap_tracked_of(tuple(kind for kind, n in _matching(typename)))
    name = _long_typename if "." in typename else _short_typename
    return [o for o in objects if name(o) == typename]


def at(addr):
    """Returns the tracked object at this address, or None."""
    return next((o for o in gc.get_objects() if id(o) == addr), None)


def at_addrs(address_set):
    """Returns the tracked objects at these addresses."""
    return [o for o in gc.get_objects() if id(o) in address_set]


def is_proper_module(obj):
    """Tells whether it is a module that is loaded under its name."""
    return inspect.ismodule(obj) and obj is sys.modules.get(getattr(obj, "__name__", None))


# ---- chains


def find_ref_chain(obj, predicate, max_depth=20, extra_ignore=()):
    """Returns a shortest chain from obj to an object that the predicate accepts; [obj]: there is none."""
    return _find_chain(obj, predicate, gc.get_referents, max_depth=max_depth, extra_ignore=extra_ignore)[::-1]


def find_backref_chain(obj, predicate, max_depth=20, extra_ignore=()):
    """Returns a shortest chain from an object that the predicate accepts to obj; [obj]: there is none."""
    return _find_chain(obj, predicate, gc.get_referrers, max_depth=max_depth, extra_ignore=extra_ignore)


def _find_chain(obj, predicate, edge_func, max_depth=20, extra_ignore=()):
    queue, depth, parent = collections.deque([obj]), {id(obj): 0}, {id(obj): None}
    ignore = set(extra_ignore)
    ignore.update(map(id, (extra_ignore, queue, depth, parent, ignore)))
    ignore.update((id(sys._getframe()), id(sys._getframe(1))))  # ours; a name for one would be a cycle
    gc.collect()
    while queue:
        target = queue.popleft()
        if predicate(target):
            chain = []
            while target is not None:
                chain.append(target)
                target = parent[id(target)]
            return chain
        if depth[id(target)] >= max_depth:
            continue
        neighbours = edge_func(target)
        ignore.add(id(neighbours))
        for source in neighbours:
            if id(source) not in ignore and id(source) not in depth:
                depth[id(source)] = depth[id(target)] + 1
                parent[id(source)] = target
                queue.append(source)
    return [obj]


# ---- pictures


def show_backrefs(objs, max_depth=3, extra_ignore=(), filter=None, too_many=10, highlight=None, filename=None, extra_info=None,
                  refcounts=False, shortnames=True, output=None, extra_node_attrs=None):
    """Draws what refers to an object, or to each of a list, up to modules."""
    return _show_graph(objs, gc.get_referrers, False, max_depth, extra_ignore, filter, too_many, highlight, filename, extra_info,
                       refcounts, shortnames, output, is_proper_module, extra_node_attrs)


def show_refs(objs, max_depth=3, extra_ignore=(), filter=None, too_many=10, highlight=None, filename=None, extra_info=None,
              refcounts=False, shortnames=True, output=None, extra_node_attrs=None):
    """Draws what an object, or each of a list, refers to."""
    return _show_graph(objs, gc.get_referents, True, max_depth, extra_ignore, filter, too_many, highlight, filename, extra_info,
                       refcounts, shortnames, output, None, extra_node_attrs)


def show_chain(*chains, **kw):
    """Draws chains that find_backref_chain found, or with backrefs=False find_ref_chain."""
    backrefs = kw.pop("backrefs", True)
    chains = [chain for chain in chains if chain]
    ids = set(map(id, itertools.chain(*chains)))
    max_depth = max(map(len, chains)) - 1
    if backrefs:
        show_backrefs([chain[-1] for chain in chains], max_depth=max_depth, filter=lambda x: id(x) in ids, **kw)
    else:
        show_refs([chain[0] for chain in chains], max_depth=max_depth, filter=lambda x: id(x) in ids, **kw)


def _gradient(start_color, end_color, depth, max_depth):
    if max_depth == 0:
        return start_color
    part = float(depth) / max_depth
    return tuple(a * (1 - part) + b * part for a, b in zip(start_color, end_color))


def _put_node(f, target, at_depth, max_depth, highlight, extra_info, refcounts, shortnames, extra_node_attrs):
    node = _obj_node_id(target)
    f.write('  %s[label="%s"%s];\n' % (node, _obj_label(target, extra_info, refcounts, shortnames), _obj_attrs(target, extra_node_attrs)))
    h, s, v = _gradient((0, 0, 1), (0, 0, .3), at_depth, max_depth)
    if inspect.ismodule(target):
        h, s = .3, 1
    if highlight and highlight(target):
        h, s, v = .6, .6, .5 + v * .5
    f.write('  %s[fillcolor="%g,%g,%g"];\n' % (node, h, s, v))
    if v < .5:
        f.write("  %s[fontcolor=white];\n" % node)
    if hasattr(getattr(target, "__class__", None), "__del__"):
        f.write("  %s->%s_has_a_del[color=red,style=dotted,len=0.25,weight=10];\n" % (node, node))
        f.write('  %s_has_a_del[label="__del__",shape=doublecircle,height=0.25,color=red,fillcolor="0,.5,1",fontsize=6];\n' % node)


def _put_too_many(f, target, skipped, at_depth, max_depth, is_forwards):
    node = _obj_node_id(target)
    h, s, v = _gradient((0, 1, 1), (0, 1, .3), at_depth + 1, max_depth)
    edge = "%s->too_many_%s" % (node, node) if is_forwards else "too_many_%s->%s" % (node, node)
    label = "%d more %s" % (skipped, "references" if is_forwards else "backreferences")
    f.write("  %s[color=red,style=dotted,len=0.25,weight=10];\n" % edge)
    f.write('  too_many_%s[label="%s",shape=box,height=0.25,color=red,fillcolor="%g,%g,%g",fontsize=6];\n' % (node, label, h, s, v))
    f.write("  too_many_%s[fontcolor=white];\n" % node)


def _show_graph(objs, edge_func, swap_source_target, max_depth=3, extra_ignore=(), filter=None, too_many=10, highlight=None, filename=None,
                extra_info=None, refcounts=False, shortnames=True, output=None, cull_func=None, extra_node_attrs=None):
    if not _isinstance(objs, (list, tuple)):
        objs = [objs]
    is_interactive = False
    if filename and output:
        raise ValueError("Cannot specify both output and filename.")
    if output:
        f = output
    elif filename and filename.endswith(".dot"):
        f = open(filename, "w", encoding="utf-8")
        dot_filename = filename
    elif IS_INTERACTIVE and not filename:
        is_interactive = True
        f = io.StringIO()
    else:
        fd, dot_filename = tempfile.mkstemp(prefix="objgraph-", suffix=".dot", text=True)
        f = os.fdopen(fd, "w", encoding="utf-8")
    f.write("digraph ObjectGraph {\n  node[shape=box, style=filled, fillcolor=white];\n")
    queue, depth, ignore = collections.deque(), {}, set(extra_ignore)
    ignore.update(map(id, (objs, extra_ignore, queue, depth, ignore)))
    # Our frames and their variables; a name for one would be a cycle.
    ignore.update((id(sys._getframe()), id(sys._getframe().f_locals), id(sys._getframe(1)), id(sys._getframe(1).f_locals)))
    for obj in objs:
        f.write("  %s[fontcolor=red];\n" % _obj_node_id(obj))
        depth[id(obj)] = 0
        queue.append(obj)
        del obj
    gc.collect()
    nodes = 0
    while queue:
        nodes += 1
        target = queue.popleft()
        at_depth = depth[id(target)]
        _put_node(f, target, at_depth, max_depth, highlight, extra_info, refcounts, shortnames, extra_node_attrs)
        if at_depth >= max_depth or (cull_func is not None and cull_func(target)):
            continue
        neighbours = edge_func(target)
        ignore.add(id(neighbours))
        drawn = skipped = 0
        for source in neighbours:
            if id(source) in ignore or (filter and not filter(source)):
                continue
            if drawn >= too_many:
                skipped += 1
                continue
            ends = (target, source) if swap_source_target else (source, target)
            ignore.add(id(ends))
            f.write("  %s -> %s%s;\n" % (_obj_node_id(ends[0]), _obj_node_id(ends[1]), _edge_label(ends[0], ends[1], shortnames)))
            ignore.discard(id(ends))
            del ends
            if id(source) not in depth:
                depth[id(source)] = at_depth + 1
                queue.append(source)
            drawn += 1
            del source
        del neighbours
        if skipped:
            _put_too_many(f, target, skipped, at_depth, max_depth, swap_source_target)
    f.write("}\n")
    if output:
        return None
    if is_interactive:
        return graphviz.Source(f.getvalue())
    f.close()
    print("Graph written to %s (%d nodes)" % (dot_filename, nodes))
    _present_graph(dot_filename, filename)
    return None


def _present_graph(dot_filename, filename=None):
    """Makes the picture that was asked for of a .dot file, with graphviz; without a name, shows it."""
    if filename == dot_filename:
        return
    if not filename and _program_in_path("xdot"):
        print("Spawning graph viewer (xdot)")
        subprocess.Popen(["xdot", dot_filename], close_fds=True)
    elif _program_in_path("dot"):
        if not filename:
            print("Graph viewer (xdot) not found, generating a png instead")
            filename = dot_filename[:-4] + ".png"
        command = ["dot", "-T" + os.path.splitext(filename)[1][1:], "-o" + filename, dot_filename]
        dot = subprocess.Popen(command, close_fds=False)
        dot.wait()
        if dot.returncode != 0:
            print('dot failed (exit code %d) while executing "%s"' % (dot.returncode, " ".join(command)))
        else:
            print("Image generated as %s" % filename)
    elif filename:
        print("Image renderer (dot) not found, not doing anything else")
    else:
        print("Graph viewer (xdot) and image renderer (dot) not found, not doing anything else")


# ---- labels


def _obj_node_id(obj):
    return "o%d" % id(obj)


def _obj_attrs(obj, extra_node_attrs):
    if extra_node_attrs is None:
        return ""
    return ", " + ", ".join('%s="%s"' % (name, _quote(value)) for name, value in sorted(extra_node_attrs(obj).items()) if value is not None)


def _obj_label(obj, extra_info=None, refcounts=False, shortnames=True):
    lines = [_short_typename(obj) if shortnames else _long_typename(obj)]
    if refcounts:
        lines[0] += " [%d]" % (sys.getrefcount(obj) - _OWN_REFERENCES)
    lines.append(_safe_repr(obj))
    if extra_info:
        lines.append(str(extra_info(obj)))
    return _quote("\n".join(lines))


def _quote(s):
    return s.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\0", "\\\\0")


def _safe_repr(obj):
    try:
        return _short_repr(obj)
    except Exception:
        return "(unrepresentable)"


def _name_or_repr(value):
    try:
        result = value.__name__
    except AttributeError:
        result = repr(value)[:40]
    return result if _isinstance(result, str) else repr(value)[:40]


def _short_repr(obj):
    if _isinstance(obj, (type, types.ModuleType, types.BuiltinMethodType, types.BuiltinFunctionType)):
        return _name_or_repr(obj)
    if _isinstance(obj, types.MethodType):
        return _name_or_repr(obj.__func__) + (" (bound)" if obj.__self__ else "")
    if _isinstance(obj, types.LambdaType) and obj.__name__ == "<lambda>":
        return "lambda: %s:%s" % (os.path.basename(obj.__code__.co_filename), obj.__code__.co_firstlineno)
    if _isinstance(obj, types.FrameType):
        return "%s:%s" % (obj.f_code.co_filename, obj.f_lineno)
    if _isinstance(obj, (tuple, list, dict, set)):
        return "%d items" % len(obj)
    return repr(obj)[:40]


def _edge_label(source, target, shortnames=True):
    if _isinstance(target, dict) and target is getattr(source, "__dict__", None):
        return ' [label="__dict__",weight=10]'
    names = ()
    if _isinstance(source, types.FrameType):
        names = ("f_locals", "f_globals")
    elif _isinstance(source, types.MethodType):
        names = ("__self__", "__func__")
    elif _isinstance(source, types.FunctionType):
        names = dir(source)
    for name in names:
        if target is getattr(source, name):
            return ' [label="%s",weight=10]' % _quote(name)
    if _isinstance(source, dict):
        for key, value in source.items():
            if value is target:
                if _isinstance(key, str) and _is_identifier(key):
                    return ' [label="%s",weight=2]' % _quote(key)
                kind = _short_typename(key) if shortnames else _long_typename(key)
                return ' [label="%s"]' % _quote(kind + "\n" + _safe_repr(key))
    return ""


_is_identifier = re.compile("[a-zA-Z_][a-zA-Z_0-9]*$").match


def _program_in_path(program):
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.path.isfile(os.path.join(folder, name)) for folder in folders for name in (program, program + ".exe"))


_OWN_REFERENCES = 4  # to an object while it is drawn, as the original counts them
