/* Artifact references as Lua objects: admitted when they are made, fetched when they are resolved.
 */
#include <string.h>

#include "../core/text.h"
#include "bind.h"
#include "convert.h"
#include "module.h"

/* A reference borrows its text from a Lua string. The options that it was made with are kept for
 * when it is resolved, with what they point to. */
struct reference {
    moonplan_artifact *artifact; /* NULL when it is closed */
    moonplan_kind expect;
    moonplan_options options;
};
enum { TEXT = 1, IMPLEMENTS, ROOTS, REFERENCE_VALUES = ROOTS };

static int reference_gc(lua_State *L);
static int reference_index(lua_State *L);
static int reference_tostring(lua_State *L);
static int read_only(lua_State *L);

static const luaL_Reg reference_own[] = {
    {"__gc", reference_gc},    {"__close", reference_gc},          {"__index", reference_index},
    {"__newindex", read_only}, {"__tostring", reference_tostring}, {NULL, NULL}};
static const mpl_lua_type reference_type = {"moonplan.reference", "an artifact reference",
                                            reference_own};

static int reference_gc(lua_State *L) {
    struct reference *self = mpl_lua_check(L, 1, &reference_type);
    moonplan_artifact *artifact = self->artifact;
    self->artifact = NULL;
    moonplan_artifact_free(artifact);
    return 0;
}

static int read_only(lua_State *L) {
    return luaL_error(L, "an artifact reference cannot be changed");
}

static struct reference *check_reference(lua_State *L, int index) {
    struct reference *self = mpl_lua_check(L, index, &reference_type);
    if (!self->artifact) luaL_error(L, "the artifact reference is closed");
    return self;
}

/* -- Options ---------------------------------------------------------------*/

static const char *const reference_options[] = {"expect", "file_roots", NULL};
enum { EXPECT };

struct asked {
    moonplan_kind expect;
    mpl_buffer *roots; /* a NUL behind each */
};

static moonplan_kind read_expect(lua_State *L, int arg) {
    static const char wanted[] = "\"plan\" or \"typed-data\"";
    if (lua_type(L, -1) != LUA_TSTRING) mpl_lua_bad_option(L, arg, "expect", wanted, -1);
    const char *text = lua_tostring(L, -1);
    if (strcmp(text, "plan") == 0) return MOONPLAN_KIND_CALL_PLAN;
    if (strcmp(text, "typed-data") != 0)
        luaL_argerror(
            L, arg,
            lua_pushfstring(L, "expect must be %s, not %s", wanted, mpl_lua_push_key(L, -1)));
    return MOONPLAN_KIND_TYPED_DATA_REQUEST;
}

static void read_roots(lua_State *L, int arg, mpl_buffer *roots) {
    int list = lua_gettop(L);
    if (!lua_istable(L, list)) mpl_lua_bad_option(L, arg, "file_roots", "a list of folders", list);
    lua_Integer count = (lua_Integer)lua_rawlen(L, list);
    for (lua_Integer i = 1; i <= count; i++) {
        size_t length;
        if (lua_rawgeti(L, list, i) != LUA_TSTRING)
            mpl_lua_bad_option(L, arg, "file_roots", "a list of folders", -1);
        const char *path = lua_tolstring(L, -1, &length);
        if (!length || strlen(path) != length)
            luaL_argerror(L, arg, "a folder of file_roots is empty or holds a NUL");
        mpl_buffer_add(roots, path, length + 1);
        lua_pop(L, 1);
    }
    if (roots->failed) luaL_error(L, "not enough memory");
}

static void read_reference_option(lua_State *L, int arg, int which, void *data) {
    struct asked *asked = data;
    if (which == EXPECT)
        asked->expect = read_expect(L, arg);
    else
        read_roots(L, arg, asked->roots);
}

/* As mpl_lua_options, and so it pushes one value. */
static void read_options(lua_State *L, int arg, moonplan_options *options, struct asked *asked,
                         mpl_lua_work *work) {
    *asked = (struct asked){.roots = &work->text};
    const mpl_lua_more more = {reference_options, read_reference_option, asked};
    mpl_lua_options(L, arg, options, work, &more);
}

/* -- References ------------------------------------------------------------*/

int mpl_lua_reference(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    struct reference *self = mpl_lua_new(L, &reference_type, sizeof *self, REFERENCE_VALUES);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 3, TEXT);
    mpl_lua_work *work = mpl_lua_work_new(L);
    struct asked asked;
    read_options(L, 2, &self->options, &asked, work);
    lua_setiuservalue(L, 3, IMPLEMENTS);
    self->expect = asked.expect;
    lua_pushlstring(L, asked.roots->bytes ? asked.roots->bytes : "", asked.roots->length);
    lua_setiuservalue(L, 3, ROOTS);
    int attempts = 0;
    do
        self->artifact = moonplan_artifact_parse(text.bytes, text.length, self->expect,
                                                 &self->options, &work->err);
    while (!self->artifact && mpl_lua_again(L, work, &attempts));
    if (!self->artifact) return mpl_lua_refuse(L, work, text);
    mpl_lua_weigh(L, moonplan_artifact_memory(self->artifact, NULL));
    mpl_lua_work_close(work);
    lua_settop(L, 3);
    return 1;
}

static moonplan_value member(const struct reference *self, const char *name) {
    moonplan_value root = moonplan_document_root(moonplan_artifact_document(self->artifact));
    return moonplan_value_member(root, name, strlen(name));
}

static const char *transport_name(moonplan_transport transport) {
    return transport == MOONPLAN_TRANSPORT_DATA    ? "data"
           : transport == MOONPLAN_TRANSPORT_HTTPS ? "https"
                                                   : "file";
}

/* -- Resolving -------------------------------------------------------------*/

/* What one resolution holds in C. */
struct retrieval {
    moonplan_artifact *artifact;
    moonplan_fetcher *fetcher;
};

static void retrieval_close(struct retrieval *self) {
    moonplan_artifact_free(self->artifact);
    self->artifact = NULL;
    moonplan_fetcher_free(self->fetcher);
    self->fetcher = NULL;
}

static int retrieval_gc(lua_State *L);
static const luaL_Reg retrieval_own[] = {{"__gc", retrieval_gc}, {NULL, NULL}};
static const mpl_lua_type retrieval_type = {"moonplan.retrieval", "a retrieval", retrieval_own};

static int retrieval_gc(lua_State *L) {
    retrieval_close(mpl_lua_check(L, 1, &retrieval_type));
    return 0;
}

/* The folders in `roots`, a NUL behind each, as a list in a fresh userdata, which is pushed. */
static const moonplan_text *push_roots(lua_State *L, moonplan_text roots, size_t *count) {
    *count = 0;
    for (size_t i = 0; i < roots.length; i++) *count += roots.bytes[i] == 0;
    moonplan_text *list = lua_newuserdatauv(L, *count * sizeof *list + 1, 0);
    const char *path = roots.bytes;
    for (size_t i = 0; i < *count; i++) {
        list[i] = (moonplan_text){path, strlen(path)};
        path += list[i].length + 1;
    }
    return list;
}

/* A fresh retrieval each time: an artifact that was refused stays refused. */
static bool retrieve(const struct reference *self, struct retrieval *retrieval, moonplan_text text,
                     const moonplan_fetch_options *fetch, const moonplan_options *options,
                     moonplan_error *err) {
    retrieval_close(retrieval);
    /* The fetcher has threads, and a Lua state's allocator knows of one alone. */
    moonplan_options threaded = *options;
    threaded.alloc = NULL;
    threaded.alloc_data = NULL;
    threaded.errors = NULL;
    retrieval->fetcher = moonplan_fetcher_new(fetch, &threaded, err);
    if (!retrieval->fetcher) return false;
    retrieval->artifact =
        moonplan_artifact_parse(text.bytes, text.length, self->expect, options, err);
    return retrieval->artifact &&
           moonplan_artifact_fetch(retrieval->artifact, retrieval->fetcher, err);
}

/* Refused, and whose places the faults have: the envelope's or the artifact's. */
static int refuse(lua_State *L, mpl_lua_work *work, moonplan_text text, const char *where) {
    mpl_lua_refuse(L, work, text);
    lua_pushstring(L, where);
    return 3;
}

static void push_digest_of(lua_State *L, moonplan_text body) {
    uint8_t hash[32];
    moonplan_keccak256(hash, body.bytes, body.length);
    mpl_lua_push_hash(L, hash);
}

static void push_origin(lua_State *L, moonplan_text host) {
    if (!host.bytes)
        lua_pushliteral(L, "");
    else /* IPv6 stands in brackets in a URL */
        lua_pushfstring(L, memchr(host.bytes, ':', host.length) ? "https://[%s]" : "https://%s",
                        host.bytes);
}

/* What has been proved about where the bytes came from. A path on this machine is no origin, so
 * file: has none, nor have bytes that travelled inside the URL. */
static void push_provenance(lua_State *L, const moonplan_artifact *artifact) {
    moonplan_text host = moonplan_artifact_host(artifact), body = moonplan_artifact_body(artifact);
    lua_createtable(L, 0, 5);
    lua_pushstring(L, transport_name(moonplan_artifact_transport(artifact)));
    lua_setfield(L, -2, "transport");
    if (host.bytes) {
        mpl_lua_push_text(L, host);
        lua_setfield(L, -2, "host");
    }
    push_origin(L, host);
    lua_setfield(L, -2, "origin");
    lua_pushinteger(L, (lua_Integer)body.length);
    lua_setfield(L, -2, "bytes");
    push_digest_of(L, body);
    lua_setfield(L, -2, "digest");
}

/* The document, on top of the stack; its text is at `text`. False with the fault. */
static bool push_document(lua_State *L, int text, const moonplan_artifact *artifact,
                          moonplan_options *options, mpl_lua_work *work) {
    bool request = moonplan_artifact_kind(artifact) == MOONPLAN_KIND_TYPED_DATA_REQUEST;
    moonplan_call_plan **plan = request ? NULL : mpl_lua_new_plan(L, text);
    moonplan_typed_data **data = request ? mpl_lua_new_request(L, text) : NULL;
    int attempts = 0;
    bool fine;
    options->borrow = false; /* the body goes with the artifact */
    do {
        if (request)
            fine = (*data = moonplan_artifact_typed_data(artifact, options, &work->err)) != NULL;
        else
            fine = (*plan = moonplan_artifact_call_plan(artifact, options, &work->err)) != NULL;
    } while (!fine && mpl_lua_again(L, work, &attempts));
    if (fine)
        mpl_lua_weigh(L, request ? moonplan_typed_data_memory(*data, NULL)
                                 : moonplan_call_plan_memory(*plan, NULL));
    return fine;
}

/* May the signature go where the request on top of the stack wants it, by the origin that is
 * proved? That origin stays with the request. */
static bool check_delivery(lua_State *L, const moonplan_artifact *artifact,
                           const moonplan_typed_data *request, const moonplan_options *options,
                           mpl_lua_work *work) {
    moonplan_typed_data_situation situation = {0};
    push_origin(L, moonplan_artifact_host(artifact));
    situation.origin.bytes = lua_tolstring(L, -1, &situation.origin.length);
    mpl_lua_prove_origin(L, -2);
    int attempts = 0;
    bool fine;
    do fine = moonplan_typed_data_check(request, &situation, options, &work->err);
    while (!fine && mpl_lua_again(L, work, &attempts));
    return fine;
}

/* reference:resolve() */
static int reference_resolve(lua_State *L) {
    const struct reference *self = check_reference(L, 1);
    if (lua_gettop(L) > 1)
        return luaL_argerror(L, 2, "the options are those that the reference was made with");
    struct retrieval *retrieval = mpl_lua_new(L, &retrieval_type, sizeof *retrieval, 0);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options = self->options;
    options.errors = &work->errors;
    lua_getiuservalue(L, 1, TEXT);
    moonplan_text text = mpl_lua_check_text(L, lua_gettop(L));
    lua_getiuservalue(L, 1, ROOTS);
    moonplan_fetch_options how = {0};
    how.file_roots = push_roots(L, mpl_lua_check_text(L, lua_gettop(L)), &how.file_root_count);
    int attempts = 0;
    bool fine;
    do fine = retrieve(self, retrieval, text, &how, &options, &work->err);
    while (!fine && mpl_lua_again(L, work, &attempts));
    if (!fine) return refuse(L, work, text, "envelope");
    lua_createtable(L, 0, 5);
    int out = lua_gettop(L);
    mpl_lua_push_text(L, moonplan_artifact_body(retrieval->artifact));
    moonplan_text body = mpl_lua_check_text(L, out + 1);
    if (!push_document(L, out + 1, retrieval->artifact, &options, work)) {
        /* All failures of a file look alike: not even this tells that there is one. */
        bool file = moonplan_artifact_transport(retrieval->artifact) == MOONPLAN_TRANSPORT_FILE;
        return file ? refuse(L, work, text, "envelope") : refuse(L, work, body, "artifact");
    }
    bool request = moonplan_artifact_kind(retrieval->artifact) == MOONPLAN_KIND_TYPED_DATA_REQUEST;
    /* The bytes are verified and valid, so that this tells nothing of a file. */
    if (request) {
        moonplan_typed_data *const *data = lua_touserdata(L, -1);
        if (!check_delivery(L, retrieval->artifact, *data, &options, work))
            return refuse(L, work, body, "artifact");
    }
    lua_setfield(L, out, request ? "request" : "plan");
    lua_setfield(L, out, "text");
    lua_pushstring(L, moonplan_kind_name(moonplan_artifact_kind(retrieval->artifact)));
    lua_setfield(L, out, "kind");
    push_provenance(L, retrieval->artifact);
    lua_setfield(L, out, "provenance");
    retrieval_close(retrieval);
    mpl_lua_work_close(work);
    return 1;
}

/* -- Fields ----------------------------------------------------------------*/

/* reference:source(pointer): the JSON text of a value as it stands in the envelope. */
static int reference_source(lua_State *L) {
    const struct reference *self = check_reference(L, 1);
    moonplan_text pointer = mpl_lua_check_text(L, 2);
    moonplan_value value = moonplan_document_at(moonplan_artifact_document(self->artifact),
                                                pointer.bytes, pointer.length);
    return mpl_lua_push_text(L, moonplan_value_source(value));
}

static const char *const reference_fields[] = {"artifact_type", "bytes", "host",    "instruction",
                                               "integrity",     "kind",  "resolve", "source",
                                               "transport",     "url",   NULL};
enum { ARTIFACT_TYPE, BYTES, HOST, INSTRUCTION, INTEGRITY, KIND, RESOLVE, SOURCE, TRANSPORT };

static int reference_index(lua_State *L) {
    const struct reference *self = check_reference(L, 1);
    switch (mpl_lua_field(L, 2, reference_type.what, reference_fields)) {
    case ARTIFACT_TYPE:
        return mpl_lua_push_value(L, member(self, "artifact_type"));
    case BYTES:
        return mpl_lua_push_value(L, member(self, "bytes"));
    case HOST:
        return mpl_lua_push_text(L, moonplan_artifact_host(self->artifact));
    case INSTRUCTION:
        return mpl_lua_push_value(L, member(self, "instruction"));
    case INTEGRITY:
        return mpl_lua_push_value(L, member(self, "integrity"));
    case KIND:
        lua_pushstring(L, moonplan_kind_name(moonplan_artifact_kind(self->artifact)));
        return 1;
    case RESOLVE:
        lua_pushcfunction(L, reference_resolve);
        return 1;
    case SOURCE:
        lua_pushcfunction(L, reference_source);
        return 1;
    case TRANSPORT:
        lua_pushstring(L, transport_name(moonplan_artifact_transport(self->artifact)));
        return 1;
    default:
        return mpl_lua_push_value(L, member(self, "url"));
    }
}

static int reference_tostring(lua_State *L) {
    const struct reference *self = mpl_lua_check(L, 1, &reference_type);
    if (!self->artifact) {
        lua_pushliteral(L, "artifact reference (closed)");
        return 1;
    }
    moonplan_text host = moonplan_artifact_host(self->artifact);
    lua_pushfstring(L, "artifact reference (%s by %s:%s%s)",
                    moonplan_kind_name(moonplan_artifact_kind(self->artifact)),
                    transport_name(moonplan_artifact_transport(self->artifact)),
                    host.bytes ? "//" : "", host.bytes ? host.bytes : "");
    return 1;
}

/* -- Making ----------------------------------------------------------------*/

static const char *const make_options[] = {"expect", "url", NULL};

struct making {
    moonplan_kind expect;
    mpl_buffer *url;
    bool has_url;
};

static void read_make_option(lua_State *L, int arg, int which, void *data) {
    struct making *making = data;
    if (which == EXPECT) {
        making->expect = read_expect(L, arg);
        return;
    }
    size_t length;
    if (lua_type(L, -1) != LUA_TSTRING) mpl_lua_bad_option(L, arg, "url", "a text", -1);
    const char *bytes = lua_tolstring(L, -1, &length);
    making->has_url = true;
    mpl_buffer_add(making->url, bytes, length);
    if (making->url->failed) luaL_error(L, "not enough memory");
}

/* What kind the document is, if it is one that a consumer takes: an envelope for anything else
 * would be of no use to anybody. */
static moonplan_kind judge(moonplan_text text, moonplan_kind expect,
                           const moonplan_options *options, moonplan_error *err) {
    moonplan_options own = *options;
    own.enforce_capabilities = false; /* this is for the wallet to say */
    moonplan_kind kind = expect;
    if (kind == MOONPLAN_KIND_NONE) {
        moonplan_document *document = moonplan_document_parse(text.bytes, text.length, &own, err);
        if (!document) return MOONPLAN_KIND_NONE;
        kind = moonplan_document_kind(document, err);
        moonplan_document_free(document);
    }
    bool fine = false;
    if (kind == MOONPLAN_KIND_CALL_PLAN) {
        moonplan_call_plan *plan = moonplan_call_plan_parse(text.bytes, text.length, &own, err);
        fine = plan != NULL;
        moonplan_call_plan_free(plan);
    } else if (kind == MOONPLAN_KIND_TYPED_DATA_REQUEST) {
        moonplan_typed_data *data = moonplan_typed_data_parse(text.bytes, text.length, &own, err);
        fine = data != NULL;
        moonplan_typed_data_free(data);
    } else if (kind != MOONPLAN_KIND_NONE) {
        mpl_error_set(err, MOONPLAN_ARTIFACT_TYPE, 0, NULL,
                      "a reference names a call plan or a typed-data request, and this is of the "
                      "kind %s",
                      moonplan_kind_name(kind));
    }
    return fine ? kind : MOONPLAN_KIND_NONE;
}

int mpl_lua_make_reference(lua_State *L) {
    moonplan_text text = mpl_lua_check_text(L, 1);
    lua_settop(L, 2);
    mpl_lua_work *work = mpl_lua_work_new(L);
    moonplan_options options;
    struct making making = {.url = &work->scratch};
    const mpl_lua_more more = {make_options, read_make_option, &making};
    mpl_lua_options(L, 2, &options, work, &more);
    moonplan_kind kind = MOONPLAN_KIND_NONE;
    int attempts = 0;
    do kind = judge(text, making.expect, &options, &work->err);
    while (kind == MOONPLAN_KIND_NONE && mpl_lua_again(L, work, &attempts));
    if (kind == MOONPLAN_KIND_NONE) return refuse(L, work, text, "artifact");
    moonplan_text url = {NULL, 0};
    if (making.has_url)
        url = (moonplan_text){making.url->length ? making.url->bytes : "", making.url->length};
    attempts = 0;
    do
        work->document =
            moonplan_artifact_make(kind, url, text.bytes, text.length, &options, &work->err);
    while (!work->document && mpl_lua_again(L, work, &attempts));
    if (!work->document) return refuse(L, work, (moonplan_text){NULL, 0}, "envelope");
    mpl_lua_push_text(L, moonplan_value_source(moonplan_document_root(work->document)));
    mpl_lua_work_close(work);
    return 1;
}
