#include "documents.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Texts that grow -------------------------------------------------------*/

typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;

static char *extend(text *out, size_t length) {
    if (out->capacity - out->length < length + DOCUMENT_PADDING) {
        out->capacity = 2 * (out->capacity + length + DOCUMENT_PADDING);
        out->bytes = realloc(out->bytes, out->capacity);
        if (!out->bytes) abort();
    }
    char *end = out->bytes + out->length;
    out->length += length;
    return end;
}

static void add(text *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    vsnprintf(extend(out, (size_t)length), (size_t)length + 1, format, arguments);
    va_end(arguments);
}

/* -- Numbers that are the same in every run (splitmix64) --------------------*/

static uint64_t next(uint64_t *state) {
    uint64_t mixed = (*state += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

static unsigned below(uint64_t *state, unsigned end) {
    return (unsigned)(next(state) % end);
}

static void hex(text *out, uint64_t *state, size_t bytes) {
    char *at = extend(out, 2 * bytes);
    for (size_t i = 0; i < 2 * bytes; i++) {
        static uint64_t word;
        word = i % 16 ? word >> 4 : next(state);
        at[i] = "0123456789abcdef"[word & 15];
    }
}

/* 1 to `most` digits. */
static void decimal(text *out, uint64_t *state, unsigned most) {
    unsigned digits = 1 + below(state, most);
    add(out, "%u", 1 + below(state, 9));
    while (--digits) add(out, "%u", below(state, 10));
}

static void words(text *out, uint64_t *state, unsigned count) {
    static const char *const list[] = {"quote", "price", "moved",   "ask",   "for",     "a",
                                       "fresh", "plan",  "balance", "check", "expired", "the",
                                       "node",  "did",   "not",     "answer"};
    for (unsigned i = 0; i < count; i++) add(out, "%s%s", i ? " " : "", list[below(state, 16)]);
}

/* -- Plans -----------------------------------------------------------------*/

static void begin(text *out, uint64_t *state, char chain[8], char sender[43]) {
    static const char *const chains[] = {"1", "10", "137", "8453", "42161"};
    snprintf(chain, 8, "%.7s", chains[below(state, 5)]);
    text address = {NULL, 0, 0};
    hex(&address, state, 20);
    snprintf(sender, 43, "0x%.40s", address.bytes);
    free(address.bytes);
    add(out,
        "{\"schema_version\":\"1\",\"chain_id\":\"%s\",\"caip2_chain_id\":\"eip155:%s\","
        "\"sender\":\"%s\",\"ordered_steps\":[",
        chain, chain, sender);
}

static void step(text *out, uint64_t *state, size_t n, const char *kind, const char *chain,
                 const char *sender, size_t bytes) {
    add(out,
        "%s{\"step\":%zu,\"kind\":\"%s\",\"transaction\":{\"chain_id\":\"%s\",\"from\":\"%s\","
        "\"to\":\"0x",
        n > 1 ? "," : "", n, kind, chain, sender);
    hex(out, state, 20);
    add(out, "\",\"data\":\"0x");
    hex(out, state, bytes);
    add(out, "\",\"value\":\"");
    if (below(state, 2))
        add(out, "0");
    else
        decimal(out, state, 20);
    add(out, "\"");
}

static void many(text *out, uint64_t *state, size_t steps, size_t bytes) {
    static const char *const kinds[] = {"execution", "approval", "allowance_cleanup", "other"};
    char chain[8], sender[43];
    begin(out, state, chain, sender);
    for (size_t n = 1; n <= steps; n++) {
        step(out, state, n, kinds[steps > 1 ? below(state, 4) : 0], chain, sender, bytes);
        add(out, "}}");
    }
    add(out, "]}");
}

static void swap(text *out, uint64_t *state) {
    static const char *const kinds[] = {"approval", "execution", "allowance_cleanup"};
    char chain[8], sender[43];
    begin(out, state, chain, sender);
    for (size_t n = 1; n <= 3; n++) {
        step(out, state, n, kinds[n - 1], chain, sender, 480 + 4 * below(state, 11));
        add(out, ",\"gas\":\"%u\"}", 21000 + below(state, 900000));
        if (n == 2) {
            add(out, ",\"revert_decode\":{\"kind\":\"error_result\",\"abi\":[{\"type\":\"error\","
                     "\"name\":\"Slippage");
            decimal(out, state, 6);
            add(out,
                "\",\"inputs\":[{\"name\":\"minimum\",\"type\":\"uint256\"},{\"name\":\"%s\","
                "\"type\":\"%s\"}]}],\"required\":true}",
                below(state, 2) ? "got" : "received", below(state, 2) ? "uint256" : "uint128");
        }
        add(out, "}");
    }
    static const char *const failures[] = {"rpc_error", "execution_reverted",
                                           "simulation_setup_error"};
    static const char *const actions[] = {"retry_same_plan", "reprepare_plan", "user_review"};
    add(out, "],\"required_capabilities\":[\"atomic_batch\"],\"simulation_failure_policy\":{");
    for (unsigned i = 0; i < 3; i++) {
        add(out, "%s\"%s\":{\"action\":\"%s\",\"instruction\":\"", i ? "," : "", failures[i],
            actions[i]);
        words(out, state, 4 + below(state, 8));
        add(out, ".\"}");
    }
    add(out, "}}");
}

/* The same with white space, two spaces a level. */
static void indent(text *out, const text *from) {
    unsigned depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < from->length; i++) {
        char byte = from->bytes[i];
        if (byte == '"') quoted = !quoted;
        if (!quoted && (byte == '}' || byte == ']')) add(out, "\n%*s", (int)(2 * --depth), "");
        *extend(out, 1) = byte;
        if (quoted) continue;
        if (byte == '{' || byte == '[') add(out, "\n%*s", (int)(2 * ++depth), "");
        if (byte == ',') add(out, "\n%*s", (int)(2 * depth), "");
        if (byte == ':') add(out, " ");
    }
}

documents documents_new(const char *kind) {
    static const struct {
        const char *kind, *what;
        size_t count, steps, bytes;
    } kinds[] = {{"tiny", "1 step, no calldata", 30000, 1, 0},
                 {"swap", "3 steps of about 500 bytes, with everything", 4000, 0, 0},
                 {"pretty", "swap with white space", 4000, 0, 0},
                 {"mid", "100 steps of 1 KiB", 64, 100, 1024},
                 {"wide", "4096 steps of 68 bytes", 12, 4096, 68},
                 {"heavy", "64 steps of 128 KiB", 2, 64, (size_t)128 * 1024}};
    documents out = {0};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(kind, kinds[k].kind) != 0) continue;
        uint64_t state = 8410 + k;
        out.kind = kinds[k].kind;
        out.what = kinds[k].what;
        out.count = kinds[k].count;
        out.list = calloc(out.count, sizeof *out.list);
        if (!out.list) abort();
        for (size_t i = 0; i < out.count; i++) {
            text plan = {NULL, 0, 0};
            if (kinds[k].steps)
                many(&plan, &state, kinds[k].steps, kinds[k].bytes);
            else
                swap(&plan, &state);
            if (strcmp(kind, "pretty") == 0) {
                text spaced = {NULL, 0, 0};
                indent(&spaced, &plan);
                free(plan.bytes);
                plan = spaced;
            }
            memset(extend(&plan, DOCUMENT_PADDING), 0, DOCUMENT_PADDING);
            plan.length -= DOCUMENT_PADDING;
            out.list[i].text = plan.bytes;
            out.list[i].length = plan.length;
            out.bytes += plan.length;
        }
    }
    return out;
}

void documents_free(documents *set) {
    for (size_t i = 0; i < set->count; i++) free(set->list[i].text);
    free(set->list);
}
