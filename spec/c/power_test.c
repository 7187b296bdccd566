/* The host's side of powers, asked by somebody who keeps to no rule: what comes over a runner's
 * socket may be anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/lua/plugin.h"
#include "check.h"

static char folder[] = "/tmp/moonplan-power-XXXXXX", root[64];

static void put(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!CHECK(file != NULL)) exit(1);
    fputs(text, file);
    fclose(file);
}

static int64_t noon(void *data) {
    (void)data;
    return 43200000;
}

static unsigned entries;
static void write_entry(void *data, const mpl_log_entry *entry) {
    (void)data, (void)entry;
    entries++;
}

/* A plugin that needs all powers, or, in b.lua, none. */
typedef struct scene {
    counter count;
    moonplan_options options;
    mpl_plugins *plugins;
    mpl_plugin_item *all, *none;
    mpl_plugin_call call;
    mpl_alloc alloc;
    mpl_answer answer;
    moonplan_error err;
} scene;

static bool open_scene(scene *s) {
    memset(s, 0, sizeof *s);
    counter_options(&s->options, &s->count);
    const mpl_grant grants[] = {
        {MOONPLAN_TEXT("fs:rw"), {root, strlen(root)}, false},
        {MOONPLAN_TEXT("clock"), {NULL, 0}, false},
        {MOONPLAN_TEXT("random"), {NULL, 0}, false},
        {MOONPLAN_TEXT("kv"), {NULL, 0}, false},
        {MOONPLAN_TEXT("http"), MOONPLAN_TEXT("http://127.0.0.1:1"), false},
        {MOONPLAN_TEXT("rpc:main"), MOONPLAN_TEXT("http://127.0.0.1:1/key"), false},
        {MOONPLAN_TEXT("rpc:other"), MOONPLAN_TEXT("http://127.0.0.1:1/key"), false},
        {MOONPLAN_TEXT("secret:t"), MOONPLAN_TEXT("hunter2hunter2"), true},
        {MOONPLAN_TEXT("secret:other"), MOONPLAN_TEXT("not for this one"), true}};
    moonplan_text folders[] = {{folder, strlen(folder)}};
    mpl_plugins_setup setup = {.options = &s->options,
                               .folders = folders,
                               .folder_count = 1,
                               .grants = grants,
                               .grant_count = sizeof grants / sizeof *grants,
                               .isolation = MPL_STATE,
                               .log = {write_entry, NULL},
                               .now = noon};
    s->plugins = mpl_plugins_new(&setup, &s->err);
    if (!CHECK(s->plugins != NULL)) return false;
    s->all = mpl_plugins_find(s->plugins, MOONPLAN_TEXT("a"), &s->err);
    s->none = mpl_plugins_find(s->plugins, MOONPLAN_TEXT("b"), &s->err);
    if (!CHECK(s->all != NULL && s->none != NULL)) printf("# %s\n", s->err.message);
    s->alloc = mpl_alloc_of(&s->options);
    return s->all && s->none;
}

static void close_scene(scene *s) {
    mpl_plugins_free(s->plugins);
    CHECK(s->count.used == 0 && !s->count.wrong);
}

static void begin(scene *s, mpl_plugin_item *item) {
    memset(&s->call, 0, sizeof s->call);
    s->call.plugin = item->plugin;
    s->call.item = item->item;
    s->call.call.options = &s->plugins->options;
    s->call.call.log = s->plugins->setup.log;
    mpl_lua_call_open(&s->call.call, 1000, "copied_values");
    s->call.allowed = mpl_power_allowed(&s->call);
}

static mpl_served ask(scene *s, int operation, const mpl_slots *in) {
    mpl_answer_open(&s->answer, &s->alloc);
    memset(&s->err, 0, sizeof s->err);
    mpl_served served =
        mpl_power_serve(&s->call, (mpl_operation)operation, in, &s->answer, &s->err);
    if (served != MPL_SERVED) CHECK(s->err.message[0] != 0);
    CHECK(s->answer.slots.count <= MPL_SLOTS_MOST);
    return served;
}

/* -- Anything at all -----------------------------------------------------------*/

static const char *const texts[] = {"",
                                    "a.lua",
                                    "../x",
                                    "GET",
                                    "http://127.0.0.1:1/",
                                    "main",
                                    "t",
                                    "x\n",
                                    "{}",
                                    "[",
                                    "\xff\xfe",
                                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"};
#define TEXTS (sizeof texts / sizeof *texts)
static const int64_t numbers[] = {0, 1, -1, 3, 4, 65536, 65537, INT64_MAX, INT64_MIN};
#define NUMBERS (sizeof numbers / sizeof *numbers)

static uint64_t state = 1;
static unsigned pick(unsigned most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % most;
}

static void add_slot(mpl_slots *in, char type, moonplan_value value) {
    switch (type) {
    case 'n':
        mpl_slots_nil(in);
        break;
    case 't':
        mpl_slots_boolean(in, pick(2));
        break;
    case 'i':
        mpl_slots_integer(in, numbers[pick(NUMBERS)]);
        break;
    case 'v':
        mpl_slots_value(in, value);
        break;
    default: {
        const char *text = texts[pick(TEXTS)];
        mpl_slots_bytes(in, (moonplan_text){text, strlen(text)});
    }
    }
}

static const char *const shapes[MPL_OPERATIONS + 1] = {
    [MPL_LOG] = "ibv",        [MPL_FS_READ] = "b",         [MPL_FS_SIZE] = "b",
    [MPL_FS_LIST] = "b",      [MPL_FS_WRITE] = "bb",       [MPL_CLOCK_NOW] = "",
    [MPL_RANDOM_BYTES] = "i", [MPL_RANDOM_INTEGER] = "ii", [MPL_KV_GET] = "b",
    [MPL_KV_SET] = "bv",      [MPL_KV_LIST] = "",          [MPL_HTTP_REQUEST] = "bbbn",
    [MPL_RPC_SEND] = "bb",    [MPL_SECRET_GET] = "b"};

/* Nothing crashes, nothing leaks, and what the item does not need is never done. */
static void anything_may_be_asked(void) {
    scene s;
    moonplan_error err;
    if (!open_scene(&s)) return;
    static const char json[] = "{\"a\":[1,\"hunter2hunter2\",null]}";
    moonplan_document *document = moonplan_document_parse(json, sizeof json - 1, NULL, &err);
    moonplan_value value = moonplan_document_root(document);
    unsigned served[2] = {0, 0};
    for (int round = 0; round < 20000; round++) {
        mpl_slots in = {.count = 0};
        int operation = (int)pick(MPL_OPERATIONS + 4) - 2;
        bool all = pick(2);
        begin(&s, all ? s.all : s.none);
        /* Every other time what the operation takes. */
        const char *types = operation >= MPL_LOG && operation <= (int)MPL_OPERATIONS && pick(2)
                                ? shapes[operation]
                                : NULL;
        size_t count = types ? strlen(types) : pick(MPL_SLOTS_MOST + 1);
        for (size_t i = 0; i < count; i++)
            add_slot(&in, types ? types[i] : "ntivb"[pick(5)], value);
        mpl_served outcome = ask(&s, operation, &in);
        served[all] += outcome == MPL_SERVED;
        if (!all && operation != MPL_LOG) CHECK(outcome == MPL_BROKEN);
        if (operation < MPL_LOG || operation > (int)MPL_OPERATIONS) CHECK(outcome == MPL_BROKEN);
        mpl_answer_close(&s.answer);
        mpl_lua_call_close(&s.call.call);
    }
    CHECK(served[1] > 500 && served[0] > 0 && entries > 0);
    moonplan_document_free(document);
    close_scene(&s);
}

/* -- The item decides -------------------------------------------------------------*/

/* What was granted for others stays with them, whatever the runner of this one says. */
static void names_are_checked_on_this_side(void) {
    scene s;
    if (!open_scene(&s)) return;
    const moonplan_text request = MOONPLAN_TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}");
    const struct {
        moonplan_text name;
        moonplan_code rpc, secret; /* MOONPLAN_OK: given */
    } cases[] = {{MOONPLAN_TEXT("main"), MOONPLAN_RPC_UNAVAILABLE, MOONPLAN_SECRET_NAME},
                 {MOONPLAN_TEXT("t"), MOONPLAN_RPC_ENDPOINT, MOONPLAN_OK},
                 {MOONPLAN_TEXT("other"), MOONPLAN_RPC_ENDPOINT, MOONPLAN_SECRET_NAME},
                 {MOONPLAN_TEXT("none"), MOONPLAN_RPC_ENDPOINT, MOONPLAN_SECRET_NAME},
                 {MOONPLAN_TEXT(""), MOONPLAN_RPC_ENDPOINT, MOONPLAN_SECRET_NAME}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mpl_slots in = {.count = 0};
        mpl_slots_bytes(&in, cases[i].name);
        begin(&s, s.all);
        mpl_served served = ask(&s, MPL_SECRET_GET, &in);
        CHECK(served == (cases[i].secret ? MPL_REFUSED : MPL_SERVED));
        CHECK(s.err.code == cases[i].secret);
        if (served == MPL_SERVED) CHECK_TEXT("hunter2hunter2", s.answer.slots.at[0].bytes);
        mpl_answer_close(&s.answer);
        mpl_slots_bytes(&in, request);
        CHECK(ask(&s, MPL_RPC_SEND, &in) == MPL_REFUSED && s.err.code == cases[i].rpc);
        CHECK(strstr(s.err.message, "127.0.0.1") == NULL);
        mpl_answer_close(&s.answer);
        mpl_lua_call_close(&s.call.call);
    }
    close_scene(&s);
}

/* A deadline that has passed lets nothing go out, and one that comes ends the waiting. */
static void deadlines_end_the_waiting(void) {
    scene s;
    if (!open_scene(&s)) return;
    mpl_slots in = {.count = 0};
    mpl_slots_bytes(&in, MOONPLAN_TEXT("GET"));
    mpl_slots_bytes(&in, MOONPLAN_TEXT("http://127.0.0.1:1/"));
    mpl_slots_bytes(&in, MOONPLAN_TEXT(""));
    mpl_slots_nil(&in);
    begin(&s, s.all);
    s.call.deadline = 1;
    CHECK(ask(&s, MPL_HTTP_REQUEST, &in) == MPL_REFUSED);
    CHECK(s.err.code == MOONPLAN_HTTP_UNAVAILABLE && strstr(s.err.message, "fetch_ms"));
    mpl_answer_close(&s.answer);
    s.call.deadline = 0;
    s.call.waited = s.options.limits.fetch_ms;
    CHECK(ask(&s, MPL_HTTP_REQUEST, &in) == MPL_REFUSED && strstr(s.err.message, "fetch_ms"));
    mpl_answer_close(&s.answer);
    s.call.waited = 0;
    CHECK(ask(&s, MPL_HTTP_REQUEST, &in) == MPL_REFUSED);
    CHECK(s.err.code == MOONPLAN_HTTP_UNAVAILABLE && !strstr(s.err.message, "fetch_ms"));
    mpl_answer_close(&s.answer);
    mpl_lua_call_close(&s.call.call);
    close_scene(&s);
}

int main(void) {
    char command[64];
    if (!CHECK(mkdtemp(folder) != NULL)) return 1;
    snprintf(root, sizeof root, "%s/root", folder);
    if (!CHECK(mkdir(root, 0700) == 0)) return 1;
    put("a.lua",
        "return { kind = 'capability', api = 1, name = 'a', version = '1', summary = 's',\n"
        "  risk = 'destructive', needs = { 'fs:rw', 'clock', 'random', 'kv', 'http', "
        "'rpc:main', 'secret:t' },\n"
        "  run = function() end }\n");
    put("b.lua",
        "return { kind = 'capability', api = 1, name = 'b', version = '1', summary = 's',\n"
        "  risk = 'read', run = function() end }\n");
    RUN(anything_may_be_asked);
    RUN(names_are_checked_on_this_side);
    RUN(deadlines_end_the_waiting);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
    return check_end();
}
