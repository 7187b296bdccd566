/* What manifests say about powers: their names, and what plays them in examples. */
#include <string.h>

#include "../core/error.h"
#include "../core/text.h"
#include "../core/value.h"
#include "manifest.h"
#include "power.h"

#define NAME_MOST 64

static bool is_name(moonplan_text name) {
    if (name.length == 0 || name.length > NAME_MOST) return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.bytes[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '_' || c == '-' || c == '.')
            continue;
        return false;
    }
    return true;
}

unsigned mpl_power_of(moonplan_text need, moonplan_text *name) {
    static const struct {
        const char *text;
        unsigned power;
        bool named;
    } rows[] = {{"fs", MPL_POWER_FS, false},       {"fs:rw", MPL_POWER_FS_RW, false},
                {"clock", MPL_POWER_CLOCK, false}, {"http", MPL_POWER_HTTP, false},
                {"kv", MPL_POWER_KV, false},       {"random", MPL_POWER_RANDOM, false},
                {"rpc:", MPL_POWER_RPC, true},     {"secret:", MPL_POWER_SECRET, true}};
    if (name) *name = (moonplan_text){NULL, 0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].text);
        if (!rows[i].named) {
            if (mpl_text_is(need, rows[i].text)) return rows[i].power;
            continue;
        }
        if (need.length <= length || memcmp(need.bytes, rows[i].text, length) != 0) continue;
        moonplan_text rest = {need.bytes + length, need.length - length};
        if (!is_name(rest)) continue;
        if (name) *name = rest;
        return rows[i].power;
    }
    return 0;
}

/* -- Worlds --------------------------------------------------------------------*/

#define REFUSE(err, value, ...)                                                                    \
    do {                                                                                           \
        mpl_error_at(err, MOONPLAN_PLUGIN_MANIFEST, value, __VA_ARGS__);                           \
        return false;                                                                              \
    } while (0)

static bool is_object(moonplan_value value) {
    return moonplan_value_type(value) == MOONPLAN_OBJECT;
}

static bool is_there(moonplan_value value) {
    return moonplan_value_type(value) != MOONPLAN_NONE;
}

/* Nothing, or a string. */
static bool may_be_text(moonplan_value value) {
    return !is_there(value) || moonplan_value_type(value) == MOONPLAN_STRING;
}

static bool check_texts(moonplan_value texts, const char *whole, const char *one,
                        moonplan_error *err) {
    if (!is_object(texts))
        REFUSE(err, texts, "%s, not %s", whole, mpl_type_text(moonplan_value_type(texts)));
    moonplan_walk walk = moonplan_value_walk(texts);
    while (moonplan_walk_next(&walk))
        if (moonplan_value_type(walk.value) != MOONPLAN_STRING)
            REFUSE(err, walk.value, "%s is a string, not %s", one,
                   mpl_type_text(moonplan_value_type(walk.value)));
    return true;
}

/* Every member of an object is one of these names. */
static bool check_members(moonplan_value object, const char *what, const char *const *names,
                          const char *listed, moonplan_error *err) {
    if (!is_object(object))
        REFUSE(err, object, "%s is a table of %s, not %s", what, listed,
               mpl_type_text(moonplan_value_type(object)));
    moonplan_walk walk = moonplan_value_walk(object);
    while (moonplan_walk_next(&walk)) {
        size_t i = 0;
        while (names[i] && !mpl_text_is(walk.name, names[i])) i++;
        if (!names[i])
            REFUSE(err, walk.value, "%s has no field %q; there are: %s", what, &walk.name, listed);
    }
    return true;
}

/* The code of a failure that is played: `area` and something. */
static bool check_failure(moonplan_value value, const char *area, moonplan_error *err) {
    moonplan_text code = moonplan_value_string(value);
    size_t length = strlen(area);
    if (code.length > length && memcmp(code.bytes, area, length) == 0)
        for (unsigned i = 1; i < MOONPLAN_CODE_COUNT; i++)
            if (mpl_text_is(code, moonplan_code_name((moonplan_code)i))) return true;
    REFUSE(err, value, "error must be a code that begins with %s", area);
}

static bool check_answer(moonplan_value one, moonplan_error *err) {
    static const char *const names[] = {"request", "response", "error", NULL};
    static const char *const asked[] = {"method", "url", "body", NULL};
    static const char *const given[] = {"status", "headers", "body", NULL};
    if (!check_members(one, "an answer", names, "request, and response or error", err))
        return false;
    moonplan_value request = mpl_member(one, "request"), response = mpl_member(one, "response");
    moonplan_value error = mpl_member(one, "error");
    int64_t status;
    if (is_there(response) == is_there(error))
        REFUSE(err, one, "an answer has a response or an error");
    if (!check_members(request, "request", asked, "method, url, body", err)) return false;
    if (moonplan_value_type(mpl_member(request, "url")) != MOONPLAN_STRING)
        REFUSE(err, request, "a request has a url, a string");
    if (!may_be_text(mpl_member(request, "method")) || !may_be_text(mpl_member(request, "body")))
        REFUSE(err, request, "method and body are strings");
    if (is_there(error)) return check_failure(error, "http.", err);
    if (!check_members(response, "response", given, "status, headers, body", err)) return false;
    if (is_there(mpl_member(response, "status")) &&
        (!moonplan_value_integer(mpl_member(response, "status"), &status) || status < 200 ||
         status > 599))
        REFUSE(err, mpl_member(response, "status"), "status must be an integer from 200 to 599");
    if (!may_be_text(mpl_member(response, "body")))
        REFUSE(err, mpl_member(response, "body"), "body must be a string");
    return !is_there(mpl_member(response, "headers")) ||
           check_texts(mpl_member(response, "headers"), "headers must be a table of values by name",
                       "the value of a header", err);
}

static bool check_reply(moonplan_value one, moonplan_error *err) {
    static const char *const names[] = {"method", "params", "result", "error", NULL};
    if (!check_members(one, "a reply", names, "method, params, and result or error", err))
        return false;
    moonplan_value error = mpl_member(one, "error"), code = mpl_member(error, "code");
    int64_t number;
    if (moonplan_value_type(mpl_member(one, "method")) != MOONPLAN_STRING)
        REFUSE(err, one, "a reply has a method, a string");
    if (is_there(mpl_member(one, "result")) == is_there(error))
        REFUSE(err, one, "a reply has a result or an error");
    if (!is_there(error)) return true;
    if (moonplan_value_type(error) == MOONPLAN_STRING) return check_failure(error, "rpc.", err);
    if (!is_object(error) || !moonplan_value_integer(code, &number) ||
        moonplan_value_type(mpl_member(error, "message")) != MOONPLAN_STRING)
        REFUSE(err, error,
               "error must be a table of code, an integer, message, a string, and data; or a code "
               "that begins with rpc.");
    return true;
}

static bool check_list(moonplan_value list, bool (*check)(moonplan_value one, moonplan_error *err),
                       const char *wrong, moonplan_error *err) {
    bool empty = is_object(list) && moonplan_value_count(list) == 0;
    if (moonplan_value_type(list) != MOONPLAN_ARRAY && !empty) REFUSE(err, list, "%s", wrong);
    moonplan_walk walk = moonplan_value_walk(list);
    while (moonplan_walk_next(&walk))
        if (!check(walk.value, err)) return false;
    return true;
}

static bool check_endpoints(moonplan_value endpoints, moonplan_error *err) {
    if (!is_object(endpoints))
        REFUSE(err, endpoints, "rpc must be a table of lists of replies, by endpoint");
    moonplan_walk walk = moonplan_value_walk(endpoints);
    while (moonplan_walk_next(&walk))
        if (!check_list(walk.value, check_reply, "an endpoint has a list of replies", err))
            return false;
    return true;
}

/* As long as real ones. */
static bool check_secrets(moonplan_value secrets, moonplan_error *err) {
    if (!check_texts(secrets, "secret must be a table of values by name", "a secret", err))
        return false;
    moonplan_walk walk = moonplan_value_walk(secrets);
    while (moonplan_walk_next(&walk)) {
        size_t length = moonplan_value_string(walk.value).length;
        if (length < MPL_SECRET_LEAST || length > MPL_SECRET_MOST)
            REFUSE(err, walk.value, "a secret has 8 to 4096 bytes, not %u", (uint64_t)length);
    }
    return true;
}

static bool check_one(moonplan_text name, moonplan_value value, bool before, moonplan_error *err) {
    int64_t number;
    if (mpl_text_is(name, "fs"))
        return check_texts(value, "fs must be a table of contents by path", "the content of a file",
                           err);
    if (mpl_text_is(name, "kv")) {
        if (is_object(value)) return true;
        REFUSE(err, value, "kv must be a table of values by key, not %s",
               mpl_type_text(moonplan_value_type(value)));
    }
    if (!before) REFUSE(err, value, "there is no double of %q; there are: fs, kv", &name);
    if (mpl_text_is(name, "clock")) {
        if (mpl_time_read(&number, moonplan_value_string(value))) return true;
        REFUSE(err, value, "clock must be a time like 2026-01-02T03:04:05.000Z");
    }
    if (mpl_text_is(name, "random")) {
        if (moonplan_value_integer(value, &number)) return true;
        REFUSE(err, value, "random must be a seed, an integer");
    }
    if (mpl_text_is(name, "secret")) return check_secrets(value, err);
    if (mpl_text_is(name, "http"))
        return check_list(value, check_answer, "http must be a list of answers", err);
    if (mpl_text_is(name, "rpc")) return check_endpoints(value, err);
    REFUSE(err, value,
           "there is no double of %q; there are: clock, fs, http, kv, random, rpc, secret", &name);
}

bool mpl_world_check(moonplan_value world, bool before, moonplan_error *err) {
    moonplan_type type = moonplan_value_type(world);
    if (type == MOONPLAN_NONE) return true;
    if (type != MOONPLAN_OBJECT)
        REFUSE(err, world, "an object of powers, not %s", mpl_type_text(type));
    moonplan_walk walk = moonplan_value_walk(world);
    while (moonplan_walk_next(&walk))
        if (!check_one(walk.name, walk.value, before, err)) return false;
    return true;
}
