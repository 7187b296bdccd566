/* Conversion between call plans, wallet_sendCalls (EIP-5792) and Safe Transaction Builder batches.
 *
 * The cases of spec/data/send-calls.json are this project's own; further ones stand here. The
 * checksums of batch files were computed with ethers 6 (keccak256) and a dozen lines of JavaScript
 * after apps/tx-builder/src/lib/checksum.ts of the Transaction Builder; calldata by ethers 6. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "samples.h"

#define ADDRESS_1 "0x1111111111111111111111111111111111111111"
#define ADDRESS_2 "0x2222222222222222222222222222222222222222"

static const moonplan_text nobody = {NULL, 0};

static moonplan_call_plan *plan_of(const char *text, size_t length) {
    moonplan_options options;
    moonplan_error err;
    moonplan_options_init(&options);
    options.enforce_capabilities = false;
    moonplan_call_plan *plan = moonplan_call_plan_parse(text, length, &options, &err);
    if (!plan) printf("# no plan: %s at %s\n", err.message, err.at);
    return plan;
}

static void digest_of(char hex[67], const moonplan_call_plan *plan) {
    uint8_t digest[32];
    moonplan_call_plan_digest(plan, digest);
    for (size_t i = 0; i < 32; i++) snprintf(hex + 2 + 2 * i, 3, "%02x", digest[i]);
    memcpy(hex, "0x", 2);
}

static moonplan_text source(const moonplan_document *document) {
    return moonplan_value_source(moonplan_document_root(document));
}

/* -- The cases ---------------------------------------------------------------------*/

static sample load(const char *name) {
    sample out = {NULL, 0, 0};
    char block[4096];
    size_t length;
    FILE *file = fopen(name, "rb");
    sample_add(&out, "%s", "");
    if (!file) return out;
    while ((length = fread(block, 1, sizeof block, file)) > 0)
        sample_add(&out, "%.*s", (int)length, block);
    fclose(file);
    return out;
}

static bool plan_to_calls(moonplan_value given, moonplan_value expect) {
    moonplan_error err;
    moonplan_text text = text_member(given, "plan");
    moonplan_call_plan *plan = plan_of(text.bytes, text.length);
    moonplan_document *batch = plan ? moonplan_to_send_calls(plan, NULL, NULL, &err) : NULL;
    bool right =
        (batch != NULL) == (moonplan_value_type(member(expect, "accept")) == MOONPLAN_TRUE);
    if (batch) {
        moonplan_text wanted = text_member(expect, "sendcalls"), made = source(batch);
        char digest[67];
        digest_of(digest, plan);
        right = right && made.length == wanted.length &&
                memcmp(made.bytes, wanted.bytes, made.length) == 0 &&
                is_text(text_member(expect, "plan_digest"), digest);
    }
    moonplan_document_free(batch);
    moonplan_call_plan_free(plan);
    return right;
}

/* One case says in words that its calls are to be built by repetition. */
static sample batch_text(moonplan_value given) {
    static const char words[] = "\"REPEAT {\\\"to\\\":\\\"" ADDRESS_2 "\\\"} 4097 TIMES\"";
    moonplan_text text = text_member(given, "sendcalls");
    sample out = {NULL, 0, 0};
    sample_add(&out, "%.*s", (int)text.length, text.bytes);
    char *at = strstr(out.bytes, words);
    if (!at) return out;
    sample built = {NULL, 0, 0};
    sample_add(&built, "%.*s[{\"to\":\"" ADDRESS_2 "\"}", (int)(at - out.bytes), out.bytes);
    sample_repeat(&built, ",{\"to\":\"" ADDRESS_2 "\"}", 4096);
    sample_add(&built, "]%s", at + sizeof words - 1);
    sample_free(&out);
    return built;
}

static bool calls_to_plan(moonplan_value given, moonplan_value expect) {
    moonplan_error err;
    sample text = batch_text(given);
    moonplan_text account = text_member(member(given, "options"), "selected_account");
    moonplan_call_plan *plan =
        moonplan_from_send_calls(text.bytes, text.length, account, NULL, NULL, &err);
    bool right = (plan != NULL) == (moonplan_value_type(member(expect, "accept")) == MOONPLAN_TRUE);
    if (plan) {
        moonplan_text wanted = text_member(expect, "plan");
        moonplan_text made = source(moonplan_call_plan_document(plan));
        char digest[67];
        digest_of(digest, plan);
        right = right && made.length == wanted.length &&
                memcmp(made.bytes, wanted.bytes, made.length) == 0 &&
                is_text(text_member(expect, "plan_digest"), digest);
    }
    moonplan_call_plan_free(plan);
    sample_free(&text);
    return right;
}

static void test_cases(void) {
    moonplan_error err;
    sample file = load("spec/data/send-calls.json");
    moonplan_document *document = moonplan_document_parse(file.bytes, file.length, NULL, &err);
    CHECK(document != NULL);
    size_t count = 0;
    moonplan_walk walk = moonplan_value_walk(member(moonplan_document_root(document), "cases"));
    while (moonplan_walk_next(&walk)) {
        moonplan_value expect = member(walk.value, "expect");
        bool out = is_text(text_member(walk.value, "direction"), "plan_to_sendcalls");
        bool right = out ? plan_to_calls(walk.value, expect) : calls_to_plan(walk.value, expect);
        moonplan_text id = text_member(walk.value, "id");
        if (!right) printf("# case %.*s\n", (int)id.length, id.bytes);
        CHECK(right);
        count++;
    }
    CHECK(count >= 17);
    moonplan_document_free(document);
    sample_free(&file);
}

/* -- wallet_sendCalls -----------------------------------------------------------------*/

static void refused(const char *text, moonplan_text account, const char *code, const char *at) {
    moonplan_error err;
    moonplan_error_list *lost = NULL;
    moonplan_call_plan *plan =
        moonplan_from_send_calls(text, strlen(text), account, &lost, NULL, &err);
    bool right = !plan && strcmp(moonplan_code_name(err.code), code) == 0 &&
                 strcmp(err.at, at) == 0 && lost == NULL;
    if (!right)
        printf("# %s: %s at %s: %s\n", text, plan ? "taken" : moonplan_code_name(err.code),
               plan ? "" : err.at, plan ? "" : err.message);
    CHECK(right);
    moonplan_call_plan_free(plan);
    moonplan_error_list_free(lost);
}

#define CALLS          "\"calls\":[{\"to\":\"" ADDRESS_2 "\"}]"
#define BATCH(members) "{\"version\":\"2.0.0\",\"from\":\"" ADDRESS_1 "\"," members "}"
#define CALL(members)                                                                              \
    BATCH("\"chainId\":\"0x1\",\"atomicRequired\":false,\"calls\":[{\"to\":\"" ADDRESS_2           \
          "\"," members "}]")

static void test_refused(void) {
    static const char *const chains[] = {"1",       "\"1\"", "\"0x01\"", "\"0x\"",
                                         "\"0X1\"", "null",  "\"0xg\"",  "true"};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        char text[300];
        snprintf(text, sizeof text, BATCH("\"chainId\":%s,\"atomicRequired\":true," CALLS),
                 chains[i]);
        refused(text, nobody, chains[i][0] == '"' ? "convert.quantity" : "convert.shape",
                "/chainId");
    }
    static const char *const values[] = {"0x00", "0x0f1g", "1", "0x", "-0x1", ""};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[300];
        snprintf(text, sizeof text, CALL("\"value\":\"%s\""), values[i]);
        refused(text, nobody, "convert.quantity", "/calls/0/value");
    }
    static const char *const datas[] = {"0x0", "0xabc", "ab", "0x 00", "0xg0", "0x00\\n", ""};
    for (size_t i = 0; i < sizeof datas / sizeof *datas; i++) {
        char text[300];
        snprintf(text, sizeof text, CALL("\"data\":\"%s\""), datas[i]);
        refused(text, nobody, "convert.bytes", "/calls/0/data");
    }
    refused(CALL("\"data\":null"), nobody, "convert.shape", "/calls/0/data");
    refused(CALL("\"value\":1"), nobody, "convert.shape", "/calls/0/value");
    refused(CALL("\"chainId\":\"0x1\""), nobody, "convert.shape", "/calls/0/chainId");
    refused(CALL("\"gas\":\"0x1\""), nobody, "convert.shape", "/calls/0/gas");
    /* Version 1.0 is told by its version, though atomicRequired is missing as well. */
    refused("{\"version\":\"1.0\",\"from\":\"" ADDRESS_1 "\",\"chainId\":\"0x1\"," CALLS "}",
            nobody, "convert.version", "/version");
    refused("{\"version\":2,\"chainId\":\"0x1\",\"atomicRequired\":true," CALLS "}", nobody,
            "convert.shape", "/version");
    refused(BATCH("\"chainId\":\"0x1\"," CALLS), nobody, "convert.shape", "/atomicRequired");
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":\"true\"," CALLS), nobody,
            "convert.shape", "/atomicRequired");
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true,\"calls\":[]"), nobody,
            "convert.shape", "/calls");
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true,\"calls\":{}"), nobody,
            "convert.shape", "/calls");
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true,\"calls\":[1]"), nobody,
            "convert.shape", "/calls/0");
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true,\"more\":1," CALLS), nobody,
            "convert.shape", "/more");
    refused("[]", nobody, "convert.shape", "");
    refused("{", nobody, "json.syntax", "");
    /* The sender. */
    static const char without[] =
        "{\"version\":\"2.0.0\",\"chainId\":\"0x1\",\"atomicRequired\":true," CALLS "}";
    refused(without, nobody, "convert.sender", "");
    refused(without, text_of("0x11"), "option", "");
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true," CALLS), text_of(ADDRESS_2),
            "convert.sender", "/from");
    refused("{\"version\":\"2.0.0\",\"from\":\"0x11\",\"chainId\":\"0x1\",\"atomicRequired\":"
            "true," CALLS "}",
            nobody, "convert.address", "/from");
    /* Capabilities that nobody may leave out, of the batch and of a call. */
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true,\"capabilities\":{\"paymasterService"
                  "\":{\"url\":\"https://x.example\"}}," CALLS),
            nobody, "convert.unsupported", "/capabilities/paymasterService");
    refused(BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true,\"capabilities\":{\"a\":{"
                  "\"optional\":false}}," CALLS),
            nobody, "convert.unsupported", "/capabilities/a");
    refused(CALL("\"capabilities\":{\"a\":true}"), nobody, "convert.unsupported",
            "/calls/0/capabilities/a");
    refused(CALL("\"capabilities\":1"), nobody, "convert.shape", "/calls/0/capabilities");
}

/* "code:at ..." */
static sample losses(moonplan_error_list *lost) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "%s", "");
    for (size_t i = 0; i < moonplan_error_list_count(lost); i++)
        sample_add(&out, "%s%s:%s", i ? " " : "",
                   moonplan_code_name(moonplan_error_list_at(lost, i)->code),
                   moonplan_error_list_at(lost, i)->at);
    return out;
}

static void test_taken(void) {
    /* Either case of digits, an id, optional capabilities; a wrong checksum is noted. */
    static const char text[] =
        "{\"version\":\"2.0.0\",\"id\":\"x\",\"from\":\"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
        "\",\"chainId\":\"0xAA36a7\",\"atomicRequired\":true,\"calls\":[{\"to\":\"0x5aaeb6053F3E94C"
        "9b9A09f33669435E7Ef1BeAed\",\"data\":\"0xABCD\",\"value\":\"0xDe0B6B3A7640000\","
        "\"capabilities\":{\"b\":{\"optional\":true}}}],\"capabilities\":{\"a\":{\"optional\":true}"
        "}}";
    moonplan_error err;
    moonplan_error_list *lost = NULL;
    moonplan_call_plan *plan = moonplan_from_send_calls(
        text, sizeof text - 1, text_of("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"), &lost, NULL,
        &err);
    CHECK(plan != NULL);
    if (!plan) return;
    moonplan_call call;
    CHECK(moonplan_call_plan_step(plan, &call, 0));
    CHECK_TEXT("11155111", moonplan_call_plan_chain_id(plan));
    CHECK_TEXT("eip155:11155111", moonplan_call_plan_caip2_chain_id(plan));
    CHECK_TEXT("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", moonplan_call_plan_sender(plan));
    CHECK_TEXT("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", call.to);
    CHECK_TEXT("0xabcd", call.data);
    CHECK_TEXT("1000000000000000000", call.value);
    sample list = losses(lost);
    CHECK_TEXT("convert.lost:/id convert.lost:/capabilities/a convert.checksum:/calls/0/to "
               "convert.lost:/calls/0/capabilities/b",
               ((moonplan_text){list.bytes, list.length}));
    sample_free(&list);
    moonplan_error_list_free(lost);
    moonplan_call_plan_free(plan);
}

static void test_quantities(void) {
    static const char *const values[][2] = {
        {"0", "0x0"},
        {"1", "0x1"},
        {"15", "0xf"},
        {"16", "0x10"},
        {"1000000000000000000", "0xde0b6b3a7640000"},
        {"115792089237316195423570985008687907853269984665640564039457584007913129639935",
         "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}};
    moonplan_error err;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        sample text = {NULL, 0, 0};
        sample_add(&text,
                   "{\"schema_version\":\"1\",\"chain_id\":\"10\",\"caip2_chain_id\":\"eip155:10\","
                   "\"sender\":\"" ADDRESS_1 "\",\"ordered_steps\":[{\"step\":1,\"kind\":"
                   "\"execution\",\"transaction\":{\"chain_id\":\"10\",\"from\":\"" ADDRESS_1
                   "\",\"to\":\"" ADDRESS_2 "\",\"data\":\"0x\",\"value\":\"%s\"}}]}",
                   values[i][0]);
        moonplan_call_plan *plan = plan_of(text.bytes, text.length);
        moonplan_document *batch = moonplan_to_send_calls(plan, NULL, NULL, &err);
        moonplan_value root = moonplan_document_root(batch);
        CHECK_TEXT("0xa", text_member(root, "chainId"));
        moonplan_value call = moonplan_value_element(member(root, "calls"), 0);
        CHECK_TEXT(values[i][1], text_member(call, "value"));
        /* Once at the top, never in a call. */
        CHECK(moonplan_value_count(call) == 3);
        /* There and back: the same digest, for every step is an execution. */
        moonplan_text made = source(batch);
        moonplan_call_plan *back =
            moonplan_from_send_calls(made.bytes, made.length, nobody, NULL, NULL, &err);
        char there[67], again[67];
        digest_of(there, plan);
        digest_of(again, back);
        CHECK(strcmp(there, again) == 0);
        moonplan_call_plan_free(back);
        moonplan_document_free(batch);
        moonplan_call_plan_free(plan);
        sample_free(&text);
    }
}

static void test_left_behind(void) {
    sample swap = plan_swap();
    moonplan_error err;
    moonplan_error_list *lost = NULL;
    moonplan_call_plan *plan = plan_of(swap.bytes, swap.length);
    moonplan_document *batch = moonplan_to_send_calls(plan, &lost, NULL, &err);
    CHECK(batch != NULL);
    CHECK(moonplan_value_type(member(moonplan_document_root(batch), "atomicRequired")) ==
          MOONPLAN_TRUE);
    sample list = losses(lost);
    CHECK_TEXT("convert.lost:/ordered_steps/0/kind convert.lost:/ordered_steps/0/transaction/gas "
               "convert.lost:/ordered_steps/1/revert_decode "
               "convert.lost:/simulation_failure_policy",
               ((moonplan_text){list.bytes, list.length}));
    sample_free(&list);
    moonplan_error_list_free(lost);
    moonplan_document_free(batch);
    moonplan_call_plan_free(plan);
    sample_free(&swap);
    /* A capability that neither format can ask for. */
    sample text = plan_with(",\"required_capabilities\":[\"atomic_batch\",\"fly\"]");
    plan = plan_of(text.bytes, text.length);
    for (int safe = 0; safe < 2; safe++) {
        batch = safe ? moonplan_to_safe_batch(plan, 0, &lost, NULL, &err)
                     : moonplan_to_send_calls(plan, &lost, NULL, &err);
        CHECK(!batch && err.code == MOONPLAN_CONVERT_UNSUPPORTED && !lost &&
              strcmp(err.at, "/required_capabilities/1") == 0);
        moonplan_document_free(batch);
    }
    moonplan_call_plan_free(plan);
    sample_free(&text);
}

/* -- Safe Transaction Builder ------------------------------------------------------------*/

static const char plan_text[] =
    "{\"schema_version\":\"1\",\"chain_id\":\"4\",\"caip2_chain_id\":\"eip155:4\",\"sender\":"
    "\"0x91db860c37e83dab0a4a005e209577e64c61eefa\",\"ordered_steps\":[{\"step\":1,\"kind\":"
    "\"execution\",\"transaction\":{\"chain_id\":\"4\",\"from\":"
    "\"0x91db860c37e83dab0a4a005e209577e64c61eefa\",\"to\":"
    "\"0x49d4450977e2c95362c13d3a31a09311e0ea26a6\",\"data\":\"0x\",\"value\":\"5\"}},{\"step\":2,"
    "\"kind\":\"execution\",\"transaction\":{\"chain_id\":\"4\",\"from\":"
    "\"0x91db860c37e83dab0a4a005e209577e64c61eefa\",\"to\":"
    "\"0x49d4450977e2c95362c13d3a31a09311e0ea26a6\",\"data\":\"0xd0e30db0\",\"value\":\"0\"}}],"
    "\"required_capabilities\":[\"atomic_batch\"]}";

static void test_safe_out(void) {
    moonplan_error err;
    moonplan_error_list *lost = NULL;
    moonplan_call_plan *plan = plan_of(plan_text, sizeof plan_text - 1);
    moonplan_document *batch = moonplan_to_safe_batch(plan, 1654585765226, &lost, NULL, &err);
    CHECK(batch && !lost);
    moonplan_value root = moonplan_document_root(batch), meta = member(root, "meta");
    CHECK_TEXT("1.0", text_member(root, "version"));
    CHECK_TEXT("4", text_member(root, "chainId"));
    CHECK_TEXT("0x91dB860c37E83dab0A4A005E209577E64c61EEfA",
               text_member(meta, "createdFromSafeAddress"));
    CHECK_TEXT("0x5ad56f835048444815f5bc63a2025b6265d1c01507df55c8c6346bc243d1b0cb",
               text_member(meta, "checksum"));
    moonplan_value first = moonplan_value_element(member(root, "transactions"), 0);
    CHECK_TEXT("0x49d4450977E2c95362C13D3a31a09311E0Ea26A6", text_member(first, "to"));
    CHECK_TEXT("5", text_member(first, "value"));
    CHECK_TEXT("0x", text_member(first, "data"));
    /* And back: nothing is lost but the name. */
    moonplan_text made = source(batch);
    moonplan_call_plan *back =
        moonplan_from_safe_batch(made.bytes, made.length, nobody, &lost, NULL, &err);
    CHECK(back != NULL);
    CHECK_TEXT(plan_text, source(moonplan_call_plan_document(back)));
    sample list = losses(lost);
    CHECK_TEXT("convert.lost:/meta/name", ((moonplan_text){list.bytes, list.length}));
    sample_free(&list);
    moonplan_error_list_free(lost);
    moonplan_call_plan_free(back);
    moonplan_document_free(batch);
    batch = moonplan_to_safe_batch(plan, 9007199254740992u, &lost, NULL, &err);
    CHECK(!batch && err.code == MOONPLAN_OPTION);
    moonplan_call_plan_free(plan);
}

#define SAFE "0x91dB860c37E83dab0A4A005E209577E64c61EEfA"
#define TO   "0x49d4450977E2c95362C13D3a31a09311E0Ea26A6"

/* A file with transactions given as methods, as the builder writes them. */
static const char methods[] =
    "{\"version\":\"1.0\",\"chainId\":\"4\",\"createdAt\":1654585765226,\"meta\":{\"name\":\"b\","
    "\"description\":\"\",\"txBuilderVersion\":\"1.16.5\",\"createdFromSafeAddress\":\"" SAFE
    "\",\"createdFromOwnerAddress\":\"\",\"checksum\":\"%s\"},\"transactions\":["
    "{\"to\":\"" TO
    "\",\"value\":\"0\",\"data\":null,\"contractMethod\":{\"inputs\":[{\"internalType"
    "\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\","
    "\"name\":"
    "\"amount\",\"type\":\"uint256\"}],\"name\":\"approve\",\"payable\":false},"
    "\"contractInputsValues\":{\"spender\":\"" SAFE "\",\"amount\":\"1000\"}},"
    "{\"to\":\"" TO
    "\",\"value\":\"1\",\"data\":null,\"contractMethod\":{\"inputs\":[{\"name\":\"\","
    "\"type\":\"bool\"},{\"name\":\"list\",\"type\":\"uint256[]\"},{\"name\":\"pair\",\"type\":"
    "\"tuple\","
    "\"components\":[{\"name\":\"a\",\"type\":\"int8\"},{\"name\":\"b\",\"type\":\"string\"}]}],"
    "\"name\":"
    "\"f\",\"payable\":true},\"contractInputsValues\":{\"0\":\"true\",\"list\":"
    "\"[1,\\\"0\\\",115792089237316195423570985008687907853269984665640564039457584007913129639935]"
    "\","
    "\"pair\":\"[\\\"-1\\\",\\\"x\\\"]\"}},"
    "{\"to\":\"" TO "\",\"value\":\"2\",\"data\":null,\"contractMethod\":{\"inputs\":[],\"name\":"
    "\"fallback\",\"payable\":true},\"contractInputsValues\":null},"
    "{\"to\":\"" TO
    "\",\"value\":\"3\",\"data\":\"0xAB\",\"contractMethod\":{\"inputs\":[],\"name\":"
    "\"g\",\"payable\":false},\"contractInputsValues\":null}]}";

static void test_safe_in(void) {
    static const char *const datas[] = {
        "0x095ea7b300000000000000000000000091db860c37e83dab0a4a005e209577e64c61eefa"
        "00000000000000000000000000000000000000000000000000000000000003e8",
        "0x6c67e4260000000000000000000000000000000000000000000000000000000000000001"
        "00000000000000000000000000000000000000000000000000000000000000600000000000"
        "0000000000000000000000000000000000000000000000000000e000000000000000000000"
        "00000000000000000000000000000000000000000003000000000000000000000000000000"
        "00000000000000000000000000000000010000000000000000000000000000000000000000"
        "000000000000000000000000ffffffffffffffffffffffffffffffffffffffffffffffffff"
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
        "ffff0000000000000000000000000000000000000000000000000000000000000040000000"
        "00000000000000000000000000000000000000000000000000000000017800000000000000"
        "000000000000000000000000000000000000000000000000",
        "0x", "0xab"};
    moonplan_error err;
    moonplan_error_list *lost = NULL;
    for (int sound = 0; sound < 2; sound++) {
        sample text = {NULL, 0, 0};
        sample_add(&text, methods,
                   sound ? "0x4e5ed3a548676b17abf57d3ab15df96e505f4af7bdf2b992c843c66d3045bf26"
                         : "0x00");
        moonplan_call_plan *plan =
            moonplan_from_safe_batch(text.bytes, text.length, nobody, &lost, NULL, &err);
        if (!plan) printf("# %s at %s\n", err.message, err.at);
        CHECK(plan != NULL);
        if (!plan) continue;
        moonplan_call call;
        for (size_t i = 0; i < 4; i++) {
            CHECK(moonplan_call_plan_step(plan, &call, i));
            CHECK_TEXT(datas[i], call.data);
        }
        CHECK(moonplan_value_count(moonplan_call_plan_capabilities(plan)) == 1);
        sample list = losses(lost);
        CHECK_TEXT(sound ? "convert.lost:/meta/name convert.lost:/transactions/3/contractMethod"
                         : "convert.checksum:/meta/checksum convert.lost:/meta/name "
                           "convert.lost:/transactions/3/contractMethod",
                   ((moonplan_text){list.bytes, list.length}));
        sample_free(&list);
        moonplan_error_list_free(lost);
        moonplan_call_plan_free(plan);
        sample_free(&text);
    }
}

static void safe_refused(const char *transaction, const char *code, const char *at) {
    moonplan_error err;
    sample text = {NULL, 0, 0};
    sample_add(
        &text,
        "{\"version\":\"1.0\",\"chainId\":\"1\",\"meta\":{\"createdFromSafeAddress\":\"" ADDRESS_1
        "\"},\"transactions\":[{\"to\":\"" ADDRESS_2 "\",%s}]}",
        transaction);
    moonplan_call_plan *plan =
        moonplan_from_safe_batch(text.bytes, text.length, nobody, NULL, NULL, &err);
    bool right =
        !plan && strcmp(moonplan_code_name(err.code), code) == 0 && strcmp(err.at, at) == 0;
    if (!right)
        printf("# %s: %s at %s: %s\n", transaction, plan ? "taken" : moonplan_code_name(err.code),
               plan ? "" : err.at, plan ? "" : err.message);
    CHECK(right);
    moonplan_call_plan_free(plan);
    sample_free(&text);
}

#define METHOD(inputs) "\"value\":\"0\",\"contractMethod\":{\"name\":\"f\",\"inputs\":[" inputs "]}"

static void test_safe_refused(void) {
    safe_refused("\"value\":1", "convert.shape", "/transactions/0/value");
    safe_refused("\"value\":\"0x1\"", "convert.quantity", "/transactions/0/value");
    safe_refused("\"value\":\"01\"", "convert.quantity", "/transactions/0/value");
    safe_refused("\"value\":\"0\",\"data\":\"0x1\"", "convert.bytes", "/transactions/0/data");
    safe_refused("\"value\":\"0\",\"operation\":1", "convert.unsupported",
                 "/transactions/0/operation");
    safe_refused("\"value\":\"0\",\"more\":1", "convert.shape", "/transactions/0/more");
    safe_refused("\"data\":\"0x\"", "convert.shape", "/transactions/0/value");
    safe_refused(METHOD("{\"name\":\"a\",\"type\":\"uint\"}") ",\"contractInputsValues\":{\"a\":"
                                                              "\"1\"}",
                 "convert.shape", "/transactions/0/contractMethod");
    safe_refused(METHOD("{\"name\":\"a\",\"type\":\"uint8\"}"), "convert.shape",
                 "/transactions/0/contractMethod");
    safe_refused(METHOD("{\"name\":\"a\",\"type\":\"uint8\"}") ",\"contractInputsValues\":{}",
                 "convert.shape", "/transactions/0/contractInputsValues");
    safe_refused(METHOD("{\"name\":\"a\",\"type\":\"uint8\"}") ",\"contractInputsValues\":{\"a\":"
                                                               "\"256\"}",
                 "convert.shape", "/transactions/0/contractMethod");
    safe_refused(METHOD("{\"name\":\"a\",\"type\":\"bool\"}") ",\"contractInputsValues\":{\"a\":"
                                                              "\"yes\"}",
                 "convert.shape", "/transactions/0/contractMethod");
    safe_refused(METHOD("{\"name\":\"a\",\"type\":\"uint8[]\"}") ",\"contractInputsValues\":{\"a\":"
                                                                 "\"[1\"}",
                 "convert.shape", "/transactions/0/contractInputsValues/a");
    /* The file as a whole. */
    static const char *const wrong[][3] = {
        {"{\"version\":\"1.1\",\"chainId\":\"1\",\"transactions\":[]}", "convert.version",
         "/version"},
        {"{\"version\":\"1.0\",\"chainId\":\"0x1\",\"transactions\":[]}", "convert.quantity",
         "/chainId"},
        {"{\"version\":\"1.0\",\"chainId\":1,\"transactions\":[]}", "convert.shape", "/chainId"},
        {"{\"version\":\"1.0\",\"chainId\":\"1\",\"transactions\":[{}]}", "convert.sender", ""},
        {"{\"version\":\"1.0\",\"chainId\":\"1\",\"meta\":{\"createdFromSafeAddress\":\"\"},"
         "\"transactions\":[{}]}",
         "convert.sender", ""},
        {"{\"version\":\"1.0\",\"chainId\":\"1\",\"meta\":{\"createdFromSafeAddress\":\"" ADDRESS_1
         "\"},\"transactions\":[]}",
         "convert.shape", "/transactions"},
        {"{\"version\":\"1.0\",\"chainId\":\"1\"}", "convert.shape", "/transactions"},
        {"7", "convert.shape", ""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        moonplan_error err;
        moonplan_call_plan *plan =
            moonplan_from_safe_batch(wrong[i][0], strlen(wrong[i][0]), nobody, NULL, NULL, &err);
        bool right = !plan && strcmp(moonplan_code_name(err.code), wrong[i][1]) == 0 &&
                     strcmp(err.at, wrong[i][2]) == 0;
        if (!right) printf("# %s: %s\n", wrong[i][0], plan ? "taken" : err.message);
        CHECK(right);
        moonplan_call_plan_free(plan);
    }
}

/* -- Limits and memory ---------------------------------------------------------------------*/

static void test_limits(void) {
    moonplan_options options;
    moonplan_error err;
    static const char batch[] = CALL("\"data\":\"0x00\"");
    moonplan_options_init(&options);
    moonplan_call_plan *plan =
        moonplan_from_send_calls(batch, sizeof batch - 1, nobody, NULL, &options, &err);
    size_t length = source(moonplan_call_plan_document(plan)).length;
    moonplan_call_plan_free(plan);
    /* A plan is longer than its batch: the limit is the plan's. */
    options.limits.document_bytes = length;
    plan = moonplan_from_send_calls(batch, sizeof batch - 1, nobody, NULL, &options, &err);
    CHECK(plan != NULL);
    moonplan_call_plan_free(plan);
    options.limits.document_bytes = length - 1;
    plan = moonplan_from_send_calls(batch, sizeof batch - 1, nobody, NULL, &options, &err);
    CHECK(!plan && err.code == MOONPLAN_LIMIT);
    moonplan_options_init(&options);
    options.limits.steps = 1;
    plan = moonplan_from_send_calls(batch, sizeof batch - 1, nobody, NULL, &options, &err);
    CHECK(plan != NULL);
    moonplan_call_plan_free(plan);
    options.limits.calldata_bytes = 0;
    plan = moonplan_from_send_calls(batch, sizeof batch - 1, nobody, NULL, &options, &err);
    CHECK(!plan && err.code == MOONPLAN_LIMIT);
    /* What is lost is listed up to the limit `errors`. */
    sample text = {NULL, 0, 0};
    sample_add(&text,
               BATCH("\"chainId\":\"0x1\",\"atomicRequired\":true," CALLS ",\"capabilities\":"
                     "{\"a\":{\"optional\":true}"));
    text.length -= 1; /* the brace that closes the batch */
    for (int i = 0; i < 100; i++) sample_add(&text, ",\"c%d\":{\"optional\":true}", i);
    sample_add(&text, "}}");
    moonplan_error_list *lost = NULL;
    plan = moonplan_from_send_calls(text.bytes, text.length, nobody, &lost, NULL, &err);
    CHECK(plan && moonplan_error_list_count(lost) == 65);
    moonplan_error_list_free(lost);
    moonplan_call_plan_free(plan);
    sample_free(&text);
}

static bool convert_all(const moonplan_options *options, const sample *safe, moonplan_error *err) {
    moonplan_error_list *lost = NULL;
    moonplan_call_plan *plan =
        moonplan_from_safe_batch(safe->bytes, safe->length, nobody, &lost, options, err);
    moonplan_error_list_free(lost);
    lost = NULL;
    moonplan_document *batch = plan ? moonplan_to_send_calls(plan, &lost, options, err) : NULL;
    moonplan_text text = batch ? source(batch) : nobody;
    moonplan_error_list_free(lost);
    lost = NULL;
    moonplan_call_plan *back =
        batch ? moonplan_from_send_calls(text.bytes, text.length, nobody, &lost, options, err)
              : NULL;
    moonplan_error_list_free(lost);
    lost = NULL;
    moonplan_document *again = back ? moonplan_to_safe_batch(back, 1, &lost, options, err) : NULL;
    bool fine = again != NULL;
    moonplan_error_list_free(lost);
    moonplan_document_free(again);
    moonplan_call_plan_free(back);
    moonplan_document_free(batch);
    moonplan_call_plan_free(plan);
    return fine;
}

static void test_memory(void) {
    moonplan_options options;
    counter count;
    moonplan_error err;
    sample safe = {NULL, 0, 0};
    sample_add(&safe, methods, "0x00");
    counter_options(&options, &count);
    CHECK(convert_all(&options, &safe, &err) && count.used == 0);
    size_t calls = count.calls;
    for (size_t fail = 1; fail <= calls; fail++) {
        for (int on = 0; on < 2; on++) {
            counter_options(&options, &count);
            count.fail_at = fail;
            count.fail_on = on;
            CHECK(convert_all(&options, &safe, &err) || err.code == MOONPLAN_MEMORY);
            CHECK(count.used == 0 && count.blocks == 0 && !count.wrong);
        }
    }
    sample_free(&safe);
}

int main(void) {
    RUN(test_cases);
    RUN(test_refused);
    RUN(test_taken);
    RUN(test_quantities);
    RUN(test_left_behind);
    RUN(test_safe_out);
    RUN(test_safe_in);
    RUN(test_safe_refused);
    RUN(test_limits);
    RUN(test_memory);
    return check_end();
}
