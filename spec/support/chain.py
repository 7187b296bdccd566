"""A node on loopback for the specs of `moonplan send`: JSON-RPC that misbehaves on request.

usage: chain.py ANSWERS [ANVIL]

Behind it stands the program ANVIL, started on a port of its own, or a small node that knows just
enough to be sent plans to. Orders come as lines of JSON on standard input, and each is answered by a
line of JSON in the file ANSWERS (a pipe); the first line there is {"port": N}. It ends with its
standard input, and the node with it. The orders:

  {"do": "rpc", "method": M, "params": [...]}    ask the node itself, past all rules
  {"do": "transact", "transaction": {...}}       the receipt of a transaction, past all rules
  {"do": "rules", "rules": [...]}                how to misbehave from now on; the log begins anew
  {"do": "wallet", "atomic": STATUS, ...}        be an EIP-5792 wallet as well
  {"do": "log"}                                  the requests so far: [[method, params], ...]

A rule is {"method": M, "nth": N, ...}: it holds for the Nth request of that method (each, without
nth). What it does: "result": VALUE, "error": {...}, "set": {name: value} (in the node's own result),
"drop": [name] (of it), "close" (the connection, instead of answering), "lose" (the same, but the node has got it), "kill"
(the node, then close), "body": TEXT (as the whole answer), "zeros": N (so many bytes of answer),
"status": N (of HTTP), "hang" (until the other side goes).
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ACCOUNT = "0x" + "11" * 20
lock = threading.Lock()
state = {"rules": [], "log": [], "counts": {}, "wallet": None}


class Failure(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class Gone(Exception):
    """The node does not answer any more."""


class Node:
    """One account, and every transaction to it or anybody succeeds in a block of its own."""

    def __init__(self):
        self.sent = []

    def call(self, method, params):
        if method == "eth_chainId":
            return "0x1"
        if method == "eth_accounts":
            return [ACCOUNT]
        if method == "eth_simulateV1":
            count = len(params[0]["blockStateCalls"][0]["calls"])
            return [{"calls": [{"status": "0x1", "returnData": "0x", "gasUsed": "0x5208", "logs": []}] * count}]
        if method == "eth_call":
            return "0x"
        if method == "eth_estimateGas":
            return "0x5208"
        if method == "eth_getTransactionCount":
            return hex(len(self.sent))
        if method == "eth_sendTransaction":
            self.sent.append(params[0])
            return "0x%064x" % (0xABC000 + len(self.sent))
        if method == "eth_getTransactionReceipt":
            n = int(params[0], 16) - 0xABC000
            if n < 1 or n > len(self.sent):
                return None
            return {"transactionHash": params[0], "blockHash": "0x%064x" % (0xB10C00 + n), "blockNumber": hex(n),
                    "gasUsed": "0x5208", "status": "0x1", "from": self.sent[n - 1]["from"],
                    "to": self.sent[n - 1]["to"], "effectiveGasPrice": "0x1", "logs": []}
        raise Failure(-32601, "Method not found")


class Anvil:
    def __init__(self, program):
        self.child = subprocess.Popen([program, "--host", "127.0.0.1", "--port", "0", "--accounts", "2"],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.url = None
        for line in self.child.stdout:
            found = re.search(rb"Listening on (127\.0\.0\.1:\d+)", line)
            if found:
                self.url = "http://" + found.group(1).decode()
                break
        threading.Thread(target=self.child.stdout.read, daemon=True).start()
        if not self.url:
            raise Gone("anvil did not start")

    def call(self, method, params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                said = json.load(answer)
        except OSError as error:
            raise Gone(str(error))
        if "error" in said:
            failure = Failure(0, "")
            failure.error = said["error"]
            raise failure
        return said["result"]

    def kill(self):
        self.child.kill()
        self.child.wait()


def carried_out(transaction):
    """The receipt of a transaction; anvil mines behind its answer."""
    hash = node.call("eth_sendTransaction", [transaction])
    for _ in range(1000):
        receipt = node.call("eth_getTransactionReceipt", [hash])
        if receipt:
            return receipt
        time.sleep(0.01)
    raise Gone("a transaction was not mined")


class Wallet:
    """EIP-5792 over a node. With atomicRequired, what reverts takes back what came before it."""

    def __init__(self, order):
        self.order = order
        self.batches = {}

    def capabilities(self, params):
        account, chains = params
        if account not in [each.lower() for each in node.call("eth_accounts", [])]:
            raise Failure(4100, "Unauthorized")
        atomic = self.order.get("atomic")
        return {} if atomic is None else {chains[0]: {"atomic": {"status": atomic}}}

    def send(self, params):
        if len(params) != 1:
            raise Failure(-32602, "one object is wanted")
        batch = params[0]
        if batch.get("version") != "2.0.0" or batch.get("chainId") != node.call("eth_chainId", []):
            raise Failure(5710, "unsupported chain or version")
        if not isinstance(batch.get("atomicRequired"), bool):
            raise Failure(-32602, "atomicRequired is wanted")
        if batch["atomicRequired"] and self.order.get("atomic") not in ("supported", "ready"):
            raise Failure(5760, "atomicity is not supported")
        for call in batch["calls"]:
            if set(call) != {"to", "data", "value"} or not re.fullmatch("0x(0|[1-9a-f][0-9a-f]*)", call["value"]):
                raise Failure(-32602, "a call is to, data and value")
        if batch["id"] in self.batches:
            raise Failure(5720, "duplicate id")
        if self.order.get("reject"):
            raise Failure(4001, "User rejected the request")
        self.batches[batch["id"]] = {"batch": batch, "asked": 0}
        return {"id": batch["id"]}

    def carry_out(self, batch):
        atomic = batch["atomicRequired"] and not self.order.get("lies")
        real = isinstance(node, Anvil)
        before = node.call("evm_snapshot", []) if atomic and real else None
        receipts = []
        for call in batch["calls"]:
            sent = dict(call, **{"from": batch["from"], "gas": "0x100000"})
            receipts.append(carried_out(sent))
            if receipts[-1]["status"] != "0x1":
                break
        fine = receipts[-1]["status"] == "0x1"
        if not fine and atomic and real:
            node.call("evm_revert", [before])
        if atomic:
            receipts = receipts[-1:]
        status = 200 if fine else 500 if atomic or len(receipts) == 1 else 600
        return {"status": status, "atomic": atomic, "receipts": receipts}

    def status(self, params):
        known = self.batches.get(params[0])
        if not known:
            raise Failure(5730, "unknown bundle id")
        known["asked"] += 1
        answer = {"version": "2.0.0", "id": params[0], "chainId": known["batch"]["chainId"]}
        if known["asked"] == 1:
            return dict(answer, status=100, atomic=known["batch"]["atomicRequired"])
        if "done" not in known:
            known["done"] = self.carry_out(known["batch"])
        return dict(answer, **known["done"])

    METHODS = {"wallet_getCapabilities": capabilities, "wallet_sendCalls": send, "wallet_getCallsStatus": status}


def rule_for(method):
    count = state["counts"][method] = state["counts"].get(method, 0) + 1
    for rule in state["rules"]:
        if rule["method"] == method and rule.get("nth", count) == count:
            return rule
    return {}


def answer(method, params):
    wallet = state["wallet"]
    if wallet and method in Wallet.METHODS:
        return Wallet.METHODS[method](wallet, params)
    return node.call(method, params)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def reply(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, params = request["method"], request.get("params", [])
        with lock:
            state["log"].append([method, params])
            rule = rule_for(method)
            if "close" in rule:
                return self.hang_up()
            if "kill" in rule:
                node.kill()
                return self.hang_up()
            said = {"jsonrpc": "2.0", "id": request["id"]}
            try:
                if "result" in rule:
                    said["result"] = rule["result"]
                elif "error" in rule:
                    said["error"] = rule["error"]
                elif "body" not in rule and "zeros" not in rule:
                    said["result"] = answer(method, params)
                    if "set" in rule:
                        said["result"] = dict(said["result"], **rule["set"])
                    for name in rule.get("drop", []):
                        del said["result"][name]
            except Failure as failure:
                said["error"] = failure.error
            except Gone:
                return self.hang_up()
            if "lose" in rule:
                return self.hang_up()
        if "hang" in rule:
            self.rfile.read(1)
            return self.hang_up()
        try:
            if "body" in rule:
                self.reply(rule["body"].encode())
            elif "zeros" in rule:
                self.reply(b"0" * rule["zeros"])
            else:
                self.reply(json.dumps(said).encode(), rule.get("status", 200))
        except OSError:
            self.close_connection = True


def obey(order):
    what = order["do"]
    if what == "rpc":
        try:
            return {"result": node.call(order["method"], order.get("params", []))}
        except Failure as failure:
            return {"error": failure.error}
    if what == "transact":
        return {"result": carried_out(order["transaction"])}
    with lock:
        if what == "rules":
            state.update(rules=order.get("rules", []), log=[], counts={})
        elif what == "wallet":
            state["wallet"] = Wallet(order)
        elif what == "log":
            return {"log": state["log"]}
    return {}


def main():
    global node
    with open(sys.argv[1], "w", buffering=1) as answers:
        try:
            node = Anvil(sys.argv[2]) if len(sys.argv) > 2 else Node()
        except (OSError, Gone) as error:
            print(json.dumps({"error": str(error)}), file=answers)
            return
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(json.dumps({"port": server.server_port}), file=answers)
        try:
            for line in sys.stdin:
                print(json.dumps(obey(json.loads(line))), file=answers)
        finally:
            if isinstance(node, Anvil):
                node.kill()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
    sys.stdout.flush()
    os._exit(0)
