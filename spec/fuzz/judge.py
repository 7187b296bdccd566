"""Another reader and judge of call plans, and random plans with something wrong in them for both.

usage: judge.py LIBRARY SEED COUNT [SECONDS]

LIBRARY is libmoonplan.so. COUNT mutants, or those of SECONDS, are read by Python's json, judged by
the rules of ERC-8410 as they are written down below, put into the canonical form and hashed by the
Keccak below; and are given to moonplan_digest, moonplan_digest_many and moonplan_document_parse.
Nothing here comes from moonplan: JSON's grammar is Python's (strict, with duplicate names and lone
surrogates refused), the rules are the standard's, Keccak is FIPS 202's with the padding of its
submission. Every disagreement is a line; the last line counts.
"""
import ctypes
import json
import random
import re
import sys
import time

# -- Keccak-256 ------------------------------------------------------------------

MASK = (1 << 64) - 1


def round_constants():
    register = 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            if register & 1:
                constant |= 1 << ((1 << j) - 1)
            register <<= 1
            if register & 256:
                register ^= 0x171
        yield constant


CONSTANTS = list(round_constants())


def turn(lane, by):
    by %= 64
    return ((lane << by) | (lane >> (64 - by))) & MASK if by else lane


def permute(a):
    for constant in CONSTANTS:
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[(x - 1) % 5] ^ turn(c[(x + 1) % 5], 1) for x in range(5)]
        a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
        b = [[0] * 5 for _ in range(5)]
        b[0][0] = a[0][0]
        x, y = 1, 0
        for t in range(24):
            to_x, to_y = y, (2 * x + 3 * y) % 5
            b[to_x][to_y] = turn(a[x][y], (t + 1) * (t + 2) // 2)
            x, y = to_x, to_y
        a = [[b[x][y] ^ (~b[(x + 1) % 5][y] & MASK & b[(x + 2) % 5][y]) for y in range(5)]
             for x in range(5)]
        a[0][0] ^= constant
    return a


def keccak(text):
    text = bytearray(text)
    text += b"\x01" + bytes(135 - len(text) % 136)
    text[-1] |= 0x80
    a = [[0] * 5 for _ in range(5)]
    for block in range(0, len(text), 136):
        for i in range(17):
            a[i % 5][i // 5] ^= int.from_bytes(text[block + 8 * i:block + 8 * i + 8], "little")
        a = permute(a)
    return b"".join(a[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


known = {}


def digest(text):
    """Most mutants that are right have the digest of the plan that they were made of."""
    if text not in known:
        if len(known) > 100000:
            known.clear()
        known[text] = keccak(text)
    return known[text]


# -- JSON ------------------------------------------------------------------------


class Refused(Exception):
    pass


class Open(Exception):
    """What this judge has no rule for."""


class Number:
    """Any but a plain integer, which is all that a plan asks for by value."""


def no_duplicates(members):
    read = dict(members)
    if len(read) < len(members):
        raise Refused("a name stands twice")
    return read


def no_constant(_):
    raise Refused("no JSON")


decoder = json.JSONDecoder(
    object_pairs_hook=no_duplicates, parse_constant=no_constant, parse_float=lambda _: Number(),
    parse_int=lambda text: Number() if text[0] == "-" or len(text) > 40 else int(text))


def no_lone_surrogate(value):
    if isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise Refused("half a surrogate pair")
    elif isinstance(value, list):
        for element in value:
            no_lone_surrogate(element)
    elif isinstance(value, dict):
        for name, member in value.items():
            no_lone_surrogate(name)
            no_lone_surrogate(member)


def read(text):
    try:
        text = text.decode("utf-8")
        value, end = decoder.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))
    except (UnicodeDecodeError, json.JSONDecodeError) as fault:
        raise Refused(str(fault)) from None
    if text[end:].strip(" \t\r\n"):
        raise Refused("something behind the document")
    no_lone_surrogate(value)
    return value


# -- Rules -----------------------------------------------------------------------

QUANTITY = re.compile(r"(0|[1-9][0-9]{0,77})\Z")
DATA = re.compile(r"0x([0-9a-f]{2})*\Z")
ADDRESS = re.compile(r"0x[0-9a-f]{40}\Z")
CAPABILITY = re.compile(r"[\x21-\x7e]{1,64}\Z")
KINDS = ["execution", "approval", "allowance_cleanup", "signature_dependent_execution", "other"]
ACTIONS = ["retry_same_plan", "reprepare_plan", "user_review"]
ABI = [{"type": "error", "name": "Slippage", "inputs": [{"name": "wanted", "type": "uint256"},
                                                         {"name": "got", "type": "uint256"}]}]


def need(holds, rule):
    if not holds:
        raise Refused(rule)


def a_text(value, pattern):
    need(isinstance(value, str) and pattern.match(value), pattern.pattern)


def a_quantity(value):
    a_text(value, QUANTITY)
    need(int(value) < 2**256, "256 bits")


def one_of(value, names):
    need(isinstance(value, str) and value in names, names)


def members(value, required, optional=()):
    need(isinstance(value, dict), "an object")
    need(all(name in value for name in required), required)
    need(all(name in required or name in optional for name in value), "a member too many")


def judge_revert(given):
    members(given, ["kind", "abi"], ["required"])
    one_of(given["kind"], ["error_result"])
    need(isinstance(given.get("required", False), bool), "a boolean")
    need(isinstance(given["abi"], list) and given["abi"], "a fragment")
    # Fragments have a judge of their own; but what else is wrong is wrong all the same.
    return repr(given["abi"]) == repr(ABI)


def judge_policy(given):
    members(given, ["rpc_error", "execution_reverted", "simulation_setup_error"])
    for name, directive in given.items():
        members(directive, ["action", "instruction"])
        one_of(directive["action"], ACTIONS if name == "rpc_error" else ACTIONS[1:])
        instruction = directive["instruction"]
        need(isinstance(instruction, str) and 1 <= len(instruction) <= 2000, "an instruction")


def judge(text):
    """The plan digest."""
    plan = read(text)
    members(plan, ["schema_version", "chain_id", "caip2_chain_id", "sender", "ordered_steps"],
            ["required_capabilities", "simulation_failure_policy", "extensions"])
    one_of(plan["schema_version"], ["1"])
    chain, sender, steps = plan["chain_id"], plan["sender"], plan["ordered_steps"]
    a_quantity(chain)
    need(plan["caip2_chain_id"] == "eip155:" + chain, "CAIP-2")
    a_text(sender, ADDRESS)
    need(isinstance(steps, list) and 1 <= len(steps) <= 4096, "steps")
    canonical, whole = [], True
    for number, step in enumerate(steps, 1):
        members(step, ["step", "kind", "transaction"], ["revert_decode"])
        need(type(step["step"]) is int and step["step"] == number, "the step's number")
        one_of(step["kind"], KINDS)
        call = step["transaction"]
        members(call, ["chain_id", "from", "to", "data", "value"], ["gas"])
        one_of(call["chain_id"], [chain])
        one_of(call["from"], [sender])
        a_text(call["to"], ADDRESS)
        a_text(call["data"], DATA)
        a_quantity(call["value"])
        a_quantity(call.get("gas", "0"))
        if "revert_decode" in step:
            whole = judge_revert(step["revert_decode"]) and whole
        canonical.append(
            '{"step":%d,"kind":"%s","transaction":{"chain_id":"%s","from":"%s","to":"%s",'
            '"data":"%s","value":"%s"}}' % (number, step["kind"], chain, sender, call["to"],
                                            call["data"], call["value"]))
    names = plan.get("required_capabilities", [])
    need(isinstance(names, list) and len(names) <= 32, "capabilities")
    for name in names:
        a_text(name, CAPABILITY)
    if "simulation_failure_policy" in plan:
        judge_policy(plan["simulation_failure_policy"])
    need(isinstance(plan.get("extensions", {}), dict), "extensions")
    if not whole:
        raise Open
    return digest(('{"schema_version":"1","chain_id":"%s","sender":"%s","ordered_steps":[%s]}' % (
        chain, sender, ",".join(canonical))).encode())


# -- Plans -----------------------------------------------------------------------

chance = random.Random()


def digits(count):
    return "".join(chance.choice("0123456789abcdef") for _ in range(count))


def shuffled(value):
    names = list(value)
    chance.shuffle(names)
    return {name: value[name] for name in names}


def make_step(number, chain, sender):
    call = {"chain_id": chain, "from": sender, "to": "0x" + digits(40),
            "data": "0x" + digits(2 * chance.choice([0, 1, 4, 31, 32, 68, 100, 300])),
            "value": str(chance.choice([0, 1, chance.getrandbits(60), chance.getrandbits(256)]))}
    if chance.random() < 0.4:
        call["gas"] = str(chance.getrandbits(24))
    step = {"step": number, "kind": chance.choice(KINDS),
            "transaction": shuffled(call) if chance.random() < 0.3 else call}
    if chance.random() < 0.3:
        step["revert_decode"] = {"kind": "error_result", "abi": ABI}
        if chance.random() < 0.5:
            step["revert_decode"]["required"] = chance.random() < 0.5
    return shuffled(step) if chance.random() < 0.2 else step


def make_plan():
    chain = chance.choice(["1", "10", "8453", "0", "137", str(chance.getrandbits(90))])
    sender = "0x" + digits(40)
    steps = range(1, chance.choice([1, 1, 2, 3, 3, 4, 5, 9]) + 1)
    plan = {"schema_version": "1", "chain_id": chain, "caip2_chain_id": "eip155:" + chain,
            "sender": sender, "ordered_steps": [make_step(n, chain, sender) for n in steps]}
    if chance.random() < 0.4:
        plan["required_capabilities"] = chance.choice(
            [[], ["atomic_batch"], ["atomic_batch", "x!y"]])
    if chance.random() < 0.4:
        plan["simulation_failure_policy"] = {
            "rpc_error": {"action": "retry_same_plan", "instruction": "ask again"},
            "execution_reverted": {"action": "reprepare_plan", "instruction": "Pr\u00fcfen \U0001f600"},
            "simulation_setup_error": {"action": "user_review", "instruction": 'l"oo\\k\n'}}
    if chance.random() < 0.4:
        plan["extensions"] = chance.choice([
            {}, {"a": 1, "b": [1, 2, {"c": None}], "chain_id": "2"},
            {"x": [{"name": "a", "v": 1.5e-7}, {"name": "b", "v": -1}, {"name": "c", "v": "\u20ac"}]},
            {"e": {"n": [[], [{}], "", 0, True, False, None]}}])
    return json.dumps(shuffled(plan) if chance.random() < 0.2 else plan,
                      indent=chance.choice([None, None, None, 2, 1, 4, "\t"]),
                      separators=chance.choice([(",", ":"), (", ", ": ")]),
                      ensure_ascii=chance.random() < 0.5)


# -- Something wrong -------------------------------------------------------------

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|[\[\]{}:,]|[ \t\r\n]+', re.S)
NUMBERS = ["0", "-0", "01", "1.0", "1e0", "1E+0", "10e-1", "+1", ".5", "1.", "1e", "0x1", "1_0",
           "9007199254740993", "18446744073709551617", "4294967297", "-1", "1e400", "1e-400", "00",
           "\u0663", "NaN", "Infinity", "-", "1" + "0" * 80, "2"]
JUNK = ["", "{}", "[]", "null", "true", "false", "tru", "nulL", '""', '"a"', '"1"', "1", "[{}]", ",",
        ":", "{", "}", "[", "]", '"', "\\", "\x00", "\x0b", "\x0c", "\u00a0", "\ufeff", "\u2028",
        "/**/", "//x\n", "'a'", " ", "\t", "\n", "\r"]
INSIDE = ["\\", "\x01", "\x1f", "\x7f", "\n", "\\u", "\\u12", "\\ud800", "\\udc00", "\\ud83d\\ude00",
          "\\x41", "\\u0000", '\\"', '"', " ", "A", "g", "0", "\u00e9", "\U0001f600", "\ud800"]
SHORT = {"/": "\\/", '"': '\\"', "\\": "\\\\", "\b": "\\b", "\n": "\\n", "\t": "\\t"}


def escaped(character):
    unit = character.encode("utf-16-be", "surrogatepass")
    text = "".join("\\u%04x" % int.from_bytes(unit[i:i + 2], "big") for i in range(0, len(unit), 2))
    pick = chance.random()
    return text if pick < 0.5 else text[:2] + text[2:].upper() if len(unit) == 2 and pick < 0.8 \
        else SHORT.get(character, text)


def within(token):
    """A place between the quotes; ValueError where there is none."""
    return chance.randrange(1, len(token) - 1)


def named(tokens):
    return [n for n, token in enumerate(tokens) if token[0] == '"' and n + 1 < len(tokens)
            and tokens[n + 1][0] == ":"]


def texts(tokens):
    return [n for n, token in enumerate(tokens) if token[0] == '"']


def of_scalars(tokens):
    return [n for n in named(tokens) if n + 2 < len(tokens) and tokens[n + 2][0] not in "{["]


def leave_out(t):
    at = chance.randrange(len(t))
    del t[at:at + chance.randint(1, 6)]


def double(t):
    at = chance.randrange(len(t))
    t[at:at] = t[at:at + chance.randint(1, 8)]


def swap(t):
    a, b = chance.randrange(len(t)), chance.randrange(len(t))
    t[a], t[b] = t[b], t[a]


def put_in(t):
    t.insert(chance.randrange(len(t) + 1), chance.choice(JUNK))


def replace(t):
    t[chance.randrange(len(t))] = chance.choice(JUNK)


def copy(t):
    t[chance.randrange(len(t))] = chance.choice(t)


def escape_one(t):
    n = chance.choice(texts(t))
    at = within(t[n])
    if "\\" not in t[n]:
        t[n] = t[n][:at] + escaped(t[n][at]) + t[n][at + 1:]


def escape_names(t):
    names = named(t)
    for n in chance.sample(names, min(len(names), chance.randint(1, 3))):
        if "\\" not in t[n]:
            t[n] = '"%s"' % "".join(escaped(c) if chance.random() < 0.4 else c for c in t[n][1:-1])


def spoil_text(t):
    n = chance.choice(texts(t))
    at = within(t[n] + " ")
    t[n] = t[n][:at] + chance.choice(INSIDE) + t[n][at:]


def shorten(t):
    n = chance.choice(texts(t))
    at = within(t[n])
    t[n] = t[n][:at] + t[n][at + 1:]


def retype(t):
    n = chance.choice(texts(t))
    at = within(t[n])
    t[n] = t[n][:at] + chance.choice('0123456789abcdefABCDEFghxyzX_ "\\') + t[n][at + 1:]


def widen(t):
    for _ in range(chance.randint(1, 4)):
        t.insert(chance.randrange(len(t) + 1), " " * chance.choice([1, 2, 7, 31, 63, 64, 65, 127, 130]))


def shift(t):
    t.insert(0, " " * chance.randrange(131))


def rename(t):
    names = named(t)
    t[chance.choice(names)] = t[chance.choice(names)]


def member_more(t):
    names = named(t)
    at = chance.choice(names)
    t[at:at] = [t[chance.choice([at, chance.choice(names)])], ":",
                chance.choice(["1", '"x"', "null", "{}", "[]"]), ","]


def member_twice(t):
    n = chance.choice(named(t))
    name = t[n]
    escape = within(name)
    t[n:n] = [name[:escape] + escaped(name[escape]) + name[escape + 1:], ":",
              chance.choice(["1", '"1"', "{}"]), ","]


def number(t):
    t[chance.choice([n for n, token in enumerate(t) if token[0] in "0123456789tfn"])] = \
        chance.choice(NUMBERS)


def value(t):
    names = named(t)
    t[chance.choice([n for n in texts(t) if n not in names])] = chance.choice(NUMBERS + JUNK)


def punctuation(t):
    t[chance.choice([n for n, token in enumerate(t) if token in ",:{}[]"])] = \
        chance.choice([",", ":", "{", "}", "[", "]", ",,", "", " "])


def cut_end(t):
    del t[chance.randrange(len(t)):]


def cut_begin(t):
    del t[:chance.randrange(len(t))]


def reorder(t):
    a, b = chance.sample(of_scalars(t), 2)
    t[a:a + 3], t[b:b + 3] = t[b:b + 3], t[a:a + 3]


def drop_member(t):
    at = chance.choice(of_scalars(t))
    del t[at:at + (4 if t[at + 3] == "," else 3)]


CHANGES = [leave_out, leave_out, double, swap, put_in, replace, copy, escape_one, escape_one,
           escape_names, spoil_text, shorten, retype, widen, shift, rename, member_more, member_twice,
           number, value, punctuation, cut_end, cut_begin, reorder, drop_member]
BYTES = [0x80, 0xc0, 0xc1, 0xe0, 0xed, 0xf0, 0xf5, 0xff, 0xc3, 0x00, 0x1f]


def mutant(tokens):
    tokens = list(tokens)
    for _ in range(chance.choice([0, 1, 1, 1, 1, 2, 2, 3])):
        try:
            chance.choice(CHANGES)(tokens)
        except (IndexError, ValueError):
            pass  # it has nothing of that kind
        tokens = [token for token in tokens if token]
    text = "".join(tokens).encode("utf-8", "surrogatepass")
    if text and chance.random() < 0.04:
        at = chance.randrange(len(text))
        text = text[:at] + bytes([chance.choice(BYTES)]) + text[at + chance.randint(0, 1):]
    return text


# -- Both ------------------------------------------------------------------------


class Text(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class Library:
    def __init__(self, path):
        self.own = ctypes.CDLL(path)
        self.own.moonplan_digest.restype = ctypes.c_bool
        self.own.moonplan_digest_many.restype = ctypes.c_size_t
        self.own.moonplan_document_parse.restype = ctypes.c_void_p

    def digest(self, text):
        out = ctypes.create_string_buffer(32)
        size = ctypes.c_size_t(len(text))
        return out.raw if self.own.moonplan_digest(out, text, size, None, None) else None

    def digest_many(self, all_texts):
        count = len(all_texts)
        given = (Text * count)(*[Text(text, len(text)) for text in all_texts])
        out, valid = ctypes.create_string_buffer(32 * count), (ctypes.c_bool * count)()
        self.own.moonplan_digest_many(out, valid, given, ctypes.c_size_t(count), None)
        return [out.raw[32 * n:32 * n + 32] if valid[n] else None for n in range(count)]

    def reads(self, text):
        document = self.own.moonplan_document_parse(text, ctypes.c_size_t(len(text)), None, None)
        if document:
            self.own.moonplan_document_free(ctypes.c_void_p(document))
        return bool(document)


def shown(value):
    return value.hex() if isinstance(value, bytes) else str(value)


def main(path, seed, count, seconds=0):
    library = Library(path)
    chance.seed(int(seed))
    assert keccak(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    until = time.monotonic() + float(seconds)
    accepted = refused = left = wrong = 0
    batch = []

    def compare(what, text, want, got):
        nonlocal wrong
        if want != got:
            wrong += 1
            print("%s: %s here, %s there, of %r" % (what, shown(want), shown(got), text))

    while accepted + refused + left < int(count) or time.monotonic() < until:
        plan = make_plan()
        tokens = TOKEN.findall(plan)
        assert "".join(tokens) == plan
        for _ in range(60):
            text = mutant(tokens)
            got = library.digest(text)
            try:
                want = judge(text)
                accepted += 1
            except Refused:
                want = None
                refused += 1
            except Open:
                want = got
                left += 1
            compare("digest", text, want, got)
            try:
                read(text)
                is_json = True
            except Refused:
                is_json = False
            compare("document", text, is_json, library.reads(text))
            batch.append((text, got))
        while batch:
            some = batch[:chance.choice([1, 2, 3, 5, 17])]
            del batch[:len(some)]
            for (text, got), again in zip(some, library.digest_many([text for text, _ in some])):
                compare("digest_many", text, got, again)
    print("seed %s: %d accepted, %d refused, %d left open, %d disagreements" % (
        seed, accepted, refused, left, wrong))


main(*sys.argv[1:])
