/* What call plans cost, as ratios: everything that is compared is measured in turn on the same
 * documents in one run, a slice of them at a time, and what is printed are medians over the rounds
 * of the ratios within a round. Times are the thread's own processor time. See the README. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/call/lanes.h"
#include "documents.h"
#include "measure.h"
#include "peers.h"

#ifdef BENCH_OPENSSL
#include <openssl/evp.h>
#endif
#ifdef BENCH_LUA
#include <lauxlib.h>
#include <lualib.h>

#include "../../src/moonplan_lua.h"
#endif

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "bench: %s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* -- What is measured ------------------------------------------------------*/

typedef struct item {
    const char *text;
    size_t length;
    char *canonical;
    size_t canonical_length;
    uint8_t digest[32];
} item;

static moonplan_options options;

static void keccak_as(const mpl_keccak_kind *kind, const item *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint8_t out[32];
        mpl_keccak keccak;
        mpl_keccak_open_as(&keccak, kind);
        mpl_keccak_add(&keccak, items[i].canonical, items[i].canonical_length);
        mpl_keccak_finish(&keccak, out);
        MUST(out[0] == items[i].digest[0]);
    }
}
static void keccak_0(const item *items, size_t count) {
    keccak_as(mpl_keccak_kind_at(0), items, count);
}
static void keccak_1(const item *items, size_t count) {
    keccak_as(mpl_keccak_kind_at(1), items, count);
}

static void whole(const item *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint8_t out[32];
        MUST(moonplan_digest(out, items[i].text, items[i].length, &options, NULL));
        MUST(out[0] == items[i].digest[0]);
    }
}

static void documented(const item *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        moonplan_document *document =
            moonplan_document_parse(items[i].text, items[i].length, &options, NULL);
        MUST(document);
        moonplan_document_free(document);
    }
}

static void batched_as(const mpl_keccak_kind *kind, const item *items, size_t count) {
    moonplan_text texts[512];
    uint8_t out[512][32];
    bool valid[512];
    for (size_t from = 0; from < count; from += 512) {
        size_t part = count - from < 512 ? count - from : 512;
        for (size_t i = 0; i < part; i++)
            texts[i] = (moonplan_text){items[from + i].text, items[from + i].length};
        MUST(mpl_digest_lanes(kind, out, valid, texts, part, &options) == part);
        for (size_t i = 0; i < part; i++) MUST(memcmp(out[i], items[from + i].digest, 32) == 0);
    }
}
static void batched_0(const item *items, size_t count) {
    batched_as(mpl_keccak_kind_at(0), items, count);
}
static void batched_1(const item *items, size_t count) {
    batched_as(mpl_keccak_kind_at(1), items, count);
}

/* The speed that bytes can be looked at: one read of the document. */
static void looked_at(const item *items, size_t count) {
    for (size_t i = 0; i < count; i++) MUST(!memchr(items[i].text, 1, items[i].length));
}

#ifdef BENCH_OPENSSL
static void openssl(const item *items, size_t count) {
    static EVP_MD *sha3;
    static EVP_MD_CTX *context;
    if (!sha3) sha3 = EVP_MD_fetch(NULL, "SHA3-256", NULL);
    if (!context) context = EVP_MD_CTX_new();
    for (size_t i = 0; i < count; i++) {
        uint8_t out[32];
        MUST(EVP_DigestInit_ex(context, sha3, NULL));
        MUST(EVP_DigestUpdate(context, items[i].canonical, items[i].canonical_length));
        MUST(EVP_DigestFinal_ex(context, out, NULL));
    }
}
#endif

#ifdef BENCH_SIMDJSON
static void simdjson(const item *items, size_t count) {
    for (size_t i = 0; i < count; i++) MUST(simdjson_reads(items[i].text, items[i].length));
}
#endif

#ifdef BENCH_RUST
static void in_rust(bool (*digest)(uint8_t[32], const char *, size_t), const item *items,
                    size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint8_t out[32];
        MUST(digest(out, items[i].text, items[i].length));
        MUST(memcmp(out, items[i].digest, 32) == 0);
    }
}
static void rust(const item *items, size_t count) {
    in_rust(rust_digest, items, count);
}
static void rust_tuned(const item *items, size_t count) {
    in_rust(rust_digest_tuned, items, count);
}
#endif

#ifdef BENCH_LUA
static lua_State *L;

/* The texts are Lua strings before the clock starts: items[i] is texts[i]. */
static const item *first_item;

static void open_lua(const item *items, size_t count) {
    L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "moonplan", luaopen_moonplan, 0);
    lua_getfield(L, -1, "digest");
    lua_setglobal(L, "digest");
    MUST(luaL_dostring(L, "local found, cjson = pcall(require, 'cjson')\n"
                          "if found then cjson.decode_max_depth(1000) decode = cjson.decode end\n"
                          "function each(f, from, to)\n"
                          "  local texts = texts\n"
                          "  if options and f == digest then\n"
                          "    for i = from, to do assert(f(texts[i], options)) end\n"
                          "  else\n"
                          "    for i = from, to do assert(f(texts[i])) end\n"
                          "  end\n"
                          "end") == LUA_OK);
    /* Heavy plans are over the defaults. */
    if (items[0].length > 1 << 24)
        MUST(luaL_dostring(L, "options = { limits = { document_bytes = 1 << 28, "
                              "calldata_bytes = 1 << 28 } }") == LUA_OK);
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushlstring(L, items[i].text, items[i].length);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setglobal(L, "texts");
    first_item = items;
}
static void close_lua(void) {
    lua_close(L);
}

static void in_lua(const char *name, const item *items, size_t count) {
    lua_getglobal(L, "each");
    lua_getglobal(L, name);
    lua_pushinteger(L, items - first_item + 1);
    lua_pushinteger(L, items - first_item + (lua_Integer)count);
    if (lua_pcall(L, 3, 0, 0) != LUA_OK) {
        fprintf(stderr, "bench: %s\n", lua_tostring(L, -1));
        exit(1);
    }
}
static void lua_digest(const item *items, size_t count) {
    in_lua("digest", items, count);
}
static void cjson(const item *items, size_t count) {
    in_lua("decode", items, count);
}
static bool has_cjson(void) {
    bool found = lua_getglobal(L, "decode") == LUA_TFUNCTION;
    lua_pop(L, 1);
    return found;
}
#endif

/* -- Measuring -------------------------------------------------------------*/

typedef struct contender {
    const char *name;
    void (*run)(const item *items, size_t count);
    size_t slices; /* at once: a batch takes many documents */
} contender;

/* A batch of so many slices is a quarter of a megabyte. */
#define BATCH_SLICES 4

#define CONTENDERS_MOST 16

static double now(void) {
    return clock_of(CLOCK_THREAD_CPUTIME_ID) / 1e6;
}

static double times[CONTENDERS_MOST][ROUNDS_MOST];
static size_t round_count, contender_count;
static contender contenders[CONTENDERS_MOST];

static void enter(const char *name, void (*run)(const item *items, size_t count)) {
    contenders[contender_count++] = (contender){name, run, 1};
}

static size_t find(const char *name) {
    for (size_t i = 0; i < contender_count; i++)
        if (strcmp(contenders[i].name, name) == 0) return i;
    return SIZE_MAX;
}

/* Documents of a slice, so that they are in the cache as they are when they have just come in. */
#define SLICE ((size_t)64 * 1024)

/* What others have freed is sorted out by glibc when somebody asks for a large block, and takes
 * longer than a batch of tiny plans: so it is asked before the clock starts. */
static void settle(void) {
    void *volatile large = malloc((size_t)96 * 1024);
    free(large);
}

/* Every contender once over every slice in each round, in an order that turns. */
static void measure(const item *items, size_t count, size_t bytes, double seconds) {
    MUST(count > 0 && bytes > 0);
    size_t slice = count * SLICE / bytes + 1, turn = 0;
    double start = now();
    for (round_count = 0; round_count < ROUNDS_MOST; round_count++) {
        if (round_count >= 5 && now() - start > seconds) break;
        for (size_t i = 0; i < contender_count; i++) times[i][round_count] = 0;
        for (size_t at = 0; at < count; at += slice, turn++) {
            for (size_t i = 0; i < contender_count; i++) {
                size_t which = (turn + i) % contender_count;
                size_t most = slice * contenders[which].slices;
                if (most == 0 || at % most != 0) continue;
                size_t part = count - at < most ? count - at : most;
                settle();
                /* The others have met these documents before, or will in a moment. */
                if (contenders[which].slices > 1) looked_at(items + at, part);
                double begin = now();
                contenders[which].run(items + at, part);
                times[which][round_count] += now() - begin;
            }
        }
    }
}

/* The median of the ratios of two contenders' times within a round; 0 without one of them. */
static double ratio(const char *above, const char *below) {
    size_t a = find(above), b = find(below);
    if (a == SIZE_MAX || b == SIZE_MAX) return 0;
    double ratios[ROUNDS_MOST];
    for (size_t i = 0; i < round_count; i++) ratios[i] = times[a][i] / times[b][i];
    return median(ratios, round_count);
}

static double seconds_of(const char *name) {
    return median(times[find(name)], round_count);
}

static void say(const char *what, const char *above, const char *below) {
    double is = ratio(above, below);
    if (is > 0) printf("  %-62s %6.2f\n", what, is);
}

/* What a plan and the text it was read from hold at once, at most, over the text. */
static double memory(const item *from, bool borrow) {
    moonplan_options own = options;
    own.borrow = borrow;
    moonplan_call_plan *plan = moonplan_call_plan_parse(from->text, from->length, &own, NULL);
    MUST(plan);
    size_t peak;
    moonplan_call_plan_memory(plan, &peak);
    moonplan_call_plan_free(plan);
    return (double)(from->length + peak) / (double)from->length;
}

/* -- The run ---------------------------------------------------------------*/

typedef struct growing {
    char *bytes;
    size_t length, capacity;
} growing;

static bool grow(void *data, const char *bytes, size_t length) {
    growing *out = data;
    if (out->capacity - out->length < length) {
        out->capacity = 2 * (out->capacity + length);
        out->bytes = realloc(out->bytes, out->capacity);
        MUST(out->bytes);
    }
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    return true;
}

static item *items_new(const documents *set, size_t *canonical) {
    item *items = calloc(set->count, sizeof *items);
    MUST(items);
    *canonical = 0;
    for (size_t i = 0; i < set->count; i++) {
        item *to = &items[i];
        to->text = set->list[i].text;
        to->length = set->list[i].length;
        moonplan_error err;
        moonplan_call_plan *plan = moonplan_call_plan_parse(to->text, to->length, &options, &err);
        if (!plan) fprintf(stderr, "bench: %s: %s\n", err.at, err.message);
        MUST(plan);
        growing out = {NULL, 0, 0};
        MUST(moonplan_call_plan_canonical(plan, grow, &out));
        to->canonical = out.bytes;
        to->canonical_length = out.length;
        *canonical += out.length;
        moonplan_keccak256(to->digest, out.bytes, out.length);
        moonplan_call_plan_free(plan);
    }
    return items;
}

static void run(const char *kind, double seconds) {
    documents set = documents_new(kind);
    if (!set.count) {
        fprintf(stderr,
                "bench: there is no kind %s; there are: tiny, swap, pretty, mid, wide, "
                "heavy\n",
                kind);
        exit(1);
    }
    size_t canonical;
    item *items = items_new(&set, &canonical);
    contender_count = 0;
    enter("keccak", keccak_0);
    if (mpl_keccak_kind_at(1)) enter("keccak of the next kind", keccak_1);
    enter("digest", whole);
    enter("batch", batched_0);
    contenders[contender_count - 1].slices = BATCH_SLICES;
    if (mpl_keccak_kind_at(1)) {
        enter("batch of the next kind", batched_1);
        contenders[contender_count - 1].slices = BATCH_SLICES;
    }
    enter("document", documented);
    enter("look", looked_at);
#ifdef BENCH_OPENSSL
    enter("openssl", openssl);
#endif
#ifdef BENCH_SIMDJSON
    enter("simdjson", simdjson);
#endif
#ifdef BENCH_RUST
    enter("rust", rust);
    enter("rust, tuned", rust_tuned);
#endif
#ifdef BENCH_LUA
    open_lua(items, set.count);
    enter("lua digest", lua_digest);
    if (has_cjson()) enter("cjson", cjson);
#endif
    measure(items, set.count, set.bytes, seconds);
    printf("%s: %s; %zu documents of %zu bytes, %zu canonical; %zu rounds\n", set.kind, set.what,
           set.count, set.bytes / set.count, canonical / set.count, round_count);
    say("whole job (moonplan_digest) over Keccak", "digest", "keccak");
    char what[80];
    if (mpl_keccak_kind_at(1)) {
        /* What it would be on a processor without the best kind. */
        double here = ratio("digest", "keccak"), next = ratio("keccak of the next kind", "keccak");
        snprintf(what, sizeof what, "the same where Keccak is \"%s\", computed",
                 mpl_keccak_kind_at(1)->name);
        printf("  %-62s %6.2f\n", what, (here - 1 + next) / next);
    }
    say("whole job in Lua (moonplan.digest) over the same in C", "lua digest", "digest");
    for (size_t k = 0; k < 2 && mpl_keccak_kind_at(k); k++) {
        snprintf(what, sizeof what, "OpenSSL's SHA3-256 over Keccak \"%s\"",
                 mpl_keccak_kind_at(k)->name);
        say(what, "openssl", k ? "keccak of the next kind" : "keccak");
    }
    say("one by one over batch (moonplan_digest_many)", "digest", "batch");
    if (mpl_keccak_kind_at(1) && mpl_keccak_kind_at(1)->absorb_four) {
        double here = seconds_of("digest") - seconds_of("keccak");
        snprintf(what, sizeof what, "the same where Keccak is \"%s\"", mpl_keccak_kind_at(1)->name);
        printf("  %-62s %6.2f\n", what,
               (here + seconds_of("keccak of the next kind")) /
                   seconds_of("batch of the next kind"));
    }
    say("the whole job in Rust (serde_json, tiny-keccak) over whole job", "rust", "digest");
    say("the same in Rust tuned by hand", "rust, tuned", "digest");
    say("reading (moonplan_document_parse) over simdjson's DOM", "document", "simdjson");
    say("lua-cjson's decode over reading", "cjson", "document");
    printf("  %-62s %6.2f\n", "memory, the text included, over the text: borrowed",
           memory(items, true));
    printf("  %-62s %6.2f\n", "memory, the text included, over the text: copied",
           memory(items, false));
    printf("  %-62s %6.2f GB/s\n", "reading", (double)set.bytes / seconds_of("document") / 1e9);
    printf("  %-62s %6.2f GB/s\n", "whole job less Keccak",
           (double)set.bytes / (seconds_of("digest") - seconds_of("keccak")) / 1e9);
    printf("  %-62s %6.2f GB/s\n", "Keccak", (double)canonical / seconds_of("keccak") / 1e9);
#ifdef BENCH_LUA
    close_lua();
#endif
    for (size_t i = 0; i < set.count; i++) free(items[i].canonical);
    free(items);
    documents_free(&set);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const char *const kinds[] = {"tiny", "swap", "pretty", "mid", "wide", "heavy"};
    moonplan_options_init(&options);
    options.borrow = true;
    options.enforce_capabilities = false;
    options.limits.document_bytes = 1 << 28;
    options.limits.calldata_bytes = 1 << 28;
    printf("Keccak here: \"%s\"", mpl_keccak_kind_at(0)->name);
#ifdef BENCH_SIMDJSON
    printf("; simdjson: %s", simdjson_kernel());
#endif
    printf("\n");
    if (argc > 1)
        for (int i = 1; i < argc; i++) run(argv[i], 3);
    else
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) run(kinds[i], 3);
    return 0;
}
