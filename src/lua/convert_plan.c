/* moonplan.convert: between call plans and the batches of other standards. */
#include "../core/text.h"
#include "bind.h"
#include "module.h"

/* What is left behind; armed before it is filled. */
struct lost {
    moonplan_error_list *list;
};

static int lost_gc(lua_State *L);
static const luaL_Reg lost_own[] = {{"__gc", lost_gc}, {NULL, NULL}};
static const mpl_lua_type lost_type = {"moonplan.lost", "what is left behind", lost_own};

static int lost_gc(lua_State *L) {
    struct lost *self = mpl_lua_check(L, 1, &lost_type);
    moonplan_error_list *list = self->list;
    self->list = NULL;
    moonplan_error_list_free(list);
    return 0;
}

static void push_lost(lua_State *L, struct lost *lost, moonplan_text text) {
    size_t count = moonplan_error_list_count(lost->list);
    mpl_lua_push_errors(L, count ? moonplan_error_list_at(lost->list, 0) : NULL, count, text);
    moonplan_error_list_free(lost->list);
    lost->list = NULL;
}

/* -- Options -------------------------------------------------------------------*/

struct wishes {
    moonplan_text account; /* lives in `keep` */
    uint64_t created;
    mpl_buffer *keep;
};

static void read_wish(lua_State *L, int arg, int which, void *data) {
    struct wishes *wishes = data;
    if (which == 0) {
        if (lua_type(L, -1) != LUA_TSTRING)
            mpl_lua_bad_option(L, arg, "account", "an address as text", -1);
        size_t length;
        const char *bytes = lua_tolstring(L, -1, &length);
        mpl_buffer_add(wishes->keep, bytes, length);
        mpl_buffer_byte(wishes->keep, '\0');
        if (wishes->keep->failed) luaL_error(L, "not enough memory");
        wishes->account = (moonplan_text){wishes->keep->bytes, length};
        return;
    }
    int exact = 0;
    lua_Integer created = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
    if (!exact || created < 0)
        luaL_argerror(L, arg, "created must be whole milliseconds since 1970");
    wishes->created = (uint64_t)created;
}

static void read_options(lua_State *L, int arg, moonplan_options *options, struct wishes *wishes,
                         mpl_lua_work *work) {
    static const char *const names[] = {"account", "created", NULL};
    *wishes = (struct wishes){.keep = &work->scratch};
    const mpl_lua_more more = {names, read_wish, wishes};
    mpl_lua_options(L, arg, options, work, &more);
}

/* -- Out of a plan ---------------------------------------------------------------*/

typedef moonplan_document *(*writer)(const moonplan_call_plan *plan, const struct wishes *wishes,
                                     moonplan_error_list **lost, const moonplan_options *options,
                                     moonplan_error *err);

static moonplan_document *write_send_calls(const moonplan_call_plan *plan,
                                           const struct wishes *wishes, moonplan_error_list **lost,
                                           const moonplan_options *options, moonplan_error *err) {
    (void)wishes;
    return moonplan_to_send_calls(plan, lost, options, err);
}

static moonplan_document *write_safe(const moonplan_call_plan *plan, const struct wishes *wishes,
                                     moonplan_error_list **lost, const moonplan_options *options,
                                     moonplan_error *err) {
    return moonplan_to_safe_batch(plan, wishes->created, lost, options, err);
}

/* f(plan or text, options): the batch's text, and what it lacks. */
static int convert_to(lua_State *L, writer write) {
    lua_settop(L, 2);
    struct lost *lost = mpl_lua_new(L, &lost_type, sizeof *lost, 0);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct wishes wishes;
    moonplan_text text;
    read_options(L, 2, &options, &wishes, work);
    const moonplan_call_plan *plan = mpl_lua_plan_or_text(L, 1, &text, &options, work);
    if (!plan) return mpl_lua_refuse(L, work, text);
    options.errors = NULL;
    int attempts = 0;
    do work->document = write(plan, &wishes, &lost->list, &options, &work->err);
    while (!work->document && mpl_lua_again(L, work, &attempts));
    if (!work->document) return mpl_lua_refuse(L, work, text);
    mpl_lua_push_text(L, moonplan_value_source(moonplan_document_root(work->document)));
    push_lost(L, lost, text);
    mpl_lua_work_close(work);
    return 2;
}

static int to_send_calls(lua_State *L) {
    return convert_to(L, write_send_calls);
}

static int to_safe(lua_State *L) {
    return convert_to(L, write_safe);
}

/* -- Into a plan -----------------------------------------------------------------*/

typedef moonplan_call_plan *(*converter)(const char *text, size_t length, moonplan_text account,
                                         moonplan_error_list **lost,
                                         const moonplan_options *options, moonplan_error *err);

/* f(text, options): the plan, and what it lacks. */
static int convert_from(lua_State *L, converter read) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    moonplan_call_plan **plan = mpl_lua_new_plan(L, 1);
    int made = lua_gettop(L);
    struct lost *lost = mpl_lua_new(L, &lost_type, sizeof *lost, 0);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct wishes wishes;
    read_options(L, 2, &options, &wishes, work);
    options.errors = NULL;
    int attempts = 0;
    do *plan = read(text.bytes, text.length, wishes.account, &lost->list, &options, &work->err);
    while (!*plan && mpl_lua_again(L, work, &attempts));
    if (!*plan) return mpl_lua_refuse(L, work, text);
    mpl_lua_weigh(L, moonplan_call_plan_memory(*plan, NULL));
    mpl_lua_keep_plan_text(L, made);
    lua_pushvalue(L, made);
    push_lost(L, lost, text);
    mpl_lua_work_close(work);
    return 2;
}

static int from_send_calls(lua_State *L) {
    return convert_from(L, moonplan_from_send_calls);
}

static int from_safe(lua_State *L) {
    return convert_from(L, moonplan_from_safe_batch);
}

void mpl_lua_push_convert(lua_State *L) {
    static const luaL_Reg functions[] = {{"from_safe", from_safe},
                                         {"from_send_calls", from_send_calls},
                                         {"to_safe", to_safe},
                                         {"to_send_calls", to_send_calls},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
}
