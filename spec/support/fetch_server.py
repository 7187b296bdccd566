"""A server on loopback that misbehaves on request, for the C tests (spec/c/server.h).

usage: fetch_server.py DIR

DIR holds the bodies to serve; ca.pem and the certificates are made there. One line on standard
output says on which ports it listens: "ready HTTPS PLAIN OLD INTERNAL" (OLD speaks TLS 1.1 at most;
INTERNAL, at 127.0.0.2, only counts); or "skip" and why it cannot. The first segment of a path says
how to answer, the second what: /gzip/tiny sends DIR/tiny compressed. Each line on standard input is
a question: "stats" (requests so far, connections to INTERNAL, most at once of /hold), "last" (the
last request, in hexadecimal), "reset". It ends with its standard input.
"""
import gzip
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib

HOME = sys.argv[1]
SECRET = b"SECRET"  # in everything that no error may quote
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

lock = threading.Lock()
state = {"requests": 0, "internal": 0, "now": 0, "peak": 0, "last": b""}
internal_port = 0


def path(name):
    return os.path.join(HOME, name)


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_ca(name):
    openssl("req", "-x509", *KEY, "-days", "2", "-subj", "/CN=" + name, "-keyout", path(name + ".key"),
            "-out", path(name + ".pem"))


def make_context(name, ca, names, days="2", oldest=False):
    """A context with a fresh certificate for these subject alternative names."""
    with open(path(name + ".ext"), "w") as file:
        file.write("subjectAltName=" + names + "\n")
    openssl("req", "-new", *KEY, "-subj", "/CN=" + name, "-keyout", path(name + ".key"), "-out", path(name + ".csr"))
    openssl("x509", "-req", "-in", path(name + ".csr"), "-CA", path(ca + ".pem"), "-CAkey", path(ca + ".key"),
            "-CAcreateserial", "-days", days, "-extfile", path(name + ".ext"), "-out", path(name + ".pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if oldest:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.load_cert_chain(path(name + ".pem"), path(name + ".key"))
    return context


def make_contexts():
    make_ca("ca")
    make_ca("stranger")
    literal = "IP:93.184.216.34,IP:2606:2800:220:1:248:1893:25c8:1946"
    names = ["producer", "rebind", "six", "both", "half"]
    good = make_context("good", "ca", ",".join("DNS:%s.example" % name for name in names) + "," + literal)
    others = {
        "wrong.example": good,
        "stranger.example": make_context("foreign", "stranger", "DNS:stranger.example"),
        "expired.example": make_context("expired", "ca", "DNS:expired.example", days="-1"),
    }
    old = make_context("old", "ca", "DNS:old.example", oldest=True)

    def choose(connection, name, _):
        if name in others:
            connection.context = others[name]

    good.sni_callback = choose
    return good, old


# -- Answers -------------------------------------------------------------------------------------


def head(status="200 OK", *lines):
    text = ["HTTP/1.1 " + status, *lines]
    return ("\r\n".join(text) + "\r\n\r\n").encode("latin-1")


def plain(connection, body, status="200 OK", *lines):
    connection.sendall(head(status, "Content-Length: %d" % len(body), *lines) + body)


def chunks(connection, pieces, *lines):
    connection.sendall(head("200 OK", "Transfer-Encoding: chunked", *lines))
    for piece in pieces:
        connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
    connection.sendall(b"0\r\n\r\n")


def forever(connection, piece):
    while True:
        connection.sendall(piece)


def encoded(connection, name, body):
    plain(connection, body, "200 OK", "Content-Encoding: " + name)


def bomb():
    """A gibibyte of spaces, a mebibyte when compressed, made as it is sent."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for _ in range(1024):
        piece = packer.compress(b" " * 1048576)
        if piece:
            yield piece
    yield packer.flush()


def redirect(where):
    def answer(connection, body):
        plain(connection, SECRET, "302 Found", "Set-Cookie: SECRET=1; Path=/",
              "Location: " + where.replace("INTERNAL", "%d" % internal_port))
    return answer


def raw_deflate(body):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(body) + packer.flush()


def drip(connection, text):
    for at in range(len(text)):
        connection.sendall(text[at:at + 1])
        time.sleep(0.25)


def break_off(connection, body):
    """Without the end of TLS or TCP: a reset."""
    connection.sendall(head("200 OK", "Content-Length: %d" % len(body)) + body[:10])
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return "abort"


def cut_off(connection, body):
    """All of the body, and then no end of TLS: what came may be less than was sent."""
    connection.sendall(head("200 OK", "Connection: close") + body)
    return "abort"


def empty_blocks(connection, _):
    """gzip that goes on and on and decodes to nothing: empty stored blocks."""
    connection.sendall(head("200 OK", "Content-Encoding: gzip") + gzip.compress(b"")[:10])
    forever(connection, b"\0\0\0\xff\xff" * 4096)


def hold(connection, body):
    """Slow enough that several requests are open at once, and counted."""
    with lock:
        state["now"] += 1
        state["peak"] = max(state["peak"], state["now"])
    time.sleep(0.3)
    with lock:
        state["now"] -= 1
    plain(connection, body)


ANSWERS = {
    "ok": lambda c, body: plain(c, body),
    "close": lambda c, body: c.sendall(head("200 OK", "Connection: close") + body),
    "chunked": lambda c, body: chunks(c, [body[:7], body[7:]]),
    "html": lambda c, body: plain(c, body, "203 Whatever", "Content-Type: text/html"),
    "early": lambda c, body: (c.sendall(head("103 Early Hints", "Link: </SECRET>")), plain(c, body)),
    "hold": hold,
    # encodings
    "gzip": lambda c, body: encoded(c, "gzip", gzip.compress(body)),
    "x-gzip": lambda c, body: encoded(c, "X-GZIP", gzip.compress(body)),
    "deflate": lambda c, body: encoded(c, "deflate", zlib.compress(body)),
    "raw-deflate": lambda c, body: encoded(c, "deflate", raw_deflate(body)),
    "identity": lambda c, body: encoded(c, "identity", body),
    "stored": lambda c, body: encoded(c, "gzip", gzip.compress(body, 0)),
    "br": lambda c, body: encoded(c, "br", body),
    "zstd": lambda c, body: encoded(c, "zstd", body),
    "twice": lambda c, body: encoded(c, "gzip, gzip", gzip.compress(gzip.compress(body))),
    "twice-apart": lambda c, body: plain(c, gzip.compress(gzip.compress(body)), "200 OK",
                                         "Content-Encoding: gzip", "Content-Encoding: gzip"),
    "te-gzip": lambda c, body: (c.sendall(head("200 OK", "Transfer-Encoding: gzip, chunked")),
                                c.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(gzip.compress(body)), gzip.compress(body)))),
    "not-gzip": lambda c, body: encoded(c, "gzip", body),
    "gzip-cut": lambda c, body: encoded(c, "gzip", gzip.compress(body)[:-20]),
    "gzip-tail": lambda c, body: encoded(c, "gzip", gzip.compress(body) + SECRET),
    "gzip-members": lambda c, body: encoded(c, "gzip", gzip.compress(body[:20]) + gzip.compress(body[20:])),
    "bomb": lambda c, body: chunks(c, bomb(), "Content-Encoding: gzip"),
    "empty-blocks": empty_blocks,
    # lengths
    "short": lambda c, body: plain(c, body[:-1]),
    "long": lambda c, body: plain(c, body + b"x"),
    "long-close": lambda c, body: c.sendall(head("200 OK", "Connection: close") + body + b"x"),
    "partial": lambda c, body: c.sendall(head("200 OK", "Content-Length: %d" % len(body)) + body[:-5]),
    "break-off": break_off,
    "cut-off": cut_off,
    "empty": lambda c, body: c.sendall(head("204 No Content")),
    "other": lambda c, body: plain(c, SECRET * (len(body) // 6) + b"x" * (len(body) % 6)),
    "huge": lambda c, body: c.sendall(head("200 OK", "Content-Length: 99999999999") + body),
    "huger": lambda c, body: c.sendall(head("200 OK", "Content-Length: 9" + "0" * 40) + body),
    "endless": lambda c, body: (c.sendall(head("200 OK", "Transfer-Encoding: chunked")),
                                forever(c, b"1000\r\n" + b" " * 4096 + b"\r\n")),
    "endless-close": lambda c, body: (c.sendall(head("200 OK", "Connection: close")), forever(c, b" " * 4096)),
    "endless-extension": lambda c, body: (c.sendall(head("200 OK", "Transfer-Encoding: chunked") + b"1;"),
                                          forever(c, b"SECRET=1;" * 400)),
    "endless-trailer": lambda c, body: (c.sendall(head("200 OK", "Transfer-Encoding: chunked")
                                                  + b"%x\r\n%s\r\n0\r\n" % (len(body), body)),
                                        forever(c, b"SECRET: 1\r\n" * 100)),
    "bad-chunk": lambda c, body: c.sendall(head("200 OK", "Transfer-Encoding: chunked") + b"SECRET\r\n" + body),
    # heads
    "headers": lambda c, body: (c.sendall(b"HTTP/1.1 200 OK\r\n"), c.sendall(b"SECRET: 1\r\n" * 100000),
                                c.sendall(b"\r\n" + body)),
    "endless-line": lambda c, body: (c.sendall(b"HTTP/1.1 200 OK\r\nSECRET: "), forever(c, b"SECRET" * 600)),
    "endless-hints": lambda c, body: forever(c, head("103 Early Hints", "SECRET: 1")),
    "http09": lambda c, body: c.sendall(body),
    "not-http": lambda c, body: c.sendall(b"SSH-2.0-SECRET\r\n"),
    "http2": lambda c, body: c.sendall(b"HTTP/2 200\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)),
    "hang-up": lambda c, body: None,
    # statuses
    "missing": lambda c, body: plain(c, SECRET, "404 SECRET"),
    "switch": lambda c, body: c.sendall(head("101 Switching Protocols", "Upgrade: SECRET") + body),
    "to-internal": redirect("http://127.0.0.2:INTERNAL/"),
    "to-host": redirect("//127.0.0.2:INTERNAL/"),
    "to-decimal": redirect("http://2130706434:INTERNAL/"),
    "to-file": redirect("file:///etc/passwd"),
    "to-gopher": redirect("gopher://127.0.0.2:INTERNAL/"),
    "to-data": redirect("data:,{}"),
    "to-self": redirect("/ok/tiny"),
    # speeds
    "silent": lambda c, body: time.sleep(30),
    "drip-head": lambda c, body: drip(c, head("200 OK", "Content-Length: %d" % len(body))),
    "drip-body": lambda c, body: (c.sendall(head("200 OK", "Content-Length: %d" % len(body))), drip(c, body)),
}


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data and len(data) < 1 << 20:
        piece = connection.recv(65536)
        if not piece:
            return data
        data += piece
    top, rest = data.split(b"\r\n\r\n", 1)
    for line in top.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            while len(rest) < int(value):
                rest += connection.recv(65536)
    return top + b"\r\n\r\n" + rest


def answer_one(connection):
    request = read_request(connection)
    words = request.split(b" ", 2)
    if len(words) < 3:
        return None
    with lock:
        state["requests"] += 1
        state["last"] = request
    segments = words[1].decode("latin-1").split("?")[0].split("/")
    name = segments[2] if len(segments) > 2 and segments[2] else "tiny"
    with open(path(name), "rb") as file:
        body = file.read()
    return ANSWERS[segments[1]](connection, body)


def serve_one(raw, context):
    connection = raw
    try:
        raw.settimeout(30)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            connection = context.wrap_socket(raw, server_side=True)
        if answer_one(connection) != "abort" and context:
            connection.settimeout(1)
            connection = connection.unwrap()
    except (OSError, ValueError):
        pass  # a client that had enough
    finally:
        connection.close()


def listen(address, handle):
    listener = socket.socket()
    listener.bind((address, 0))
    listener.listen(128)

    def accept():
        while True:
            raw = listener.accept()[0]
            threading.Thread(target=handle, args=(raw,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def count_internal(raw):
    with lock:
        state["internal"] += 1
    raw.close()


def main():
    global internal_port
    if not shutil.which("openssl"):
        print("skip there is no openssl to make certificates with", flush=True)
        return
    good, old = make_contexts()
    internal_port = listen("127.0.0.2", count_internal)
    ports = [listen("127.0.0.1", lambda raw, by=by: serve_one(raw, by)) for by in (good, None, old)]
    print("ready", *ports, internal_port, flush=True)
    for line in sys.stdin:
        with lock:
            if line == "stats\n":
                print(state["requests"], state["internal"], state["peak"], flush=True)
            elif line == "last\n":
                print(state["last"].hex(), flush=True)
            else:
                state.update(requests=0, internal=0, peak=0, last=b"")
                print("reset", flush=True)


main()
