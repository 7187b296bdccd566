/* http and rpc: both over the library's one client, each with what was granted to it.
 *
 * _POSIX_C_SOURCE comes from the build, for the clock. */
#include <string.h>
#include <time.h>

#include "../core/json_write.h"
#include "../core/text.h"
#include "../core/value.h"
#include "serve.h"

#define HEADERS_MOST 256

/* -- Time ------------------------------------------------------------------------*/

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* Milliseconds that this call may still wait; 0: none. All its requests together wait as long as
 * one may. */
static uint64_t left(const mpl_serving *s) {
    const mpl_plugin_call *call = s->call;
    uint64_t most = mpl_serving_limits(s)->fetch_ms;
    uint64_t rest = call->waited < most ? most - call->waited : 0;
    if (!call->deadline) return rest;
    uint64_t time = now(), until = call->deadline > time ? call->deadline - time : 0;
    return until < rest ? until : rest;
}

static moonplan_http_response *ask(mpl_serving *s, moonplan_http *http,
                                   moonplan_http_request *request) {
    request->timeout_ms = left(s);
    if (request->timeout_ms == 0) {
        mpl_error_set(s->err, MOONPLAN_HTTP_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      "this call's requests have taken all the time that the limit fetch_ms "
                      "allows: %u",
                      mpl_serving_limits(s)->fetch_ms);
        return NULL;
    }
    uint64_t begun = now();
    moonplan_http_response *response = moonplan_http_response_new(http, request, s->err);
    s->call->waited += now() - begun + 1; /* parts of a millisecond count */
    return response;
}

/* -- http ------------------------------------------------------------------------*/

/* What has the risk `read`, or none, changes nothing anywhere: RFC 9110, section 9.2.1. */
static unsigned methods_of(const mpl_serving *s) {
    const mpl_item *item = s->call->item;
    if (item->kind == MPL_EXECUTOR || mpl_text_is(item->risk, "write") ||
        mpl_text_is(item->risk, "destructive"))
        return 63;
    return MOONPLAN_HTTP_GET | MOONPLAN_HTTP_HEAD;
}

/* Name, NUL, value, NUL, and so on: false if it is anything else. */
static bool unpack(moonplan_text packed, moonplan_http_header *headers, size_t *count) {
    *count = 0;
    while (packed.length > 0) {
        moonplan_text pair[2];
        for (int i = 0; i < 2; i++) {
            const char *end = packed.length ? memchr(packed.bytes, 0, packed.length) : NULL;
            if (!end) return false;
            pair[i] = (moonplan_text){packed.bytes, (size_t)(end - packed.bytes)};
            packed.bytes += pair[i].length + 1;
            packed.length -= pair[i].length + 1;
        }
        if (*count < HEADERS_MOST) headers[*count] = (moonplan_http_header){pair[0], pair[1]};
        ++*count;
    }
    return true;
}

static void pack(mpl_buffer *out, moonplan_text text) {
    mpl_buffer_add(out, text.bytes, text.length);
    mpl_buffer_byte(out, 0);
}

/* The answer: `headers` bytes of packed headers stand in its buffer, then the body. */
static mpl_served give(mpl_serving *s, unsigned status, size_t headers) {
    const mpl_buffer *bytes = &s->out->bytes;
    if (bytes->failed) return mpl_refuse_memory(s);
    const char *from = bytes->bytes ? bytes->bytes : "";
    mpl_slots_integer(&s->out->slots, status);
    mpl_slots_bytes(&s->out->slots, (moonplan_text){from, headers});
    mpl_slots_bytes(&s->out->slots, (moonplan_text){from + headers, bytes->length - headers});
    return MPL_SERVED;
}

static bool same_text(moonplan_value value, moonplan_text text) {
    moonplan_text string = moonplan_value_string(value);
    return string.bytes && mpl_text_equal(string, text);
}

/* A failure that the example wants to see, by its code. */
static mpl_served play_failure(mpl_serving *s, moonplan_value value) {
    moonplan_text name = moonplan_value_string(value);
    unsigned code = 1;
    while (code < MOONPLAN_CODE_COUNT &&
           !mpl_text_is(name, moonplan_code_name((moonplan_code)code)))
        code++;
    return MPL_REFUSE(s, (moonplan_code)code, "%s", moonplan_code_text((moonplan_code)code));
}

static bool plays(moonplan_value entry, mpl_serving *s) {
    static const moonplan_text get = {"GET", 3};
    moonplan_value request = mpl_member(entry, "request"), method = mpl_member(request, "method");
    moonplan_value body = mpl_member(request, "body");
    if (moonplan_value_type(method) == MOONPLAN_NONE) {
        if (!mpl_text_equal(mpl_in_bytes(s, 0), get)) return false;
    } else if (!same_text(method, mpl_in_bytes(s, 0))) {
        return false;
    }
    return same_text(mpl_member(request, "url"), mpl_in_bytes(s, 1)) &&
           (moonplan_value_type(body) == MOONPLAN_NONE || same_text(body, mpl_in_bytes(s, 3)));
}

/* The first entry of a list that plays this part and has not yet; where all have, the last of them
 * again. MOONPLAN_NONE: there is none. False for want of memory. */
static bool find_double(mpl_serving *s, moonplan_value list,
                        bool (*fits)(moonplan_value entry, mpl_serving *s), moonplan_value *found) {
    moonplan_walk walk = moonplan_value_walk(list);
    *found = (moonplan_value){NULL, 0};
    while (moonplan_walk_next(&walk)) {
        bool fit = fits(walk.value, s);
        if (s->no_memory) return false;
        if (!fit) continue;
        *found = walk.value;
        if (!mpl_doubles_used(s->call->doubles, walk.value))
            return mpl_doubles_use(s->call->doubles, walk.value);
    }
    return true;
}

static mpl_served play_http(mpl_serving *s) {
    moonplan_value entry;
    moonplan_text method = mpl_in_bytes(s, 0), url = mpl_in_bytes(s, 1);
    if (!find_double(s, mpl_given(s->call->doubles, "http"), plays, &entry))
        return mpl_refuse_memory(s);
    if (moonplan_value_type(entry) == MOONPLAN_NONE)
        return MPL_BREAK(s, "the example gives no answer to the request %t %q", &method, &url);
    moonplan_value response = mpl_member(entry, "response");
    if (moonplan_value_type(response) == MOONPLAN_NONE)
        return play_failure(s, mpl_member(entry, "error"));
    int64_t status = 200;
    moonplan_value_integer(mpl_member(response, "status"), &status);
    moonplan_walk walk = moonplan_value_walk(mpl_member(response, "headers"));
    while (moonplan_walk_next(&walk)) {
        pack(&s->out->bytes, walk.name);
        pack(&s->out->bytes, moonplan_value_string(walk.value));
    }
    size_t headers = s->out->bytes.length;
    moonplan_text body = moonplan_value_string(mpl_member(response, "body"));
    mpl_buffer_add(&s->out->bytes, body.bytes, body.length);
    return give(s, (unsigned)status, headers);
}

mpl_served mpl_serve_http(mpl_serving *s) {
    moonplan_http_header headers[HEADERS_MOST], header;
    moonplan_text method = mpl_in_bytes(s, 0);
    const mpl_slot *body = &s->in->at[3];
    moonplan_http_request request = {
        .method = moonplan_http_method(method), .url = mpl_in_bytes(s, 1), .headers = headers};
    if (body->type == MPL_SLOT_BYTES) request.body = body->bytes;
    if (!unpack(mpl_in_bytes(s, 2), headers, &request.header_count))
        return MPL_BREAK(s, "the headers are malformed");
    if (request.header_count > HEADERS_MOST)
        return MPL_REFUSE(s, MOONPLAN_HTTP_HEADER, "the request has more than 256 headers");
    if (!request.method)
        return MPL_REFUSE(s, MOONPLAN_HTTP_METHOD,
                          "there is no method %q; there are: GET, HEAD, POST, PUT, PATCH, DELETE",
                          &method);
    if (!(methods_of(s) & request.method))
        return MPL_REFUSE(s, MOONPLAN_HTTP_METHOD,
                          "what only reads may GET and HEAD; %t needs the risk write or "
                          "destructive",
                          &method);
    if (s->call->doubles) return play_http(s);
    moonplan_http_response *response = ask(s, mpl_serving_grants(s)->http, &request);
    if (!response) return MPL_REFUSED;
    for (size_t i = 0; moonplan_http_response_header(response, &header, i); i++) {
        pack(&s->out->bytes, header.name);
        pack(&s->out->bytes, header.value);
    }
    size_t length = s->out->bytes.length;
    moonplan_text content = moonplan_http_response_body(response);
    mpl_buffer_add(&s->out->bytes, content.bytes, content.length);
    unsigned status = moonplan_http_response_status(response);
    moonplan_http_response_free(response);
    return give(s, status, length);
}

/* -- rpc -------------------------------------------------------------------------*/

/* The request as a document; NULL with *err unless it is one of JSON-RPC 2.0 that wants an answer.
 * An endpoint is granted for such requests, and gets nothing else. */
static moonplan_document *read_request(mpl_serving *s) {
    moonplan_options options = *s->call->call.options;
    options.errors = NULL;
    options.borrow = true;
    moonplan_text text = mpl_in_bytes(s, 1);
    moonplan_document *document =
        moonplan_document_parse(text.bytes, text.length, &options, s->err);
    if (!document && s->err->code == MOONPLAN_MEMORY) return NULL;
    moonplan_value root = {NULL, 0}, params = {NULL, 0};
    if (document) {
        root = moonplan_document_root(document);
        params = mpl_member(root, "params");
    }
    int64_t id;
    if (document && same_text(mpl_member(root, "jsonrpc"), MOONPLAN_TEXT("2.0")) &&
        moonplan_value_string(mpl_member(root, "method")).bytes &&
        moonplan_value_integer(mpl_member(root, "id"), &id) &&
        (moonplan_value_type(params) == MOONPLAN_NONE ||
         moonplan_value_type(params) == MOONPLAN_ARRAY ||
         moonplan_value_type(params) == MOONPLAN_OBJECT))
        return document;
    moonplan_document_free(document);
    mpl_error_set(s->err, MOONPLAN_RPC_REQUEST, MOONPLAN_NO_OFFSET, NULL,
                  "not a request of JSON-RPC 2.0 with an integer for its id");
    return NULL;
}

/* Numbers as they stand: 1 and 1.0 differ. */
static bool same_value(mpl_serving *s, moonplan_value a, moonplan_value b) {
    const mpl_style style = {false, 0, UINT64_MAX};
    mpl_buffer first, second, scratch;
    mpl_buffer_open(&first, s->out->bytes.alloc);
    mpl_buffer_open(&second, s->out->bytes.alloc);
    mpl_buffer_open(&scratch, s->out->bytes.alloc);
    mpl_write_sorted(&first, &scratch, a, &style);
    mpl_write_sorted(&second, &scratch, b, &style);
    bool failed = first.failed || second.failed || scratch.failed;
    s->no_memory = s->no_memory || failed;
    bool same = !failed && mpl_text_equal((moonplan_text){first.bytes, first.length},
                                          (moonplan_text){second.bytes, second.length});
    mpl_buffer_close(&first);
    mpl_buffer_close(&second);
    mpl_buffer_close(&scratch);
    return same;
}

/* The entry of an example that answers the request, which `s->out->document` is. */
static bool replies(moonplan_value entry, mpl_serving *s) {
    moonplan_value request = moonplan_document_root(s->out->document);
    moonplan_value params = mpl_member(entry, "params"), given = mpl_member(request, "params");
    if (!same_text(mpl_member(entry, "method"),
                   moonplan_value_string(mpl_member(request, "method"))))
        return false;
    if (moonplan_value_type(params) == MOONPLAN_NONE) return true;
    if (moonplan_value_type(given) == MOONPLAN_NONE) return false;
    return same_value(s, params, given);
}

static mpl_served play_rpc(mpl_serving *s, moonplan_text name) {
    moonplan_value entry, list = mpl_given(s->call->doubles, "rpc");
    moonplan_value request = moonplan_document_root(s->out->document);
    moonplan_text method = moonplan_value_string(mpl_member(request, "method"));
    list = moonplan_value_member(list, name.bytes, name.length);
    if (!find_double(s, list, replies, &entry)) return mpl_refuse_memory(s);
    if (moonplan_value_type(entry) == MOONPLAN_NONE)
        return MPL_BREAK(s, "the example gives no reply to %q from rpc:%t", &method, &name);
    moonplan_value error = mpl_member(entry, "error"), result = mpl_member(entry, "result");
    if (moonplan_value_type(error) == MOONPLAN_STRING) return play_failure(s, error);
    bool failed = moonplan_value_type(error) != MOONPLAN_NONE;
    moonplan_text id = moonplan_value_source(mpl_member(request, "id"));
    moonplan_text value = moonplan_value_source(failed ? error : result);
    mpl_buffer *out = &s->out->bytes;
    mpl_buffer_add(out, "{\"jsonrpc\":\"2.0\",\"id\":", 22);
    mpl_buffer_add(out, id.bytes, id.length);
    mpl_buffer_add(out, failed ? ",\"error\":" : ",\"result\":", failed ? 9 : 10);
    mpl_buffer_add(out, value.bytes, value.length);
    mpl_buffer_byte(out, '}');
    return mpl_give_bytes(s);
}

static mpl_served lose(mpl_serving *s) {
    switch (s->err->code) {
    case MOONPLAN_HTTP_INTERRUPTED:
        s->err->code = MOONPLAN_RPC_INTERRUPTED;
        break;
    case MOONPLAN_MEMORY:
    case MOONPLAN_LIMIT:
        break;
    default: /* its URL was granted: what is left is that it cannot be reached */
        s->err->code = MOONPLAN_RPC_UNAVAILABLE;
        break;
    }
    return MPL_REFUSED;
}

/* A server that quotes its own URL would tell the plugin what stands in it, and may write it with
 * escapes of JSON's: so it is looked for in what the answer says, and an answer that cannot be read
 * is not handed over. */
static mpl_served give_answer(mpl_serving *s, const mpl_endpoint *endpoint) {
    mpl_buffer *bytes = &s->out->bytes;
    moonplan_options options = *s->call->call.options;
    options.errors = NULL;
    options.borrow = true;
    moonplan_error why = {.code = MOONPLAN_OK};
    if (bytes->failed) return mpl_refuse_memory(s);
    moonplan_document *document =
        moonplan_document_parse(bytes->length ? bytes->bytes : "", bytes->length, &options, &why);
    if (!document && why.code == MOONPLAN_MEMORY) return mpl_refuse_memory(s);
    if (!document)
        return MPL_REFUSE(s, MOONPLAN_RPC_RESPONSE, "the answer is no JSON that can be read (%s)",
                          moonplan_code_name(why.code));
    if (!mpl_hidden_in(&endpoint->hidden, moonplan_document_root(document))) {
        moonplan_document_free(document);
        return mpl_give_bytes(s);
    }
    document = mpl_hide_in_document(&endpoint->hidden, document, &options, &why);
    if (!document && why.code == MOONPLAN_MEMORY) return mpl_refuse_memory(s);
    if (!document)
        return MPL_REFUSE(s, MOONPLAN_RPC_RESPONSE,
                          "the answer quotes the URL in names that are alike without it");
    moonplan_text text = moonplan_value_source(moonplan_document_root(document));
    bytes->length = 0;
    mpl_buffer_add(bytes, text.bytes, text.length);
    moonplan_document_free(document);
    return mpl_give_bytes(s);
}

static mpl_served send(mpl_serving *s, const mpl_endpoint *endpoint) {
    static const moonplan_http_header headers[] = {
        {{"Accept", 6}, {"application/json", 16}},
        {{"Content-Type", 12}, {"application/json", 16}}};
    moonplan_http_request request = {.method = MOONPLAN_HTTP_POST,
                                     .url = endpoint->url,
                                     .headers = headers,
                                     .header_count = 2,
                                     .body = mpl_in_bytes(s, 1)};
    moonplan_http_response *response = ask(s, endpoint->http, &request);
    if (!response) return lose(s);
    unsigned status = moonplan_http_response_status(response);
    moonplan_text body = moonplan_http_response_body(response);
    mpl_buffer_add(&s->out->bytes, body.bytes, body.length);
    moonplan_http_response_free(response);
    if (status < 200 || status > 299)
        return MPL_REFUSE(s, MOONPLAN_RPC_INTERRUPTED, "rpc:%t answers with the HTTP status %u",
                          &endpoint->name, (uint64_t)status);
    return give_answer(s, endpoint);
}

mpl_served mpl_serve_rpc(mpl_serving *s) {
    moonplan_text name = mpl_in_bytes(s, 0);
    const mpl_endpoint *endpoint = mpl_grants_endpoint(mpl_serving_grants(s), name);
    if (!mpl_serving_needs(s, MPL_POWER_RPC, name) || (!endpoint && !s->call->doubles))
        return MPL_REFUSE(s, MOONPLAN_RPC_ENDPOINT, "there is no endpoint %q among the needs",
                          &name);
    s->out->document = read_request(s);
    if (!s->out->document) return MPL_REFUSED;
    mpl_served served = s->call->doubles ? play_rpc(s, name) : send(s, endpoint);
    moonplan_document_free(s->out->document);
    s->out->document = NULL;
    return served;
}
