/* Typed-data requests as Lua objects that can be read and nothing else, and what comes back. */
#include "../core/text.h"
#include "../core/value.h"
#include "bind.h"
#include "convert.h"
#include "module.h"

/* A request borrows its text from a Lua string, which is a user value of it. So is the origin that
 * was proved, where it was fetched. */
struct request {
    moonplan_typed_data *request; /* NULL when it is closed */
};
enum { TEXT = 1, PROVED, REQUEST_VALUES = PROVED };

static int request_gc(lua_State *L);
static int request_index(lua_State *L);
static int request_tostring(lua_State *L);
static int read_only(lua_State *L);

static const luaL_Reg request_own[] = {
    {"__gc", request_gc},      {"__close", request_gc},          {"__index", request_index},
    {"__newindex", read_only}, {"__tostring", request_tostring}, {NULL, NULL}};
static const mpl_lua_type request_type = {"moonplan.typed_data", "a typed-data request",
                                          request_own};

moonplan_typed_data **mpl_lua_new_request(lua_State *L, int text) {
    text = lua_absindex(L, text);
    struct request *self = mpl_lua_new(L, &request_type, sizeof *self, REQUEST_VALUES);
    lua_pushvalue(L, text);
    lua_setiuservalue(L, -2, TEXT);
    return &self->request;
}

void mpl_lua_prove_origin(lua_State *L, int index) {
    lua_setiuservalue(L, index, PROVED);
}

static int request_gc(lua_State *L) {
    struct request *self = mpl_lua_check(L, 1, &request_type);
    moonplan_typed_data *request = self->request;
    self->request = NULL;
    moonplan_typed_data_free(request);
    return 0;
}

static int read_only(lua_State *L) {
    return luaL_error(L, "a typed-data request cannot be changed");
}

static const moonplan_typed_data *check_request(lua_State *L, int index) {
    struct request *self = mpl_lua_check(L, index, &request_type);
    if (!self->request) luaL_error(L, "the typed-data request is closed");
    return self->request;
}

/* -- Options ---------------------------------------------------------------*/

static const char *const request_options[] = {"now", "account", "origin", "no_delivery", NULL};
enum { NOW, ACCOUNT, ORIGIN, NO_DELIVERY };

/* The texts are copied into the call's holdings. */
struct asked {
    moonplan_typed_data_situation situation;
    mpl_lua_work *work;
};

static uint64_t read_now(lua_State *L, int arg) {
    int exact = 0;
    lua_Integer now = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
    if (!exact || now < 0) luaL_argerror(L, arg, "now must be whole seconds since 1970");
    return (uint64_t)now;
}

static moonplan_text read_text(lua_State *L, int arg, const char *name, const char *wanted,
                               mpl_buffer *keep) {
    size_t length;
    if (lua_type(L, -1) != LUA_TSTRING) mpl_lua_bad_option(L, arg, name, wanted, -1);
    const char *bytes = lua_tolstring(L, -1, &length);
    mpl_buffer_add(keep, bytes, length);
    if (keep->failed) luaL_error(L, "not enough memory");
    return (moonplan_text){length ? keep->bytes : "", length};
}

static void read_request_option(lua_State *L, int arg, int which, void *data) {
    struct asked *asked = data;
    moonplan_typed_data_situation *situation = &asked->situation;
    switch (which) {
    case NOW:
        situation->has_now = true;
        situation->now = read_now(L, arg);
        break;
    case ACCOUNT:
        situation->account =
            read_text(L, arg, "account", "an address as text", &asked->work->scratch);
        break;
    case ORIGIN:
        situation->origin =
            read_text(L, arg, "origin", "a URL, or \"\" for none", &asked->work->text);
        break;
    default:
        if (!lua_isboolean(L, -1)) mpl_lua_bad_option(L, arg, "no_delivery", "true or false", -1);
        situation->no_delivery = lua_toboolean(L, -1);
        break;
    }
}

static void read_options(lua_State *L, int arg, moonplan_options *options, struct asked *asked,
                         mpl_lua_work *work) {
    *asked = (struct asked){.work = work};
    const mpl_lua_more more = {request_options, read_request_option, asked};
    mpl_lua_options(L, arg, options, work, &more);
}

/* -- Requests --------------------------------------------------------------*/

int mpl_lua_typed_data(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    moonplan_typed_data **request = mpl_lua_new_request(L, 1);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct asked asked;
    read_options(L, 2, &options, &asked, work);
    int attempts = 0;
    bool fine;
    do {
        if (!*request)
            *request = moonplan_typed_data_parse(text.bytes, text.length, &options, &work->err);
        fine =
            *request && moonplan_typed_data_check(*request, &asked.situation, &options, &work->err);
    } while (!fine && mpl_lua_again(L, work, &attempts));
    if (!fine) return mpl_lua_refuse(L, work, text);
    mpl_lua_weigh(L, moonplan_typed_data_memory(*request, NULL));
    mpl_lua_work_close(work);
    lua_settop(L, 3);
    return 1;
}

static moonplan_text text_of(lua_State *L, int request) {
    lua_getiuservalue(L, request, TEXT);
    moonplan_text text = mpl_lua_check_text(L, lua_gettop(L));
    lua_pop(L, 1); /* the request keeps it */
    return text;
}

/* What has been proved of the origin of a request counts, and not what is said. The request keeps
 * the text. */
static void insist_on_origin(lua_State *L, int request, moonplan_text *origin) {
    if (lua_getiuservalue(L, request, PROVED) == LUA_TSTRING)
        origin->bytes = lua_tolstring(L, -1, &origin->length);
    lua_pop(L, 1);
}

/* request:check(options) */
static int request_check(lua_State *L) {
    const moonplan_typed_data *request = check_request(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct asked asked;
    read_options(L, 2, &options, &asked, work);
    int attempts = 0;
    bool fine;
    insist_on_origin(L, 1, &asked.situation.origin);
    do fine = moonplan_typed_data_check(request, &asked.situation, &options, &work->err);
    while (!fine && mpl_lua_again(L, work, &attempts));
    if (!fine) return mpl_lua_refuse(L, work, text_of(L, 1));
    mpl_lua_work_close(work);
    lua_pushboolean(L, 1);
    return 1;
}

/* request:canonical(): the bytes that the request digest is taken of. */
static int request_canonical(lua_State *L) {
    const moonplan_typed_data *request = check_request(L, 1);
    lua_settop(L, 1);
    mpl_lua_work *work = mpl_lua_work_new(L);
    if (!moonplan_typed_data_canonical(request, mpl_buffer_sink, &work->text) ||
        work->text.failed) {
        mpl_error_memory(&work->err);
        return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    }
    lua_pushlstring(L, work->text.bytes, work->text.length);
    mpl_lua_work_close(work);
    return 1;
}

/* request:explain() */
static int request_explain(lua_State *L) {
    const moonplan_typed_data *request = check_request(L, 1);
    lua_settop(L, 1);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_lua_alloc(L, &options);
    int attempts = 0;
    do work->document = moonplan_typed_data_explain(request, &options, &work->err);
    while (!work->document && mpl_lua_again(L, work, &attempts));
    if (!work->document) return mpl_lua_refuse(L, work, (moonplan_text){NULL, 0});
    mpl_lua_push_value(L, moonplan_document_root(work->document));
    mpl_lua_work_close(work);
    return 1;
}

/* request:review(options) */
static int request_review(lua_State *L) {
    const moonplan_typed_data *request = check_request(L, 1);
    lua_settop(L, 2);
    moonplan_review **review = mpl_lua_new_review(L);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct asked asked;
    read_options(L, 2, &options, &asked, work);
    insist_on_origin(L, 1, &asked.situation.origin);
    moonplan_review_context context = {.now = asked.situation.now,
                                       .origin = asked.situation.origin};
    int attempts = 0;
    do *review = moonplan_typed_data_review_new(request, &context, &options, &work->err);
    while (!*review && mpl_lua_again(L, work, &attempts));
    return mpl_lua_give_review(L, review, work);
}

/* request:source(pointer): the JSON text of a value as it stands in the document. */
static int request_source(lua_State *L) {
    const moonplan_typed_data *request = check_request(L, 1);
    moonplan_text pointer = mpl_lua_check_text(L, 2);
    moonplan_value value =
        moonplan_document_at(moonplan_typed_data_document(request), pointer.bytes, pointer.length);
    return mpl_lua_push_text(L, moonplan_value_source(value));
}

/* valid_until fits 64 bits, which is one more than a Lua integer has for it: a text, as in the
 * document. */
static int push_valid_until(lua_State *L, const moonplan_typed_data *request) {
    moonplan_value root = moonplan_document_root(moonplan_typed_data_document(request));
    return mpl_lua_push_text(L, moonplan_value_string(mpl_member(root, "valid_until")));
}

static int push_delivery(lua_State *L, const moonplan_typed_data *request) {
    moonplan_text url, request_id;
    if (!moonplan_typed_data_delivery(request, &url, &request_id)) {
        lua_pushnil(L);
        return 1;
    }
    lua_createtable(L, 0, 2);
    mpl_lua_push_text(L, url);
    lua_setfield(L, -2, "url");
    mpl_lua_push_text(L, request_id);
    lua_setfield(L, -2, "request_id");
    return 1;
}

static const char *const request_fields[] = {
    "canonical",   "check",   "delivery",       "domain",       "domain_separator",
    "explain",     "message", "message_hash",   "primary_type", "request_digest",
    "review",      "signer",  "signing_digest", "source",       "types",
    "valid_until", NULL};
enum {
    CANONICAL,
    CHECK,
    DELIVERY,
    DOMAIN,
    DOMAIN_SEPARATOR,
    EXPLAIN,
    MESSAGE,
    MESSAGE_HASH,
    PRIMARY_TYPE,
    REQUEST_DIGEST,
    REVIEW,
    SIGNER,
    SIGNING_DIGEST,
    SOURCE,
    TYPES
};

static int push_method(lua_State *L, lua_CFunction method) {
    lua_pushcfunction(L, method);
    return 1;
}

static int push_hash(lua_State *L, const uint8_t hash[32]) {
    mpl_lua_push_hash(L, hash);
    return 1;
}

static int request_index(lua_State *L) {
    const moonplan_typed_data *request = check_request(L, 1);
    moonplan_typed_data_digests digests;
    moonplan_typed_data_digest(request, &digests);
    switch (mpl_lua_field(L, 2, request_type.what, request_fields)) {
    case CANONICAL:
        return push_method(L, request_canonical);
    case CHECK:
        return push_method(L, request_check);
    case DELIVERY:
        return push_delivery(L, request);
    case DOMAIN:
        return mpl_lua_push_value(L, moonplan_typed_data_domain(request));
    case DOMAIN_SEPARATOR:
        return push_hash(L, digests.domain_separator);
    case EXPLAIN:
        return push_method(L, request_explain);
    case MESSAGE:
        return mpl_lua_push_value(L, moonplan_typed_data_message(request));
    case MESSAGE_HASH:
        return push_hash(L, digests.message_hash);
    case PRIMARY_TYPE:
        return mpl_lua_push_text(L, moonplan_typed_data_primary_type(request));
    case REQUEST_DIGEST:
        return push_hash(L, digests.request_digest);
    case REVIEW:
        return push_method(L, request_review);
    case SIGNER:
        return mpl_lua_push_text(L, moonplan_typed_data_signer(request));
    case SIGNING_DIGEST:
        return push_hash(L, digests.signing_digest);
    case SOURCE:
        return push_method(L, request_source);
    case TYPES:
        return mpl_lua_push_value(L, moonplan_typed_data_types(request));
    default:
        return push_valid_until(L, request);
    }
}

static int request_tostring(lua_State *L) {
    const struct request *self = mpl_lua_check(L, 1, &request_type);
    if (!self->request) {
        lua_pushliteral(L, "typed-data request (closed)");
        return 1;
    }
    moonplan_typed_data_digests digests;
    moonplan_typed_data_digest(self->request, &digests);
    mpl_lua_push_hash(L, digests.request_digest);
    mpl_lua_push_text(L, moonplan_typed_data_signer(self->request));
    lua_pushfstring(L, "typed-data request %s (signer %s)", lua_tostring(L, -2),
                    lua_tostring(L, -1));
    return 1;
}

/* -- What comes back -------------------------------------------------------*/

typedef bool (*judge)(const moonplan_document *document, const moonplan_typed_data *request,
                      const moonplan_options *options, moonplan_error *err);

/* f(text, request or nil, options): true, or nil and the faults. */
static int check_reply(lua_State *L, judge holds) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    const moonplan_typed_data *request = NULL;
    if (!lua_isnoneornil(L, 2)) request = check_request(L, 2);
    lua_settop(L, 3);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    mpl_lua_options(L, 3, &options, work, NULL);
    int attempts = 0;
    bool fine = mpl_lua_parse(L, work, text, &options);
    if (fine) {
        do fine = holds(work->document, request, &options, &work->err);
        while (!fine && mpl_lua_again(L, work, &attempts));
    }
    if (!fine) return mpl_lua_refuse(L, work, text);
    mpl_lua_work_close(work);
    lua_pushboolean(L, 1);
    return 1;
}

int mpl_lua_check_result(lua_State *L) {
    return check_reply(L, moonplan_typed_data_result);
}

int mpl_lua_check_receipt(lua_State *L) {
    return check_reply(L, moonplan_typed_data_receipt);
}

int mpl_lua_check_operation(lua_State *L) {
    return check_reply(L, moonplan_typed_data_operation);
}
