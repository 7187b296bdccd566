"""A server on loopback for the powers http and rpc: it says what it was asked, or what it is told to.

usage: web_server.py PIPE

It writes its port into PIPE, and ends with its standard input. Paths:
  /echo...      200, a JSON object of what came: method, target, headers (by name in lower case), body
  /status/N     the status N, with a Location and a body
  /big/N        N bytes
  /two          a header twice
  /silent       no answer
  /cut          half an answer
  /rpc...       JSON-RPC by method: `echo` gives its params; `reply` the text params[0] as the whole
                answer, with ID for the request's id; `fail` the error params[0]; `status` the HTTP
                status params[0]; `silent`; `cut`; `count` how many requests came to /rpc...; `url`
                an error that quotes the server's URL
"""
import json
import socket
import sys
import threading

lock = threading.Lock()
count = 0


def head(status, *lines):
    return ("\r\n".join(["HTTP/1.1 " + status, *lines]) + "\r\n\r\n").encode("latin-1")


def plain(connection, body, status="200 OK", *lines):
    connection.sendall(head(status, "Content-Length: %d" % len(body), *lines) + body)


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    top, body = data.split(b"\r\n\r\n", 1)
    lines = top.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return method, target, headers, body


def wait(connection):
    connection.recv(1)  # until the client goes


def rpc(connection, target, body, port):
    global count
    request = json.loads(body)
    method, params = request["method"], request["params"]
    with lock:
        count += 1
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if method == "echo":
        answer["result"] = params
    elif method == "count":
        answer["result"] = count
    elif method == "fail":
        answer["error"] = params[0]
    elif method == "url":
        answer["error"] = {"code": -1, "message": "no http://127.0.0.1:%d%s here: %s" % (port, target, target)}
    elif method == "reply":
        plain(connection, str(params[0]).replace("ID", str(request["id"])).encode("utf-8", "surrogateescape"))
        return
    elif method == "status":
        plain(connection, json.dumps(answer | {"result": 1}).encode(), "%d SECRET" % params[0])
        return
    elif method == "silent":
        wait(connection)
        return
    else:
        connection.sendall(head("200 OK", "Content-Length: 100") + b'{"jsonrpc"')
        return
    plain(connection, json.dumps(answer).encode(), "200 OK", "Content-Type: application/json")


def answer(connection, port):
    request = read_request(connection)
    if not request:
        return
    method, target, headers, body = request
    words = target.split("?")[0].split("/")
    if words[1] == "rpc":
        rpc(connection, target, body, port)
    elif words[1] == "status":
        plain(connection, b"SECRET", words[2] + " SECRET", "Location: /echo", "Set-Cookie: SECRET=1")
    elif words[1] == "big":
        plain(connection, b"x" * int(words[2]))
    elif words[1] == "two":
        plain(connection, b"", "200 OK", "X-Two: 1", "x-two: 2", "X-Empty:")
    elif words[1] == "silent":
        wait(connection)
    elif words[1] == "cut":
        connection.sendall(head("200 OK", "Content-Length: 100") + b"half")
    else:
        plain(connection, json.dumps({"method": method, "target": target, "headers": headers,
                                      "body": body.decode("latin-1")}).encode())


def serve(connection, port):
    try:
        connection.settimeout(30)
        answer(connection, port)
    except (OSError, ValueError):
        pass
    finally:
        connection.close()


def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    port = listener.getsockname()[1]

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0], port), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with open(sys.argv[1], "w") as pipe:
        pipe.write("%d\n" % port)
    sys.stdin.read()


main()
