# SPDX-License-Identifier: MIT
"""sonde.web: profiles single requests of a web server, each with its own calls alone.

    from sonde.web import ASGIMiddleware          # FastAPI, Starlette, Quart, ...
    app.add_middleware(ASGIMiddleware)            # then: http://127.0.0.1:8000/slow?profile

    from sonde.web import WSGIMiddleware          # Flask, Bottle, Pyramid, ...
    app.wsgi_app = WSGIMiddleware(app.wsgi_app)

    MIDDLEWARE = ["sonde.web.DjangoMiddleware", ...]      # Django, sync and async

A request with ?profile is answered by the page of its own profile.  With keep="folder" every request is profiled, and
those that took longer than slower_than seconds leave a capture there: `sonde view folder/...sonde`.
"""
import functools
import inspect
import ipaddress
import itertools
import logging
import os
import re
import time

from . import _sonde

__all__ = ["ASGIMiddleware", "DjangoMiddleware", "WSGIMiddleware"]

_log = logging.getLogger("sonde.web")
_COLLECTOR = "calls"
_numbers = itertools.count(1)  # of captures of this process
# Headers of proxies, whatever they say: any client can send them, and servers that trust them have put what they say in
# the place of the client's address and of Host.
_FORWARDED = re.compile(
    r"via|cdn-loop|cf-.+|x-envoy-.+|x-amzn-trace-id|(x-)?(original-)?forwarded(-.+)?"
    r"|(.+-)?(client|cluster|connecting|originating|proxyuser|real|remote|user)-?(addr|address|ip)"
)
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+))(?::[0-9]*)?")  # and a port


# ---- What is profiled, and for whom


def _make_folder(path):
    """For this user alone: what is kept there holds queries, and they hold tokens and the like."""
    os.makedirs(path, mode=0o700, exist_ok=True)


class _Settings:
    """The arguments that the middlewares share."""

    def __init__(self, argument="profile", when=None, keep=None, slower_than=0):
        if not isinstance(argument, str) or not re.match(r"[A-Za-z0-9_.-]+\Z", argument):
            raise ValueError("argument={0!r} is no name for an argument of a URL: use letters, digits, _ . and -".format(argument))
        if when is not None and not callable(when):
            raise TypeError("when={0!r} must be a function of the request that returns true or false".format(when))
        if inspect.iscoroutinefunction(when) or inspect.iscoroutinefunction(getattr(when, "__call__", None)):
            raise TypeError("when={0!r} is async, and is not awaited: give a function that returns true or false".format(when))
        if isinstance(slower_than, bool) or not isinstance(slower_than, (int, float)) or not slower_than >= 0:
            raise ValueError("slower_than={0!r} must be a number of seconds, 0 or more".format(slower_than))
        if slower_than and keep is None:
            raise ValueError("slower_than has no effect without keep, the folder for captures")
        self.argument, self.when, self.slower_than = argument, when, slower_than
        self.keep = None if keep is None else os.path.abspath(os.fsdecode(keep))
        if self.keep is not None:
            _make_folder(self.keep)

    def names(self, query):
        """Is the argument in this query, with a value or without?  Its name has no character that would be escaped."""
        return any(part == self.argument or part.startswith(self.argument + "=") for part in query.split("&"))

    def allows(self, request, address, headers, server=""):
        """May this client see a page?  `headers`: a function that gives {name in small letters, with dashes: value};
        `server`: the name of the server, for a request that names none."""
        if self.when is not None:
            answer = self.when(request)
            return bool(answer) and not hasattr(answer, "__await__")
        return _is_near(address, headers(), server)


def _is_near(address, headers, server):
    """Does a client on this machine ask a server that it knows by an address of this machine?  By another name a page
    from elsewhere may ask in its own name, which leads here by now (DNS rebinding)."""
    if any(_FORWARDED.fullmatch(name) for name in headers):
        return False
    host = headers.get("host")
    if host is None:
        return server == "testserver" and _is_loopback(address)  # Django's test clients, in this process
    if address == "testclient":  # Starlette's, in this process; no server gives that
        return host == "testserver" or _is_local_name(host)
    return _is_loopback(address) and _is_local_name(host)


def _is_local_name(host):
    found = _HOST.fullmatch(host.strip().lower())
    return bool(found) and (found.group(2) == "localhost" or _is_loopback(found.group(1) or found.group(2)))


@functools.lru_cache(256)
def _is_loopback(address):
    """False of what is no address, as for a Unix socket: whoever is behind it may be anywhere."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def _headers_of(environ):
    """Of a WSGI environ, or Django's META."""
    return {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}


# ---- The profile of one request


def _printable(text):
    """On one line and not endless, whatever a client has sent: logs and reports show it."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "\\x{0:02x}".format(ord(c)) for c in text[:1000])


class _Refused(Exception):
    """Why a request cannot be profiled, or its page not be made, as a sentence."""


class _Request:
    """One request that is profiled: begin, run the app in `scope`, end, then page() and keep()."""

    def __init__(self, settings, method, path, query):
        self.settings, self.method, self.path = settings, method, path
        self.title = _printable("{0} {1}".format(method, path + ("?" + query if query else "")))
        self.scope = _sonde.Scope()
        self.recording = None
        self.seconds = None

    def begin(self):
        from ._record import record

        self.began = time.time()
        self.process = os.getpid()
        try:
            self.recording = record(_COLLECTOR)
            self.recording._facts = {"command": self.title}
            self.scope.limit(self.recording.__enter__)
        except Exception as why:
            raise _Refused(str(why)) from why
        self.start = time.perf_counter()
        return self

    def end(self):
        if self.seconds is not None:
            return
        self.seconds = time.perf_counter() - self.start
        try:
            self.recording.__exit__(None, None, None)
        except Exception as why:
            _log.warning("the profile of %s did not end well: %s", self.title, why)

    def steps(self, awaitable):
        """The awaitable, in the scope; whoever awaits it is not."""
        return _sonde.Resumed(self.scope.enter, self.scope.leave, awaitable)

    def page(self):
        try:
            return self.recording.page().text.encode("utf-8")
        except Exception as why:
            raise _Refused(str(why)) from why

    def is_kept(self):
        if self.process != os.getpid():  # a child that the request forked, which is followed no more
            return False
        return self.settings.keep is not None and self.seconds > self.settings.slower_than

    def name(self):
        """When, what and how long: the captures of a folder in the order of their requests, none twice."""
        when = time.strftime("%Y%m%d-%H%M%S", time.localtime(self.began)) + ".%06d" % (self.began % 1 * 1e6)
        what = re.sub(r"[^A-Za-z0-9._]+", "-", self.method + self.path).strip("-.")[:60]
        return "{0}-{1}-{2:.0f}ms-{3}-{4}.sonde".format(when, what, self.seconds * 1e3, os.getpid(), next(_numbers))

    def keep(self):
        """Saves the capture.  The answer is on its way by now, so a full disk is told to the log alone."""
        from ._plot import write_whole
        from ._record import bytes_of

        path = os.path.join(self.settings.keep, self.name())
        try:
            _make_folder(self.settings.keep)
            write_whole(path, bytes_of(self.recording._capture_now()), 0o600)
        except Exception as why:
            _log.warning("the profile of %s was not saved: %s", self.title, why)


def _begun(settings, is_page, method, path, query):
    """A request whose profile has begun, or None: why not goes to whoever asked for the page, else to the log."""
    request = _Request(settings, method, path, query)
    try:
        return request.begin()
    except _Refused as why:
        if is_page:
            raise
        _log.warning("%s is not profiled: %s", request.title, why)
        return None


def _answer(make):
    """(status, content type, body) of what make() returns, or of why it cannot."""
    try:
        return 200, "text/html; charset=utf-8", make()
    except _Refused as why:
        return 503, "text/plain; charset=utf-8", "sonde: {0}\n".format(why).encode("utf-8", "replace")


def _headers(kind, body):
    return [("Content-Type", kind), ("Content-Length", str(len(body))), ("Cache-Control", "no-store")]


def _end(request):
    request.end()
    if request.is_kept():
        request.keep()


async def _elsewhere(function, *args):
    """In a thread, where the event loop is asyncio's: pages and files take their time."""
    import asyncio

    try:
        job = asyncio.get_running_loop().run_in_executor(None, function, *args)
    except RuntimeError:  # another's loop, or one that is about to end
        return function(*args)
    return await job


async def _started(request, function, *args):
    """Awaits what it returns as the request's own work; exceptions pass through, and then the request has ended."""
    try:
        return await request.steps(request.scope.call(function, *args))
    except Exception:
        await _ended(request)
        raise
    except BaseException:  # cancelled, or closed: nothing can be waited for
        _end(request)
        raise


async def _ended(request):
    request.end()
    if request.is_kept():
        await _elsewhere(request.keep)


async def _run(request, function, *args):
    result = await _started(request, function, *args)
    await _ended(request)
    return result


# ---- ASGI


class ASGIMiddleware:
    """Profiles requests of an ASGI application.

    app: the application.  argument: the name in the URL that asks for a page.  when: a function of the scope that says
    (true or false) who gets one; without it, clients on this machine.  keep: a folder; every request is profiled, and a
    capture saved there of each that took longer than slower_than seconds.
    """

    def __init__(self, app, argument="profile", when=None, keep=None, slower_than=0):
        self.app = app
        self.settings = _Settings(argument, when, keep, slower_than)
        self._keeps = keep is not None
        self._word = argument.encode()

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and (self._keeps or self._word in scope.get("query_string", b"")):
            await self._perhaps(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _perhaps(self, scope, receive, send):
        query = scope.get("query_string", b"").decode("latin-1")
        is_page = self.settings.names(query) and self._allows(scope)
        if not is_page and not self._keeps:
            return await self.app(scope, receive, send)
        what = (self.settings, is_page, scope.get("method", "GET"), scope.get("path", ""), query)
        if is_page:
            return await self._page(scope, receive, send, what)
        request = _begun(*what)
        if request is None:
            return await self.app(scope, receive, send)
        await _run(request, self.app, scope, receive, send)

    def _allows(self, scope):
        client = scope.get("client") or ("",)

        def headers():
            found = {}
            for key, value in scope.get("headers", ()):
                found.setdefault(key.decode("latin-1").lower().replace("_", "-"), []).append(value.decode("latin-1"))
            return {name: ",".join(values) for name, values in found.items()}

        server = scope.get("server") or ("",)
        return self.settings.allows(scope, client[0], headers, server[0])

    async def _page(self, scope, receive, send, what):
        async def unsent(message):
            pass

        def refuse():
            raise refused

        try:
            request = _begun(*what)
        except _Refused as why:
            refused = why
            status, kind, body = _answer(refuse)
        else:
            await _run(request, self.app, scope, receive, unsent)
            status, kind, body = await _elsewhere(_answer, request.page)
        headers = [(name.lower().encode(), value.encode()) for name, value in _headers(kind, body)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope.get("method") == "HEAD" else body})


# ---- WSGI


class WSGIMiddleware:
    """Profiles requests of a WSGI application.

    The arguments are those of ASGIMiddleware; `when` is a function of the environ.
    """

    def __init__(self, app, argument="profile", when=None, keep=None, slower_than=0):
        self.app = app
        self.settings = _Settings(argument, when, keep, slower_than)
        self._keeps = keep is not None
        self._word = argument

    def __call__(self, environ, start_response):
        if self._keeps or self._word in environ.get("QUERY_STRING", ""):
            return self._perhaps(environ, start_response)
        return self.app(environ, start_response)

    def _perhaps(self, environ, start_response):
        query = environ.get("QUERY_STRING", "")
        is_page = self.settings.names(query) and self._allows(environ)
        if not is_page and not self._keeps:
            return self.app(environ, start_response)
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        path = path.encode("latin-1", "replace").decode("utf-8", "replace")
        what = (self.settings, is_page, environ.get("REQUEST_METHOD", "GET"), path, query)
        if is_page:
            return self._page(environ, start_response, what)
        request = _begun(*what)
        return self.app(environ, start_response) if request is None else self._kept(request, environ, start_response)

    def _allows(self, environ):
        address, server = environ.get("REMOTE_ADDR", ""), environ.get("SERVER_NAME", "")
        return self.settings.allows(environ, address, lambda: _headers_of(environ), server)

    def _kept(self, request, environ, start_response):
        try:
            result = request.scope.call(self.app, environ, start_response)
        except BaseException:
            _end(request)
            raise
        # A list is made, and a file is sent by the server: nothing of the application's runs any more.
        wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(result, (list, tuple)) or (isinstance(wrapper, type) and isinstance(result, wrapper)):
            _end(request)
            return result
        return _Body(request, result)

    def _page(self, environ, start_response, what):
        def unsent(status, headers, exc_info=None):
            return lambda data: None

        def page():
            request = _begun(*what)
            body = self._kept(request, environ, unsent)
            try:
                for _ in body:
                    pass
            finally:
                if hasattr(body, "close"):
                    body.close()
            return request.page()

        status, kind, body = _answer(page)
        start_response("200 OK" if status == 200 else "503 Service Unavailable", _headers(kind, body))
        return [b"" if environ.get("REQUEST_METHOD") == "HEAD" else body]


class _Body:
    """What a WSGI application returned, each of its parts made in the request's scope and handed on as it comes."""

    def __init__(self, request, result):
        self._request, self._result, self._parts = request, result, None

    def __iter__(self):
        return self

    def __next__(self):
        call = self._request.scope.call
        if self._parts is None:
            self._parts = call(iter, self._result)
        return call(next, self._parts)

    def close(self):
        try:
            if hasattr(self._result, "close"):
                self._request.scope.call(self._result.close)
        finally:
            if self._request.seconds is None:
                _end(self._request)

    def __del__(self):  # of a server that does not close
        if self._request.seconds is None:
            _end(self._request)


# ---- Django


class DjangoMiddleware:
    """Profiles requests of a Django project, sync and async.

    The arguments of ASGIMiddleware are in the settings: SONDE_WEB = {"keep": "profiles", "slower_than": 0.5}.  `when`
    is a function of the request.  Put it first in MIDDLEWARE: what stands above it is not measured.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response):
        from django.conf import settings

        self.get_response = get_response
        self.settings = _django_settings(getattr(settings, "SONDE_WEB", None) or {})
        self._keeps = self.settings.keep is not None
        self._word = self.settings.argument
        self._is_async = _is_coroutine_function(get_response)
        if self._is_async:
            _mark_coroutine_function(self)

    def __call__(self, request):
        if self._keeps or self._word in request.META.get("QUERY_STRING", ""):
            return (self._perhaps_async if self._is_async else self._perhaps)(request)
        return self.get_response(request)

    def _what(self, request):
        """(what _begun takes), or None where nothing is profiled."""
        query = request.META.get("QUERY_STRING", "")
        is_page = self.settings.names(query) and self._allows(request)
        return (self.settings, is_page, request.method or "GET", request.path, query) if is_page or self._keeps else None

    def _allows(self, request):
        meta = request.META
        return self.settings.allows(request, meta.get("REMOTE_ADDR", ""), lambda: _headers_of(meta), meta.get("SERVER_NAME", ""))

    def _perhaps(self, request):
        what = self._what(request)
        if what is None:
            return self.get_response(request)
        try:
            profiled = _begun(*what)
        except _Refused as why:
            return _django_refusal(why)
        if profiled is None:
            return self.get_response(request)
        try:
            response = profiled.scope.call(self.get_response, request)
            body = _streamed(profiled, response)
            if what[1] and body is not None:
                _read(body)
        except BaseException:
            _end(profiled)
            raise
        if body is not None and not what[1]:
            response.streaming_content = body
            return response  # which has ended when the server closes it
        _end(profiled)
        return _django_page(_answer(profiled.page), response) if what[1] else response

    async def _perhaps_async(self, request):
        what = self._what(request)
        if what is None:
            return await self.get_response(request)
        try:
            profiled = _begun(*what)
        except _Refused as why:
            return _django_refusal(why)
        if profiled is None:
            return await self.get_response(request)
        response = await _started(profiled, self.get_response, request)
        body = _streamed(profiled, response)
        if body is not None and not what[1]:
            response.streaming_content = body
            return response
        if body is not None:
            await _started(profiled, _all_of, body)
        await _ended(profiled)
        return _django_page(await _elsewhere(_answer, profiled.page), response) if what[1] else response


def _streamed(profiled, response):
    """The parts of a response that are made only when they are sent, in the request's scope; None of any other."""
    if not getattr(response, "streaming", False) or getattr(response, "file_to_stream", None) is not None:
        return None  # a file is sent by the server
    return (_AsyncBody if getattr(response, "is_async", False) else _Body)(profiled, response.streaming_content)


def _read(body):
    if isinstance(body, _AsyncBody):
        from asgiref.sync import async_to_sync

        return async_to_sync(_all_of)(body)
    for _ in body:
        pass


async def _all_of(body):
    if isinstance(body, _AsyncBody):
        async for _ in body:
            pass
    else:
        _read(body)


class _AsyncBody(_Body):
    """The same of an asynchronous one."""

    __iter__ = __next__ = None

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self._parts is None:
            self._parts = self._request.scope.call(self._result.__aiter__)
        return await self._request.steps(self._parts.__anext__())


def _django_settings(given):
    from django.core.exceptions import ImproperlyConfigured

    try:
        return _Settings(**given)
    except (TypeError, ValueError, OSError) as why:
        raise ImproperlyConfigured("SONDE_WEB in the settings: {0}".format(why)) from why


def _django_page(answer, instead_of):
    from django.http import HttpResponse

    status, kind, body = answer
    response = HttpResponse(body, status=status, content_type=kind)
    response["Content-Length"] = str(len(body))
    response["Cache-Control"] = "no-store"
    if instead_of is not None and hasattr(instead_of, "close"):
        instead_of.close()
    return response


def _django_refusal(why):
    def refuse():
        raise why

    return _django_page(_answer(refuse), None)


def _is_coroutine_function(function):
    try:
        from asgiref.sync import iscoroutinefunction
    except ImportError:  # asgiref before 3.6
        from asyncio import iscoroutinefunction
    return iscoroutinefunction(function)


def _mark_coroutine_function(function):
    try:
        from asgiref.sync import markcoroutinefunction
    except ImportError:
        from asyncio.coroutines import _is_coroutine

        function._is_coroutine = _is_coroutine
    else:
        markcoroutinefunction(function)
