/* What reading costs in memory: at most 3 times the document and 64 KiB for a call plan as wallets
 * meet them, at most 16 times and 64 KiB for any JSON text. The members of a plan that are open to
 * anything can be filled as densely as any JSON, and a document that only claims to be a plan can
 * be that throughout; the second law counts for them. The document's own copy counts; the caller's
 * text does not. The peak is what the allocator has handed out at once, where a block that is
 * resized counts once, with its new size. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "samples.h"

#define SLACK ((size_t)64 * 1024)

static void report(const char *name, const counter *count, size_t length) {
    printf("# %-28s %9zu bytes, peak %9zu = %.2f times\n", name, length, count->peak,
           (double)count->peak / (double)length);
}

/* Frees the text. */
static void plan_costs(size_t times, const char *name, sample plan, bool accepted) {
    for (int flags = 0; flags < 4; flags++) {
        counter count;
        moonplan_options options;
        counter_options(&options, &count);
        options.limits.document_bytes = 1 << 28;
        options.limits.calldata_bytes = 1 << 28;
        options.enforce_capabilities = false;
        options.borrow = flags & 1;
        if (flags & 2) options.hex_case = MOONPLAN_HEX_NORMALIZE;
        moonplan_error_list *errors;
        options.errors = &errors;
        moonplan_error err;
        moonplan_call_plan *parsed =
            moonplan_call_plan_parse(plan.bytes, plan.length, &options, &err);
        if (!check((parsed != NULL) == accepted, __FILE__, __LINE__, name))
            printf("# %s\n", parsed ? "accepted" : err.message);
        if (flags == 0) report(name, &count, plan.length);
        check(count.peak <= times * plan.length + SLACK, __FILE__, __LINE__, name);
        if (parsed) {
            size_t peak, held = moonplan_call_plan_memory(parsed, &peak);
            CHECK(peak == count.peak);
            CHECK(held == count.used);
            uint8_t digest[32];
            moonplan_call_plan_digest(parsed, digest);
            CHECK(count.peak == peak); /* the canonical form is never held */
        }
        moonplan_call_plan_free(parsed);
        moonplan_error_list_free(errors);
        CHECK(count.used == 0 && !count.wrong);
    }
    sample_free(&plan);
}

/* Frees the text. */
static void json_costs(const char *name, sample json, bool accepted) {
    for (int borrow = 0; borrow < 2; borrow++) {
        counter count;
        moonplan_options options;
        counter_options(&options, &count);
        options.borrow = borrow;
        moonplan_error err;
        moonplan_document *document =
            moonplan_document_parse(json.bytes, json.length, &options, &err);
        if (!check((document != NULL) == accepted, __FILE__, __LINE__, name))
            printf("# %s\n", document ? "accepted" : err.message);
        if (!borrow) report(name, &count, json.length);
        check(count.peak <= 16 * json.length + SLACK, __FILE__, __LINE__, name);
        if (document) {
            size_t peak, held = moonplan_document_memory(document, &peak);
            CHECK(peak == count.peak);
            CHECK(held == count.used);
        }
        moonplan_document_free(document);
        CHECK(count.used == 0 && !count.wrong);
    }
    sample_free(&json);
}

static void plans(void) {
    plan_costs(3, "tiny", plan_tiny(), true);
    plan_costs(3, "swap", plan_swap(), true);
    plan_costs(3, "mid: 100 x 1 KiB", plan_many(100, 1024), true);
    plan_costs(3, "wide: 4096 x 68", plan_many(4096, 68), true);
    plan_costs(3, "4096 empty steps", plan_many(4096, 0), true);
    plan_costs(3, "heavy: 64 x 128 KiB", plan_many(64, (size_t)128 * 1024), true);
}

static sample with_filled(const char *begin, const char *piece, size_t times, const char *end) {
    sample rest = {NULL, 0, 0};
    sample_add(&rest, "%s", begin);
    sample_repeat(&rest, piece, times);
    sample_add(&rest, "%s", end);
    sample out = plan_with(rest.bytes);
    sample_free(&rest);
    return out;
}

/* Plans whose weight is not in their calldata: the members that are open to anything, escapes
 * everywhere, white space. */
static void odd_plans(void) {
    plan_costs(3, "extensions of text", with_filled(",\"extensions\":{\"a\":\"", "x", 65000, "\"}"),
               true);
    plan_costs(16, "extensions of numbers",
               with_filled(",\"extensions\":{\"a\":[0", ",0", 32000, "]}"), true);
    plan_costs(16, "extensions of arrays",
               with_filled(",\"extensions\":{\"a\":[0", ",[]", 21000, "]}"), true);
    plan_costs(16, "extensions of escapes",
               with_filled(",\"extensions\":{\"a\":[0", ",\"\\n\"", 12000, "]}"), true);
    plan_costs(3, "white space", with_filled("", " ", 200000, ""), true);
    sample members = {NULL, 0, 0};
    sample_add(&members, ",\"extensions\":{\"a\":0");
    for (size_t i = 0; i < 6500; i++) sample_add(&members, ",\"k%zx\":0", i);
    sample_add(&members, "}");
    plan_costs(16, "extensions of members", plan_with(members.bytes), true);
    sample_free(&members);
    sample data = plan_many(1, 0);
    const char *place = strstr(data.bytes, "0x\",\"value\"");
    sample escaped = {NULL, 0, 0};
    sample_add(&escaped, "%.*s0x", (int)(place - data.bytes), data.bytes);
    sample_repeat(&escaped, "\\u0061", 200000);
    sample_add(&escaped, "%s", place + 2);
    sample_free(&data);
    plan_costs(3, "calldata in escapes", escaped, true);
}

static void refused_plans(void) {
    plan_costs(3, "one fault", plan_faulty(1), false);
    plan_costs(3, "64 faults", plan_faulty(64), false);
    plan_costs(3, "65 faults", plan_faulty(65), false);
    plan_costs(16, "100,000 faults", plan_faulty(100000), false);
    plan_costs(3, "20,000 steps", plan_many(20000, 0), false);
    sample cut = plan_many(4096, 68);
    cut.length--;
    plan_costs(3, "cut before its end", cut, false);
    sample million = plan_with("");
    sample steps = {NULL, 0, 0};
    const char *place = strstr(million.bytes, "[{");
    sample_add(&steps, "%.*s[0", (int)(place - million.bytes), million.bytes);
    sample_repeat(&steps, ",0", 900000);
    sample_add(&steps, "]}");
    sample_free(&million);
    plan_costs(16, "900,001 steps of nothing", steps, false);
}

static sample filled(const char *begin, const char *piece, size_t times, const char *end) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "%s", begin);
    sample_repeat(&out, piece, times);
    sample_add(&out, "%s", end);
    return out;
}

static sample members(size_t count, const char *value) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "{\"\":0");
    for (size_t i = 1; i < count; i++) sample_add(&out, ",\"%zx\":%s", i, value);
    sample_add(&out, "}");
    return out;
}

static void any_json(void) {
    json_costs("999,999 numbers", filled("[0", ",0", 999998, "]"), true);
    json_costs("999,999 empty arrays", filled("[[]", ",[]", 999998, "]"), true);
    json_costs("1,000,001 values", filled("[0", ",0", 999999, "]"), false);
    json_costs("arrays of two", filled("[[0,0]", ",[0,0]", 330000, "]"), true);
    json_costs("arrays of 17", filled("[0", ",[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,[]]", 52000, "]"),
               true);
    json_costs("objects of one", filled("[0", ",{\"\":0}", 490000, "]"), true);
    json_costs("escaped strings", filled("[0", ",\"\\n\"", 990000, "]"), true);
    json_costs("999,999 members", members(999999, "0"), true);
    json_costs("300,000 members of arrays", members(300000, "[[]]"), true);
    json_costs("one string", filled("\"", "x", 4000000, "\""), true);
    json_costs("one string of escapes", filled("\"", "\\n", 4000000, "\""), true);
    json_costs("one number", filled("1", "0", 4000000, ""), true);
    json_costs("white space", filled("", " ", 4000000, "0"), true);
    json_costs("open brackets", filled("", "[", 8000000, ""), false);
    json_costs("open objects", filled("", "{\"a\":", 2000000, ""), false);
    json_costs("16 MiB of arrays", filled("[", "[],", 5592404, "[]]"), false);
    sample members_18 = {NULL, 0, 0}, one = {NULL, 0, 0};
    sample_add(&one, ",{\"\":0");
    for (int c = 'a'; c < 'r'; c++) sample_add(&one, ",\"%c\":0", c);
    sample_add(&one, "}");
    members_18 = filled("[0", one.bytes, 50000, "]");
    sample_free(&one);
    json_costs("objects of 18", members_18, true);
}

/* Depth costs nothing before it is refused. */
static void depth_is_cheap(void) {
    sample deep = filled("", "[", 200000, "");
    counter count;
    moonplan_options options;
    counter_options(&options, &count);
    options.borrow = true;
    moonplan_error err;
    CHECK(!moonplan_document_parse(deep.bytes, deep.length, &options, &err));
    CHECK(err.code == MOONPLAN_JSON_DEPTH && err.offset == 128);
    CHECK(count.peak < 2 * SLACK);
    sample_free(&deep);
}

/* A document over the limit is refused for its length, before anything is allocated for it. */
static void length_is_looked_at_first(void) {
    counter count;
    moonplan_options options;
    counter_options(&options, &count);
    options.limits.document_bytes = 1000;
    sample over = filled("", "x", 1001, "");
    moonplan_error err;
    CHECK(!moonplan_document_parse(over.bytes, over.length, &options, &err));
    CHECK(err.code == MOONPLAN_LIMIT);
    CHECK(count.calls == 0);
    CHECK(!moonplan_call_plan_parse(over.bytes, over.length, &options, &err));
    CHECK(err.code == MOONPLAN_LIMIT);
    CHECK(count.peak < SLACK);
    CHECK(count.used == 0);
    sample_free(&over);
}

int main(void) {
    RUN(plans);
    RUN(odd_plans);
    RUN(refused_plans);
    RUN(any_json);
    RUN(depth_is_cheap);
    RUN(length_is_looked_at_first);
    return check_end();
}
