# SPDX-License-Identifier: MIT
"""Lines whose hits are known: `#= N` at the end of a line says how often it begins, on every version of Python."""
import asyncio
import contextlib
import threading


def loops(n):
    total = 0                                   #= 1
    for i in range(n):                          #= 11
        total += i                              #= 10
    while total > 40:                           #= 6
        total -= 1                              #= 5
    for i in range(n): pass                     #= 1
    for i in range(n):                          #= 5
        if i == 2:                              #= 5
            continue                            #= 1
        if i == 4:                              #= 4
            break                               #= 1
    else:
        total = 0
    return total                                #= 1


def one_line(): return 1                        #= 7


def recursive(n):
    if n < 2:                                   #= 177
        return n                                #= 89
    return recursive(n - 1) + recursive(n - 2)  #= 88


def handled(fails):
    try:                                        #= 2
        if fails:                               #= 2
            raise ValueError                    #= 1
        result = 1                              #= 1
    except ValueError:                          #= 1
        result = 2                              #= 1
    finally:
        result = 3                              #= 2
    return result                               #= 2


def not_handled():
    one_line()                                  #= 1
    raise KeyError                              #= 1


@contextlib.contextmanager
def managed():
    before = 1                                  #= 2
    yield before                                #= 2
    before = 2                                  #= 2


def generated(n):
    for i in range(n):                          #= 11
        got = yield i                           #= 10
        i = got                                 #= 10
    last = 1                                    #= 1
    return last                                 #= 1


def left_open():
    yield 1                                     #= 1
    yield 2


def thrown_into():
    try:                                        #= 1
        yield 1                                 #= 1
    except KeyError:                            #= 1
        yield 2                                 #= 1


def delegating(n):
    yield from generated(n)                     #= 1


async def waiting(n):
    for i in range(n):                          #= 8
        await asyncio.sleep(0)                  #= 6
    return n                                    #= 2


async def together():
    return await asyncio.gather(waiting(3), waiting(3))  #= 1


def comprehended(n):
    a = [i for i in range(n) if i % 2]          #= 1
    b = {i: i for i in a}                       #= 1
    c = sum(i for i in b)                       #= 1
    return c                                    #= 1


def nested(n):
    def inner(x):                               #= 1
        return x + 1                            #= 4
    total = 0                                   #= 1
    for i in range(n):                          #= 5
        total = inner(total)                    #= 4
    return total                                #= 1


class Methods:
    def plain(self):
        return self.value                       #= 3

    @property
    def value(self):
        return 1                                #= 3

    @classmethod
    def made(cls):
        return cls()                            #= 1

    @staticmethod
    def static(x):
        return x                                #= 2


def decorator(function):
    def wrapper(*args):                         #= 1
        return function(*args)                  #= 2
    return wrapper                              #= 1


@decorator
def decorated(x):
    x += 1                                      #= 2
    return x                                    #= 2


def in_threads(n):
    for i in range(n):                          #= 44
        pass                                    #= 40


def main():
    loops(10)
    for i in range(6):
        one_line()
    recursive(10)
    handled(False), handled(True)
    try:
        not_handled()
    except KeyError:
        pass
    with managed():
        pass
    with managed():
        pass
    list(delegating(10))
    held = left_open()
    next(held)
    thrown = thrown_into()
    next(thrown)
    thrown.throw(KeyError)
    asyncio.run(together())
    comprehended(10)
    nested(4)
    m = Methods.made()
    m.plain(), m.plain(), m.plain()
    m.static(1), Methods.static(2)
    decorated(1), decorated(2)
    threads = [threading.Thread(target=in_threads, args=(10,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


if __name__ == "__main__":
    main()
