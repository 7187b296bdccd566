/* Reviews: what is decoded, what is found, and that nothing is found twice or dropped.
 *
 * Calldata is put together from published selectors and from words, never by our own encoder. The
 * selectors: ERC-20, ERC-721, ERC-2612; Permit2 (IAllowanceTransfer); Uniswap V3 (IMulticall);
 * Multicall3; Safe (multiSend, execTransaction); ERC-4337 SimpleAccount; ERC-7579. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/core/text.h"
#include "check.h"
#include "samples.h"

#define SENDER  "0x1111111111111111111111111111111111111111"
#define TOKEN   "0x2222222222222222222222222222222222222222"
#define SPENDER "0x3333333333333333333333333333333333333333"
#define USDT    "0xdac17f958d2ee523a2206206994597c13d831ec7"
#define PERMIT2 "0x000000000022d473030f116ddee9f6b43ac78ba3"

#define Z30       "000000000000000000000000000000000000000000000000000000000000"
#define W(byte)   Z30 "00" byte
#define PADDED    "000000000000000000000000"
#define W_SENDER  PADDED "1111111111111111111111111111111111111111"
#define W_TOKEN   PADDED "2222222222222222222222222222222222222222"
#define W_SPENDER PADDED "3333333333333333333333333333333333333333"
#define MAX       "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

#define APPROVE "095ea7b3" W_SPENDER

/* -- Plans and their findings -----------------------------------------------------*/

typedef struct step {
    const char *kind, *to, *data, *value;
} step;

static sample plan_of(const step *steps, size_t count, const char *rest) {
    sample out = {NULL, 0, 0};
    sample_add(&out, "{\"schema_version\":\"1\",\"chain_id\":\"1\",\"caip2_chain_id\":\"eip155:1\","
                     "\"sender\":\"" SENDER "\",\"ordered_steps\":[");
    for (size_t i = 0; i < count; i++)
        sample_add(&out,
                   "%s{\"step\":%zu,\"kind\":\"%s\",\"transaction\":{\"chain_id\":\"1\",\"from\":"
                   "\"" SENDER "\",\"to\":\"%s\",\"data\":\"0x%s\",\"value\":\"%s\"}}",
                   i ? "," : "", i + 1, steps[i].kind, steps[i].to, steps[i].data,
                   steps[i].value ? steps[i].value : "0");
    sample_add(&out, "]%s}", rest ? rest : "");
    return out;
}

static moonplan_review *review_text(const char *text, size_t length,
                                    const moonplan_review_context *context,
                                    const moonplan_options *given) {
    moonplan_options options;
    moonplan_error err;
    if (given)
        options = *given;
    else
        moonplan_options_init(&options);
    options.enforce_capabilities = false;
    moonplan_call_plan *plan = moonplan_call_plan_parse(text, length, &options, &err);
    if (!plan) {
        printf("# no plan: %s at %s\n", err.message, err.at);
        return NULL;
    }
    moonplan_review *review = moonplan_review_new(plan, context, &options, &err);
    if (!review) printf("# no review: %s\n", err.message);
    moonplan_call_plan_free(plan);
    return review;
}

/* "allowance.unlimited@1 ...": code, and call or step. Only findings of this severity and above. */
static sample found(const moonplan_review *review, moonplan_severity least) {
    sample out = {NULL, 0, 0};
    moonplan_finding finding;
    sample_add(&out, "%s", "");
    for (size_t i = 0; moonplan_review_finding(review, &finding, i); i++) {
        if (finding.severity < least) continue;
        sample_add(&out, "%s%s", out.length ? " " : "",
                   moonplan_finding_info_at(finding.code)->name);
        if (finding.call.length)
            sample_add(&out, "@%.*s", (int)finding.call.length, finding.call.bytes);
        else if (finding.step)
            sample_add(&out, "@%zu", finding.step);
    }
    return out;
}

static void finds_with(const step *steps, size_t count, const char *rest,
                       const moonplan_review_context *context, const char *expected) {
    sample text = plan_of(steps, count, rest);
    moonplan_review *review = review_text(text.bytes, text.length, context, NULL);
    CHECK(review != NULL);
    if (review) {
        sample codes = found(review, MOONPLAN_INFO);
        CHECK_TEXT(expected, ((moonplan_text){codes.bytes, codes.length}));
        sample_free(&codes);
    }
    moonplan_review_free(review);
    sample_free(&text);
}

#define FINDS(expected, ...)                                                                       \
    do {                                                                                           \
        const step steps_[] = {__VA_ARGS__};                                                       \
        finds_with(steps_, sizeof steps_ / sizeof *steps_, NULL, NULL, expected);                  \
    } while (0)

/* -- Allowances ---------------------------------------------------------------------*/

static void test_unlimited(void) {
    static const char *const endless[] = {
        MAX, /* 2^256-1, 2^256-2, 2^255, 2^160-1, 2^128-1, 2^112-1, 2^96-1 */
        "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe",
        "8000000000000000000000000000000000000000000000000000000000000000",
        "000000000000000000000000ffffffffffffffffffffffffffffffffffffffff",
        "00000000000000000000000000000000ffffffffffffffffffffffffffffffff",
        "000000000000000000000000000000000000ffffffffffffffffffffffffffff",
        "0000000000000000000000000000000000000000ffffffffffffffffffffffff"};
    static const char *const counted[] = {
        "00000000000000000000000000000000000000000000000000000000000f4240",
        /* one less than each of the two, and than 2^128-1 */
        "0000000000000000000000000000000000000000fffffffffffffffffffffffe",
        "000000000000000000000000000000000000fffffffffffffffffffffffffffe",
        "00000000000000000000000000000000fffffffffffffffffffffffffffffffe"};
    char data[200];
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        snprintf(data, sizeof data, APPROVE "%s", endless[i]);
        FINDS("allowance.unlimited@1", {"approval", TOKEN, data, "0"});
    }
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        snprintf(data, sizeof data, APPROVE "%s", counted[i]);
        FINDS("allowance.granted@1", {"approval", TOKEN, data, "0"});
    }
}

static void test_allowances(void) {
    /* increaseAllowance, setApprovalForAll, authorizeOperator (ERC-777), DAI's permit */
    FINDS("allowance.unlimited@1", {"approval", TOKEN, "39509351" W_SPENDER MAX, "0"});
    FINDS("allowance.for_all@1", {"approval", TOKEN, "a22cb465" W_SPENDER W("01"), "0"});
    FINDS("allowance.revoked@1", {"allowance_cleanup", TOKEN, "a22cb465" W_SPENDER W("00"), "0"});
    FINDS("allowance.for_all@1", {"approval", TOKEN, "959b8c3f" W_SPENDER, "0"});
    FINDS("allowance.unlimited@1 signature.spent@1",
          {"signature_dependent_execution", TOKEN,
           "8fcbaf0c" W_SENDER W_SPENDER W("00") W("00") W("01") W("1b") W("01") W("02"), "0"});
    FINDS("signature.spent@1 allowance.granted@1",
          {"signature_dependent_execution", TOKEN,
           "d505accf" W_SENDER W_SPENDER W("05") W("00") W("1b") W("01") W("02"), "0"});
    /* A second grant without zero in between; with zero in between; to another spender. */
    FINDS("allowance.nonzero_to_nonzero@2 allowance.granted@1 allowance.granted@2",
          {"approval", TOKEN, APPROVE W("07"), "0"}, {"approval", TOKEN, APPROVE W("09"), "0"});
    FINDS("allowance.not_atomic@2 allowance.granted@1 allowance.revoked@2 allowance.granted@3",
          {"approval", TOKEN, APPROVE W("07"), "0"}, {"approval", TOKEN, APPROVE W("00"), "0"},
          {"approval", TOKEN, APPROVE W("09"), "0"});
    FINDS("allowance.left@1 allowance.granted@1 allowance.granted@2",
          {"approval", TOKEN, APPROVE W("07"), "0"},
          {"approval", TOKEN, "095ea7b3" W_TOKEN W("07"), "0"});
    /* Tether on chain 1 */
    FINDS("allowance.zero_first@1 allowance.granted@1", {"approval", USDT, APPROVE W("07"), "0"});
    FINDS("allowance.revoked@1 allowance.granted@2", {"approval", USDT, APPROVE W("00"), "0"},
          {"approval", USDT, APPROVE W("07"), "0"});
    FINDS("allowance.revoked@1", {"allowance_cleanup", USDT, APPROVE W("00"), "0"});
    /* Granted, used, taken back: with and without atomic_batch. */
    static const step swap[] = {{"approval", TOKEN, APPROVE W("07"), "0"},
                                {"execution", SPENDER, "d0e30db0", "0"},
                                {"allowance_cleanup", TOKEN, APPROVE W("00"), "0"}};
    finds_with(swap, 3, ",\"required_capabilities\":[\"atomic_batch\"]", NULL,
               "allowance.granted@1 allowance.revoked@3");
    finds_with(swap, 3, NULL, NULL,
               "allowance.not_atomic@3 allowance.granted@1 allowance.revoked@3");
    finds_with(swap, 2, NULL, NULL, "allowance.left@1 allowance.granted@1");
}

static void test_permit2(void) {
    /* approve(token, spender, 5, expiration): 2^48-1, 0, and 1 January 2025 */
#define P2_APPROVE "87517c45" W_TOKEN W_SPENDER W("05")
    FINDS("permit2.long_lived@1 permit2.allowance@1",
          {"approval", PERMIT2,
           P2_APPROVE "0000000000000000000000000000000000000000000000000000ffffffffffff", "0"});
    FINDS("permit2.allowance@1", {"approval", PERMIT2, P2_APPROVE W("00"), "0"});
    const step dated = {
        "approval", PERMIT2,
        P2_APPROVE "0000000000000000000000000000000000000000000000000000000067748580", "0"};
    moonplan_review_context context = {.now = 1735689600 - 90 * 86400};
    finds_with(&dated, 1, NULL, &context, "permit2.allowance@1");
    context.now -= 1; /* more than 90 days ahead */
    finds_with(&dated, 1, NULL, &context, "permit2.long_lived@1 permit2.allowance@1");
    sample text = plan_of(&dated, 1, NULL);
    moonplan_review *review = review_text(text.bytes, text.length, NULL, NULL);
    moonplan_finding finding;
    CHECK(moonplan_review_finding(review, &finding, 0));
    CHECK_TEXT("through Permit2 " SPENDER " may take 5 units of the token " TOKEN
               "; the allowance expires (expiration): 2025-01-01 00:00:00 UTC",
               finding.message);
    moonplan_review_free(review);
    sample_free(&text);
    /* permit(owner, ((token, 2^160-1, 2^48-1, 0), spender, sigDeadline), signature): two clocks */
    const step permit = {"signature_dependent_execution", PERMIT2,
                         "2b67b570" W_SENDER W_TOKEN
                         "000000000000000000000000ffffffffffffffffffffffffffffffffffffffff"
                         "0000000000000000000000000000000000000000000000000000ffffffffffff" W("00")
                             W_SPENDER
                         "0000000000000000000000000000000000000000000000000000000067748580"
                         "0000000000000000000000000000000000000000000000000000000000000100" W("00"),
                         "0"};
    text = plan_of(&permit, 1, NULL);
    review = review_text(text.bytes, text.length, NULL, NULL);
    sample codes = found(review, MOONPLAN_INFO);
    CHECK_TEXT("allowance.unlimited@1 permit2.long_lived@1 signature.spent@1 permit2.allowance@1",
               ((moonplan_text){codes.bytes, codes.length}));
    CHECK(moonplan_review_finding(review, &finding, 3));
    static const char clocks[] = "the allowance expires (expiration): never, in effect; the "
                                 "signature for it expires (sigDeadline): 2025-01-01 00:00:00 UTC";
    CHECK(finding.message.length > sizeof clocks &&
          memcmp(finding.message.bytes + finding.message.length - (sizeof clocks - 1), clocks,
                 sizeof clocks - 1) == 0);
    sample_free(&codes);
    moonplan_review_free(review);
    sample_free(&text);
    /* lockdown([(token, spender)]) takes back */
    FINDS("allowance.revoked@1",
          {"allowance_cleanup", PERMIT2, "cc53287f" W("20") W("01") W_TOKEN W_SPENDER, "0"});
}

/* -- Targets, value, labels -------------------------------------------------------------*/

static void test_targets(void) {
    FINDS("target.zero_address@1 value.moved@1",
          {"execution", "0x0000000000000000000000000000000000000000", "", "1"});
    FINDS("target.zero_address@1", {"execution", TOKEN, "a9059cbb" W("00") W("01"), "0"});
    FINDS("target.token@1", {"execution", TOKEN, "a9059cbb" W_TOKEN W("01"), "0"});
    FINDS("target.sender@1", {"execution", SENDER, "", "0"});
    FINDS("value.moved@1", {"execution", TOKEN, "", "25595000000000020002"});
    static const char *const precompiles[] = {"01", "09", "0a", "11"};
    char to[43];
    for (size_t i = 0; i < 4; i++) {
        snprintf(to, sizeof to, "0x00000000000000000000000000000000000000%s", precompiles[i]);
        FINDS("target.precompile@1", {"execution", to, "", "0"});
    }
    FINDS("target.precompile@1",
          {"execution", "0x0000000000000000000000000000000000000100", "", "0"});
    FINDS("", {"execution", "0x0000000000000000000000000000000000000012", "", "0"});
}

static void test_labels(void) {
    FINDS("label.contradicted@1 allowance.granted@1",
          {"allowance_cleanup", TOKEN, APPROVE W("01"), "0"});
    FINDS("label.contradicted@1", {"allowance_cleanup", TOKEN, "a9059cbb" W_SPENDER W("01"), "0"});
    FINDS("label.contradicted@1", {"allowance_cleanup", TOKEN, "d0e30db0", "0"});
    FINDS("decode.unknown_selector@1 label.unconfirmed@1",
          {"allowance_cleanup", TOKEN, "deadbeef", "0"});
    FINDS("label.contradicted@1", {"approval", TOKEN, "a9059cbb" W_SPENDER W("01"), "0"});
    FINDS("label.contradicted@1 value.moved@1 allowance.granted@1",
          {"approval", TOKEN, APPROVE W("01"), "1"});
    FINDS("decode.unknown_selector@1 label.unconfirmed@1", {"approval", TOKEN, "deadbeef", "0"});
    FINDS("allowance.granted@1 label.silent@1", {"execution", TOKEN, APPROVE W("01"), "0"});
    FINDS("decode.unknown_selector@1 signature.spent@1",
          {"signature_dependent_execution", TOKEN, "deadbeef", "0"});
}

/* -- Decoding -----------------------------------------------------------------------*/

static void test_not_canonical(void) {
    /* What a contract may take for an approval is one for the review. */
    FINDS("decode.not_canonical@1 allowance.unlimited@1",
          {"approval", TOKEN, APPROVE MAX "00", "0"});
    FINDS("decode.not_canonical@1 allowance.unlimited@1",
          {"approval", TOKEN,
           "095ea7b3"
           "0000000000000000000000013333333333333333333333333333333333333333" MAX,
           "0"});
    /* Cut by a byte: read as if zeros followed. */
    FINDS("decode.not_canonical@1 allowance.granted@1", {"approval", TOKEN, APPROVE Z30 "01", "0"});
    FINDS("decode.not_canonical@1 allowance.revoked@1", {"approval", TOKEN, "095ea7b3", "0"});
    FINDS("decode.no_selector@1", {"execution", TOKEN, "095ea7", "0"});
    FINDS("decode.unknown_selector@1", {"execution", TOKEN, "deadbeef", "0"});
    /* multicall(bytes[]) with an offset that leads nowhere */
    FINDS("decode.malformed@1", {"execution", TOKEN, "ac9650d8" MAX, "0"});
    /* ERC-721 safeTransferFrom with padding that is not zero */
    FINDS("decode.not_canonical@1 decode.not_calls@1",
          {"execution", TOKEN, "b88d4fde" W_SENDER W_SPENDER W("01") W("80") W("01") "ff" Z30 "01",
           "0"});
}

/* The 68 bytes of the approval with their 28 of padding. */
static const char approval[] =
    "095ea7b3" W_SPENDER MAX "00000000000000000000000000000000000000000000000000000000";

static void test_inner(void) {
    sample data = {NULL, 0, 0};
    /* multicall(bytes[]): the token calls itself for its caller. */
    sample_add(&data, "ac9650d8" W("20") W("01") W("20") W("44") "%s", approval);
    FINDS("allowance.unlimited@1.1", {"approval", TOKEN, data.bytes, "0"});
    /* and a call of it to zero address in the same step, taking back: atomic by itself */
    sample_free(&data);
    sample_add(&data,
               "ac9650d8" W("20") W("02") W("40") Z30
               "00c0" W("44") "%s" W("44") "095ea7b3" W_SPENDER W(
                   "00") "00000000000000000000000000000000000000000000000000000000",
               approval);
    FINDS("allowance.unlimited@1.1 allowance.revoked@1.2 label.silent@1",
          {"execution", TOKEN, data.bytes, "0"});
    sample_free(&data);
    /* Multicall3 aggregate3([(token, false, approve)]): the allowance is Multicall3's own. */
    sample_add(&data, "82ad56cb" W("20") W("01") W("20") W_TOKEN W("00") W("60") W("44") "%s",
               approval);
    FINDS("allowance.unlimited@1.1 label.silent@1", {"execution", SPENDER, data.bytes, "0"});
    sample_free(&data);
    /* SimpleAccount: execute(address,uint256,bytes), by the account itself */
    sample_add(&data, "b61d27f6" W_TOKEN W("05") W("60") W("44") "%s", approval);
    FINDS("allowance.unlimited@1.1 target.sender@1 value.moved@1.1 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    /* executeBatch(address[],uint256[],bytes[]), with no values for zeros */
    sample_add(&data,
               "47e1da2a" W("60") W("a0") W("c0") W("01") W_TOKEN W("00") W("01") W("20")
                   W("44") "%s",
               approval);
    FINDS("allowance.unlimited@1.1 target.sender@1 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    /* ... and with one value for two targets: what there are both of is looked into */
    sample_add(&data,
               "47e1da2a" W("60") W("c0") W("e0") W("02") W_TOKEN W_TOKEN W("00") W("01") W("20")
                   W("44") "%s",
               approval);
    FINDS("allowance.unlimited@1.1 target.sender@1 decode.not_calls@1 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    /* ERC-7579 execute(mode, (address,uint256,bytes)[]) */
    sample_add(&data,
               "e9ae5c53"
               "01" Z30 "00" W("40") Z30 "0140" W("20") W("01") W("20") W_TOKEN W("00") W("60")
                   W("44") "%s",
               approval);
    FINDS("allowance.unlimited@1.1 target.sender@1 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    /* ... with data for the account behind the calls (ERC-7821, mode 0x01..78210001..) */
    sample_add(&data,
               "e9ae5c53"
               "0100000000007821000100000000000000000000000000000000000000000000" W("40") Z30
               "0180" W("40") Z30 "0160" W("01") W("20") W_TOKEN W("00") W("60")
                   W("44") "%s" W("00"),
               approval);
    FINDS("allowance.unlimited@1.1 target.sender@1 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    /* ... of one call, packed: target, value 5, calldata */
    sample_add(&data,
               "e9ae5c53" W("00") W("40") W("78") "2222222222222222222222222222222222222222" W(
                   "05") "095ea7b3" W_SPENDER MAX "0000000000000000");
    FINDS("allowance.unlimited@1.1 target.sender@1 value.moved@1.1 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    /* ... of a delegate call, packed: the approval is made by the account all the same */
    sample_add(&data, "e9ae5c53"
                      "ff" Z30 "00" W("40") W("58") "2222222222222222222222222222222222222222"
                                                    "095ea7b3" W_SPENDER MAX "0000000000000000");
    FINDS("allowance.unlimited@1.1 target.sender@1 target.delegate@1.1 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    /* ... in a mode that nobody defined, and one with too few bytes for a target */
    FINDS("target.sender@1 decode.not_calls@1", {"execution", SENDER,
                                                 "e9ae5c53"
                                                 "07" Z30 "00" W("40") W("00"),
                                                 "0"});
    FINDS("decode.malformed@1 target.sender@1",
          {"execution", SENDER, "e9ae5c53" W("00") W("40") W("00"), "0"});
    /* Universal Router: commands are not calls */
    FINDS("decode.not_calls@1",
          {"execution", SPENDER, "24856bc3" W("40") W("60") W("00") W("00"), "0"});
    /* approveAndCall(spender, 5, bytes): the bytes look like an approval */
    sample_add(&data, "cae9ca51" W_TOKEN W("05") W("60") W("44") "%s", approval);
    FINDS("allowance.unlimited@1.1 allowance.granted@1", {"approval", SPENDER, data.bytes, "0"});
    sample_free(&data);
    /* What only looks like a call does not contradict a label. */
    sample_add(&data, "cae9ca51" W_TOKEN W("00") W("60") W("44") "%s", approval);
    FINDS("allowance.unlimited@1.1 allowance.revoked@1",
          {"allowance_cleanup", SPENDER, data.bytes, "0"});
    sample_free(&data);
}

/* Whose allowance it is: the caller's in a multicall of the token, the contract's own in another.
 */
static void test_owner(void) {
    sample own = {NULL, 0, 0}, other = {NULL, 0, 0};
    sample_add(&own, "ac9650d8" W("20") W("01") W("20") W("44") "%s", approval);
    FINDS("allowance.unlimited@1.1 allowance.nonzero_to_nonzero@2 allowance.granted@2",
          {"approval", TOKEN, own.bytes, "0"}, {"approval", TOKEN, APPROVE W("07"), "0"});
    sample_add(&other, "82ad56cb" W("20") W("01") W("20") W_TOKEN W("00") W("60") W("44") "%s",
               approval);
    FINDS("allowance.unlimited@1.1 allowance.left@1 allowance.granted@2",
          {"approval", SPENDER, other.bytes, "0"}, {"approval", TOKEN, APPROVE W("07"), "0"});
    sample_free(&own);
    sample_free(&other);
}

static void test_safe(void) {
    /* multiSend of two: an approval, and a delegate call with 5 wei; then execTransaction of it. */
    static const char packed[] =
        "00"
        "2222222222222222222222222222222222222222" W("00")
            W("44") "095ea7b3" W_SPENDER MAX "01"
                    "4444444444444444444444444444444444444444" W("05") W("00");
    size_t length = (sizeof packed - 1) / 2, padding = (32 - length % 32) % 32;
    sample send = {NULL, 0, 0}, data = {NULL, 0, 0};
    sample_add(&send, "8d80ff0a" W("20") "%064zx%s", length, packed);
    sample_repeat(&send, "00", padding);
    FINDS("allowance.unlimited@1.1 target.delegate@1.2 value.moved@1.2 label.silent@1",
          {"execution", SPENDER, send.bytes, "0"});
    length = send.length / 2;
    sample_add(&data,
               "6a761202" W_TOKEN W("00") Z30 "0140" W("01") W("00") W("00") W("00") W("00")
                   W("00") "%064zx%064zx%s",
               320 + 32 + (length + 31) / 32 * 32, length, send.bytes);
    sample_repeat(&data, "00", (32 - length % 32) % 32);
    sample_add(&data, W("00"));
    FINDS("allowance.unlimited@1.1.1 target.sender@1 target.delegate@1.1 target.delegate@1.1.2 "
          "value.moved@1.1.2 label.silent@1",
          {"execution", SENDER, data.bytes, "0"});
    sample_free(&data);
    sample_free(&send);
    /* A multiSend that ends in the middle. */
    FINDS("decode.malformed@1",
          {"execution", SPENDER, "8d80ff0a" W("20") W("01") "00" Z30 "00", "0"});
}

/* -- Budgets ------------------------------------------------------------------------*/

/* multicall(bytes[]) around `inner`, which is 4 + 32 n bytes, `times` times. */
static void wrap(sample *inner, size_t times) {
    sample out = {NULL, 0, 0};
    size_t length = inner->length / 2, stride = 32 + (length + 31) / 32 * 32;
    sample_add(&out, "ac9650d8" W("20") "%064zx", times);
    for (size_t i = 0; i < times; i++) sample_add(&out, "%064zx", times * 32 + i * stride);
    for (size_t i = 0; i < times; i++) {
        sample_add(&out, "%064zx%s", length, inner->bytes);
        sample_repeat(&out, "00", stride - 32 - length);
    }
    sample_free(inner);
    *inner = out;
}

static void test_depth(void) {
    for (size_t depth = 16; depth <= 17; depth++) {
        sample data = {NULL, 0, 0};
        sample_add(&data, "095ea7b3" W_SPENDER MAX);
        for (size_t i = 0; i < depth; i++) wrap(&data, 1);
        const step one = {"execution", TOKEN, data.bytes, "0"};
        finds_with(&one, 1, NULL, NULL,
                   depth == 16
                       ? "allowance.unlimited@1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1 label.silent@1"
                       : "decode.budget@1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1");
        sample_free(&data);
    }
}

/* The budget is one for all steps: what is over it is said not to be decoded, and nothing found
 * before it is lost. */
static void test_budget(void) {
    moonplan_options options;
    sample data = {NULL, 0, 0};
    sample_add(&data, "095ea7b3" W_SPENDER MAX);
    wrap(&data, 8);
    const step steps[] = {{"execution", TOKEN, data.bytes, "0"},
                          {"execution", TOKEN, data.bytes, "0"},
                          {"approval", TOKEN, APPROVE W("01"), "0"}};
    sample text = plan_of(steps, 3, NULL);
    moonplan_options_init(&options);
    /* A step: 1 for the list, 8 for its elements, 24 for their content; then 8 and 2 a call. The
     * second step stops after 33 of its 113; the third finds 0 words for its two. */
    options.limits.abi_words = 113 + 33;
    moonplan_review *review = review_text(text.bytes, text.length, NULL, &options);
    sample codes = found(review, MOONPLAN_DANGER);
    CHECK_TEXT("allowance.unlimited@1.1 allowance.unlimited@1.2 allowance.unlimited@1.3 "
               "allowance.unlimited@1.4 allowance.unlimited@1.5 allowance.unlimited@1.6 "
               "allowance.unlimited@1.7 allowance.unlimited@1.8 decode.budget@2 decode.budget@3",
               ((moonplan_text){codes.bytes, codes.length}));
    sample_free(&codes);
    moonplan_review_free(review);
    /* One word more than everything needs: all is decoded. */
    options.limits.abi_words = 113 + 113 + 2;
    review = review_text(text.bytes, text.length, NULL, &options);
    codes = found(review, MOONPLAN_DANGER);
    CHECK(codes.bytes && !strstr(codes.bytes, "decode.budget"));
    sample_free(&codes);
    moonplan_review_free(review);
    sample_free(&text);
    sample_free(&data);
}

/* 128 multicalls of 128 multicalls ... six levels deep, all sharing one content a level. */
static void test_shared_tails(void) {
    moonplan_options options;
    counter count;
    sample data = {NULL, 0, 0};
    sample_add(&data, "095ea7b3" W_SPENDER MAX);
    for (int level = 0; level < 6; level++) {
        sample out = {NULL, 0, 0};
        size_t length = data.length / 2;
        sample_add(&out, "ac9650d8" W("20") "%064x", 128);
        for (int i = 0; i < 128; i++) sample_add(&out, "%064x", 128 * 32);
        sample_add(&out, "%064zx%s", length, data.bytes);
        sample_repeat(&out, "00", (32 - length % 32) % 32);
        sample_free(&data);
        data = out;
    }
    const step steps[] = {{"approval", TOKEN, APPROVE MAX, "0"},
                          {"execution", TOKEN, data.bytes, "0"}};
    sample text = plan_of(steps, 2, NULL);
    counter_options(&options, &count);
    moonplan_review *review = review_text(text.bytes, text.length, NULL, &options);
    sample codes = found(review, MOONPLAN_DANGER);
    CHECK_TEXT("allowance.unlimited@1 decode.budget@2",
               ((moonplan_text){codes.bytes, codes.length}));
    CHECK(count.peak < 2000000);
    sample_free(&codes);
    moonplan_review_free(review);
    CHECK(count.used == 0);
    sample_free(&text);
    sample_free(&data);
}

/* Of each severity so many are kept, and the rest is counted; a grave one is not pushed out. */
static void test_findings_limit(void) {
    moonplan_options options;
    step steps[12];
    for (size_t i = 0; i < 12; i++) steps[i] = (step){"execution", TOKEN, "", "1"};
    steps[11] = (step){"approval", TOKEN, APPROVE MAX, "0"};
    sample text = plan_of(steps, 12, NULL);
    moonplan_options_init(&options);
    options.limits.findings = 10;
    moonplan_review *review = review_text(text.bytes, text.length, NULL, &options);
    sample codes = found(review, MOONPLAN_INFO);
    CHECK_TEXT("allowance.unlimited@12 value.moved@1 value.moved@2 value.moved@3 value.moved@4 "
               "value.moved@5 value.moved@6 value.moved@7 value.moved@8 value.moved@9 "
               "value.moved@10 review.rest",
               ((moonplan_text){codes.bytes, codes.length}));
    CHECK(moonplan_review_worst(review) == MOONPLAN_DANGER);
    moonplan_finding finding;
    CHECK(moonplan_review_finding(review, &finding, 11) && finding.severity == MOONPLAN_INFO);
    CHECK_TEXT("1 more finding of severity info is not listed; the limit findings is 10",
               finding.message);
    sample_free(&codes);
    moonplan_review_free(review);
    options.limits.findings = 11;
    review = review_text(text.bytes, text.length, NULL, &options);
    CHECK(moonplan_review_count(review) == 12);
    moonplan_review_free(review);
    sample_free(&text);
}

/* A flood of one danger pushes no other one out: the first of each code, and then of each code in a
 * step, is kept in place of the last of the flood, within the limit; where there are more codes
 * than that, one of each. */
static void test_findings_flood(void) {
    static const struct {
        uint64_t most;
        const char *expected, *rest;
    } cases[] = {
        {5,
         "target.zero_address@1 target.zero_address@2 target.zero_address@3 allowance.unlimited@9 "
         "allowance.for_all@10 review.rest",
         "5 more findings of severity danger are not listed; the limit findings is 5"},
        {2, "target.zero_address@1 allowance.unlimited@9 allowance.for_all@10 review.rest",
         "7 more findings of severity danger are not listed; the limit findings is 2"},
        {1, "target.zero_address@1 allowance.unlimited@9 allowance.for_all@10 review.rest",
         "7 more findings of severity danger are not listed; the limit findings is 1"},
        {10,
         "target.zero_address@1 target.zero_address@2 target.zero_address@3 target.zero_address@4 "
         "target.zero_address@5 target.zero_address@6 target.zero_address@7 target.zero_address@8 "
         "allowance.unlimited@9 allowance.for_all@10",
         NULL}};
    step steps[10];
    for (size_t i = 0; i < 8; i++)
        steps[i] = (step){"execution", TOKEN, "a9059cbb" W("00") W("01"), "0"};
    steps[8] = (step){"approval", TOKEN, APPROVE MAX, "0"};
    steps[9] = (step){"approval", SPENDER, "a22cb465" W_SPENDER W("01"), "0"};
    sample text = plan_of(steps, 10, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        moonplan_options options;
        counter count;
        counter_options(&options, &count);
        options.limits.findings = cases[i].most;
        moonplan_review *review = review_text(text.bytes, text.length, NULL, &options);
        sample codes = found(review, MOONPLAN_DANGER);
        CHECK_TEXT(cases[i].expected, ((moonplan_text){codes.bytes, codes.length}));
        moonplan_finding finding;
        for (size_t at = 0; cases[i].rest && moonplan_review_finding(review, &finding, at); at++)
            if (finding.code == MOONPLAN_FINDING_REVIEW_REST && finding.severity == MOONPLAN_DANGER)
                CHECK_TEXT(cases[i].rest, finding.message);
        sample_free(&codes);
        moonplan_review_free(review);
        CHECK(count.used == 0 && count.blocks == 0);
    }
    sample_free(&text);
    /* The same danger nine times in the first step, and once in each of two others. */
    sample data = {NULL, 0, 0};
    sample_add(&data, "095ea7b3" W_SPENDER MAX);
    wrap(&data, 9);
    const step flood[] = {{"execution", TOKEN, data.bytes, "0"},
                          {"execution", TOKEN, "a9059cbb" W("00") W("01"), "0"},
                          {"approval", TOKEN, APPROVE MAX, "0"},
                          {"execution", TOKEN, data.bytes, "0"}};
    static const struct {
        uint64_t most;
        const char *expected;
    } floods[] = {{6, "allowance.unlimited@1.1 allowance.unlimited@1.2 allowance.unlimited@1.3 "
                      "target.zero_address@2 allowance.unlimited@3 allowance.unlimited@4.1 "
                      "review.rest"},
                  {3, "allowance.unlimited@1.1 target.zero_address@2 allowance.unlimited@3 "
                      "review.rest"},
                  {1, "allowance.unlimited@1.1 target.zero_address@2 review.rest"}};
    text = plan_of(flood, 4, NULL);
    for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
        moonplan_options options;
        moonplan_options_init(&options);
        options.limits.findings = floods[i].most;
        moonplan_review *review = review_text(text.bytes, text.length, NULL, &options);
        sample codes = found(review, MOONPLAN_DANGER);
        CHECK_TEXT(floods[i].expected, ((moonplan_text){codes.bytes, codes.length}));
        sample_free(&codes);
        moonplan_review_free(review);
    }
    sample_free(&text);
    sample_free(&data);
}

/* -- Descriptions handed in -------------------------------------------------------------*/

static moonplan_value call_of(const moonplan_review *review) {
    return moonplan_document_at(moonplan_review_document(review), "/steps/0/call", 13);
}

static void test_sources(void) {
    static const char lines[] = "frob(uint256 much)\napprove(address who, uint256 many)";
    moonplan_error err;
    moonplan_abi *abi = moonplan_abi_parse(lines, sizeof lines - 1, NULL, &err);
    char frob[80];
    const uint8_t *selector = moonplan_abi_at(abi, 0)->selector;
    snprintf(frob, sizeof frob, "%02x%02x%02x%02x" W("07"), selector[0], selector[1], selector[2],
             selector[3]);
    moonplan_abi_source source = {abi, text_of("frob.json"), text_of(TOKEN), text_of("1"), false};
    moonplan_review_context context = {.sources = &source, .source_count = 1};
    const step calls[] = {{"execution", TOKEN, frob, "0"}, {"execution", SPENDER, frob, "0"}};
    /* Bound to the contract: certain there, and nothing elsewhere. */
    finds_with(calls, 2, NULL, &context, "decode.unknown_selector@2");
    sample text = plan_of(calls, 2, NULL);
    moonplan_review *review = review_text(text.bytes, text.length, &context, NULL);
    CHECK_TEXT("frob.json", moonplan_value_string(member(call_of(review), "source")));
    CHECK(moonplan_value_type(member(call_of(review), "guess")) == MOONPLAN_FALSE);
    moonplan_review_free(review);
    /* Without an address it is a guess everywhere; a chain it is not for changes nothing then. */
    source.address = source.chain_id = (moonplan_text){NULL, 0};
    finds_with(calls, 2, NULL, &context, "");
    review = review_text(text.bytes, text.length, &context, NULL);
    CHECK(moonplan_value_type(member(call_of(review), "guess")) == MOONPLAN_TRUE);
    moonplan_review_free(review);
    source.address = text_of(TOKEN);
    source.chain_id = text_of("2");
    finds_with(calls, 2, NULL, &context, "decode.unknown_selector@1 decode.unknown_selector@2");
    sample_free(&text);
    /* It may bring better names, but no finding goes away. */
    source.address = source.chain_id = (moonplan_text){NULL, 0};
    const step approve = {"approval", TOKEN, APPROVE MAX, "0"};
    finds_with(&approve, 1, NULL, &context, "allowance.unlimited@1");
    text = plan_of(&approve, 1, NULL);
    review = review_text(text.bytes, text.length, &context, NULL);
    CHECK_TEXT("who",
               moonplan_value_string(member(moonplan_document_at(moonplan_review_document(review),
                                                                 "/steps/0/call/arguments/0", 25),
                                            "name")));
    moonplan_review_free(review);
    sample_free(&text);
    moonplan_abi_free(abi);
}

/* Two functions of one selector (a published collision with ERC-20's transfer): who describes a
 * call as the other one does not talk the transfer away. */
static void test_ambiguous(void) {
    static const char line[] = "many_msg_babbage(bytes1)";
    static const char transfer_line[] = "transfer(address,uint256)";
    moonplan_error err;
    moonplan_abi *other = moonplan_abi_parse(line, sizeof line - 1, NULL, &err);
    moonplan_abi *own = moonplan_abi_parse(transfer_line, sizeof transfer_line - 1, NULL, &err);
    CHECK(memcmp(moonplan_abi_at(other, 0)->selector, moonplan_abi_at(own, 0)->selector, 4) == 0);
    moonplan_abi_source source = {other, text_of("other.json"), text_of(TOKEN), {NULL, 0}, false};
    moonplan_review_context context = {.sources = &source, .source_count = 1};
    const step burn = {"execution", TOKEN, "a9059cbb" W("00") W("01"), "0"};
    finds_with(&burn, 1, NULL, &context,
               "decode.not_canonical@1 target.zero_address@1 decode.ambiguous@1");
    moonplan_abi_free(other);
    moonplan_abi_free(own);
}

/* -- The producer's words -----------------------------------------------------------------*/

static void test_texts(void) {
    static const char policy[] =
        ",\"simulation_failure_policy\":{"
        "\"rpc_error\":{\"action\":\"retry_same_plan\",\"instruction\":\"again\"},"
        "\"execution_reverted\":{\"action\":\"user_review\",\"instruction\":\"%s\"},"
        "\"simulation_setup_error\":{\"action\":\"user_review\",\"instruction\":\"two\\nlines\"}}";
    const step one = {"execution", TOKEN, "", "0"};
    char rest[600];
    snprintf(rest, sizeof rest, policy, "plain");
    finds_with(&one, 1, rest, NULL, "advice.present advice.present advice.present");
    snprintf(rest, sizeof rest, policy, "safe \xe2\x80\xaegnp.exe");
    finds_with(&one, 1, rest, NULL, "text.hidden advice.present advice.present advice.present");
    sample text = plan_of(&one, 1, rest);
    moonplan_review *review = review_text(text.bytes, text.length, NULL, NULL);
    moonplan_finding finding;
    CHECK(moonplan_review_finding(review, &finding, 0));
    CHECK_TEXT("the advice for failures has characters that cannot be seen, in 1 string; the "
               "first: \"safe \\u{202e}gnp.exe\"",
               finding.message);
    CHECK_TEXT("/simulation_failure_policy", finding.at);
    CHECK(moonplan_review_finding(review, &finding, 2));
    CHECK_TEXT("the producer's advice for execution_reverted, in its own words, not covered by "
               "the digest: user_review: \"safe \\u{202e}gnp.exe\"",
               finding.message);
    moonplan_review_free(review);
    sample_free(&text);
    finds_with(&one, 1, ",\"extensions\":{\"a\":[{\"zero\xe2\x80\x8bwidth\":1}]}", NULL,
               "text.hidden");
    /* a string in calldata: f(string) described by a file */
    static const char line[] = "f(string)";
    moonplan_error err;
    moonplan_abi *abi = moonplan_abi_parse(line, sizeof line - 1, NULL, &err);
    moonplan_abi_source source = {abi, text_of("f.json"), {NULL, 0}, {NULL, 0}, false};
    moonplan_review_context context = {.sources = &source, .source_count = 1};
    const uint8_t *selector = moonplan_abi_at(abi, 0)->selector;
    char data[300];
    snprintf(data, sizeof data,
             "%02x%02x%02x%02x" W("20")
                 W("03") "e2808b" /* U+200B */
                         "0000000000000000000000000000000000000000000000000000000000",
             selector[0], selector[1], selector[2], selector[3]);
    const step call = {"execution", TOKEN, data, "0"};
    finds_with(&call, 1, NULL, &context, "text.hidden@1");
    moonplan_abi_free(abi);
}

static void test_gas(void) {
    static const char text[] =
        "{\"schema_version\":\"1\",\"chain_id\":\"1\",\"caip2_chain_id\":\"eip155:1\",\"sender\":"
        "\"" SENDER "\",\"ordered_steps\":[{\"step\":1,\"kind\":\"execution\",\"transaction\":{"
        "\"chain_id\":\"1\",\"from\":\"" SENDER "\",\"to\":\"" TOKEN "\",\"data\":\"0x\","
        "\"value\":\"0\",\"gas\":\"21000\"},\"revert_decode\":{\"kind\":\"error_result\",\"abi\":["
        "{\"type\":\"error\",\"name\":\"E\",\"inputs\":[{\"name\":\"\\u202e\",\"type\":\"bool\"}"
        "]}]}}]}";
    moonplan_review *review = review_text(text, sizeof text - 1, NULL, NULL);
    sample codes = found(review, MOONPLAN_INFO);
    CHECK_TEXT("text.hidden@1 gas.hint@1", ((moonplan_text){codes.bytes, codes.length}));
    sample_free(&codes);
    moonplan_review_free(review);
}

/* -- The document ---------------------------------------------------------------------*/

static void test_document(void) {
    const step steps[] = {{"execution", TOKEN, "", "25595000000000020002"},
                          {"execution", TOKEN, "deadbeef01", "0"}};
    sample text = plan_of(steps, 2, NULL);
    moonplan_review *review = review_text(text.bytes, text.length, NULL, NULL);
    const moonplan_document *document = moonplan_review_document(review);
    static const char *const members[][2] = {
        {"/steps/0/value_ether", "25.595000000000020002"},
        {"/steps/0/call/kind", "value"},
        {"/steps/1/call/kind", "not_decoded"},
        {"/steps/1/call/selector", "0xdeadbeef"},
        {"/steps/1/call/data", "0xdeadbeef01"},
        {"/steps/1/call/reason", "nobody described this function"},
        {"/outside_digest/0", "caip2_chain_id"},
        {"/sender", SENDER},
        {"/findings/0/code", "decode.unknown_selector"},
        {"/findings/0/severity", "warning"}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        CHECK_TEXT(members[i][1], moonplan_value_string(moonplan_document_at(
                                      document, members[i][0], strlen(members[i][0]))));
    /* The digest is that of the plan, computed again. */
    moonplan_options options;
    uint8_t digest[32];
    char hex[67] = "0x";
    moonplan_options_init(&options);
    CHECK(moonplan_digest(digest, text.bytes, text.length, &options, NULL));
    for (size_t i = 0; i < 32; i++) snprintf(hex + 2 + 2 * i, 3, "%02x", digest[i]);
    CHECK_TEXT(hex, moonplan_value_string(moonplan_document_at(document, "/digest", 7)));
    moonplan_review_free(review);
    sample_free(&text);
}

static void test_call(void) {
    static const struct {
        const char *data, *to, *at, *expected;
    } cases[] = {{APPROVE MAX, TOKEN, "/findings/0/code", "allowance.unlimited"},
                 {APPROVE MAX, NULL, "/arguments/1/type", "uint256"},
                 {"", TOKEN, "/kind", "value"},
                 {"095ea7", TOKEN, "/reason", "too short for a selector"},
                 {"ac9650d8" MAX, TOKEN, "/kind", "not_decoded"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[200];
        size_t length = strlen(cases[i].data) / 2;
        mpl_hex_decode(bytes, cases[i].data, length);
        moonplan_error err;
        moonplan_text to = cases[i].to ? text_of(cases[i].to) : (moonplan_text){NULL, 0};
        moonplan_document *document =
            moonplan_call_decode(bytes, length, to, (moonplan_text){NULL, 0}, NULL, NULL, &err);
        CHECK(document != NULL);
        CHECK_TEXT(cases[i].expected, moonplan_value_string(moonplan_document_at(
                                          document, cases[i].at, strlen(cases[i].at))));
        moonplan_document_free(document);
    }
}

/* Every code is a code of its own, with a name, and severities are ordered. */
static void test_codes(void) {
    for (size_t i = 0; i < MOONPLAN_FINDING_COUNT; i++) {
        const moonplan_finding_info *info = moonplan_finding_info_at(i);
        CHECK(info->severity >= MOONPLAN_INFO && info->severity <= MOONPLAN_DANGER);
        CHECK(strchr(info->name, '.') != NULL);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(info->name, moonplan_finding_info_at(j)->name) != 0);
    }
    CHECK(moonplan_finding_info_at(MOONPLAN_FINDING_COUNT) == NULL);
}

/* -- Memory and size -------------------------------------------------------------------*/

static void test_memory(void) {
    sample data = {NULL, 0, 0};
    sample_add(&data, "095ea7b3" W_SPENDER MAX);
    wrap(&data, 2);
    step steps[] = {{"approval", TOKEN, data.bytes, "1"},
                    {"execution", TOKEN, APPROVE "ff", "0"},
                    {"execution", TOKEN, "deadbeef", "0"},
                    /* two meanings, and a batch with a note and bytes that authorize it */
                    {"execution", TOKEN,
                     "e9ae5c53"
                     "0100000000007821000100000000000000000000000000000000000000000000" W("40")
                         W("c0") W("40") W("80") W("00") W("01") W("01") "ff" Z30 "00",
                     "0"},
                    /* described by a source that is not trusted, with bytes that are no call
                     */
                    {"execution", TOKEN, NULL, "0"},
                    /* Universal Router: a permit that is none, and in the step behind it one of
                     * which the signature cannot be found */
                    {"execution", TOKEN,
                     "24856bc3" W("40") W("80") W("01") "0a" Z30 "00" W("01") W("20")
                         W("01") "ff" Z30 "00",
                     "0"},
                    {"execution", TOKEN,
                     "24856bc3" W("40") W("80") W("01") "0a" Z30 "00" W("01") W("20") W("e0")
                         W_TOKEN W("05") W("00") W("00") W_SPENDER W("00") MAX,
                     "0"}};
    static const char pay_line[] = "pay_zs4rybaa(uint256)", frob_line[] = "frob(bytes)";
    moonplan_options options, plain;
    counter count;
    moonplan_error err;
    moonplan_options_init(&plain);
    moonplan_abi *pay = moonplan_abi_parse(pay_line, sizeof pay_line - 1, &plain, &err);
    moonplan_abi *frob = moonplan_abi_parse(frob_line, sizeof frob_line - 1, &plain, &err);
    const uint8_t *selector = moonplan_abi_at(frob, 0)->selector;
    char frob_call[300];
    snprintf(frob_call, sizeof frob_call, "%02x%02x%02x%02x" W("20") W("01") "ff" Z30 "00",
             selector[0], selector[1], selector[2], selector[3]);
    steps[4].data = frob_call;
    const moonplan_abi_source sources[] = {
        {.abi = pay, .origin = text_of("pay"), .address = text_of(TOKEN)},
        {.abi = frob, .origin = text_of("frob"), .untrusted = true}};
    const moonplan_review_context context = {.sources = sources, .source_count = 2};
    sample text = plan_of(steps, 7, ",\"extensions\":{\"a\":\"\xe2\x80\x8b\"}");
    moonplan_call_plan *plan = moonplan_call_plan_parse(text.bytes, text.length, &plain, &err);
    counter_options(&options, &count);
    moonplan_review *review = moonplan_review_new(plan, &context, &options, &err);
    CHECK(review != NULL);
    sample codes = found(review, MOONPLAN_INFO);
    CHECK(codes.bytes && strstr(codes.bytes, "decode.ambiguous@4") &&
          strstr(codes.bytes, "signature.spent@4") && strstr(codes.bytes, "decode.not_calls@5") &&
          strstr(codes.bytes, "decode.malformed@6") && strstr(codes.bytes, "decode.malformed@7") &&
          strstr(codes.bytes, "permit2.allowance@7"));
    sample_free(&codes);
    moonplan_review_free(review);
    CHECK(count.used == 0 && count.blocks == 0);
    size_t calls = count.calls, refused = 0;
    for (size_t fail = 1; fail <= calls; fail++) {
        for (int on = 0; on < 2; on++) {
            counter_options(&options, &count);
            count.fail_at = fail;
            count.fail_on = on;
            review = moonplan_review_new(plan, &context, &options, &err);
            if (!review) {
                CHECK(err.code == MOONPLAN_MEMORY);
                refused++;
            }
            moonplan_review_free(review);
            CHECK(count.used == 0 && count.blocks == 0 && !count.wrong);
        }
    }
    CHECK(refused > calls); /* most requests matter */
    moonplan_call_plan_free(plan);
    moonplan_abi_free(pay);
    moonplan_abi_free(frob);
    sample_free(&text);
    sample_free(&data);
}

/* A plan at the limits of the standard: 4096 steps, and inner calls in each. */
static void test_large(void) {
    sample data = {NULL, 0, 0}, text = {NULL, 0, 0};
    sample_add(&data, "095ea7b3" W_SPENDER W("01"));
    wrap(&data, 4);
    sample_add(&text,
               "{\"schema_version\":\"1\",\"chain_id\":\"1\",\"caip2_chain_id\":\"eip155:1\","
               "\"sender\":\"" SENDER "\",\"ordered_steps\":[");
    for (size_t i = 1; i <= 4096; i++)
        sample_add(&text,
                   "%s{\"step\":%zu,\"kind\":\"execution\",\"transaction\":{\"chain_id\":\"1\","
                   "\"from\":\"" SENDER
                   "\",\"to\":\"0x%040zx\",\"data\":\"0x%s\",\"value\":\"0\"}}",
                   i > 1 ? "," : "", i, i + 1000, data.bytes);
    sample_add(&text, "]}");
    moonplan_review *review = review_text(text.bytes, text.length, NULL, NULL);
    CHECK(review != NULL);
    moonplan_finding last;
    CHECK(moonplan_review_finding(review, &last, moonplan_review_count(review) - 1));
    CHECK(last.code == MOONPLAN_FINDING_REVIEW_REST);
    moonplan_review_free(review);
    sample_free(&text);
    sample_free(&data);
}

int main(void) {
    RUN(test_unlimited);
    RUN(test_allowances);
    RUN(test_permit2);
    RUN(test_targets);
    RUN(test_labels);
    RUN(test_not_canonical);
    RUN(test_inner);
    RUN(test_owner);
    RUN(test_safe);
    RUN(test_depth);
    RUN(test_budget);
    RUN(test_shared_tails);
    RUN(test_findings_limit);
    RUN(test_findings_flood);
    RUN(test_sources);
    RUN(test_ambiguous);
    RUN(test_texts);
    RUN(test_gas);
    RUN(test_document);
    RUN(test_call);
    RUN(test_codes);
    RUN(test_memory);
    RUN(test_large);
    return check_end();
}
