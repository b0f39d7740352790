# SPDX-License-Identifier: MIT
"""Makes what is timed: a statement and its set-up become one function, as timeit makes one.

    run = _sonde.TimeRun([EMPTY, side("json.dumps(1)", "import json"), side(function)])
    run.plan_budget(1.5)        # or run.plan_repeats(number, repeat)
    drive(run)                  # measures until the plan is done
    run.figures(0)

The function is a generator: it runs the set-up, waits to be sent an iterator of so many turns, calls begin(), goes through Python's own loop,
calls end() and waits again.  The parts are put together as syntax trees, so a text with line breaks in it stays as it was typed, and a
traceback has the lines of the statement.
"""
import _ast
import itertools

FILE = "<timed {0}>"  # of the code object: lines of the set-up first, then those of the statement
SETUP, STATEMENT = "<setup>", "<statement>"  # by what users read in tracebacks

# A statement sees these names: they are such as nobody types.
_TEMPLATE = """
{0} _inner(_sonde_begin, _sonde_end{1}):
    _sonde_setup
    _sonde_turns = yield
    while True:
        _sonde_begin()
        for _sonde_turn in _sonde_turns:
            _sonde_stmt
            pass
        _sonde_end()
        _sonde_turns = yield
"""
_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT; 3.8 has it as well
_TREE = _ast.PyCF_ONLY_AST
_COROUTINE = 0x80 | 0x200  # CO_COROUTINE, CO_ASYNC_GENERATOR: what a module with `await` is compiled to


def _n_lines(text):
    return text.count("\n") + 1


def _checked(text, name):
    """The syntax tree of a text, and whether it awaits; SyntaxError for what cannot stand in a function's loop either."""
    try:
        compile(text, name, "exec", dont_inherit=True)
        flags, awaits = 0, False
    except SyntaxError:
        code = _compiled_with_await(text, name)
        if code is None:
            raise
        flags, awaits = _AWAIT, bool(code.co_flags & _COROUTINE)
    return compile(text, name, "exec", _TREE | flags, True), awaits


def _compiled_with_await(text, name):
    try:
        return compile(text, name, "exec", _AWAIT, True)
    except SyntaxError:
        return None


def _replace(body, name, by):
    """Puts statements in the place of the expression statement that is `name` alone."""
    for at, node in enumerate(body):
        if isinstance(node, _ast.Expr) and isinstance(node.value, _ast.Name) and node.value.id == name:
            body[at:at + 1] = by
            return
    raise AssertionError(name)


def _tree(text, name, line):
    """Statements of a text, as if it began in that line."""
    tree, awaits = _checked(text, name)
    if line > 1:
        flags = _TREE | (_AWAIT if awaits else 0)
        tree = compile("\n" * (line - 1) + text, name, "exec", flags, True)
    return tree.body, awaits


def side(statement="pass", setup="pass", namespace=None, place=0):
    """(function, is_async): what _sonde.TimeRun times.

    Statement and set-up are text or callables, as of timeit; names are looked up in `namespace`, a new one without it.  `place` tells
    several apart in tracebacks.  SyntaxError has "<setup>" or "<statement>" for its file; ValueError: neither text nor callable.
    """
    for what, kind in ((statement, "stmt"), (setup, "setup")):
        if not isinstance(what, str) and not callable(what):
            raise ValueError("{0} is neither a string nor callable".format(kind))
    made, file = {}, FILE.format(place)
    given = [name for name, what in (("_sonde_setup", setup), ("_sonde_stmt", statement)) if callable(what)]
    setup_text = "_sonde_setup()" if callable(setup) else setup
    statement_text = "_sonde_stmt()" if callable(statement) else statement
    first, setup_awaits = _tree(setup_text, SETUP, 1)
    then, awaits = _tree(statement_text, STATEMENT, _n_lines(setup_text) + 1)
    is_async = awaits or setup_awaits
    compile(setup_text + "\n" + statement_text, STATEMENT, "exec", _AWAIT if is_async else 0, True)  # both together, as timeit
    head = "async def" if is_async else "def"
    tree = compile(_TEMPLATE.format(head, "".join(", {0}={0}".format(name) for name in given)), file, "exec", _TREE, True)
    function = tree.body[0]
    loop = next(node for node in function.body if isinstance(node, _ast.While)).body[1]
    _replace(loop.body, "_sonde_stmt", then)
    _replace(function.body, "_sonde_setup", first)
    namespace = {"__name__": "__main__", "__builtins__": __builtins__} if namespace is None else namespace
    made.update(_sonde_stmt=statement, _sonde_setup=setup)
    exec(compile(tree, file, "exec", dont_inherit=True), namespace, made)
    return made["_inner"], is_async


def empty():
    """The loop alone; the first that _sonde.TimeRun wants."""
    return side("pass", "pass", {})


def drive(run):
    """Measures until the plan of a run is done: in an event loop of its own where a statement awaits."""
    try:
        awaitable = run.step()
        if awaitable is not None:
            _run_coroutine(go_on(run, awaitable))
        return
    except RuntimeError as error:
        stop = _stop_of(error)
        if stop is None:
            raise
    finally:
        run.stop()
    raise stop


async def go_on(run, awaitable=None):
    """The same within a running event loop."""
    try:
        if awaitable is None:
            awaitable = run.step()
        while awaitable is not None:
            await awaitable
            awaitable = run.step()
    finally:
        run.stop()


def _stop_of(error):
    """The StopIteration or StopAsyncIteration of the statement itself: a generator, as ours is, lets none out, and raises RuntimeError."""
    cause = error.__cause__
    trace = cause.__traceback__ if isinstance(cause, (StopIteration, StopAsyncIteration)) else None
    code = trace.tb_frame.f_code if trace is not None else None
    return cause if code is not None and code.co_name == "_inner" and code.co_filename.startswith("<timed ") else None


def _run_coroutine(coroutine):
    """As asyncio.run, which would leave the caller without its current event loop."""
    import asyncio

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        try:
            _finish_tasks(asyncio, loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
            if hasattr(loop, "shutdown_default_executor"):
                loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()


def _finish_tasks(asyncio, loop):
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()

    async def wait():
        await asyncio.gather(*tasks, return_exceptions=True)

    if tasks:
        loop.run_until_complete(wait())


def memory_of(function, is_async):
    """(bytes, peak bytes) that one execution allocates; what the loop itself does is not in them."""
    from . import memory

    figures = []
    for make, awaits in (empty(), (function, is_async)):
        body = make(_nothing, _nothing)
        if awaits:
            figures.append(_run_coroutine(_allocate_async(memory, body)))
            continue
        send = body.send
        send(None)
        turns = itertools.repeat(None, 1)
        with memory.track(current_thread_only=True) as tracked:
            send(turns)
        figures.append(tracked.summary)
    loop, all_of_it = figures
    return tuple(max(0, all_of_it[name] - loop[name]) for name in ("bytes", "peak_bytes"))


async def _allocate_async(memory, body):
    await body.asend(None)
    step = body.asend(itertools.repeat(None, 1))
    with memory.track(current_thread_only=True) as tracked:
        await step
    return tracked.summary


def _nothing():
    pass


def traceback_text(error, sides):
    """The traceback of what a statement raised, without our frames, its lines numbered as they were typed.

    `sides` are the (statement, setup) of all places.
    """
    import linecache
    import traceback

    n_setup = {}
    for place, (statement, setup) in enumerate(sides):
        file = FILE.format(place)
        setup, statement = (part if isinstance(part, str) else "" for part in (setup, statement))
        n_setup[file] = _n_lines(setup)
        text = setup + "\n" + statement + "\n"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    try:
        told = traceback.TracebackException(type(error), error, error.__traceback__)
        one, seen = told, set()
        while one is not None and id(one) not in seen:
            seen.add(id(one))
            _rename(one.stack, n_setup)
            one = one.__cause__ or one.__context__
        return "".join(told.format())
    finally:
        for file in n_setup:
            linecache.cache.pop(file, None)


def _rename(stack, n_setup):
    """Frames of ours go; those of the function are the set-up's or the statement's."""
    del stack[:next((at for at, frame in enumerate(stack) if frame.filename in n_setup), 0)]
    for frame in stack:
        if frame.filename not in n_setup:
            continue
        frame.line  # is looked up now, before the frame has another name
        before = n_setup[frame.filename]
        is_setup = frame.lineno <= before
        frame.filename = SETUP if is_setup else STATEMENT
        if frame.name == "_inner":
            frame.name = "<module>"
        if not is_setup:
            frame.lineno -= before
            if getattr(frame, "end_lineno", None) is not None:
                frame.end_lineno -= before
