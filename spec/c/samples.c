#include "samples.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENDER "0x1111111111111111111111111111111111111111"
#define TARGET "0x2222222222222222222222222222222222222222"

static void sample_room(sample *out, size_t more) {
    if (out->length + more + 1 <= out->capacity) return;
    out->capacity = (out->length + more + 1) * 2;
    out->bytes = realloc(out->bytes, out->capacity);
    if (!out->bytes) abort();
}

void sample_add(sample *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    /* clang-tidy 14 loses sight of va_start when it reads several files in one go. */
    int length =
        vsnprintf(NULL, 0, format, arguments); // NOLINT(clang-analyzer-valist.Uninitialized)
    va_end(arguments);
    sample_room(out, (size_t)length);
    va_start(arguments, format);
    vsnprintf(out->bytes + out->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    out->length += (size_t)length;
}

void sample_repeat(sample *out, const char *piece, size_t times) {
    size_t length = strlen(piece);
    sample_room(out, length * times);
    for (size_t i = 0; i < times; i++, out->length += length)
        memcpy(out->bytes + out->length, piece, length);
    out->bytes[out->length] = 0;
}

void sample_free(sample *out) {
    free(out->bytes);
    *out = (sample){NULL, 0, 0};
}

static void plan_begin(sample *out) {
    sample_add(out, "{\"schema_version\":\"1\",\"chain_id\":\"1\",\"caip2_chain_id\":\"eip155:1\","
                    "\"sender\":\"" SENDER "\",\"ordered_steps\":[");
}

static void step_begin(sample *out, size_t number, const char *kind) {
    sample_add(
        out,
        "%s{\"step\":%zu,\"kind\":\"%s\",\"transaction\":{\"chain_id\":\"1\",\"from\":\"" SENDER
        "\",\"to\":\"" TARGET "\",\"data\":\"0x",
        number > 1 ? "," : "", number, kind);
}

sample plan_many(size_t steps, size_t bytes) {
    sample out = {NULL, 0, 0};
    plan_begin(&out);
    for (size_t i = 1; i <= steps; i++) {
        char byte[3];
        snprintf(byte, sizeof byte, "%02x", (unsigned)(i % 256));
        step_begin(&out, i, "execution");
        sample_repeat(&out, byte, bytes);
        sample_add(&out, "\",\"value\":\"0\"}}");
    }
    sample_add(&out, "]}");
    return out;
}

sample plan_tiny(void) {
    return plan_many(1, 0);
}

sample plan_with(const char *rest) {
    sample out = plan_tiny();
    out.length--;
    sample_add(&out, "%s}", rest);
    return out;
}

sample plan_swap(void) {
    sample out = {NULL, 0, 0};
    plan_begin(&out);
    step_begin(&out, 1, "approval");
    sample_add(&out, "095ea7b3");
    sample_repeat(&out, "5a", 496);
    sample_add(&out, "\",\"value\":\"0\",\"gas\":\"60000\"}}");
    step_begin(&out, 2, "execution");
    sample_repeat(&out, "c3", 500);
    sample_add(&out,
               "\",\"value\":\"1000000000000000000\",\"gas\":\"210000\"},"
               "\"revert_decode\":{\"kind\":\"error_result\",\"abi\":[{\"type\":\"error\",\"name\":"
               "\"Slippage\",\"inputs\":[{\"name\":\"minimum\",\"type\":\"uint256\"},{\"name\":"
               "\"got\",\"type\":\"uint256\"}]}],\"required\":true}}");
    step_begin(&out, 3, "allowance_cleanup");
    sample_add(&out, "095ea7b3");
    sample_repeat(&out, "00", 496);
    sample_add(
        &out,
        "\",\"value\":\"0\",\"gas\":\"40000\"}}],\"required_capabilities\":[\"atomic_batch\"],"
        "\"simulation_failure_policy\":{\"rpc_error\":{\"action\":\"retry_same_plan\","
        "\"instruction\":\"Endpoint hiccup; retry.\"},\"execution_reverted\":{\"action\":"
        "\"reprepare_plan\",\"instruction\":\"The quote is stale \\u2014 ask for a fresh "
        "plan.\"},\"simulation_setup_error\":{\"action\":\"user_review\",\"instruction\":"
        "\"Ask the user.\"}}}");
    return out;
}

sample plan_faulty(size_t faults) {
    sample rest = {NULL, 0, 0};
    sample_add(&rest, "%s", "");
    for (size_t i = 0; i < faults; i++) sample_add(&rest, ",\"x%zu\":0", i);
    sample out = plan_with(rest.bytes);
    sample_free(&rest);
    return out;
}
