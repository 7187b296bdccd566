#include "review.h"

#include <string.h>

#include "../core/error.h"
#include "../core/text.h"
#include "../core/value.h"

static const moonplan_text no_text = {NULL, 0};

static void copy_pointer(char *out, const mpl_pointer *pointer) {
    memcpy(out, pointer->bytes, pointer->length);
    out[pointer->length] = 0;
}

void mpl_step_pointer(char out[MPL_STEP_POINTER], size_t step, const char *name) {
    mpl_pointer pointer = {0};
    mpl_pointer_name(&pointer, mpl_text_of("ordered_steps"));
    mpl_pointer_index(&pointer, step - 1);
    mpl_pointer_name(&pointer, mpl_text_of(name));
    copy_pointer(out, &pointer);
}

/* -- The producer's text -------------------------------------------------------*/

bool mpl_review_hides(moonplan_text text) {
    const char *at = text.bytes, *end = at + text.length;
    while (at < end) {
        uint32_t point;
        size_t step = mpl_utf8(at, end, &point);
        if (step == 0) return true;
        if (mpl_is_hidden(point) && point != '\n' && point != '\r' && point != '\t') return true;
        at += step;
    }
    return false;
}

/* Nodes stand in document order. */
void mpl_review_text(mpl_review_run *run, moonplan_value value, const char *what, size_t step) {
    const moonplan_document *document = value.document;
    if (value.node == UINT32_MAX) return;
    size_t end = mpl_after(document->nodes, value.node), first = 0;
    uint64_t count = 0;
    for (size_t node = value.node; node < end; node++) {
        if (document->nodes[node].type != MOONPLAN_STRING) continue;
        if (!mpl_review_hides(mpl_content(document, node))) continue;
        if (count++ == 0) first = node;
    }
    if (!count) return;
    moonplan_text text = mpl_content(document, first);
    char at[sizeof((mpl_pointer *)0)->bytes];
    mpl_pointer pointer;
    mpl_pointer_of(&pointer, document, value.node);
    copy_pointer(at, &pointer);
    MPL_FIND(&run->findings, MOONPLAN_FINDING_TEXT_HIDDEN, step, no_text, at,
             "%s has characters that cannot be seen, in %u string%s; the first: %q", what, count,
             count == 1 ? "" : "s", &text);
}

/* -- Steps ---------------------------------------------------------------------*/

static void review_step(mpl_review_run *run, const moonplan_call *call, size_t step) {
    mpl_builder *builder = &run->builder;
    char at[MPL_STEP_POINTER], id[20];
    size_t length = (call->data.length - 2) / 2;
    uint8_t target[20], *data = mpl_arena_take(&run->arena, length + 1);
    if (!data) {
        run->no_memory = true;
        return;
    }
    mpl_hex_decode(data, call->data.bytes + 2, length);
    mpl_hex_decode(target, call->to.bytes + 2, 20);
    mpl_step_pointer(at, step, "transaction");
    mpl_scene scene = {.step = step,
                       .id = {id, mpl_number_write(id, step)},
                       .at = at,
                       .caller = run->sender,
                       .to = target,
                       .runs = target};
    mpl_uint256_from_decimal(&scene.value, call->value);
    memset(&run->facts, 0, sizeof run->facts);
    mpl_build_object(builder);
    mpl_member_number(builder, "step", step);
    mpl_build_text(builder, "kind", call->kind);
    mpl_build_text(builder, "to", call->to);
    mpl_member_value(builder, scene.value);
    if (call->gas.length) {
        mpl_build_text(builder, "gas", call->gas);
        MPL_FIND(&run->findings, MOONPLAN_FINDING_GAS_HINT, step, no_text, at,
                 "the producer guesses %t gas; estimate it, and never broadcast the guess",
                 &call->gas);
    }
    mpl_member_number(builder, "data_bytes", length);
    mpl_build_name(builder, mpl_text_of("call"));
    mpl_build_object(builder);
    mpl_review_call(run, &scene, data, length);
    mpl_build_end(builder);
    mpl_build_end(builder);
    mpl_review_label(run, step, call->kind);
    mpl_review_text(run, call->revert_decode, "revert_decode", step);
    mpl_arena_close(&run->arena);
}

/* -- The plan as a whole ---------------------------------------------------------*/

static void advice(mpl_review_run *run, moonplan_value policy) {
    moonplan_walk walk = moonplan_value_walk(policy);
    if (moonplan_value_type(policy) == MOONPLAN_NONE) return;
    while (moonplan_walk_next(&walk)) {
        moonplan_text instruction = moonplan_value_string(mpl_member(walk.value, "instruction"));
        moonplan_text action = moonplan_value_string(mpl_member(walk.value, "action"));
        mpl_pointer pointer;
        char at[sizeof pointer.bytes];
        mpl_pointer_of(&pointer, policy.document, walk.value.node);
        copy_pointer(at, &pointer);
        MPL_FIND(&run->findings, MOONPLAN_FINDING_ADVICE_PRESENT, 0, no_text, at,
                 "the producer's advice for %t, in its own words, not covered by the digest: %t: "
                 "%q",
                 &walk.name, &action, &instruction);
    }
}

static void build_names(mpl_builder *builder, const moonplan_call_plan *plan) {
    bool gas = false, reverts = false;
    moonplan_call call;
    for (size_t i = 0; moonplan_call_plan_step(plan, &call, i); i++) {
        gas = gas || call.gas.length;
        reverts = reverts || moonplan_value_type(call.revert_decode) != MOONPLAN_NONE;
    }
    struct {
        const char *name;
        bool present;
    } names[] = {
        {"caip2_chain_id", true},
        {"gas", gas},
        {"revert_decode", reverts},
        {"required_capabilities",
         moonplan_value_type(moonplan_call_plan_capabilities(plan)) != MOONPLAN_NONE},
        {"simulation_failure_policy",
         moonplan_value_type(moonplan_call_plan_failure_policy(plan)) != MOONPLAN_NONE},
        {"extensions", moonplan_value_type(moonplan_call_plan_extensions(plan)) != MOONPLAN_NONE}};
    mpl_build_name(builder, mpl_text_of("outside_digest"));
    mpl_build_array(builder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].present) mpl_build_string(builder, mpl_text_of(names[i].name));
    mpl_build_end(builder);
}

void mpl_review_build_findings(mpl_review_run *run) {
    mpl_builder *builder = &run->builder;
    const mpl_findings *findings = &run->findings;
    mpl_build_name(builder, mpl_text_of("findings"));
    mpl_build_array(builder);
    for (size_t i = 0; i < findings->count; i++) {
        const moonplan_finding *item = &findings->items[i];
        mpl_build_object(builder);
        mpl_build_text(builder, "code", mpl_text_of(moonplan_finding_info_at(item->code)->name));
        mpl_build_text(builder, "severity", mpl_text_of(moonplan_severity_name(item->severity)));
        if (item->step) mpl_member_number(builder, "step", item->step);
        if (item->call.length) mpl_build_text(builder, "call", item->call);
        mpl_build_text(builder, "at", item->at);
        mpl_build_text(builder, "message", item->message);
        mpl_build_end(builder);
    }
    mpl_build_end(builder);
    mpl_build_name(builder, mpl_text_of("counts"));
    mpl_build_object(builder);
    for (moonplan_severity severity = MOONPLAN_DANGER; severity >= MOONPLAN_INFO; severity--)
        mpl_member_number(builder, moonplan_severity_name(severity), findings->total[severity]);
    mpl_build_end(builder);
}

static void build_plan(mpl_review_run *run, const moonplan_call_plan *plan) {
    mpl_builder *builder = &run->builder;
    moonplan_value capabilities = moonplan_call_plan_capabilities(plan);
    moonplan_value policy = moonplan_call_plan_failure_policy(plan);
    moonplan_call call;
    uint8_t digest[32];
    moonplan_call_plan_digest(plan, digest);
    mpl_build_object(builder);
    mpl_build_name(builder, mpl_text_of("digest"));
    mpl_build_bytes(builder, digest, sizeof digest);
    mpl_build_text(builder, "chain_id", moonplan_call_plan_chain_id(plan));
    mpl_build_text(builder, "caip2_chain_id", moonplan_call_plan_caip2_chain_id(plan));
    mpl_build_text(builder, "sender", moonplan_call_plan_sender(plan));
    mpl_build_name(builder, mpl_text_of("required_capabilities"));
    if (moonplan_value_type(capabilities) == MOONPLAN_NONE) {
        mpl_build_array(builder);
        mpl_build_end(builder);
    } else {
        mpl_build_value(builder, capabilities);
    }
    mpl_build_name(builder, mpl_text_of("steps"));
    mpl_build_array(builder);
    for (size_t i = 0; !run->no_memory && moonplan_call_plan_step(plan, &call, i); i++)
        review_step(run, &call, i + 1);
    mpl_build_end(builder);
    if (moonplan_value_type(policy) != MOONPLAN_NONE) {
        mpl_build_name(builder, mpl_text_of("failure_policy"));
        mpl_build_value(builder, policy);
    }
    build_names(builder, plan);
    mpl_review_allowances(run);
    advice(run, policy);
    mpl_review_text(run, policy, "the advice for failures", 0);
    mpl_review_text(run, moonplan_call_plan_extensions(plan), "extensions", 0);
    if (run->no_memory || !mpl_findings_finish(&run->findings)) {
        run->no_memory = true;
        return;
    }
    mpl_review_build_findings(run);
    mpl_build_end(builder);
}

static void prepare(mpl_review_run *run, const moonplan_call_plan *plan) {
    moonplan_text sender = moonplan_call_plan_sender(plan);
    moonplan_walk walk = moonplan_value_walk(moonplan_call_plan_capabilities(plan));
    mpl_hex_decode(run->sender, sender.bytes + 2, 20);
    run->has_sender = true;
    run->chain_id = moonplan_call_plan_chain_id(plan);
    run->steps = moonplan_call_plan_count(plan);
    while (moonplan_walk_next(&walk))
        run->atomic = run->atomic || mpl_text_is(moonplan_value_string(walk.value), "atomic_batch");
}

/* -- The object -------------------------------------------------------------------*/

moonplan_review *moonplan_review_new(const moonplan_call_plan *plan,
                                     const moonplan_review_context *context,
                                     const moonplan_options *options, moonplan_error *err) {
    moonplan_options chosen = mpl_options_of(options);
    options = &chosen;
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_review_run run;
    moonplan_review *review = mpl_allocate(&alloc, sizeof *review);
    if (!review) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(review, 0, sizeof *review);
    if (mpl_review_open(&run, &alloc, options, context, err)) {
        prepare(&run, plan);
        build_plan(&run, plan);
        if (run.no_memory)
            mpl_error_memory(err);
        else
            review->document = mpl_build_finish(&run.builder, err);
    }
    if (review->document) {
        review->findings = run.findings;
        review->findings.arena.alloc = &review->findings.alloc;
        memset(&run.findings, 0, sizeof run.findings);
        mpl_findings_open(&run.findings, options);
    }
    mpl_review_close(&run);
    review->alloc = alloc;
    if (review->document) return review;
    moonplan_review_free(review);
    return NULL;
}

void moonplan_review_free(moonplan_review *review) {
    if (!review) return;
    mpl_alloc alloc = review->alloc;
    moonplan_document_free(review->document);
    if (review->findings.alloc.call) mpl_findings_close(&review->findings);
    mpl_release(&alloc, review, sizeof *review);
}

size_t moonplan_review_count(const moonplan_review *review) {
    return review->findings.count;
}

bool moonplan_review_finding(const moonplan_review *review, moonplan_finding *out, size_t n) {
    if (n >= review->findings.count) return false;
    *out = review->findings.items[n];
    return true;
}

moonplan_severity moonplan_review_worst(const moonplan_review *review) {
    return review->findings.count ? review->findings.items[0].severity : (moonplan_severity)0;
}

const moonplan_document *moonplan_review_document(const moonplan_review *review) {
    return review->document;
}
