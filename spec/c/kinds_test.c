/* What is computed in several ways, of which the processor decides: every way that this one can
 * run gives the same. And memory on the stack. Links the static library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/json_read.h"
#include "../../src/core/keccak.h"
#include "../../src/core/scratch.h"
#include "check.h"

/* -- Keccak ------------------------------------------------------------------*/

static void hash_as(const mpl_keccak_kind *kind, uint8_t out[32], const void *bytes,
                    size_t length) {
    mpl_keccak keccak;
    mpl_keccak_open_as(&keccak, kind);
    mpl_keccak_add(&keccak, bytes, length);
    mpl_keccak_finish(&keccak, out);
}

static void every_kind_keeps_published_vectors(void) {
    /* EIP-1052, the code hash of an account without code; the topic of ERC-20's Transfer; the
     * domain type hash of EIP-712. */
    static const struct {
        const char *text;
        uint8_t begin[8];
    } vectors[] = {
        {"", {0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c}},
        {"Transfer(address,address,uint256)", {0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b}},
        {"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
         {0x8b, 0x73, 0xc3, 0xc6, 0x9b, 0xb8, 0xfe, 0x3d}}};
    const mpl_keccak_kind *kind;
    for (size_t k = 0; (kind = mpl_keccak_kind_at(k)); k++) {
        printf("# Keccak \"%s\"%s\n", kind->name, kind->absorb_four ? ", four at once" : "");
        for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
            uint8_t out[32];
            hash_as(kind, out, vectors[i].text, strlen(vectors[i].text));
            CHECK(memcmp(out, vectors[i].begin, 8) == 0);
        }
    }
    CHECK(mpl_keccak_kind_at(0) != NULL);
}

static void every_kind_gives_the_same(void) {
    static uint8_t bytes[4000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_next();
    for (int round = 0; round < 500; round++) {
        size_t at = random_below(64), length = random_below(sizeof bytes - at);
        uint8_t first[32], other[32];
        hash_as(mpl_keccak_kind_at(0), first, bytes + at, length);
        const mpl_keccak_kind *kind;
        for (size_t k = 1; (kind = mpl_keccak_kind_at(k)); k++) {
            hash_as(kind, other, bytes + at, length);
            CHECK(memcmp(first, other, 32) == 0);
        }
    }
}

static void four_states_are_four_times_one(void) {
    uint64_t one[4][25], four[100];
    unsigned char block[4][MPL_KECCAK_RATE + 7];
    const mpl_keccak_kind *kind;
    for (size_t k = 0; (kind = mpl_keccak_kind_at(k)); k++) {
        if (!kind->absorb_four) continue;
        memset(one, 0, sizeof one);
        memset(four, 0, sizeof four);
        for (int round = 0; round < 100; round++) {
            const unsigned char *blocks[4];
            for (size_t s = 0; s < 4; s++) {
                for (size_t i = 0; i < sizeof block[s]; i++)
                    block[s][i] = (unsigned char)random_next();
                blocks[s] = block[s] + random_below(8);
                kind->absorb(one[s], blocks[s], 1);
            }
            kind->absorb_four(four, blocks);
            for (size_t s = 0; s < 4; s++)
                for (size_t i = 0; i < 25; i++) CHECK(four[4 * i + s] == one[s][i]);
        }
    }
}

/* -- Runs --------------------------------------------------------------------*/

static bool is_hex(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}
static bool is_plain(char byte) {
    unsigned code = (unsigned char)byte;
    return code >= 0x20 && code < 0x80 && byte != '"' && byte != '\\';
}
static size_t count_of(bool (*is)(char), const char *bytes, size_t length) {
    size_t count = 0;
    while (count < length && is(bytes[count])) count++;
    return count;
}

/* Every byte value at every place of a text of its own size, so that a sanitizer sees a step beyond
 * its end. */
static void runs_end_where_they_should(void) {
    static const char digits[] = "0123456789abcdef";
    for (size_t length = 0; length < 150; length++) {
        char *text = calloc(length + 1, 1), *own = malloc(length ? length : 1);
        for (size_t i = 0; i < length; i++) text[i] = digits[random_below(16)];
        for (int code = 0; code < 256; code++) {
            size_t place = length ? random_below(length) : 0;
            char kept = text[place];
            if (length) text[place] = (char)code;
            memcpy(own, text, length);
            const mpl_run_kind *kind;
            for (size_t k = 0; (kind = mpl_run_kind_at(k)); k++) {
                CHECK(kind->hex(own, own + length) == own + count_of(is_hex, own, length));
                CHECK(kind->plain(own, own + length) == own + count_of(is_plain, own, length));
            }
            CHECK(mpl_plain_end(own, own + length, mpl_run_kind_at(0)->plain) ==
                  own + count_of(is_plain, own, length));
            if (length >= 40)
                CHECK(mpl_hex_forty(own + length - 40) ==
                      (count_of(is_hex, own + length - 40, 40) == 40));
            if (length >= 16) {
                size_t count = 0;
                while (count < 16 && own[length - 16 + count] >= '0' &&
                       own[length - 16 + count] <= '9')
                    count++;
                CHECK(mpl_digits_sixteen(own + length - 16) == count);
            }
            text[place] = kept;
        }
        free(text);
        free(own);
    }
}

/* -- JSON --------------------------------------------------------------------*/

/* What is far from the end of a text is read in another way than what is near it: a short text
 * alone, and the same with white space behind it. */
static void reading_does_not_depend_on_the_end(void) {
    static const char *const pieces[] = {
        "{",          "}",         "[",     "]",    ",",    ":",     "\"a\"",
        "\"b\":",     "{\"a\":1}", "[1,2]", "[]",   "{}",   "-1",    "0",
        "1.5",        "true",      "1e",    "null", "tru",  "\\n",   "\"",
        "\xff",       "\xc3\xa9",  " ",     "\n",   "\x01", "false", "12345678901234567890",
        "\"\\u0041\""};
    size_t accepted = 0, refused = 0;
    for (int round = 0; round < 60000; round++) {
        char text[200] = "{\"a\":[1,true,{\"b\":\"x\"}],\"c\":{\"d\":null}}";
        for (size_t times = random_below(4); times > 0; times--) {
            size_t length = strlen(text), at = random_below(length + 1);
            const char *piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
            size_t size = strlen(piece);
            if (random_below(2) && at + size <= length) {
                memmove(text + at, text + at + size, length - at - size + 1);
            } else if (length + size < 64) {
                memmove(text + at + size, text + at, length - at + 1);
                memcpy(text + at, piece, size);
            }
        }
        size_t length = strlen(text);
        moonplan_options options;
        moonplan_options_init(&options);
        options.borrow = true;
        if (random_below(4) == 0) options.limits.depth = 1 + random_below(5);
        if (random_below(4) == 0) options.limits.values = 1 + random_below(12);
        moonplan_error near_err = {0}, far_err = {0};
        moonplan_document *near = moonplan_document_parse(text, length, &options, &near_err);
        memset(text + length, ' ', 100);
        moonplan_document *far = moonplan_document_parse(text, length + 100, &options, &far_err);
        CHECK(!near == !far);
        if (near && far) {
            CHECK(near->node_count == far->node_count &&
                  memcmp(near->nodes, far->nodes, near->node_count * sizeof *near->nodes) == 0);
            accepted++;
        } else if (near_err.offset < length) {
            /* At the end itself the texts differ in what stands there. */
            CHECK(near_err.code == far_err.code && near_err.offset == far_err.offset &&
                  strcmp(near_err.at, far_err.at) == 0);
            refused++;
        }
        moonplan_document_free(near);
        moonplan_document_free(far);
    }
    CHECK(accepted > 5000 && refused > 5000);
}

/* Objects in a row have their names guessed by the one before: names that differ a little, or stand
 * twice, or in another order, are what they are. */
static void objects_that_are_nearly_alike(void) {
    static const char *const names[] = {
        "a",    "b",     "ab",    "name",  "names",          "nam\\u0065",
        "data", "datum", "value", "valuE", "chain_id_of_it", "chain_id_of_it_all_and_more"};
    size_t accepted = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        size_t kinds[8], count = 2 + random_below(5), objects = 2 + random_below(6), places[8][8];
        for (size_t i = 0; i < count; i++) kinds[i] = (i + (size_t)round) % 12;
        char text[4096] = "[";
        bool twice = false;
        for (size_t o = 0; o < objects; o++) {
            strcat(text, o ? ",{" : "{");
            for (size_t i = 0; i < count; i++) {
                places[o][i] = random_below(24) ? kinds[i] : random_below(12);
                for (size_t j = 0; j < i; j++) {
                    size_t a = places[o][i], b = places[o][j];
                    /* The two spellings of "name". */
                    twice = twice || (a == 5 ? 3 : a) == (b == 5 ? 3 : b);
                }
                sprintf(text + strlen(text), "%s\"%s\":%s", i ? "," : "", names[places[o][i]],
                        random_below(3)   ? "\"x\""
                        : random_below(2) ? "[{\"a\":1}]"
                                          : "{\"b\":{}}");
            }
            strcat(text, "}");
        }
        strcat(text, "]                                                  ");
        moonplan_error err = {0};
        moonplan_document *document = moonplan_document_parse(text, strlen(text), NULL, &err);
        CHECK(!document == twice);
        if (!document) {
            CHECK(err.code == MOONPLAN_JSON_DUPLICATE_NAME);
            refused++;
            continue;
        }
        moonplan_walk list = moonplan_value_walk(moonplan_document_root(document));
        size_t o = 0;
        for (; o < objects && moonplan_walk_next(&list); o++) {
            moonplan_walk walk = moonplan_value_walk(list.value);
            size_t i = 0;
            for (; i < count && moonplan_walk_next(&walk); i++)
                CHECK_TEXT(places[o][i] == 5 ? "name" : names[places[o][i]], walk.name);
            CHECK(i == count && !moonplan_walk_next(&walk));
        }
        CHECK(o == objects && !moonplan_walk_next(&list));
        moonplan_document_free(document);
        accepted++;
    }
    CHECK(accepted > 2000 && refused > 2000);
}

/* A value as pieces, to be written again and again with little changes. */
typedef struct piece {
    enum { OBJECT, ARRAY, END, NAME, SCALAR } kind;
    size_t which;
} piece;

static const char *const a_name[] = {"a", "b", "ab", "name", "nam\\u0065", "chain_id_of_it_all"};
/* The fourth and the fifth are one name. */
static unsigned bit_of_name(size_t which) {
    return 1u << (which == 4 ? 3 : which);
}
static const char *const a_scalar[] = {"\"x\"",
                                       "1",
                                       "\"0x00112233445566778899aabbccddeeff0011223344\"",
                                       "0",
                                       "[]",
                                       "{}",
                                       "true",
                                       "{\"a\":1}",
                                       "-1.5",
                                       "{\"a\":1,\"b\":2}",
                                       "\"\\n\"",
                                       "[1,2]"};

static size_t make_value(piece *pieces, size_t count, unsigned depth) {
    size_t kind = depth == 0 ? 0 : depth > 3 ? 2 : random_below(4);
    if (kind > 1 || count > 60) {
        pieces[count++] = (piece){SCALAR, random_below(4)};
        return count;
    }
    pieces[count++] = (piece){kind ? ARRAY : OBJECT, 0};
    unsigned names = 0;
    for (size_t members = 1 + random_below(4); members > 0; members--) {
        if (!kind) {
            size_t name = random_below(6);
            if (names & bit_of_name(name)) continue;
            names |= bit_of_name(name);
            pieces[count++] = (piece){NAME, name};
        }
        count = make_value(pieces, count, depth + 1);
    }
    pieces[count++] = (piece){END, 0};
    return count;
}

/* Write it with about one of `odds` pieces changed; whether an object has a name twice then. */
static bool write_value(char *text, const piece *pieces, size_t count, size_t odds) {
    bool twice = false, first[64] = {true}, object[64] = {false};
    unsigned names[64] = {0};
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        bool change = random_below(odds) == 0;
        piece is = pieces[i];
        bool begins = is.kind != END && !(is.kind != NAME && object[depth]);
        if (begins) {
            if (!first[depth]) strcat(text, ",");
            first[depth] = false;
        }
        switch (is.kind) {
        case OBJECT:
        case ARRAY:
            strcat(text, is.kind == OBJECT ? "{" : "[");
            depth++;
            first[depth] = true;
            object[depth] = is.kind == OBJECT;
            names[depth] = 0;
            break;
        case NAME:
            if (change) is.which = random_below(6);
            twice = twice || names[depth] & bit_of_name(is.which);
            names[depth] |= bit_of_name(is.which);
            sprintf(text + strlen(text), "\"%s\":", a_name[is.which]);
            break;
        case SCALAR:
            strcat(text, a_scalar[change ? random_below(12) : is.which]);
            break;
        case END:
            if (change && object[depth]) {
                size_t name = random_below(6);
                twice = twice || names[depth] & bit_of_name(name);
                sprintf(text + strlen(text), "%s\"%s\":%s", first[depth] ? "" : ",", a_name[name],
                        a_scalar[random_below(12)]);
            }
            strcat(text, object[depth] ? "}" : "]");
            depth--;
        }
    }
    return twice;
}

/* As long as an element has the names of the one before it they need not be looked at: wherever it
 * leaves that path, a name that stands twice is found, and the index is the one that the simplest
 * kind makes. */
static void elements_that_leave_their_siblings(void) {
    size_t accepted = 0, refused = 0;
    moonplan_options options;
    moonplan_options_init(&options);
    mpl_alloc alloc = mpl_alloc_of(&options);
    for (int round = 0; round < 20000; round++) {
        static piece pieces[400];
        static char text[65536];
        size_t count = make_value(pieces, 0, 0), odds = 4 + random_below(200);
        bool twice = false;
        strcpy(text, "[");
        for (size_t elements = 2 + random_below(4); elements > 0; elements--) {
            twice = write_value(text, pieces, count, odds) || twice;
            if (elements > 1) strcat(text, ",");
        }
        strcat(text, "]");
        size_t length = strlen(text);
        memset(text + length, ' ', 100);
        length += 100;
        moonplan_document *simple = NULL;
        size_t kinds = 0;
        while (mpl_run_kind_at(kinds)) kinds++;
        for (size_t k = kinds; k > 0; k--) { /* the simplest is the last */
            const mpl_run_kind *kind = mpl_run_kind_at(k - 1);
            moonplan_document *document = mpl_document_new(&alloc);
            CHECK(document && mpl_node_room(document, 4000));
            moonplan_error err = {0};
            mpl_reader r;
            mpl_reader_open(&r, document, text, length, &options, &err);
            r.run = mpl_json_run_of(kind);
            r.plain = kind->plain;
            bool fine = mpl_read_value(&r);
            CHECK(fine == !twice);
            if (!fine) {
                CHECK(err.code == MOONPLAN_JSON_DUPLICATE_NAME);
                refused++;
            } else if (!simple) {
                accepted++;
            } else {
                CHECK(simple->node_count == document->node_count &&
                      memcmp(simple->nodes, document->nodes,
                             document->node_count * sizeof *document->nodes) == 0);
            }
            if (!simple && fine)
                simple = document;
            else
                moonplan_document_free(document);
        }
        moonplan_document_free(simple);
    }
    CHECK(accepted > 2000 && refused > 2000);
}

/* -- Memory on the stack -------------------------------------------------------*/

/* Blocks come, grow, shrink and go at random; each keeps its content and overlaps no other, and the
 * host is asked where there is no room. */
static void scratch_keeps_what_it_holds(void) {
    counter count;
    moonplan_options options;
    counter_options(&options, &count);
    mpl_scratch scratch;
    mpl_scratch_open(&scratch, &options);
    struct {
        unsigned char *bytes, fill;
        size_t size;
    } blocks[12] = {{NULL, 0, 0}};
    size_t from_host = 0;
    for (int round = 0; round < 20000; round++) {
        size_t which = random_below(12);
        size_t most = random_below(8) ? 600 : 9000;
        size_t size = random_below(3) ? 1 + random_below(most) : 0;
        if (!blocks[which].bytes && size == 0) continue;
        unsigned char *moved =
            mpl_scratch_alloc(&scratch, blocks[which].bytes, blocks[which].size, size);
        CHECK((moved != NULL) == (size > 0));
        size_t kept = size < blocks[which].size ? size : blocks[which].size;
        for (size_t i = 0; i < kept; i++) CHECK(moved[i] == blocks[which].fill);
        blocks[which].bytes = moved;
        blocks[which].size = size;
        blocks[which].fill = (unsigned char)random_next();
        if (moved) memset(moved, blocks[which].fill, size);
        from_host += count.blocks > 0;
    }
    for (size_t i = 0; i < 12; i++)
        if (blocks[i].bytes) mpl_scratch_alloc(&scratch, blocks[i].bytes, blocks[i].size, 0);
    CHECK(from_host > 0 && count.blocks == 0 && count.used == 0 && !count.wrong);
    /* All of it can be had where nothing is held. */
    mpl_scratch_open(&scratch, &options);
    CHECK(mpl_scratch_alloc(&scratch, NULL, 0, MPL_SCRATCH) == scratch.bytes);
    count.fail_at = count.calls + 1;
    CHECK(mpl_scratch_alloc(&scratch, NULL, 0, 1) == NULL);
    CHECK(mpl_scratch_alloc(&scratch, scratch.bytes, MPL_SCRATCH, 16) == scratch.bytes);
}

int main(void) {
    RUN(every_kind_keeps_published_vectors);
    RUN(every_kind_gives_the_same);
    RUN(four_states_are_four_times_one);
    RUN(runs_end_where_they_should);
    RUN(reading_does_not_depend_on_the_end);
    RUN(objects_that_are_nearly_alike);
    RUN(elements_that_leave_their_siblings);
    RUN(scratch_keeps_what_it_holds);
    return check_end();
}
