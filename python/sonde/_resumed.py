# SPDX-License-Identifier: MIT
"""Wraps generators and coroutines so that a profiler is on only while the wrapped one runs."""
from . import _sonde


def generator(func, begin, end):
    def wrapper(*args, **kw):
        return (yield from _sonde.Resumed(begin, end, func(*args, **kw)))

    return wrapper


def coroutine(func, begin, end):
    async def wrapper(*args, **kw):
        return await _sonde.Resumed(begin, end, func(*args, **kw))

    return wrapper


def async_generator(func, begin, end):
    async def wrapper(*args, **kw):
        body = func(*args, **kw)
        held = [body.asend(None)]  # the next step or item: a variable would keep it alive, and what was thrown
        while True:
            try:
                held.append(await _sonde.Resumed(begin, end, held.pop()))
            except StopAsyncIteration:
                return
            try:
                held.append(body.asend((yield held.pop())))
            except BaseException as raised:  # by athrow() or aclose(): the body answers
                held.append(body.athrow(raised))

    return wrapper
