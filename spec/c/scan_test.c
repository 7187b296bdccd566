/* The two readers of call plans are one: whatever the document, the fast one gives what the
 * collecting one gives, down to the index of the document, or leaves it to that one. And many
 * digests at once are those of one after another. Links the static library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/call/lanes.h"
#include "../../src/call/scan.h"
#include "../../src/core/json_read.h"
#include "check.h"
#include "samples.h"

/* -- Two readers -------------------------------------------------------------*/

static size_t read_fast, read_slowly, refused;

static bool same_error(const moonplan_error *a, const moonplan_error *b) {
    return a->code == b->code && a->offset == b->offset && strcmp(a->at, b->at) == 0 &&
           strcmp(a->message, b->message) == 0;
}

static bool same_plan(const moonplan_call_plan *a, const moonplan_call_plan *b) {
    const moonplan_document *x = a->document, *y = b->document;
    /* A large object's table has another random key in each document. */
    bool tables = x->keyed || y->keyed ||
                  (x->table_length == y->table_length &&
                   (!x->table_length ||
                    memcmp(x->tables, y->tables, x->table_length * sizeof *x->tables) == 0));
    return x->text_length == y->text_length && x->node_count == y->node_count &&
           memcmp(x->nodes, y->nodes, x->node_count * sizeof *x->nodes) == 0 && tables &&
           x->decoded_length == y->decoded_length &&
           (!x->decoded_length || memcmp(x->decoded, y->decoded, x->decoded_length) == 0) &&
           memcmp(&a->chain_id, &b->chain_id, sizeof a->chain_id) == 0 &&
           memcmp(&a->caip2_chain_id, &b->caip2_chain_id, sizeof a->chain_id) == 0 &&
           memcmp(&a->sender, &b->sender, sizeof a->sender) == 0 &&
           a->capabilities == b->capabilities && a->failure_policy == b->failure_policy &&
           a->extensions == b->extensions && a->count == b->count &&
           memcmp(a->steps, b->steps, a->count * sizeof *a->steps) == 0;
}

static void compare(const char *bytes, size_t length, const moonplan_options *base) {
    /* A text of its own size, so that a sanitizer sees a step beyond its end. */
    char *text = malloc(length ? length : 1);
    if (length) memcpy(text, bytes, length);
    moonplan_error err = {0}, first = {0};
    moonplan_error_list *slow_list = NULL, *list = NULL;
    moonplan_options options = *base;
    options.errors = &slow_list;
    if (options.hex_case == MOONPLAN_HEX_NORMALIZE) options.borrow = false;
    moonplan_document *document = moonplan_document_parse(text, length, &options, &err);
    moonplan_call_plan *slow = document ? mpl_call_plan_read(document, &options, &err) : NULL;

    options.errors = NULL;
    moonplan_call_plan *fast = mpl_call_scan(&document, text, length, &options);
    moonplan_document_free(document);
    /* What the fast reader takes, the collecting one takes, with nothing to warn of. */
    CHECK(!fast || slow);
    if (fast && slow) {
        CHECK(same_plan(fast, slow));
        CHECK(moonplan_call_plan_warning_count(slow) == 0);
        CHECK(moonplan_call_plan_warning_count(fast) == 0);
    }
    options.errors = &list;
    moonplan_call_plan *plan = moonplan_call_plan_parse(text, length, &options, &first);
    CHECK(!plan == !slow);
    uint8_t digest[32], slow_digest[32], own[32];
    options.enforce_capabilities = base->enforce_capabilities;
    if (slow) {
        CHECK(!list);
        moonplan_call_plan_digest(slow, slow_digest);
        if (plan) {
            CHECK(same_plan(plan, slow));
            moonplan_call_plan_digest(plan, digest);
            CHECK(memcmp(digest, slow_digest, 32) == 0);
        }
        CHECK(moonplan_digest(own, text, length, base, NULL));
        CHECK(memcmp(own, slow_digest, 32) == 0);
    } else {
        CHECK(same_error(&err, &first));
        size_t count = moonplan_error_list_count(slow_list);
        bool as_many = moonplan_error_list_count(list) == count;
        CHECK(as_many);
        for (size_t i = 0; as_many && i < count; i++)
            CHECK(
                same_error(moonplan_error_list_at(slow_list, i), moonplan_error_list_at(list, i)));
    }
    read_fast += fast != NULL;
    read_slowly += slow && !fast;
    refused += !slow;
    moonplan_error_list_free(slow_list);
    moonplan_error_list_free(list);
    moonplan_call_plan_free(slow);
    moonplan_call_plan_free(fast);
    moonplan_call_plan_free(plan);
    free(text);
}

/* -- Documents ---------------------------------------------------------------*/

static const char rest_of_everything[] =
    ",\"extensions\":{\"a\":[1,-2.5e3,true,null,{\"b\":\"\\u0000\",\"c\":{}}],\"\\u0062\":"
    "\"\xc3\xa9\","
    "\"k0\":0,\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":8,\"k9\":9},"
    "\"simulation_failure_policy\":{\"rpc_error\":{\"action\":\"retry_same_plan\",\"instruction\":"
    "\"again \xe2\x80\x94 please\"},\"execution_reverted\":{\"action\":\"user_review\","
    "\"instruction\":\"\\\"look\\\"\"},\"simulation_setup_error\":{\"action\":\"reprepare_plan\","
    "\"instruction\":\"x\"}},\"required_capabilities\":[\"atomic_batch\",\"other\"]";

/* With white space everywhere. */
static sample spaced(const sample *from) {
    static const char *const spaces[] = {" ", "\n", "\t", "\r\n", "\n    ", "  \n\t "};
    sample out = {NULL, 0, 0};
    bool quoted = false;
    sample_add(&out, "\n ");
    for (size_t i = 0; i < from->length; i++) {
        char byte = from->bytes[i];
        if (byte == '"' && from->bytes[i - 1] != '\\') quoted = !quoted;
        bool mark = !quoted && strchr("{}[],:", byte);
        if (mark) sample_add(&out, "%s", spaces[random_below(6)]);
        sample_add(&out, "%c", byte);
        if (mark && i + 1 < from->length) sample_add(&out, "%s", spaces[random_below(6)]);
    }
    sample_add(&out, " \n");
    return out;
}

static void cut(sample *text, size_t at, size_t length) {
    memmove(text->bytes + at, text->bytes + at + length, text->length - at - length + 1);
    text->length -= length;
}

/* A step that says how it reverts. */
static sample with_abi(const char *entries) {
    sample out = plan_many(1, 8);
    cut(&out, out.length - 3, 3);
    sample_add(&out, ",\"revert_decode\":{\"kind\":\"error_result\",\"abi\":[%s]}}]}", entries);
    return out;
}

#define SAMPLES 8
static void samples_new(sample list[SAMPLES]) {
    list[0] = plan_tiny();
    list[1] = plan_swap();
    list[2] = plan_many(20, 68); /* more steps than are searched one by one */
    list[3] = plan_with(rest_of_everything);
    list[4] = spaced(&list[1]);
    list[5] = spaced(&list[3]);
    list[6] = with_abi("{\"inputs\":[],\"name\":\"Stale\",\"type\":\"error\"},"
                       "{\"type\":\"error\",\"name\":\"Left_$1\",\"inputs\":[{\"internalType\":"
                       "\"contract IERC20\",\"name\":\"\",\"type\":\"address[2][]\"},"
                       "{\"type\":\"bytes32\"}]}");
    list[7] =
        with_abi("{\"type\":\"error\",\"name\":\"Deep\",\"inputs\":[{\"type\":\"tuple[]\","
                 "\"components\":[{\"type\":\"uint8\",\"name\":\"x\"}]}]},"
                 "{\"type\":\"function\",\"name\":\"f\",\"inputs\":[]},{\"type\":\"receive\"}");
}
static void samples_free(sample list[SAMPLES]) {
    for (size_t i = 0; i < SAMPLES; i++) sample_free(&list[i]);
}

static void options_of(moonplan_options *options) {
    static const moonplan_text implements[] = {{"atomic_batch", 12}, {"other", 5}};
    moonplan_options_init(options);
    options->implements = implements;
    options->implements_count = 2;
}

static void usual_plans_are_read_fast(void) {
    sample list[SAMPLES];
    samples_new(list);
    moonplan_options options;
    options_of(&options);
    for (size_t i = 0; i < SAMPLES; i++) {
        read_fast = 0;
        compare(list[i].bytes, list[i].length, &options);
        if (!check(read_fast == 1, __FILE__, __LINE__, "read fast")) printf("# sample %zu\n", i);
        options.borrow = true;
        compare(list[i].bytes, list[i].length, &options);
        options.borrow = false;
    }
    samples_free(list);
}

/* Every limit that a plan can meet, from one side and from the other. */
static void limits_are_the_same(void) {
    static const struct {
        const char *name;
        uint64_t from, to;
    } limits[] = {
        {"depth", 1, 12},         {"values", 1, 120},       {"steps", 1, 22},
        {"calldata_bytes", 0, 0}, {"abi_entries", 1, 2},    {"abi_bytes", 80, 130},
        {"capabilities", 0, 3},   {"document_bytes", 0, 0}, {"extensions_bytes", 90, 180}};
    sample list[SAMPLES];
    samples_new(list);
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
            uint64_t from = limits[l].from, to = limits[l].to;
            if (strcmp(limits[l].name, "document_bytes") == 0) {
                from = list[i].length - 2;
                to = list[i].length + 1;
            } else if (strcmp(limits[l].name, "calldata_bytes") == 0) {
                size_t bytes[] = {0, 1500, 20 * 68, 0, 1500, 0, 8, 8};
                from = bytes[i] ? bytes[i] - 1 : 0;
                to = bytes[i] + 1;
            }
            for (uint64_t value = from; value <= to; value++) {
                moonplan_options options;
                options_of(&options);
                CHECK(moonplan_options_limit(&options, limits[l].name, value, NULL));
                compare(list[i].bytes, list[i].length, &options);
            }
        }
    }
    samples_free(list);
}

static void every_beginning_is_refused_alike(void) {
    sample list[SAMPLES];
    samples_new(list);
    moonplan_options options;
    options_of(&options);
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t length = 0; length < list[i].length; length += 1 + list[i].length / 1500)
            compare(list[i].bytes, length, &options);
    samples_free(list);
}

/* -- Mutations -----------------------------------------------------------------*/

static void insert(sample *text, size_t at, const char *piece, size_t length) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "%.*s", (int)at, text->bytes);
    for (size_t i = 0; i < length; i++) sample_add(&out, "%c", piece[i]);
    sample_add(&out, "%s", text->bytes + at);
    sample_free(text);
    *text = out;
}

/* The n-th place where a piece stands, or the length. */
static size_t find(const sample *text, const char *piece, size_t n) {
    const char *at = text->bytes;
    while ((at = strstr(at, piece)) && n--) at++;
    return at ? (size_t)(at - text->bytes) : text->length;
}

static void mutate(sample *text) {
    static const char *const pieces[] = {
        "\"",
        ",",
        ":",
        "{",
        "}",
        "[",
        "]",
        "{}",
        "[]",
        "\\",
        "\\u0041",
        "\\u0022",
        "\\ud800",
        " ",
        "\n",
        "0",
        "1",
        "9",
        "00",
        "a",
        "F",
        "0x",
        "0X",
        "-",
        "1.0",
        "1e0",
        "true",
        "null",
        "\xc3\xa9",
        "\xe2\x80\x94",
        "\xff",
        "\x7f",
        "\x01",
        "\"gas\":\"1\",",
        ",\"gas\":\"0\"",
        "\"x\":1,",
        "eip155:",
        "execution",
        "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        "115792089237316195423570985008687907853269984665640564039457584007913129639936"};
    static const char *const marks[] = {"\"", ",", ":", "{", "}", "[", "]", "0x", "1"};
    size_t at = random_below(text->length), other;
    const char *piece;
    switch (random_below(8)) {
    case 0: /* another byte */
        piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
        text->bytes[at] = *piece;
        break;
    case 1: /* a piece too much, anywhere or at a mark */
        if (random_below(2)) at = find(text, marks[random_below(9)], random_below(60));
        piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
        insert(text, at, piece, strlen(piece));
        break;
    case 2: /* some bytes too few */
        other = 1 + random_below(random_below(4) ? 4 : 200);
        cut(text, at, other < text->length - at ? other : text->length - at);
        break;
    case 3: { /* a part twice */
        other = 1 + random_below(60);
        if (other > text->length - at) other = text->length - at;
        char copy[64];
        memcpy(copy, text->bytes + at, other);
        insert(text, random_below(2) ? at : random_below(text->length), copy, other);
        break;
    }
    case 4: { /* two members change places: from a quote behind a comma to the next comma */
        size_t n = random_below(40);
        at = find(text, ",\"", n);
        other = find(text, ",\"", n + 1);
        size_t end = find(text, ",\"", n + 2);
        if (end == text->length) break;
        char *turned = malloc(end - at);
        memcpy(turned, text->bytes + other, end - other);
        memcpy(turned + (end - other), text->bytes + at, other - at);
        memcpy(text->bytes + at, turned, end - at);
        free(turned);
        break;
    }
    case 5: /* a letter of the other case */
        at = find(text, "0x", random_below(12));
        if (at < text->length) at += random_below(44);
        if (at < text->length && text->bytes[at] >= 'a' && text->bytes[at] <= 'f')
            text->bytes[at] = (char)(text->bytes[at] - 32);
        break;
    case 6: /* an escape for a letter */
        if (text->bytes[at] >= 'a' && text->bytes[at] <= 'z') {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)text->bytes[at]);
            cut(text, at, 1);
            insert(text, at, escape, 6);
        }
        break;
    default: /* another digit */
        at = find(text, "\"", random_below(120)) + 1;
        if (at < text->length && text->bytes[at] >= '0' && text->bytes[at] <= '9')
            text->bytes[at] = (char)('0' + random_below(10));
        break;
    }
}

static void mutated_plans_are_read_alike(void) {
    sample list[SAMPLES];
    samples_new(list);
    read_fast = read_slowly = refused = 0;
    const char *wish = getenv("MOONPLAN_SCAN_ROUNDS");
    size_t rounds = wish ? (size_t)strtoul(wish, NULL, 10) : 6000;
    for (size_t round = 0; round < rounds; round++) {
        sample text = {NULL, 0, 0};
        const sample *from = &list[random_below(SAMPLES)];
        sample_add(&text, "%s", from->bytes);
        moonplan_options options;
        options_of(&options);
        options.borrow = random_below(2);
        options.enforce_capabilities = random_below(4) != 0;
        if (random_below(4) == 0) options.hex_case = MOONPLAN_HEX_NORMALIZE;
        for (size_t times = random_below(3); times > 0 && text.length; times--) mutate(&text);
        if (text.length) mutate(&text);
        compare(text.bytes, text.length, &options);
        sample_free(&text);
    }
    printf("# of %zu mutated plans %zu were read fast, %zu slowly, %zu refused\n", rounds,
           read_fast, read_slowly, refused);
    /* All three happen, or this shows nothing. */
    CHECK(read_fast > rounds / 50 && read_slowly > rounds / 50 && refused > rounds / 4);
    samples_free(list);
}

/* The end of the token at `at`: a string, a mark, or what stands before the next of them. */
static size_t token_end(const char *text, size_t at) {
    if (text[at] == '"') {
        do at += text[at] == '\\' ? 2 : 1;
        while (text[at] != '"');
        return at + 1;
    }
    if (strchr("{}[],:", text[at])) return at + 1;
    while (text[at] && !strchr("\"{}[],:", text[at])) at++;
    return at;
}

/* Each run of tokens that is not long, left out; and each token that the plan has, once more at
 * each place. What one branch of a reader has stepped over another must not go on behind. */
static void plans_with_other_tokens_are_read_alike(void) {
    sample list[SAMPLES];
    samples_new(list);
    moonplan_options options;
    options_of(&options);
    static const size_t which[] = {0, 1, 3, 6};
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        const sample *from = &list[which[i]];
        size_t ends[400] = {0}, count = 0, runs = 0;
        while (ends[count] < from->length) {
            CHECK(count + 1 < sizeof ends / sizeof *ends);
            ends[count + 1] = token_end(from->bytes, ends[count]);
            count++;
        }
        for (size_t begin = 0; begin < count; begin++) {
            for (size_t run = 1; run <= 6 && begin + run <= count; run++, runs++) {
                sample text = {NULL, 0, 0};
                sample_add(&text, "%s", from->bytes);
                cut(&text, ends[begin], ends[begin + run] - ends[begin]);
                compare(text.bytes, text.length, &options);
                sample_free(&text);
            }
            for (size_t other = begin % 13; other < count; other += 13, runs++) {
                sample text = {NULL, 0, 0};
                sample_add(&text, "%s", from->bytes);
                insert(&text, ends[begin], from->bytes + ends[other],
                       ends[other + 1] - ends[other]);
                compare(text.bytes, text.length, &options);
                sample_free(&text);
            }
        }
        CHECK(runs > 6 * count);
    }
    samples_free(list);
}

/* -- Many at once ----------------------------------------------------------------*/

#define MANY 60

static void many_texts(sample list[MANY]) {
    for (size_t i = 0; i < MANY; i++) {
        switch (random_below(8)) {
        case 0:
            list[i] = plan_faulty(1);
            break;
        case 1:
            list[i] = plan_swap();
            break;
        case 2: { /* one that the fast reader leaves to the other */
            sample rest = {NULL, 0, 0};
            sample_add(&rest, ",\"required_capabilities\":[\"%zu\",\"%zu\"]", i, i);
            list[i] = plan_with(rest.bytes);
            sample_free(&rest);
            break;
        }
        case 3:
            list[i] = (sample){NULL, 0, 0};
            sample_add(&list[i], "%s", random_below(2) ? "" : "[");
            break;
        default: /* of every length, so that lanes end at different times */
            list[i] = plan_many(1 + random_below(5), random_below(random_below(4) ? 200 : 3000));
        }
    }
}

static void many_digests_are_single_ones(void) {
    for (int round = 0; round < 12; round++) {
        sample list[MANY];
        moonplan_text texts[MANY];
        many_texts(list);
        size_t count = round < 6 ? (size_t)round : MANY;
        static uint8_t digests[MANY][32];
        uint8_t expected[MANY][32];
        bool valid[MANY], fine[MANY];
        size_t good = 0;
        for (size_t i = 0; i < MANY; i++) texts[i] = (moonplan_text){list[i].bytes, list[i].length};
        for (size_t i = 0; i < count; i++) {
            fine[i] = moonplan_digest(expected[i], texts[i].bytes, texts[i].length, NULL, NULL);
            good += fine[i];
        }
        moonplan_options options;
        moonplan_options_init(&options);
        const mpl_keccak_kind *kind;
        for (size_t k = 0; (kind = mpl_keccak_kind_at(k)) || k < 20; k++) {
            memset(digests, 0, sizeof digests);
            size_t found;
            if (kind) {
                options.borrow = true;
                options.enforce_capabilities = false;
                found = mpl_digest_lanes(kind, digests, valid, texts, count, &options);
            } else { /* the public door, with some numbers of threads */
                options.borrow = false;
                options.enforce_capabilities = true;
                options.jobs = (unsigned)(k % 5);
                found = moonplan_digest_many(digests, valid, texts, count, &options);
            }
            CHECK(found == good);
            for (size_t i = 0; i < count; i++)
                CHECK(valid[i] == fine[i] &&
                      (!fine[i] || memcmp(digests[i], expected[i], 32) == 0));
        }
        for (size_t i = 0; i < MANY; i++) sample_free(&list[i]);
    }
}

/* Whichever request for memory fails, what is called valid has its digest, and nothing leaks. */
static void many_digests_survive_failed_allocations(void) {
    sample list[9];
    moonplan_text texts[9];
    uint8_t digests[9][32], expected[9][32];
    bool valid[9];
    for (size_t i = 0; i < 9; i++) {
        list[i] = i % 3 ? plan_many(1 + 12 * i, 40) : plan_swap();
        texts[i] = (moonplan_text){list[i].bytes, list[i].length};
        CHECK(moonplan_digest(expected[i], texts[i].bytes, texts[i].length, NULL, NULL));
    }
    for (int on = 0; on < 2; on++) {
        size_t whole = 0;
        for (size_t n = 1;; n++) {
            counter count;
            moonplan_options options;
            counter_options(&options, &count);
            count.fail_at = n;
            count.fail_on = on;
            size_t found = moonplan_digest_many(digests, valid, texts, 9, &options), good = 0;
            for (size_t i = 0; i < 9; i++) {
                good += valid[i];
                CHECK(!valid[i] || memcmp(digests[i], expected[i], 32) == 0);
            }
            CHECK(found == good && count.used == 0 && !count.wrong);
            whole = found;
            if (count.refused == 0) break;
            CHECK(n < 1000);
        }
        CHECK(whole == 9);
    }
    for (size_t i = 0; i < 9; i++) sample_free(&list[i]);
}

int main(void) {
    RUN(usual_plans_are_read_fast);
    RUN(limits_are_the_same);
    RUN(every_beginning_is_refused_alike);
    RUN(plans_with_other_tokens_are_read_alike);
    RUN(mutated_plans_are_read_alike);
    RUN(many_digests_are_single_ones);
    RUN(many_digests_survive_failed_allocations);
    return check_end();
}
