# SPDX-License-Identifier: MIT
"""Where a Profiler meets other packages.  Each function is imported by the extension at its first use."""


def data_frame(profiler):
    """df(): every interval, indexed by name.  Numbers are float64, NaN where nothing was measured."""
    try:
        import numpy
        import pandas
    except ImportError as why:
        raise ImportError("df() needs pandas, which is not installed; rows() and Arrow work without it", name=why.name) from why
    names, columns = profiler._columns()
    # numpy copies: the frame is the user's to change.
    data = {k: numpy.frombuffer(v, dtype="f8").copy() if isinstance(v, bytes) else v for k, v in columns.items()}
    return pandas.DataFrame(data, index=names, columns=list(columns))


def rich_table(profiler):
    """__rich__(): the figures that fit on a terminal; rows() has them all."""
    from rich.table import Table

    names, columns = list(profiler._columns()[1]), ("time:duration", "time:kind", "memory:diff_rss", "memory:peak_rss", "memory:unit")
    table = Table(title="Profiler")
    table.add_column("name", style="bold")
    for column in columns:
        table.add_column(column, justify="right")
    for row in profiler.rows():
        cells = [row[0]] + [row[1 + names.index(column)] for column in columns]
        table.add_row(*("" if cell is None else "{0:.6g}".format(cell) if isinstance(cell, float) else str(cell) for cell in cells))
    return table


def decorate(section_and_function):
    """profiler("name") as a decorator: every call is a section of its own; a coroutine's lasts until it is done."""
    import functools
    import inspect

    section, function = section_and_function
    profiler, name = section.profiler, section.name
    options = {"memory_unit": section.memory_unit, "time_kind": section.time_kind}

    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def measured(*args, **kwargs):
            with profiler(name, **options):
                return await function(*args, **kwargs)
    else:
        @functools.wraps(function)
        def measured(*args, **kwargs):
            with profiler(name, **options):
                return function(*args, **kwargs)
    return measured
