/* Engines in a Lua state: what the host has set up stays as it is, objects end in any order, states
 * in threads do not know each other, and no request for memory may fail without an answer.
 *
 * Plugins are written into a folder of the test's own. */
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/moonplan_lua.h"
#include "lua_alloc.h"

static char folder[] = "/tmp/moonplan-engine-XXXXXX";

static void put(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL)) exit(1);
    fputs(text, file);
    fclose(file);
}

static void lay_out(void) {
    char path[128];
    if (!CHECK(mkdtemp(folder) != NULL)) exit(1);
    snprintf(path, sizeof path, "mkdir %s/d %s/powers", folder, folder);
    CHECK(system(path) == 0);
    put("p.lua",
        "return { kind = 'capability', api = 1, name = 'p.echo', version = '1', risk = 'read',\n"
        "  summary = 's', input = { x = { type = 'number', required = true } },\n"
        "  examples = { { input = { x = 1 }, output = { x = 1 } } },\n"
        "  run = function(input, ctx) ctx.log.info('called', { input.x }) return input end }\n");
    put("d/init.lua",
        "local h = plugin.import 'h'\n"
        "return { { kind = 'capability', api = 1, name = 'd.fail', version = '1', risk = 'read',\n"
        "  summary = 's', needs = { 'fs' }, run = function(_, ctx)\n"
        "    local text, err = ctx.fs.read 'n.txt'\n"
        "    return nil, text and { message = h .. text, code = 'c' } or err end } }\n");
    put("d/h.lua", "return 'helped '");
    put("d/n.txt", "two words");
    put("powers/w.lua",
        "return { kind = 'capability', api = 1, name = 'w', version = '1', risk = 'write',\n"
        "  summary = 's', needs = { 'kv', 'random', 'secret:t', 'http', 'rpc:m' },\n"
        "  examples = { { given = { kv = { k = 1 }, random = 1, secret = { t = 'hunter22' },\n"
        "    http = { { request = { url = 'https://a.example/' }, response = { headers = { a = 'b' "
        "}, body = 'c' } } },\n"
        "    rpc = { m = { { method = 'x', params = { 1 }, result = { 2 } } } } },\n"
        "    output = { '[secret:t]', 'c', 2 }, after = { kv = { k = { 2 } } } } },\n"
        "  run = function(input, ctx)\n"
        "    local t = assert(ctx.secret.get 't')\n"
        "    ctx.log.info(t, { t, [2] = { t = 1 } })\n"
        "    assert(#assert(ctx.random.bytes(9)) == 9 and assert(ctx.random.integer(1, 2)) < 3)\n"
        "    local before, err = ctx.kv.get 'k'\n"
        "    if err then return nil, err end\n"
        "    assert(ctx.kv.set('k', { (before or 1) + 1 }))\n"
        "    assert(ctx.kv.set('l', t)) assert(assert(ctx.kv.list())[1] == 'k') "
        "assert(ctx.kv.set('l'))\n"
        "    local response, why = ctx.http.request { url = 'https://a.example/', headers = { x = "
        "'y' } }\n"
        "    local result, other = ctx.rpc.call('m', 'x', { 1 })\n"
        "    if not response and why.code ~= 'http.origin' then return nil, why end\n"
        "    if not result and other.code ~= 'rpc.unavailable' then return nil, other end\n"
        "    return { t, response and response.body, result and result[1] } end }\n");
}

static void clean_up(void) {
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

/* -- A host's state ----------------------------------------------------------*/

/* Of the plugins in `work`. */
static const char *isolation = "process";

static lua_State *new_state(void) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 1);
    lua_pushstring(L, folder);
    lua_setglobal(L, "folder");
    lua_pushstring(L, isolation);
    lua_setglobal(L, "isolation");
    lua_settop(L, 0);
    return L;
}

static bool run(lua_State *L, const char *chunk) {
    bool fine = luaL_dostring(L, chunk) == LUA_OK;
    if (!CHECK(fine)) printf("# %s\n", lua_tostring(L, -1));
    lua_settop(L, 0);
    return fine;
}

static const char work[] =
    "local grants = { fs = folder .. '/d' }\n"
    "local engine = assert(moonplan.engine { plugins = folder, shipped = false, grants = grants,\n"
    "  isolation = isolation,\n"
    "  limits = { call_ms = 10000 }, authorizer = function() return { decision = 'allow' } end })\n"
    "local seen = 0\n"
    "engine:on('*', function() seen = seen + 1 error('x') end)\n"
    "engine:on('log', function() seen = seen + 1 end)\n"
    "assert(engine:capability { name = 'host', version = '1', risk = 'write',\n"
    "  run = function(input) return { input } end })\n"
    "local job = assert(engine:run { version = '1.0', steps = {\n"
    "  { id = 'a', capability = 'p.echo', input = { x = 1 } },\n"
    "  { id = 'b', capability = 'host', input = { { ['$ref'] = 'steps.a.result.x' } } },\n"
    "  { id = 'c', capability = 'd.fail' } } })\n"
    "assert(job.error.message == 'helped two words' and job.error.detail.code == 'd.c')\n"
    "assert(job.steps[2].result[1][1] == 1 and seen == 12)\n"
    "assert(not engine:run '{\"steps\":[{\"id\":\"a\",\"capability\":\"x\"}]}')\n"
    "for want in engine:drive { steps = { { id = 'a', capability = 'host' } } } do\n"
    "  if want.kind == 'result' then want:fail('no') end\n"
    "end\n"
    "assert(engine:test('p.echo')[1].ok and #engine:list() == 3 and engine:reload())\n";

static int hook_calls;
static void hook(lua_State *L, lua_Debug *at) {
    (void)L;
    (void)at;
    hook_calls++;
}
static int panic(lua_State *L) {
    (void)L;
    return 0;
}
static void warn(void *data, const char *message, int more) {
    (void)message;
    (void)more;
    ++*(int *)data;
}

static void a_host_stays_as_it_is(void) {
    lua_State *L = new_state();
    int warnings = 0;
    void *alloc_data;
    lua_Alloc alloc = lua_getallocf(L, &alloc_data);
    run(L, "setmetatable(_G, { __index = function(_, name) error('no global ' .. name) end,\n"
           "  __newindex = function() error('a new global') end })\n");
    lua_pushglobaltable(L);
    CHECK(lua_getmetatable(L, -1));
    int before = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_gc(L, LUA_GCGEN, 0, 0);
    lua_atpanic(L, panic);
    lua_setwarnf(L, warn, &warnings);
    lua_sethook(L, hook, LUA_MASKCOUNT, 1000);
    for (int i = 0; i < 60; i++) { /* a thousand calls, of plugins, functions and listeners */
        if (!run(L, work)) break;
    }
    CHECK(lua_gethook(L) == hook && lua_gethookmask(L) == LUA_MASKCOUNT);
    CHECK(lua_gethookcount(L) == 1000 && hook_calls > 0);
    CHECK(lua_gc(L, LUA_GCGEN, 0, 0) == LUA_GCGEN); /* the mode that it was in */
    CHECK(lua_atpanic(L, NULL) == panic);
    void *alloc_data_now;
    CHECK(lua_getallocf(L, &alloc_data_now) == alloc && alloc_data_now == alloc_data);
    CHECK(warnings == 0);
    lua_pushglobaltable(L);
    CHECK(lua_getmetatable(L, -1));
    lua_rawgeti(L, LUA_REGISTRYINDEX, before);
    CHECK(lua_rawequal(L, -1, -2));
    lua_sethook(L, NULL, 0, 0);
    lua_close(L);
}

static void globals_stay_as_they_are(void) {
    lua_State *L = new_state();
    run(L, "local before, after = {}, {}\n"
           "local loaded = {}\n"
           "for name in pairs(package.loaded) do loaded[name] = true end\n"
           "for name, value in pairs(_G) do before[name] = value end\n"
           "local string_meta, index = getmetatable(''), getmetatable('').__index\n"
           "local n = 0 for _ in pairs(string_meta) do n = n + 1 end\n"
           "local upper, rep = string.upper, string.rep\n"
           "work = nil\n"
           "collectgarbage() collectgarbage('stop')\n"
           "do local engine = moonplan.engine { plugins = folder }\n"
           "  assert(engine:run { steps = { { id = 'a', capability = 'p.echo', input = { x = 1 } } "
           "} })\n"
           "end\n"
           "assert(not collectgarbage('isrunning')) collectgarbage('restart')\n"
           "for name, value in pairs(_G) do assert(rawequal(before[name], value), name) end\n"
           "for name in pairs(before) do assert(_G[name] ~= nil, name) end\n"
           "for name in pairs(package.loaded) do assert(loaded[name], name) end\n"
           "assert(getmetatable('') == string_meta and string_meta.__index == index)\n"
           "local m = 0 for _ in pairs(string_meta) do m = m + 1 end assert(n == m)\n"
           "assert(string.upper == upper and string.rep == rep and ('x'):upper() == 'X')\n");
    lua_close(L);
}

/* Objects in globals, in tables that finalizers see, in each other: whatever ends first. The
 * finalizers make nothing that holds C memory: Lua (5.4.4) finalizes nothing that is made while a
 * state closes. */
static void objects_end_in_any_order(void) {
    static const char *const chunks[] = {
        "e = moonplan.engine { plugins = folder }\n"
        "d = e:drive { steps = { { id = 'a', capability = 'p.echo', input = { x = 1 } } } } w = "
        "d()\n",
        "local e = moonplan.engine { plugins = folder, shipped = false }\n"
        "d = e:drive { steps = { { id = 'a', capability = 'p.echo', input = { x = 1 } } } }\n"
        "d() d() e = nil collectgarbage() collectgarbage()\n",
        "local list = {}\n"
        "for n = 1, 5 do\n"
        "  local e = moonplan.engine { plugins = folder, shipped = false }\n"
        "  list[n] = e:drive { steps = { { id = 'a', capability = 'p.echo', input = { x = 1 } },\n"
        "    { id = 'b', capability = 'p.echo', input = { x = 2 } } } }\n"
        "  for _ = 1, n do list[n]() end\n"
        "  if n % 2 == 0 then e:close() end\n"
        "end\n"
        "setmetatable(list, { __gc = function(list)\n"
        "  for _, d in ipairs(list) do pcall(d) pcall(tostring, d) end end })\n"
        "kept = list\n",
        /* github.com/mlua-rs/rlua/issues/19: an object is used after its finalizer has run. */
        "local e = moonplan.engine { plugins = folder, shipped = false }\n"
        "local job = e:run { steps = { { id = 'a', capability = 'p.echo', input = { x = 1 } } } }\n"
        "local d = e:drive { steps = { { id = 'a', capability = 'p.echo', input = { x = 1 } } } }\n"
        "local w = d()\n"
        "setmetatable({}, { __gc = function() again = { e, job, d, w } end })\n"
        "local use = function(t)\n"
        "  for _, f in ipairs { function() t[1]:run('{}') end, function() t[1]:list() end,\n"
        "    function() return #t[2]:json() + #t[2].steps end, t[3], function() t[4]:allow() end,\n"
        "    function() t[1]:close() end, function() return tostring(t[1]) end } do\n"
        "    pcall(f) end end\n"
        "setmetatable({}, { __gc = function() use { e, job, d, w } end })\n"
        "e, job, d, w = nil collectgarbage() collectgarbage()\n"
        "if again then use(again) end\n",
        "e = moonplan.engine { plugins = folder, authorizer = function() return e and { decision = "
        "'allow' } end }\n"
        "e:on('*', function() return e end)\n"
        "e:capability { name = 'x', version = '1', risk = 'read', run = function()\n"
        "  e:unregister('x') e:reload() collectgarbage() return 1 end }\n"
        "assert(e:run { steps = { { id = 'a', capability = 'x' } } }.result == 1)\n",
        "co = coroutine.create(function()\n"
        "  local e <close> = moonplan.engine { plugins = folder }\n"
        "  local d <close> = e:drive { steps = { { id = 'a', capability = 'p.echo', input = { x = "
        "1 } } } }\n"
        "  d() coroutine.yield() end)\n"
        "assert(coroutine.resume(co))\n",
    };
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        lua_State *L = new_state();
        run(L, chunks[i]);
        lua_close(L);
    }
}

/* -- Threads -----------------------------------------------------------------*/

static void *in_thread(void *failed) {
    lua_State *L = new_state();
    for (int i = 0; i < 20; i++) {
        if (luaL_dostring(L, work) == LUA_OK) continue;
        *(bool *)failed = true;
        printf("# %s\n", lua_tostring(L, -1));
    }
    lua_close(L);
    return NULL;
}

/* With a stack of a mebibyte, half of it to spare. */
static void states_in_threads_do_not_meet(void) {
    pthread_t threads[4];
    bool failed[4] = {false};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 524288);
    for (size_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], &attributes, in_thread, &failed[i]) == 0);
    for (size_t i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0 && !failed[i]);
    pthread_attr_destroy(&attributes);
}

/* -- Memory ------------------------------------------------------------------*/

/* What a chunk says at its end: "right", or a code. */
static const char prelude[] =
    "local m, folder = ...\n"
    "local function check(value, err)\n"
    "  if value then return value end\n"
    "  error(type(err) == 'table' and err.code or err, 0)\n"
    "end\n"
    "local function done(job)\n"
    "  if job.error and job.error.code == 'job.memory' then error('memory', 0) end\n"
    "  return job\n"
    "end\n"
    "local function engine(options)\n"
    "  local all = { shipped = false }\n"
    "  for k, v in next, options do all[k] = v end\n"
    "  return check(m.engine(all))\n"
    "end\n";

static bool is_memory(const char *said) {
    return said && (strcmp(said, "memory") == 0 || strstr(said, "not enough memory") ||
                    strstr(said, "out of memory") || strstr(said, "stack overflow"));
}

static int open_module(lua_State *L) {
    luaL_requiref(L, "_G", luaopen_base, 1);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
    return 1;
}

/* 1: right, 0: for want of memory. */
static int play(const char *chunk, counted *c, size_t fail_at, size_t in_a_row) {
    memset(c, 0, sizeof *c);
    c->in_a_row = in_a_row;
    lua_State *L = lua_newstate(counted_alloc, c);
    if (!CHECK(L != NULL)) exit(1);
    lua_pushcfunction(L, open_module);
    CHECK(lua_pcall(L, 0, 1, 0) == LUA_OK);
    lua_pushfstring(L, "%s%s\nreturn 'right'", prelude, chunk);
    CHECK(luaL_loadstring(L, lua_tostring(L, -1)) == LUA_OK);
    lua_insert(L, 1);
    lua_pop(L, 1);
    lua_pushstring(L, folder);
    /* What a trust store remembers: every time is the first. */
    char seen[128];
    snprintf(seen, sizeof seen, "%s/keys/seen.json", folder);
    unlink(seen);
    c->count.calls = 0;
    c->count.fail_at = fail_at;
    c->count.fail_on = in_a_row == 0;
    int status = lua_pcall(L, 2, 1, 0);
    c->count.fail_at = 0;
    /* An iterator has no second value to give an error by, so it raises the table. */
    if (lua_istable(L, -1)) lua_getfield(L, -1, "code");
    const char *said = lua_tostring(L, -1);
    bool right = status == LUA_OK && said && strcmp(said, "right") == 0;
    bool memory = status == LUA_ERRMEM || status == LUA_ERRERR || is_memory(said);
    if (!right && !CHECK(memory))
        printf("# request %zu, %zu: status %d, %s\n", fail_at, in_a_row, status,
               said ? said : luaL_typename(L, -1));
    size_t calls = c->count.calls;
    lua_close(L);
    c->count.calls = calls;
    CHECK(c->count.used == 0 && c->count.blocks == 0);
    CHECK(!c->count.wrong);
    return right;
}

/* Every request in turn: alone, with the one behind it (Lua collects garbage and asks again), and
 * from there on. Of a long scene, every so manieth, unless there is time. */
static void fail_each(const char *chunk) {
    counted c;
    if (!CHECK(play(chunk, &c, 0, 1) == 1)) return;
    size_t calls = c.count.calls, refusals = 0;
    size_t stride = getenv("MOONPLAN_SOAK") || calls < 600 ? 1 : calls / 600;
    for (size_t in_a_row = 0; in_a_row < 3; in_a_row++)
        for (size_t n = 1 + in_a_row; n <= calls; n += stride)
            refusals += play(chunk, &c, n, in_a_row) == 0;
    CHECK(refusals > 0);
}

static void opening_an_engine(void) {
    fail_each(
        "local e = engine { plugins = { folder }, allow = { 'write' }, plan_versions = { '1.0' },\n"
        "  grants = { fs = folder, ['fs:rw'] = folder, clock = true }, authorizer = function() "
        "end,\n"
        "  clock = function() return 1 end, id = function() return 'id' end }\n"
        "check(e:on('*', function() end))()\n"
        "e:close()");
}

static void loading_a_plugin(void) {
    fail_each("local e = engine { plugins = folder, grants = { fs = folder .. '/d' } }\n"
              "local list, problems = e:list()\n"
              "check(list, problems)\n"
              "if #list ~= 2 then return 'wrong' end\n"
              "if #problems > 0 then return problems[1].message end\n"
              "check(e:describe('p.echo'))");
}

static void running_a_table(void) {
    fail_each("local e = engine { authorizer = function(r) return { decision = 'allow', reason = "
              "r.step_id } end }\n"
              "check(e:capability { name = 'host', version = '1', risk = 'write', input = { x = { "
              "type = 'array' } },\n"
              "  run = function(input, ctx) ctx.log.info('text', { input }) return { input, "
              "ctx.caller } end })\n"
              "local seen = 0\n"
              "e:on('*', function(event) seen = seen + 1 end)\n"
              "e:on('log', function(event) seen = seen + 1 end)\n"
              "local job = check(e:run({ version = '1.0', steps = {\n"
              "  { id = 'a', capability = 'host', input = { x = { 1, { y = 'z' } } } },\n"
              "  { id = 'b', capability = 'host', input = { x = { { ['$ref'] = "
              "'steps.a.result.0.x.1' } } } } } },\n"
              "  { caller = { subject = 'me' } }))\n"
              "done(job)\n"
              "if job.error then return job.error.message end\n"
              "if job.result[2][1].x[1].y ~= 'z' or #job.events ~= 7 or #check(job:json(2)) < 100 "
              "then return 'wrong' end\n"
              "check(e:jobs()) check(e:job(job.id))");
}

static void running_a_plugin(void) {
    fail_each("local e = engine { plugins = folder, grants = { fs = folder .. '/d' } }\n"
              "local job = "
              "done(check(e:run('{\"steps\":[{\"id\":\"a\",\"capability\":\"p.echo\",\"input\":{"
              "\"x\":1}},'\n"
              "  .. '{\"id\":\"b\",\"capability\":\"d.fail\"}]}')))\n"
              "if job.error.message ~= 'helped two words' then return job.error.message end\n"
              "check(e:reload())\n"
              "local outcomes = check(e:test 'p.echo')\n"
              "if not outcomes[1].ok then return outcomes[1].message end");
}

/* http and rpc come as far as they may without a network. */
static void using_powers(void) {
    fail_each("local e = engine { plugins = folder .. '/powers', isolation = 'state', allow = { "
              "'write' },\n"
              "  grants = { kv = true, random = true, ['secret:t'] = { value = 'hunter22' },\n"
              "    http = { 'b.example' }, ['rpc:m'] = 'http://127.0.0.1:1/' } }\n"
              "local seen\n"
              "e:on('log', function(entry) seen = entry.message .. entry.data[1] end)\n"
              "local job = done(check(e:run { steps = { { id = 'a', capability = 'w' } } }))\n"
              "if job.error then return job.error.message end\n"
              "if job.result[1] ~= '[secret:t]' then return 'wrong' end\n"
              "if seen and seen ~= '[secret:t][secret:t]' then return 'leak' end");
}

static void playing_powers(void) {
    fail_each("local e = engine { plugins = folder .. '/powers', isolation = 'state' }\n"
              "local outcomes = check(e:test 'w')\n"
              "if not outcomes[1].ok then return outcomes[1].message end");
}

static void building(void) {
    char path[128];
    snprintf(path, sizeof path, "mkdir %s/b", folder);
    CHECK(system(path) == 0);
    put("b/b.lua",
        "return { { kind = 'builder', api = 1, name = 'b.call', version = '1', summary = 's',\n"
        "  builds = 'call_plan', params = { chain = { type = 'chain', required = true },\n"
        "    sender = { type = 'address', required = true }, x = { type = 'amount' },\n"
        "    l = { type = 'array', items = { type = 'bytes' } } },\n"
        "  examples = { { params = { chain = 0 },\n"
        "    error = '\"b.call\" requires the parameter \"sender\"' },\n"
        "    { params = { chain = 1, sender = '0x1111111111111111111111111111111111111111', x = "
        "1,\n"
        "      l = { '0xAB' } }, plan = { schema_version = '1' } } },\n"
        "  build = function(p, plan) plan:require 'atomic_batch'\n"
        "    plan:call { to = p.sender, value = p.x, data = p.l[1], revert = {\n"
        "      'error E(uint8 a)', { type = 'error', name = 'F', inputs = {} } } } end },\n"
        "  { kind = 'builder', api = 1, name = 'b.step', version = '1', summary = 's',\n"
        "  builds = 'step_plan', uses = { 'echo' }, params = {}, build = function(p, plan)\n"
        "    local a = plan:step('a', 'echo', { x = 1 }) plan:step('b', 'echo', { x = a.x }) end "
        "},\n"
        "  { kind = 'authorizer', api = 1, name = 'b.judge', version = '1', summary = 's',\n"
        "  decide = function(request) return { decision = 'deny', reason = request.step_id } end } "
        "}\n");
    fail_each("local e = engine { plugins = folder .. '/b', isolation = 'state' }\n"
              "local text, digest = e:build('b.call', { chain = 1,\n"
              "  sender = '0x1111111111111111111111111111111111111111', x = '1 ether', l = { "
              "'0xAB' } })\n"
              "check(text, digest)\n"
              "if check(m.digest(text)) ~= digest then return 'wrong' end\n"
              "local none, err = e:build('b.call', '{\"chain\":0,\"y\":1}')\n"
              "if err.code == 'memory' then return 'memory' end\n"
              "if #err.errors ~= 3 then return 'wrong' end\n"
              "local outcomes = check(e:test 'b.call')\n"
              "if outcomes[2].message == 'out of memory' then return 'memory' end\n"
              "if not outcomes[1].ok or outcomes[2].ok then return outcomes[1].message end\n"
              "if #check(e:list 'builder') ~= 2 then return 'wrong' end");
    fail_each("local e = engine { plugins = folder .. '/b', isolation = 'state', authorizer = "
              "'b.judge' }\n"
              "check(e:capability { name = 'echo', version = '1', risk = 'read',\n"
              "  output = { x = { type = 'number' } }, run = function(input) return input end })\n"
              "local job = check(e:run(check(e:build('b.step'))))\n"
              "local said = job.error.message\n"
              "if said == 'out of memory' then return 'memory' end\n"
              "if job.error.code ~= 'job.denied' or said ~= 'a' then return said end");
}

static void refusing(void) {
    fail_each(
        "local e = engine {}\n"
        "local job, err = e:run { goal = print, steps = { { id = 'a', capability = 'x', input = { "
        "print } }, false,\n"
        "  setmetatable({}, { __index = { id = 'b', capability = 'y' } }) } }\n"
        "if err.code == 'memory' then return 'memory' end\n"
        "if #err.errors ~= 4 or not tostring(err) then return 'wrong' end\n"
        "job, err = e:run { steps = setmetatable({}, { __len = function() error('x', 0) end }) }\n"
        "if err.code == 'memory' then return 'memory' end\n"
        "if err.code ~= 'plan.capture' then return err.code end\n"
        "job, err = e:capability { name = 'x', run = print, input = { x = { type = 'a', min = {} } "
        "} }\n"
        "if err.code ~= 'plugin.manifest' then return err.code end");
}

static void driving(void) {
    fail_each(
        "local e = engine {}\n"
        "check(e:capability { name = 'host', version = '1', risk = 'read', run = function() end "
        "})\n"
        "local d = check(e:drive { steps = { { id = 'a', capability = 'host', input = { 1 } },\n"
        "  { id = 'b', capability = 'host' } } })\n"
        "for w in d do\n"
        "  if w.kind == 'decision' then w:decide { decision = 'allow' }\n"
        "  elseif w.step == 1 then w:complete { w.input } else w:fail { message = 'm', code = 'c' "
        "} end\n"
        "end\n"
        "local job = done(d.job)\n"
        "if job.error.message ~= 'm' or job.steps[1].result[1][1] ~= 1 then return "
        "job.error.message end");
}

static void sending(void) {
    put("out.lua",
        "local hash = '0x' .. ('ab'):rep(32)\n"
        "return { kind = 'executor', api = 1, name = 'out', version = '1', summary = 's',\n"
        "  submits = 'call', implements = { 'x' },\n"
        "  prepare = function() return {} end,\n"
        "  simulate = function(q) return { outcome = q.alone and 'passed' or "
        "'unavailable' } end,\n"
        "  estimate = function() return { outcome = 'passed', request = { gas = '0x1' } } "
        "end,\n"
        "  submit = function() return { state = 'sent', id = hash } end,\n"
        "  outcome = function() return { state = 'reverted', data = '0x01020304',\n"
        "    receipts = { { transaction_hash = hash, block_hash = hash, gas_used = '0x1',\n"
        "      block_number = '0x1', status = '0x0' } } } end }\n");
    fail_each(
        "local e = engine { plugins = folder, isolation = 'state' }\n"
        "local a, b = '0x' .. ('11'):rep(20), '0x' .. ('22'):rep(20)\n"
        "local plan = check(m.json.encode { schema_version = '1', chain_id = '1',\n"
        "  caip2_chain_id = 'eip155:1', sender = a, required_capabilities = { 'x' },\n"
        "  ordered_steps = { { step = 1, kind = 'execution', transaction = { chain_id = '1',\n"
        "    from = a, to = b, data = '0x', value = '1' } } } })\n"
        "local told = 0\n"
        "local o, err = e:send(plan, { executor = 'out', confirm = function() return true end,\n"
        "  record = function() told = told + 1 return true end })\n"
        "if not o then return err.code end\n"
        "if o.error.code ~= 'send.execution_reverted' then return o.error.message end\n"
        "if o.unrecorded then return 'memory' end\n"
        "if told ~= 5 then return 'wrong' end\n"
        "local revert = o.steps[1].revert\n"
        "if revert.selector ~= '0x01020304' then return revert.text end");
}

static void keys(void) {
    fail_each("local key = check(m.keys.new())\n"
              "local signature = check(key:sign('bytes', 'comment'))\n"
              "local public = check(m.keys.parse(key.public.text))\n"
              "if check(public:verify('bytes', signature)) ~= 'comment' then return 'wrong' end\n"
              "local fine, err = public:verify('other', signature)\n"
              "if err.code == 'memory' then return 'memory' end\n"
              "if fine or err.code ~= 'signature.wrong' then return 'wrong' end\n"
              "local digits = key:sign_message('purpose', 'bytes')\n"
              "check(public:verify_message('purpose', 'bytes', digits))\n"
              "if tostring(key) == tostring(public) then return 'wrong' end");
}

/* A folder of its own, signed; and a trust store that cannot write down what it has seen, so that
 * it tries each time. */
static void trusting(void) {
    lua_State *L = new_state();
    char command[256];
    snprintf(command, sizeof command, "mkdir -p %s/signed/f %s/keys && cp %s/p.lua %s/signed",
             folder, folder, folder, folder);
    CHECK(system(command) == 0);
    put("signed/f/init.lua", "local h = plugin.import 'h'\n"
                             "return { kind = 'capability', api = 1, name = 'f', version = '1',\n"
                             "  risk = 'read', summary = 's', run = function() return h end }\n");
    put("signed/f/h.lua", "return 'helped'");
    CHECK(run(L,
              "local key = assert(moonplan.keys.new())\n"
              "assert(key:save(folder .. '/keys/alice'))\n"
              "local e = assert(moonplan.engine { plugins = folder .. '/signed', shipped = false,\n"
              "  isolation = 'state' })\n"
              "assert(e:sign_plugins(key))"));
    lua_close(L);
    put("keys/trust.json", "{\"keys\":{\"alice\":{\"signs\":[\"p\",\"f\"],\"isolation\":\"state\","
                           "\"expires\":\"2999-01-01T00:00:00Z\"}},\"pins\":[]}");
    /* What a file that cannot be imported says is a message of Lua's. */
    static const char soft[] =
        "local function soft(value, err)\n"
        "  if not value then error(err.message:find 'memory' and 'memory' or err.code, 0) end\n"
        "  return value\n"
        "end\n";
    char chunk[2048];
    snprintf(chunk, sizeof chunk,
             "%slocal e = engine { plugins = folder .. '/signed', trust = folder .. '/keys' }\n"
             "local told = 0\n"
             "check(e:on('plugin.loaded', function() told = told + 1 end))\n"
             "local rows = check(e:verify_plugins())\n"
             "if #rows[1].files ~= 3 or rows[1].signer ~= 'alice' then return 'wrong' end\n"
             "local job = done(soft(e:run(\n"
             "  '{\"steps\":[{\"id\":\"a\",\"capability\":\"f\"}]}')))\n"
             "if job.result ~= 'helped' then return job.error.message end\n"
             "soft(e:reload())\n"
             "if soft(e:describe('f')).decision ~= 'signed' then return 'wrong' end",
             soft);
    fail_each(chunk);
    snprintf(chunk, sizeof chunk,
             "%slocal e = engine { plugins = folder .. '/signed', isolation = 'state' }\n"
             "local key = check(m.keys.secret(folder .. '/keys/alice.key'))\n"
             "soft(e:sign_plugins(key))",
             soft);
    fail_each(chunk);
}

static void a_host_stays_as_it_is_with_plugins_in_its_process(void) {
    isolation = "state";
    a_host_stays_as_it_is();
    states_in_threads_do_not_meet();
    isolation = "process";
}

int main(void) {
    lay_out();
    RUN(a_host_stays_as_it_is);
    RUN(globals_stay_as_they_are);
    RUN(objects_end_in_any_order);
    RUN(states_in_threads_do_not_meet);
    RUN(a_host_stays_as_it_is_with_plugins_in_its_process);
    RUN(opening_an_engine);
    RUN(loading_a_plugin);
    RUN(running_a_table);
    RUN(running_a_plugin);
    RUN(using_powers);
    RUN(playing_powers);
    RUN(building);
    RUN(refusing);
    RUN(driving);
    RUN(sending);
    RUN(keys);
    RUN(trusting);
    clean_up();
    return check_end();
}
