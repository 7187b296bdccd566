/* The module in a Lua state whose allocator fails: the n-th request, two in a row (Lua collects
 * garbage and tries once more), or every one from there on, for every n that there is. Each time
 * the outcome is what it is with memory enough, the error `memory`, or a Lua error; and when the
 * state is closed nothing is left, of Lua's or of ours. */
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "../../src/moonplan_lua.h"
#include "lua_alloc.h"
#include "samples.h"

/* A chunk gets the module and the text; it answers "right" or a code, or raises. */
typedef struct scene {
    const char *chunk;
    const char *text;
} scene;

typedef enum answer { NO_STATE, RIGHT, NO_MEMORY, RAISED } answer;

static int open_module(lua_State *L) {
    luaL_requiref(L, "_G", luaopen_base, 1);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
    return 1;
}

static answer judge(lua_State *L, int status, const char *chunk) {
    const char *said = lua_tostring(L, -1);
    if (status == LUA_OK) {
        if (said && strcmp(said, "right") == 0) return RIGHT;
        if (said && strcmp(said, "memory") == 0) return NO_MEMORY;
        check(false, __FILE__, __LINE__, chunk);
        check(false, __FILE__, __LINE__, said ? said : "no text");
        return RAISED;
    }
    /* What Lua says when memory or, for want of it, its stack does not suffice. */
    bool fine = status == LUA_ERRMEM || status == LUA_ERRERR ||
                (said && (strstr(said, "not enough memory") || strstr(said, "stack overflow")));
    if (!check(fine, __FILE__, __LINE__, chunk))
        check(false, __FILE__, __LINE__, said ? said : "no text");
    return RAISED;
}

/* Opening the module is part of the scene when there is no chunk. */
static answer play(const scene *s, counted *c, size_t fail_at, size_t in_a_row) {
    memset(c, 0, sizeof *c);
    c->in_a_row = in_a_row;
    lua_State *L = lua_newstate(counted_alloc, c);
    if (!L) return NO_STATE;
    int arguments = 0;
    lua_pushcfunction(L, open_module);
    if (s->chunk) {
        CHECK(lua_pcall(L, 0, 1, 0) == LUA_OK);
        CHECK(luaL_loadstring(L, s->chunk) == LUA_OK);
        lua_insert(L, 1);
        lua_pushstring(L, s->text);
        arguments = 2;
    }
    c->count.calls = 0;
    c->count.fail_at = fail_at;
    c->count.fail_on = in_a_row == 0;
    int status = lua_pcall(L, arguments, 1, 0);
    c->count.fail_at = 0;
    if (!s->chunk && status == LUA_OK) lua_pushliteral(L, "right");
    answer out = judge(L, status, s->chunk ? s->chunk : "luaopen_moonplan");
    size_t calls = c->count.calls;
    lua_close(L);
    c->count.calls = calls; /* closing makes none of interest */
    CHECK(c->count.used == 0);
    CHECK(c->count.blocks == 0);
    CHECK(!c->count.wrong);
    return out;
}

static void fail_each(const scene *s) {
    counted c;
    CHECK(play(s, &c, 0, 1) == RIGHT);
    size_t calls = c.count.calls, refusals = 0;
    CHECK(calls > 0);
    for (size_t in_a_row = 0; in_a_row < 3; in_a_row++)
        for (size_t n = 1; n <= calls; n++) refusals += play(s, &c, n, in_a_row) != RIGHT;
    CHECK(refusals > 0);
}

#define RIGHT_IF(condition) "if not (" condition ") then return 'wrong' end return 'right'"

static void opening(void) {
    const scene s = {NULL, NULL};
    fail_each(&s);
}

static void plans(void) {
    sample swap = plan_swap();
    const scene accepted = {
        "local m, text = ...\n"
        "local plan, err = m.call_plan(text, { implements = { 'atomic_batch', 'other' },\n"
        "  hex_case = 'normalize', limits = { depth = 64 } })\n"
        "if not plan then return err.code end\n"
        "local digest, err = m.digest(text)\n"
        "if not digest then return err.code end\n"
        "local canonical, err = plan:canonical()\n"
        "if not canonical then return err.code end\n"
        "local n = 0\n"
        "for i, step in ipairs(plan.steps) do n = n + step.data_bytes + #step.to end\n"
        "local lists = { plan.warnings, plan.required_capabilities, plan.failure_policy "
        "}\n" RIGHT_IF("plan.digest == digest and digest == m.keccak256(canonical) and n > 126 and"
                       " #plan.steps == 3 and tostring(plan) and tostring(plan.steps[1])"
                       " and plan:source('') == text"),
        swap.bytes};
    fail_each(&accepted);
    /* A text that there was no memory for is not one that is no plan. */
    const scene many = {"local m, text = ...\n"
                        "local digest, err = m.digest(text)\n"
                        "if not digest then return err.code end\n"
                        "local found, err = m.digest_many { text, 'x', text }\n"
                        "if not found then return err.code end\n" RIGHT_IF(
                            "found[1] == digest and found[3] == digest and found[2] == false"),
                        swap.bytes};
    fail_each(&many);
    sample warned = plan_with(",\"required_capabilities\":[\"a\",\"a\",\"a\"]");
    const scene warnings = {
        "local m, text = ...\n"
        "local plan, err = m.call_plan(text, { enforce_capabilities = false })\n"
        "if not plan then return err.code end\n" RIGHT_IF(
            "#plan.warnings == 2 and plan.warnings[1].line == 1"),
        warned.bytes};
    fail_each(&warnings);
    sample_free(&warned);
    sample_free(&swap);
}

static void refusals(void) {
    sample faulty = plan_faulty(20);
    const scene s = {"local m, text = ...\n"
                     "local plan, err = m.call_plan(text)\n"
                     "if plan then return 'accepted' end\n"
                     "if err.code == 'memory' then return 'memory' end\n" RIGHT_IF(
                         "#err.errors == 20 and err.line == 1 and tostring(err)"),
                     faulty.bytes};
    fail_each(&s);
    sample_free(&faulty);
}

/* Twenty members, so that the object has a table, and an escape. */
static const char json[] =
    "{\"a\":[1,2.5,[],{},null,true,\"\\u00e9\\n\"],\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,"
    "\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1,"
    "\"r\":1,\"s\":[[[[[[[[[[[[[[[[[[[[[[[[{\"x\":[]}]]]]]]]]]]]]]]]]]]]]]]]],\"t\":{\"u\":-0.0}}";

static void documents(void) {
    const scene there = {"local m, text = ...\n"
                         "local value, err = m.json.decode(text)\n"
                         "if value == nil then return err.code end\n" RIGHT_IF(
                             "value.a[2] == 2.5 and value.a[5] == m.null and m.is_array(value.s)"),
                         json};
    fail_each(&there);
    const scene back = {"local m, text = ...\n"
                        "local t = m.array { { z = 1, y = 'x\\n', x = m.array {} }, 2, 3.5 }\n"
                        "local wide, deep = {}, {}\n"
                        "for i = 1, 30 do wide['n' .. i] = i deep = { deep } end\n"
                        "local out, err = m.json.encode({ t, wide, deep }, { indent = 2 })\n"
                        "if out == nil then return err.code end\n"
                        "local value, err = m.json.decode(out)\n"
                        "if value == nil then return err.code end\n" RIGHT_IF(
                            "value[1][1].y == 'x\\n' and value[2].n30 == 30"),
                        ""};
    fail_each(&back);
    const scene refused = {"local m, text = ...\n"
                           "local t = { a = { { b = { 1, 2, { c = print } } } } }\n"
                           "local out, err = m.json.encode(t)\n"
                           "if err.code == 'memory' then return 'memory' end\n" RIGHT_IF(
                               "err.at == '/a/0/b/2/c' and tostring(err)"),
                           ""};
    fail_each(&refused);
    const scene number = {"local m, text = ...\n"
                          "local value, err = m.json.decode('[{\"a\":[1e400]}]')\n"
                          "if err.code == 'memory' then return 'memory' end\n" RIGHT_IF(
                              "err.code == 'json.number' and err.at == '/0/a/0'"),
                          ""};
    fail_each(&number);
}

static void requests(void) {
    static const char permit[] =
        "{\"schema_version\":\"1\",\"kind\":\"typed_data_signature_request\",\"signer\":"
        "\"0xabcdef0123456789abcdef0123456789abcdef01\",\"valid_until\":\"9\",\"typed_data\":{"
        "\"types\":{\"EIP712Domain\":[{\"name\":\"name\",\"type\":\"string\"}],\"Permit\":[{"
        "\"name\":\"owner\",\"type\":\"address\"},{\"name\":\"spender\",\"type\":\"address\"},{"
        "\"name\":\"value\",\"type\":\"uint256\"},{\"name\":\"nonce\",\"type\":\"uint256\"},{"
        "\"name\":\"deadline\",\"type\":\"uint256\"},{\"name\":\"l\",\"type\":\"S[]\"}],"
        "\"S\":[{\"name\":\"t\",\"type\":\"string\"}]},\"primaryType\":\"Permit\",\"domain\":{"
        "\"name\":\"D\"},\"message\":{\"owner\":\"0xabcdef0123456789abcdef0123456789abcdef01\","
        "\"spender\":\"0xabcdef0123456789abcdef0123456789abcdef02\",\"value\":\"5\",\"nonce\":"
        "\"0\",\"deadline\":\"99999999999\",\"l\":[{\"t\":\"\\u202e\"},{\"t\":\"\"}]}}}";
    const scene read = {"local m, text = ...\n"
                        "local request, err = m.typed_data(text, { now = 5, origin = 'x' })\n"
                        "if not request then return err.code end\n"
                        "local canonical, err = request:canonical()\n"
                        "if not canonical then return err.code end\n"
                        "local tree, err = request:explain()\n"
                        "if not tree then return err.code end\n"
                        "local review, err = request:review()\n"
                        "if not review then return err.code end\n" RIGHT_IF(
                            "m.keccak256(canonical) == request.request_digest and tostring(request)"
                            " and tree.message.encoded == request.message_hash"
                            " and review.counts.danger == 0 and review.counts.warning == 5"
                            " and request.types.S[1].name == 't' and #request.message.l == 2"),
                        permit};
    fail_each(&read);
    const scene refused = {
        "local m, text = ...\n"
        "local request, err = m.typed_data(text, { now = 9,\n"
        "  account = '0x1111111111111111111111111111111111111111' })\n"
        "if err.code == 'memory' then return 'memory' end\n"
        "if #err.errors ~= 2 then return 'wrong' end\n"
        "local fine, err = m.check_result('{\"kind\":\"typed_data_result\"}')\n"
        "if err.code == 'memory' then return 'memory' end\n" RIGHT_IF("#err.errors == 5"),
        permit};
    fail_each(&refused);
}

static void references(void) {
    sample swap = plan_swap();
    const scene resolved = {
        "local m, text = ...\n"
        "local envelope, err = m.make_reference(text)\n"
        "if not envelope then return err.code end\n"
        "local reference, err = m.reference(envelope, { implements = { 'atomic_batch' },\n"
        "  transports = { 'data' }, expect = 'plan' })\n"
        "if not reference then return err.code end\n"
        "local there, err = reference:resolve()\n"
        "if not there then return err.code end\n" RIGHT_IF(
            "there.text == text and #there.plan.steps == 3 and there.provenance.origin == ''"
            " and reference.integrity.value == there.provenance.digest and tostring(reference)"),
        swap.bytes};
    fail_each(&resolved);
    sample_free(&swap);
    const scene refused = {
        "local m, text = ...\n"
        "local reference, err = m.reference(text)\n"
        "if err.code == 'memory' then return 'memory' end\n"
        "local reference, err = m.reference(text, { transports = { 'file' } })\n"
        "if not reference then return err.code end\n"
        "local there, err, where = reference:resolve()\n"
        "if err.code == 'memory' then return 'memory' end\n" RIGHT_IF(
            "err.code == 'artifact.unavailable' and where == 'envelope' and not there"),
        "{\"kind\":\"artifact_reference\",\"artifact_type\":\"execution_plan\",\"url\":"
        "\"file:///nowhere\",\"bytes\":1,\"integrity\":{\"algorithm\":\"keccak256\",\"value\":"
        "\"0x0000000000000000000000000000000000000000000000000000000000000000\"}}"};
    fail_each(&refused);
}

static void reviews(void) {
    sample swap = plan_swap();
    const scene reviewed = {
        "local m, text = ...\n"
        "local abi, err = m.abi.parse('approve(address who, uint256 most)\\nerror E(uint256)')\n"
        "if not abi then return err.code end\n"
        "local review, err = m.review(text, { now = 1, limits = { abi_words = 1000 },\n"
        "  abis = { abi, { abi = abi, origin = 'o', chain_id = '1' } } })\n"
        "if not review then return err.code end\n"
        "local revert, err = m.abi.decode_revert('0x08c379a0', { abis = { abi } })\n"
        "if not revert then return err.code end\n" RIGHT_IF(
            "#review.steps == 3 and #review.findings > 0 and #m.findings() > 20"
            " and #abi.entries == 2 and tostring(abi) and revert.kind == 'malformed'"),
        swap.bytes};
    fail_each(&reviewed);
    const scene encoded = {
        "local m = ...\n"
        "local abi, f = m.abi, 'f((uint256 a, bytes b)[] list, string s)'\n"
        "local data, err = abi.encode(f, { list = { { a = 1, b = '0x00' } }, s = 'x' })\n"
        "if not data then return err.code end\n"
        "local values, notes = abi.decode(f, data .. '00')\n"
        "if not values then return notes.code end\n"
        "local none, err = abi.decode(f, data .. '00', { strict = true })\n"
        "if err.code == 'memory' then return 'memory' end\n"
        "local call, err = abi.decode_call(data)\n"
        "if not call then return err.code end\n"
        "local selector, wrong = abi.selector('f(uint7)')\n"
        "if wrong.code == 'memory' then return 'memory' end\n"
        "local fine, same = pcall(abi.call, f, { { 1, '0x00' } }, 'x')\n"
        "if not fine then error(same, 0) end\n" RIGHT_IF(
            "values.list[1].a == '1' and notes[1].code == 'abi.trailing' and same == data"
            " and not none and call.kind == 'not_decoded' and wrong.code == 'abi.type'"),
        ""};
    fail_each(&encoded);
    const scene converted = {
        "local m, text = ...\n"
        "local convert = m.convert\n"
        "local batch, lost = convert.to_send_calls(text)\n"
        "if not batch then return lost.code end\n"
        "local plan, none = convert.from_send_calls(batch)\n"
        "if not plan then return none.code end\n"
        "local safe, err = convert.to_safe(plan, { created = 1 })\n"
        "if not safe then return err.code end\n"
        "local again, err = convert.from_safe(safe, { account = plan.sender })\n"
        "if not again then return err.code end\n"
        "local nothing, err = convert.from_safe('[]')\n"
        "if err.code == 'memory' then return 'memory' end\n" RIGHT_IF(
            "#lost > 0 and #none == 0 and again.digest == plan.digest and not nothing"
            " and #plan.steps == 3 and err.code == 'convert.shape'"),
        swap.bytes};
    fail_each(&converted);
    sample_free(&swap);
}

static void the_rest(void) {
    const scene s = {"local m, text = ...\n"
                     "local kind, err = m.kind('{\"steps\":[]}')\n"
                     "if not kind then return err.code end\n"
                     "if kind ~= 'step_plan' then return kind end\n"
                     "local kind, err = m.kind('[]')\n"
                     "if err.code == 'memory' then return 'memory' end\n" RIGHT_IF(
                         "err.code == 'document.kind' and #m.limits() > 5 and #m.codes() > 20"
                         " and m.quote('a\\n') == '\"a\\\\u{a}\"'"),
                     ""};
    fail_each(&s);
}

int main(void) {
    RUN(opening);
    RUN(plans);
    RUN(refusals);
    RUN(documents);
    RUN(requests);
    RUN(references);
    RUN(reviews);
    RUN(the_rest);
    return check_end();
}
