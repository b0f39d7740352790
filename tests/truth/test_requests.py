# SPDX-License-Identifier: MIT
# interpreters: all
"""sonde.web in front of applications made by hand: what a request's page and capture hold, and that a request which is
not profiled finds nothing changed.  Frameworks and servers: test_request_servers.py."""
import asyncio
import glob
import logging
import os
import sys
import threading
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from helpers import PACKAGE_PATH, Capture, contains, equal, only, page_data, run_tests  # noqa: E402

sys.path.insert(0, PACKAGE_PATH)
from sonde.web import ASGIMiddleware, WSGIMiddleware  # noqa: E402


def nothing_is_left():
    equal((sys.getprofile(), sys.gettrace()), (None, None), "profile and trace functions")
    monitoring = getattr(sys, "monitoring", None)
    if monitoring:
        equal([monitoring.get_tool(i) for i in range(6)], [None] * 6, "monitoring tools")


def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def red():
    busy(0.0005)


def blue():
    busy(0.0005)


COLOURS = {"red": red, "blue": blue}


def graph_calls(page):
    """{function: calls} of a page, as its call graph has them: this file's only"""
    data = page_data(page.decode("utf-8"))
    graph, = [view["data"] for view in data["views"] if view["name"] == "graph"]
    return {node["name"]: node["calls"] for node in graph["nodes"] if node["name"] in set(COLOURS) | {"asgi_app", "wsgi_app", "step"}}


def capture_calls(path):
    return {row["function"]: row["calls"] for row in Capture(path).report["functions"]}


# ---- ASGI


def http(path="/", query=b"", client=("127.0.0.1", 4711), method="GET", headers=((b"host", b"127.0.0.1:8000"),)):
    return {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path, "query_string": query,
            "headers": list(headers), "client": client, "server": ("127.0.0.1", 80)}


async def receive():
    return {"type": "http.request", "body": b"", "more_body": False}


class Sent(list):
    async def __call__(self, message):
        self.append(message)

    @property
    def status(self):
        return self[0]["status"]

    @property
    def headers(self):
        return dict(self[0]["headers"])

    @property
    def body(self):
        return b"".join(message.get("body", b"") for message in self[1:])


async def step(colour):
    COLOURS[colour]()
    await asyncio.sleep(0)


async def asgi_app(scope, receive, send):
    """/red/30: calls red 30 times, with other requests between any two."""
    _, colour, n = scope["path"].split("/")
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x-colour", colour.encode())]})
    for _ in range(int(n)):
        await step(colour)
    await send({"type": "http.response.body", "body": colour.encode()})


async def ask(app, *args, **how):
    sent = Sent()
    await app(http(*args, **how), receive, sent)
    return sent


def answer(app, *args, **how):
    return asyncio.run(ask(app, *args, **how))


def test_asgi_two_pages_at_once(folder):
    app = ASGIMiddleware(asgi_app)

    async def main():
        return await asyncio.gather(ask(app, "/red/30", b"profile"), ask(app, "/blue/70", b"a=b&profile=1"), ask(app, "/red/50", b"profiles"))

    reds, blues, plain = asyncio.run(main())
    equal((plain.status, plain.headers, plain.body), (201, {b"x-colour": b"red"}, b"red"), "the third request")
    for sent, path, colour, n in ((reds, "/red/30?profile", "red", 30), (blues, "/blue/70?a=b&profile=1", "blue", 70)):
        equal(sent.status, 200, "status")
        equal(sent.headers, {b"content-type": b"text/html; charset=utf-8", b"content-length": str(len(sent.body)).encode(),
                             b"cache-control": b"no-store"}, "headers")
        found = graph_calls(sent.body)
        equal((found[colour], found["step"], set(found) & set(COLOURS)), (n, 2 * n, {colour}), "calls of %s" % path)
        data = page_data(sent.body.decode("utf-8"))
        equal(data["head"]["command"], "GET " + path, "what ran")
        assert not set(COLOURS) - {colour} & set(data["strings"]), "the other's functions"
        assert "_page" not in data["strings"] and "main" not in data["strings"], "frames of ours, or around the request"
    nothing_is_left()


def test_asgi_a_request_that_is_not_profiled(folder):
    seen = []

    async def app(scope, receive, send):
        monitoring = getattr(sys, "monitoring", None)
        seen.append((scope, receive, send, sys.getprofile(), monitoring and [monitoring.get_tool(i) for i in range(6)]))

    async def main(middleware, scope):
        sent = Sent()
        await middleware(scope, receive, sent)
        return scope, receive, sent

    for scope in (http(), http(query=b"profiled=1&x=profile"), http(query=b"profile", client=("10.0.0.1", 1)), {"type": "lifespan"},
                  {"type": "websocket", "query_string": b"profile", "client": ("127.0.0.1", 1)}):
        given = asyncio.run(main(ASGIMiddleware(app), scope))
        found = seen.pop()
        assert all(one is other for one, other in zip(given, found)), "other objects for %r" % (scope,)
        equal(found[3:], (None, [None] * 6 if hasattr(sys, "monitoring") else None), "hooks")
    for scope in ({"type": "lifespan"}, {"type": "websocket", "query_string": b"profile", "client": ("127.0.0.1", 1)}):
        given = asyncio.run(main(ASGIMiddleware(app, keep=os.path.join(folder, "kept")), scope))
        assert all(one is other for one, other in zip(given, seen.pop())), "other objects for %r" % (scope,)
    equal(os.listdir(os.path.join(folder, "kept")), [], "captures")


PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded", "x-original-forwarded-for", "x-real-ip", "via", "cf-connecting-ip", "cdn-loop",
           "true-client-ip", "x-client-ip", "x-cluster-client-ip", "fastly-client-ip", "x-remote-addr", "x-azure-clientip", "x-envoy-external-address")
NEAR = ("localhost", "localhost:8000", "LOCALHOST", "127.0.0.1", "127.0.0.1:8000", "127.8.9.10", "[::1]", "[::1]:8000")
FAR = ("", "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "testserver", "::1", "[localhost",
       "localhost:80:80", "localhost@evil.example", "127.0.0.1,evil.example")


def test_asgi_who_gets_a_page(folder):
    def kind(client, when=None, headers=(), host=b"localhost:8000"):
        headers = list(headers) + ([] if host is None else [(b"host", host)])
        return answer(ASGIMiddleware(asgi_app, when=when), "/red/1", b"profile", client=client, headers=headers).status

    yes, no = 200, 201
    for host in ("testclient", "127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"):
        equal(kind((host, 1)), yes, "status for " + host)
    for host in ("10.0.0.1", "::2", "192.0.2.7", "::ffff:192.0.2.7", "localhost", ""):
        equal(kind((host, 1)), no, "status for " + host)
    equal(kind(None), no, "status for a Unix socket")
    equal(kind(("127.0.0.1", 1), headers=[(b"accept", b"x"), (b"user-agent", b"127.0.0.1"), (b"cache-control", b"no-cache")]), yes, "other headers")
    for name in PROXIES:
        for value in (b"192.0.2.7", b"127.0.0.1", b"testclient", b""):
            for client in ("127.0.0.1", "testclient"):  # as where the server trusts what any client sends
                equal(kind((client, 1), headers=[(name.encode(), value)]), no, "status of %s with %s: %s" % (client, name, value.decode()))
    equal(kind(("127.0.0.1", 1), headers=[(b"X_Forwarded_For", b"127.0.0.1")]), no, "status with X_Forwarded_For")
    for host in NEAR:
        equal(kind(("127.0.0.1", 1), host=host.encode()), yes, "status for Host: " + host)
    for host in FAR:
        equal(kind(("127.0.0.1", 1), host=host.encode()), no, "status for Host: " + host)
    equal(kind(("127.0.0.1", 1), host=b"localhost", headers=[(b"host", b"evil.example")]), no, "status with two hosts")
    equal(kind(("127.0.0.1", 1), host=None), no, "status without Host")
    equal((kind(("testclient", 1), host=b"testserver"), kind(("testclient", 1), host=b"evil.example")), (yes, no), "status for a test client")
    equal(kind(("10.0.0.1", 1), when=lambda scope: scope["path"] == "/red/1", headers=[(b"via", b"x")], host=b"a.example"), yes, "status where when() says yes")
    equal(kind(("127.0.0.1", 1), when=lambda scope: None), no, "status where when() says no")
    equal(kind(("127.0.0.1", 1), when=lambda scope: Later()), no, "status where when() says nothing yet")


def test_asgi_another_argument_and_method(folder):
    app = ASGIMiddleware(asgi_app, argument="sonde.page")
    equal(answer(app, "/red/1", b"profile").status, 201, "status of ?profile")
    equal(answer(app, "/red/1", b"sonde.page").status, 200, "status of ?sonde.page")
    head = answer(app, "/red/1", b"sonde.page", method="HEAD")
    equal((head.status, head.body), (200, b""), "HEAD")
    assert int(head.headers[b"content-length"]) > 1000, head.headers


def test_asgi_exceptions_pass_through(folder):
    kept = os.path.join(folder, "kept")

    async def app(scope, receive, send):
        red()
        raise KeyError("mine")

    def early(scope, receive, send):
        """Raises before there is anything to await."""
        red()
        raise KeyError("mine")

    for raises in (app, early):
        for middleware, query in ((ASGIMiddleware(raises), b""), (ASGIMiddleware(raises), b"profile"), (ASGIMiddleware(raises, keep=kept), b"")):
            sent = Sent()
            try:
                asyncio.run(middleware(http(query=query), receive, sent))
            except KeyError as raised:
                equal((raised.args, sent), (("mine",), []), "what was raised, and sent")
                nothing_is_left()  # while the traceback has all of its frames
            else:
                raise AssertionError("nothing was raised")
    equal([capture_calls(path)["red"] for path in glob.glob(os.path.join(kept, "*.sonde"))], [1, 1], "calls of red, kept")
    nothing_is_left()


def test_asgi_a_client_that_goes_away(folder):
    kept = os.path.join(folder, "kept")

    async def app(scope, receive, send):
        for _ in range(7):
            await step("red")
        scope["waits"].set()
        await asyncio.sleep(3600)

    async def main(middleware, query):
        waits = asyncio.Event()
        task = asyncio.ensure_future(middleware(dict(http(query=query), waits=waits), receive, Sent()))
        await waits.wait()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"

    equal(asyncio.run(main(ASGIMiddleware(app), b"profile")), "cancelled", "what became of it")
    nothing_is_left()
    equal(asyncio.run(main(ASGIMiddleware(app, keep=kept), b"")), "cancelled", "what became of it")
    nothing_is_left()
    equal([capture_calls(path).get("red") for path in glob.glob(os.path.join(kept, "*.sonde"))], [7], "calls of red, kept")


def in_a_child(work):
    """What work() raised, as text, and "" for nothing, in a child that this process forks; the parent goes on."""
    ends, writes = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads, from 3.12 on
        child = os.fork()
    if not child:
        try:
            work()
        except BaseException as why:
            os.write(writes, repr(why).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with open(ends, "rb") as said:
        text = said.read().decode()
    equal(os.waitpid(child, 0), (child, 0), "how the child ended")
    return text


def test_a_child_of_a_request_is_not_followed(folder):
    """Nor is what other threads were profiling at the fork."""
    kept = os.path.join(folder, "kept")
    said = []
    waits, ends = threading.Event(), threading.Event()

    def in_child():
        nothing_is_left()
        red()
        equal(wsgi(WSGIMiddleware(wsgi_app), "/blue/3", "profile")[0], "200 OK", "a request in the child")
        nothing_is_left()

    async def app(scope, receive, send):
        red()
        said.append(in_a_child(in_child))
        blue()

    def slow(environ, start_response):
        waits.set()
        ends.wait(60)
        red()
        return []

    other = threading.Thread(target=lambda: WSGIMiddleware(slow, keep=kept)(environ("/slow"), Started()))
    other.start()
    assert waits.wait(60), "the other request begins"
    asyncio.run(ASGIMiddleware(app, keep=kept)(http(), receive, Sent()))
    ends.set()
    other.join()
    equal(said, [""], "what the child says")
    found = {Capture(path).info["meta"]["command"]: capture_calls(path) for path in glob.glob(os.path.join(kept, "*.sonde"))}
    equal({what: (calls["red"], calls.get("blue", 0)) for what, calls in found.items()}, {"GET /": (1, 1), "GET /slow": (1, 0)}, "captures")
    nothing_is_left()


def test_a_child_that_answers_for_its_request_keeps_no_capture(folder):
    kept = os.path.join(folder, "kept")
    children = []

    async def app(scope, receive, send):
        children.append(os.fork())

    middleware = ASGIMiddleware(app, keep=kept)
    coroutine = middleware(http(), receive, Sent())
    try:
        coroutine.send(None)
    except StopIteration:
        pass
    finally:
        if children == [0]:
            os._exit(sum("-%d-" % os.getpid() in name for name in os.listdir(kept)))
    equal(os.waitpid(children[0], 0), (children[0], 0), "captures of the child")
    equal(len(os.listdir(kept)), 1, "captures")


def test_asgi_captures_of_slow_requests(folder):
    kept = os.path.join(folder, "made", "here")

    async def app(scope, receive, send):
        if scope["path"].startswith("/blue"):
            await asyncio.sleep(1.1)
        await asgi_app(scope, receive, send)

    middleware = ASGIMiddleware(app, keep=kept, slower_than=1)
    assert os.path.isdir(kept), "the folder is made"

    async def main():
        return await asyncio.gather(*[ask(middleware, path) for path in ("/red/3", "/blue/5", "/red/4", "/blue/6")])

    sent = asyncio.run(main())
    equal([one.status for one in sent], [201] * 4, "statuses")
    equal([one.headers for one in sent], [{b"x-colour": colour} for colour in (b"red", b"blue", b"red", b"blue")], "headers")
    found = {Capture(path).info["meta"]["command"]: capture_calls(path) for path in glob.glob(os.path.join(kept, "*"))}
    equal({what: (calls["blue"], "red" in calls) for what, calls in found.items()}, {"GET /blue/5": (5, False), "GET /blue/6": (6, False)}, "captures")
    nothing_is_left()


def test_asgi_streams_of_kept_requests_are_not_held_back(folder):
    happened = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for n in range(3):
            happened.append("made %d" % n)
            await send({"type": "http.response.body", "body": b"%d" % n, "more_body": n < 2})

    class Told(Sent):
        async def __call__(self, message):
            happened.append("sent %s" % message.get("body", b"start").decode())

    asyncio.run(ASGIMiddleware(app, keep=os.path.join(folder, "kept"))(http(), receive, Told()))
    equal(happened, ["sent start", "made 0", "sent 0", "made 1", "sent 1", "made 2", "sent 2"], "what happened")


def test_what_clients_send_stays_on_one_line(folder):
    kept = os.path.join(folder, "kept")

    async def app(scope, receive, send):
        red()

    answer_of = ASGIMiddleware(app, keep=kept)
    for path in ("/../../etc/x", "/a\nb\x1b[31m\u2028", "/" + "x" * 5000, "/\udcff"):
        asyncio.run(answer_of(http(path), receive, Sent()))
    found = sorted(Capture(path).info["meta"]["command"] for path in glob.glob(os.path.join(kept, "*")))
    equal(found, sorted(["GET /../../etc/x", "GET /a\\x0ab\\x1b[31m\\x2028", "GET /" + "x" * 995, "GET /?"]), "what ran")
    equal(os.listdir(folder), ["kept"], "files")


def test_captures_are_for_their_user_alone(folder):
    before = os.umask(0o022)
    try:
        kept, shared = os.path.join(folder, "made", "kept"), os.path.join(folder, "shared")
        os.mkdir(shared, 0o755)
        for place in (kept, shared):
            answer(ASGIMiddleware(asgi_app, keep=place), "/red/1", b"token=abc")
            path, = glob.glob(os.path.join(place, "*"))
            equal(oct(os.stat(path).st_mode & 0o7777), oct(0o600), "mode of a capture")
        equal([oct(os.stat(place).st_mode & 0o7777) for place in (kept, shared)], [oct(0o700), oct(0o755)], "modes of the folder that was made, and of the other")
    finally:
        os.umask(before)


def test_a_folder_that_is_gone_or_full_is_told_to_the_log(folder):
    kept = os.path.join(folder, "kept")
    middleware = ASGIMiddleware(asgi_app, keep=kept)
    os.rmdir(kept)
    equal(answer(middleware, "/red/2").status, 201, "status")
    equal([capture_calls(path)["red"] for path in glob.glob(os.path.join(kept, "*"))], [2], "captures of a folder that was removed")
    for path in glob.glob(os.path.join(kept, "*")):
        os.remove(path)
    os.rmdir(kept)
    with open(kept, "w"):
        pass  # a file stands there now
    said = []

    class Listener(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())

    log, listener = logging.getLogger("sonde.web"), Listener()
    log.addHandler(listener)
    try:
        equal(answer(middleware, "/red/2").body, b"red", "body")
    finally:
        log.removeHandler(listener)
    equal(len(said), 1, "what the log has")
    contains(said[0], "the profile of GET /red/2 was not saved")


# ---- WSGI


def environ(path="/", query="", address="127.0.0.1", **more):
    return dict({"REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query, "REMOTE_ADDR": address,
                 "HTTP_HOST": "127.0.0.1:8000"}, **more)


def wsgi_app(environ, start_response):
    """/red/30: calls red 30 times, the last in the iteration."""
    _, colour, n = environ["PATH_INFO"].split("/")
    start_response("201 Created", [("X-Colour", colour)])
    for _ in range(int(n) - 1):
        COLOURS[colour]()

    def parts():
        COLOURS[colour]()
        yield colour.encode()

    return parts()


class Started(list):
    def __call__(self, status, headers, exc_info=None):
        self.append((status, headers))
        return lambda data: self.append(data)


def wsgi(app, *args, **how):
    """(status, headers, body)"""
    started = Started()
    result = app(environ(*args, **how), started)
    try:
        body = b"".join(result)
    finally:
        if hasattr(result, "close"):
            result.close()
    return started[0] + (body,)


def test_wsgi_two_pages_at_once_in_threads(folder):
    app = WSGIMiddleware(wsgi_app)
    found = {}
    ready = threading.Barrier(3)

    def client(path, query):
        ready.wait()
        found[path] = wsgi(app, path, query)

    threads = [threading.Thread(target=client, args=one) for one in (("/red/60", "profile"), ("/blue/90", "x=1&profile="), ("/red/100", "x"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(found["/red/100"], ("201 Created", [("X-Colour", "red")], b"red"), "the third request")
    for path, colour, n in (("/red/60", "red", 60), ("/blue/90", "blue", 90)):
        status, headers, body = found[path]
        equal((status, dict(headers)["Content-Type"], dict(headers)["Content-Length"]), ("200 OK", "text/html; charset=utf-8", str(len(body))), "the page")
        calls = graph_calls(body)
        equal((calls[colour], calls["wsgi_app"], set(calls) & set(COLOURS)), (n, 1, {colour}), "calls of %s" % path)
    nothing_is_left()


def test_wsgi_a_request_that_is_not_profiled(folder):
    seen = []
    result = [b"x"]

    def app(environ, start_response):
        monitoring = getattr(sys, "monitoring", None)
        seen.append((environ, start_response, sys.getprofile(), monitoring and [monitoring.get_tool(i) for i in range(6)]))
        return result

    for given in (environ(), environ(query="profiled=1&x=profile"), environ(query="profile", address="192.0.2.7"),
                  environ(query="profile", HTTP_X_FORWARDED_FOR="192.0.2.7"), environ(query="profile", address="")):
        started = Started()
        assert WSGIMiddleware(app)(given, started) is result, "another result"
        found = seen.pop()
        assert found[0] is given and found[1] is started, "other objects"
        equal(found[2:], (None, [None] * 6 if hasattr(sys, "monitoring") else None), "hooks")
    equal(wsgi(WSGIMiddleware(wsgi_app, when=lambda environ: environ["REMOTE_ADDR"] == "10.0.0.1"), "/red/1", "profile", "10.0.0.1")[0], "200 OK", "when()")


def test_wsgi_who_gets_a_page(folder):
    def status(**more):
        return wsgi(WSGIMiddleware(wsgi_app), "/red/1", "profile", **more)[0]

    yes, no = "200 OK", "201 Created"
    for name in PROXIES:
        equal(status(**{"HTTP_" + name.upper().replace("-", "_"): "127.0.0.1"}), no, "status with " + name)
    for host in NEAR:
        equal(status(HTTP_HOST=host), yes, "status for Host: " + host)
    for host in FAR:
        equal(status(HTTP_HOST=host), no, "status for Host: " + host)
    equal(status(address="testclient"), yes, "status for a test client")

    def status_without_host(**more):
        given = environ("/red/1", "profile", **more)
        del given["HTTP_HOST"]
        started = Started()
        b"".join(WSGIMiddleware(wsgi_app)(given, started))
        return started[0][0]

    equal(status_without_host(SERVER_NAME="testserver"), yes, "status for Django's test client")
    equal(status_without_host(SERVER_NAME="testserver", address="10.0.0.1"), no, "status for another's address")
    equal((status_without_host(), status_without_host(SERVER_NAME="localhost")), (no, no), "status without Host")


def test_wsgi_captures_and_streams(folder):
    kept = os.path.join(folder, "kept")
    happened = []

    class Parts:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 3:
                raise StopIteration
            happened.append("made %d" % self.n)
            red()
            return b"%d" % self.n

        def close(self):
            blue()
            happened.append("closed")

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return Parts()

    started = Started()
    result = WSGIMiddleware(app, keep=kept)(environ(), started)
    equal(started, [("200 OK", [("Content-Type", "text/plain")])], "the answer's beginning")
    for part in result:
        happened.append("sent %s" % part.decode())
    result.close()
    equal(happened, ["made 1", "sent 1", "made 2", "sent 2", "made 3", "sent 3", "closed"], "what happened")
    path, = glob.glob(os.path.join(kept, "*.sonde"))
    calls = capture_calls(path)
    equal((calls["red"], calls["blue"], calls["app"]), (3, 1, 1), "calls")
    nothing_is_left()

    whole = [b"x"]
    assert WSGIMiddleware(lambda environ, start_response: whole, keep=kept)(environ("/whole"), Started()) is whole, "a list is handed on"
    equal(len(glob.glob(os.path.join(kept, "*.sonde"))), 2, "captures")
    del result
    abandoned = WSGIMiddleware(app, keep=kept)(environ("/abandoned"), Started())
    del abandoned  # by a server that does not call close()
    nothing_is_left()


def test_wsgi_exceptions_pass_through(folder):
    kept = os.path.join(folder, "kept")

    def early(environ, start_response):
        raise KeyError("mine")

    def late(environ, start_response):
        start_response("200 OK", [])
        yield b"x"
        raise KeyError("mine")

    for app in (early, late):
        for middleware, query in ((WSGIMiddleware(app), ""), (WSGIMiddleware(app), "profile"), (WSGIMiddleware(app, keep=kept), "")):
            try:
                wsgi(middleware, "/", query)
            except KeyError as raised:
                equal(raised.args, ("mine",), "what was raised")
            else:
                raise AssertionError("nothing was raised")
            nothing_is_left()
    equal(len(glob.glob(os.path.join(kept, "*.sonde"))), 2, "captures")


# ---- Both


async def allows_nobody(request):
    return False


class Later:
    def __await__(self):
        return iter(())


def test_arguments_that_make_no_sense(folder):
    def app(*given):
        raise AssertionError("it is never called")

    for middleware in (ASGIMiddleware, WSGIMiddleware):
        for wrong, words in (({"argument": ""}, "argument=''"), ({"argument": "a b"}, "argument='a b'"), ({"when": 1}, "when=1"), ({"when": allows_nobody}, "is async"),
                             ({"slower_than": -1, "keep": folder}, "slower_than=-1"), ({"slower_than": "x", "keep": folder}, "slower_than='x'"),
                             ({"slower_than": float("nan"), "keep": folder}, "slower_than=nan"), ({"slower_than": 1}, "slower_than has no effect")):
            try:
                middleware(app, **wrong)
            except (ValueError, TypeError) as why:
                contains(str(why), words)
            else:
                raise AssertionError("%r was taken" % wrong)


@only(hasattr(sys, "monitoring"))
def test_a_request_that_cannot_be_profiled_says_why(folder):
    """Other tools have both of the ids that we would take."""
    for number in (3, 4):
        sys.monitoring.use_tool_id(number, "other")
    try:
        page = answer(ASGIMiddleware(asgi_app), "/red/1", b"profile")
        status, headers, body = wsgi(WSGIMiddleware(wsgi_app), "/red/1", "profile")
        plain = answer(ASGIMiddleware(asgi_app, keep=os.path.join(folder, "kept")), "/red/1")
    finally:
        for number in (3, 4):
            sys.monitoring.free_tool_id(number)
    equal((page.status, page.headers[b"content-type"]), (503, b"text/plain; charset=utf-8"), "ASGI")
    equal(status, "503 Service Unavailable", "WSGI")
    for text in (page.body, body):
        contains(text.decode(), "sonde: ")
        equal(text.count(b"\n"), 1, "lines of %r" % text)
    equal((plain.status, plain.body), (201, b"red"), "a request that was to be kept")
    nothing_is_left()


run_tests(globals())
