/* engine:test(name): a plugin's examples, with doubles in the place of the powers. */
#include <lauxlib.h>
#include <string.h>

#include "../core/json_write.h"
#include "../core/text.h"
#include "../core/value.h"
#include "building.h"
#include "engine.h"

#define SHOWN 300

typedef struct trying {
    mpl_plugin_call call;
    mpl_doubles doubles;
    mpl_making making;
    moonplan_document *params; /* of a builder's example */
    mpl_alloc alloc;
    mpl_buffer message, written, scratch;
    bool open;
} trying;

static int trying_gc(lua_State *L);
static const luaL_Reg trying_own[] = {{"__gc", trying_gc}, {NULL, NULL}};
static const mpl_lua_type trying_type = {"moonplan.trying", "an example's run", trying_own};

static void close_trying(trying *t) {
    if (!t->open) return;
    t->open = false;
    mpl_lua_call_close(&t->call.call);
    mpl_making_close(&t->making);
    moonplan_document_free(t->params);
    mpl_doubles_close(&t->doubles);
    mpl_buffer_close(&t->message);
    mpl_buffer_close(&t->written);
    mpl_buffer_close(&t->scratch);
}

static int trying_gc(lua_State *L) {
    close_trying(mpl_lua_check(L, 1, &trying_type));
    return 0;
}

static void say(trying *t, const char *text) {
    mpl_buffer_add(&t->message, text, strlen(text));
}

/* What a text begins with. */
static void show(trying *t, const char *bytes, size_t length) {
    bool cut = length > SHOWN;
    if (cut) {
        length = SHOWN;
        while (length > 0 && ((unsigned char)bytes[length] & 0xc0) == 0x80) length--;
    }
    mpl_buffer_add(&t->message, bytes, length);
    if (cut) say(t, "…");
}

/* Append a value with its members sorted and its numbers as they stand: 1 and 1.0 differ. */
static void write_value(trying *t, moonplan_value value) {
    const mpl_style style = {false, 0, UINT64_MAX};
    mpl_write_sorted(&t->written, &t->scratch, value, &style);
}

static void show_value(trying *t, moonplan_value value) {
    t->written.length = 0;
    if (moonplan_value_type(value) == MOONPLAN_NONE) {
        say(t, "nothing");
        return;
    }
    write_value(t, value);
    show(t, t->written.bytes, t->written.length);
}

static bool same_value(trying *t, moonplan_value a, moonplan_value b) {
    bool none = moonplan_value_type(a) == MOONPLAN_NONE;
    if (none || moonplan_value_type(b) == MOONPLAN_NONE)
        return none && moonplan_value_type(b) == MOONPLAN_NONE;
    t->written.length = 0;
    write_value(t, a);
    size_t first = t->written.length;
    write_value(t, b);
    return !t->written.failed && t->written.length == 2 * first &&
           memcmp(t->written.bytes, t->written.bytes + first, first) == 0;
}

/* -- Comparing -------------------------------------------------------------*/

static void compare_failure(trying *t, moonplan_value expected) {
    mpl_lua_call *call = &t->call.call;
    moonplan_text got = {call->text.bytes, call->text.length};
    moonplan_text wanted = moonplan_value_string(expected);
    if (wanted.bytes && call->has_text && mpl_text_equal(got, wanted)) return;
    say(t, "it fails: ");
    if (call->text.failed)
        say(t, "out of memory");
    else if (call->has_text)
        show(t, got.bytes, got.length);
    else
        say(t, "with something that is neither a text nor a table with a message");
    if (!wanted.bytes) return;
    say(t, "; expected is the error: ");
    show(t, wanted.bytes, wanted.length);
}

static void compare_result(trying *t, moonplan_value example) {
    moonplan_value result = {NULL, 0}, expected = mpl_member(example, "output");
    moonplan_text error = moonplan_value_string(mpl_member(example, "error"));
    if (t->call.call.result) result = moonplan_document_root(t->call.call.result);
    if (!error.bytes && same_value(t, result, expected)) return;
    say(t, "the result is ");
    show_value(t, result);
    say(t, error.bytes ? "; expected is the error: " : "; expected is ");
    if (error.bytes)
        show(t, error.bytes, error.length);
    else
        show_value(t, expected);
}

static void compare_files(trying *t, moonplan_value files) {
    moonplan_walk walk = moonplan_value_walk(files);
    while (moonplan_walk_next(&walk)) {
        moonplan_text content, expected = moonplan_value_string(walk.value);
        bool there = mpl_doubles_read(&t->doubles, walk.name, &content);
        if (there && mpl_text_equal(content, expected)) continue;
        if (t->message.length) say(t, "; ");
        say(t, "the file ");
        show(t, walk.name.bytes, walk.name.length);
        if (!there) {
            say(t, " is not there");
            continue;
        }
        say(t, " holds: ");
        show(t, content.bytes, content.length);
        say(t, "; expected is: ");
        show(t, expected.bytes, expected.length);
    }
}

/* Values are kept as texts with their members sorted, as those of a manifest are. */
static void compare_kept(trying *t, moonplan_value kept) {
    moonplan_walk walk = moonplan_value_walk(kept);
    while (moonplan_walk_next(&walk)) {
        moonplan_text text;
        bool there = mpl_doubles_kept(&t->doubles, walk.name, &text);
        t->written.length = 0;
        write_value(t, walk.value);
        moonplan_text expected = {t->written.bytes, t->written.length};
        if (there && mpl_text_equal(text, expected)) continue;
        if (t->message.length) say(t, "; ");
        say(t, "the key ");
        show(t, walk.name.bytes, walk.name.length);
        say(t, there ? " keeps " : " keeps nothing; expected is ");
        if (there) {
            show(t, text.bytes, text.length);
            say(t, "; expected is ");
        }
        show(t, expected.bytes, expected.length);
    }
}

static void try_example(trying *t, moonplan_value example) {
    moonplan_value given = mpl_member(example, "given");
    mpl_lua_call *call = &t->call.call;
    call->input = mpl_member(example, "input");
    if (t->call.item->kind == MPL_EXECUTOR)
        t->call.function = mpl_function_of(moonplan_value_string(mpl_member(example, "call")));
    if (t->call.item->kind == MPL_AUTHORIZER) t->call.function = MPL_DECIDE;
    t->doubles.given = given;
    t->doubles.alloc = &t->alloc;
    t->call.doubles = &t->doubles;
    mpl_plugin_run(&t->call);
    if (call->code != MOONPLAN_OK)
        compare_failure(t, mpl_member(example, "error"));
    else
        compare_result(t, example);
    compare_files(t, mpl_member(mpl_member(example, "after"), "fs"));
    compare_kept(t, mpl_member(mpl_member(example, "after"), "kv"));
}

/* -- Builders ----------------------------------------------------------------*/

static void compare_refusal(trying *t, moonplan_value example, const moonplan_error *err) {
    moonplan_text wanted = moonplan_value_string(mpl_member(example, "error"));
    moonplan_text got = {err->message, strlen(err->message)};
    if (wanted.bytes && mpl_text_equal(got, wanted)) return;
    say(t, "it fails: ");
    show(t, got.bytes, got.length);
    if (!wanted.bytes) return;
    say(t, "; expected is the error: ");
    show(t, wanted.bytes, wanted.length);
}

static bool is_there(moonplan_value object, const char *name) {
    return moonplan_value_type(mpl_member(object, name)) != MOONPLAN_NONE;
}

static void compare_digest(trying *t, moonplan_text wanted) {
    char text[67] = "0x";
    uint8_t digest[32];
    if (!wanted.bytes || !t->making.call_plan) return;
    moonplan_call_plan_digest(t->making.call_plan, digest);
    mpl_hex_encode(text + 2, digest, sizeof digest);
    if (mpl_text_equal((moonplan_text){text, 66}, wanted)) return;
    say(t, "the plan's digest is ");
    say(t, text);
    say(t, "; expected is ");
    show(t, wanted.bytes, wanted.length);
}

static void compare_plan(trying *t, moonplan_value wanted) {
    moonplan_value made = mpl_made_plan(&t->making);
    if (moonplan_value_type(wanted) == MOONPLAN_NONE || same_value(t, made, wanted)) return;
    if (t->message.length) say(t, "; ");
    say(t, "the plan is ");
    show_value(t, made);
    say(t, "; expected is ");
    show_value(t, wanted);
}

static void try_builder(trying *t, mpl_plugin_item *item, moonplan_engine *engine,
                        const moonplan_options *options, moonplan_value example) {
    moonplan_error err;
    moonplan_text error = moonplan_value_string(mpl_member(example, "error"));
    t->making.item = item;
    t->making.engine = engine;
    t->making.options = options;
    /* A document of their own, so that places are what they are for whoever builds. */
    moonplan_value params = {NULL, UINT32_MAX};
    if (is_there(example, "params")) {
        mpl_builder builder;
        mpl_build_open_wide(&builder, options);
        mpl_build_value(&builder, mpl_member(example, "params"));
        t->params = mpl_build_finish(&builder, NULL);
        if (!t->params) {
            t->message.failed = true;
            return;
        }
        params = moonplan_document_root(t->params);
    }
    if (!mpl_make_plan(&t->making, params, &err)) {
        compare_refusal(t, example, &err);
        return;
    }
    compare_digest(t, moonplan_value_string(mpl_member(example, "digest")));
    compare_plan(t, mpl_member(example, "plan"));
    if (!error.bytes) return;
    say(t, "it makes a plan; expected is the error: ");
    show(t, error.bytes, error.length);
}

/* -- From Lua --------------------------------------------------------------*/

static void open_trying(trying *t, const mpl_lua_engine *self, const mpl_plugin_item *item) {
    static const char no_token[] =
        "0000000000000000000000000000000000000000000000000000000000000000";
    memset(t, 0, sizeof *t);
    moonplan_options options = self->options;
    t->alloc = mpl_alloc_of(&options);
    t->call.plugin = item->plugin;
    t->call.item = item->item;
    t->call.call.options = &item->plugin->owner->options;
    t->call.call.job_id = t->call.call.step_id = MOONPLAN_TEXT("example");
    t->call.call.capability = item->item->name;
    memcpy(t->call.call.token, no_token, sizeof no_token);
    mpl_buffer_open(&t->message, &t->alloc);
    mpl_buffer_open(&t->written, &t->alloc);
    mpl_buffer_open(&t->scratch, &t->alloc);
    t->open = true;
}

static void push_outcome(lua_State *L, trying *t) {
    bool memory = t->message.failed || t->written.failed;
    lua_createtable(L, 0, 2);
    lua_pushboolean(L, t->message.length == 0 && !memory);
    lua_setfield(L, -2, "ok");
    if (memory)
        lua_pushliteral(L, "out of memory");
    else if (t->message.length)
        lua_pushlstring(L, t->message.bytes, t->message.length);
    else
        lua_pushnil(L);
    lua_setfield(L, -2, "message");
}

static int refuse_name(lua_State *L, mpl_lua_work *work, moonplan_text name) {
    if (work->err.code == MOONPLAN_OK)
        mpl_error_set(&work->err, MOONPLAN_PLAN_UNKNOWN_CAPABILITY, MOONPLAN_NO_OFFSET, NULL,
                      "no plugin brings %q", &name);
    return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
}

int mpl_lua_engine_test(lua_State *L) {
    mpl_lua_engine *self = mpl_lua_check_engine(L, 1);
    moonplan_text name = mpl_lua_check_text(L, 2);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_engine_work(L, self);
    mpl_plugin_item *item = mpl_lua_engine_find(L, self, name, &work->err);
    if (!item) return refuse_name(L, work, name);
    trying *t = mpl_lua_new(L, &trying_type, sizeof *t, 0);
    moonplan_options options = self->options;
    options.errors = NULL;
    lua_newtable(L);
    mpl_lua_push_mark(L);
    lua_setmetatable(L, -2);
    moonplan_walk walk = moonplan_value_walk(mpl_member(item->item->value, "examples"));
    for (lua_Integer n = 1; moonplan_walk_next(&walk); n++) {
        open_trying(t, self, item);
        lua_State *outer = self->L;
        self->L = L;
        if (item->item->kind == MPL_BUILDER)
            try_builder(t, item, work->engine, &options, walk.value);
        else
            try_example(t, walk.value);
        self->L = outer;
        push_outcome(L, t);
        lua_rawseti(L, -2, n);
        close_trying(t);
    }
    mpl_lua_work_close(work);
    return 1;
}
