#include "plan.h"

#include "../core/json_read.h"
#include "../core/text.h"
#include "../core/text_run.h"
#include "../core/value.h"
#include "abi.h"
#include "rule.h"
#include "scan.h"

typedef struct check {
    moonplan_call_plan *plan;
    moonplan_document *document;
    const moonplan_options *options;
    mpl_faults faults;
    moonplan_text chain_id, sender; /* {NULL, 0} unless the plan's own are sound */
    uint64_t calldata;
    bool calldata_over;
} check;

#define FAULT(c, code, value, ...) MPL_FAULT(&(c)->faults, code, value, __VA_ARGS__)

static const mpl_shape plan_shape = {"the plan",
                                     {{"schema_version", true},
                                      {"chain_id", true},
                                      {"caip2_chain_id", true},
                                      {"sender", true},
                                      {"ordered_steps", true},
                                      {"required_capabilities", false},
                                      {"simulation_failure_policy", false},
                                      {"extensions", false}}};
static const mpl_shape step_shape = {
    "the step", {{"step", true}, {"kind", true}, {"transaction", true}, {"revert_decode", false}}};
static const mpl_shape transaction_shape = {"the transaction",
                                            {{"chain_id", true},
                                             {"from", true},
                                             {"to", true},
                                             {"data", true},
                                             {"value", true},
                                             {"gas", false}}};
static const mpl_shape revert_shape = {"revert_decode",
                                       {{"kind", true}, {"abi", true}, {"required", false}}};
static const mpl_shape policy_shape = {
    "the failure policy",
    {{"rpc_error", true}, {"execution_reverted", true}, {"simulation_setup_error", true}}};
static const mpl_shape directive_shape = {"the directive",
                                          {{"action", true}, {"instruction", true}}};

static mpl_span span_of(moonplan_value value) {
    const moonplan_document *document = value.document;
    moonplan_text text = moonplan_value_string(value);
    mpl_span span = {0, (uint32_t)text.length};
    if (mpl_node_of(value)->extra)
        span.start = (uint32_t)(text.bytes - document->decoded) | MPL_DECODED;
    else
        span.start = (uint32_t)(text.bytes - document->text);
    return span;
}

/* -- Scalars ---------------------------------------------------------------*/

/* What these give back is {NULL, 0} after a fault. */

static moonplan_text check_string(check *c, const char *what, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type != MOONPLAN_STRING)
        FAULT(c, MOONPLAN_CALL_TYPE, value, "%s must be a string, not %s", what,
              mpl_type_text(type));
    return moonplan_value_string(value);
}

static bool check_type(check *c, const char *what, moonplan_value value, moonplan_type wanted) {
    moonplan_type type = moonplan_value_type(value);
    if (type == wanted) return true;
    FAULT(c, MOONPLAN_CALL_TYPE, value, "%s must be %s, not %s", what, mpl_type_text(wanted),
          mpl_type_text(type));
    return false;
}

static moonplan_text check_quantity(check *c, const char *what, moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = check_string(c, what, value);
    if (!text.bytes) return none;
    if (!mpl_decimal(text)) {
        FAULT(c, MOONPLAN_CALL_QUANTITY, value,
              "%s is %q; a quantity is digits alone, with no 0 before others", what, &text);
        return none;
    }
    if (!mpl_decimal_fits_256(text)) {
        FAULT(c, MOONPLAN_CALL_UINT256, value, "%s is %q, which is 2^256 or more", what, &text);
        return none;
    }
    return text;
}

/* Upper-case digits are a fault, or are lowered where they stand: the document is our own copy
 * then. */
static bool settle_case(check *c, const char *what, moonplan_value value) {
    moonplan_text text = moonplan_value_string(value);
    if (c->options->hex_case == MOONPLAN_HEX_NORMALIZE) {
        char *base = mpl_node_of(value)->extra ? c->document->decoded : c->document->copy;
        const char *from = mpl_node_of(value)->extra ? c->document->decoded : c->document->text;
        mpl_hex_lower(base + (text.bytes - from), text.length);
        return true;
    }
    FAULT(c, MOONPLAN_CALL_HEX_CASE, value,
          "%s has upper-case hexadecimal digits; the plan schema has lower case only", what);
    return false;
}

/* An address, also where its case is at fault, so that it can still be compared. */
static moonplan_text check_address(check *c, const char *what, moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = check_string(c, what, value);
    if (!text.bytes) return none;
    mpl_hex hex = mpl_hex_scan(text);
    if (hex == MPL_HEX_NO || text.length != 42) {
        FAULT(c, MOONPLAN_CALL_ADDRESS, value,
              "%s is %q; an address is 0x and 40 hexadecimal digits", what, &text);
        return none;
    }
    if (hex == MPL_HEX_MIXED) settle_case(c, what, value);
    return text;
}

static moonplan_text check_bytes(check *c, const char *what, moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = check_string(c, what, value);
    if (!text.bytes) return none;
    mpl_hex hex = mpl_hex_scan(text);
    if (hex != MPL_HEX_NO) return hex == MPL_HEX_LOWER || settle_case(c, what, value) ? text : none;
    if (text.length < 2 || text.bytes[0] != '0' || text.bytes[1] != 'x') {
        FAULT(c, MOONPLAN_CALL_BYTES, value, "%s is %q; bytes begin with 0x", what, &text);
        return none;
    }
    const char *end = text.bytes + text.length, *at = text.bytes + 2;
    while (at < end &&
           ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f') || (*at >= 'A' && *at <= 'F')))
        at++;
    if (at == end) {
        FAULT(c, MOONPLAN_CALL_BYTES, value, "%s has %u hexadecimal digits; a byte takes two", what,
              (uint64_t)text.length - 2);
    } else {
        moonplan_text wrong = {at, mpl_utf8(at, end, NULL)};
        FAULT(c, MOONPLAN_CALL_BYTES, value, "%s has %q where its digit %u belongs", what, &wrong,
              (uint64_t)(at - text.bytes) - 1);
    }
    return none;
}

static bool equal_but_for_case(moonplan_text a, moonplan_text b) {
    if (a.length != b.length) return false;
    for (size_t i = 0; i < a.length; i++) {
        char x = a.bytes[i], y = b.bytes[i];
        if (x >= 'A' && x <= 'F') x = (char)(x + 32);
        if (y >= 'A' && y <= 'F') y = (char)(y + 32);
        if (x != y) return false;
    }
    return true;
}

/* -- Steps -----------------------------------------------------------------*/

static void check_transaction(check *c, mpl_call *call, moonplan_value transaction) {
    if (!check_type(c, "transaction", transaction, MOONPLAN_OBJECT)) return;
    mpl_shape_open(&c->faults, &transaction_shape, transaction, MOONPLAN_CALL_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(transaction);
    for (;;) {
        int which =
            mpl_shape_next(&c->faults, &transaction_shape, &walk, MOONPLAN_CALL_UNKNOWN_MEMBER);
        if (which < 0) return;
        moonplan_text text;
        switch (which) {
        case 0:
            text = check_quantity(c, "chain_id", walk.value);
            if (text.bytes && c->chain_id.bytes && !mpl_text_equal(text, c->chain_id))
                FAULT(c, MOONPLAN_CALL_CHAIN_MISMATCH, walk.value,
                      "%q but the plan is for chain %q", &text, &c->chain_id);
            break;
        case 1:
            text = check_address(c, "from", walk.value);
            if (text.bytes && c->sender.bytes && !equal_but_for_case(text, c->sender))
                FAULT(c, MOONPLAN_CALL_SENDER_MISMATCH, walk.value,
                      "%q but the plan is from sender %q", &text, &c->sender);
            break;
        case 2:
            if (check_address(c, "to", walk.value).bytes) call->to = span_of(walk.value);
            break;
        case 3:
            text = check_bytes(c, "data", walk.value);
            if (!text.bytes) break;
            call->data = span_of(walk.value);
            c->calldata += (text.length - 2) / 2;
            if (c->calldata > c->options->limits.calldata_bytes && !c->calldata_over) {
                c->calldata_over = true;
                FAULT(c, MOONPLAN_LIMIT, walk.value,
                      "with this data the plan has more calldata than the limit calldata_bytes "
                      "allows: %u bytes",
                      c->options->limits.calldata_bytes);
            }
            break;
        case 4:
            if (check_quantity(c, "value", walk.value).bytes) call->value = span_of(walk.value);
            break;
        default:
            if (check_quantity(c, "gas", walk.value).bytes) call->gas = span_of(walk.value);
            break;
        }
    }
}

static void check_revert_decode(check *c, moonplan_value revert) {
    if (!check_type(c, "revert_decode", revert, MOONPLAN_OBJECT)) return;
    mpl_shape_open(&c->faults, &revert_shape, revert, MOONPLAN_CALL_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(revert);
    for (;;) {
        int which = mpl_shape_next(&c->faults, &revert_shape, &walk, MOONPLAN_CALL_UNKNOWN_MEMBER);
        if (which < 0) return;
        moonplan_type type = moonplan_value_type(walk.value);
        if (which == 0) {
            moonplan_text kind = check_string(c, "kind", walk.value);
            if (kind.bytes && !mpl_text_is(kind, "error_result"))
                FAULT(c, MOONPLAN_CALL_REVERT_KIND, walk.value,
                      "%q is no kind of revert_decode; there is only error_result", &kind);
        } else if (which == 1) {
            if (!check_type(c, "abi", walk.value, MOONPLAN_ARRAY)) continue;
            const moonplan_limits *limits = &c->options->limits;
            if (moonplan_value_source(walk.value).length > limits->abi_bytes)
                FAULT(c, MOONPLAN_LIMIT, walk.value,
                      "abi is longer than the limit abi_bytes allows: %u bytes", limits->abi_bytes);
            else if (moonplan_value_count(walk.value) > limits->abi_entries)
                FAULT(c, MOONPLAN_LIMIT, walk.value,
                      "abi has more entries than the limit abi_entries allows: %u",
                      limits->abi_entries);
            else
                mpl_abi_check(&c->faults, walk.value);
        } else if (type != MOONPLAN_TRUE && type != MOONPLAN_FALSE) {
            FAULT(c, MOONPLAN_CALL_TYPE, walk.value, "required must be true or false, not %s",
                  mpl_type_text(type));
        }
    }
}

/* The position is compared as text, so that nothing can wrap around or be rounded. */
static void check_number(check *c, moonplan_value value, size_t n) {
    moonplan_type type = moonplan_value_type(value);
    int64_t number;
    if (type != MOONPLAN_INTEGER && type != MOONPLAN_NUMBER) {
        FAULT(c, MOONPLAN_CALL_TYPE, value, "step must be a number, not %s", mpl_type_text(type));
    } else if (!moonplan_value_integer(value, &number) || number != (int64_t)n) {
        moonplan_text source = moonplan_value_source(value);
        FAULT(c, MOONPLAN_CALL_STEP_NUMBER, value,
              "step is written %q here; it must be the plain integer %u", &source, (uint64_t)n);
    }
}

static void check_kind(check *c, mpl_call *call, moonplan_value value) {
    moonplan_text kind = check_string(c, "kind", value);
    if (!kind.bytes) return;
    if (mpl_rule_kind(kind)) {
        call->kind = span_of(value);
        return;
    }
    FAULT(c, MOONPLAN_CALL_STEP_KIND, value,
          "%q is no kind of step; there are: execution, approval, allowance_cleanup, "
          "signature_dependent_execution, other",
          &kind);
}

static void check_step(check *c, moonplan_value step, size_t n) {
    mpl_call call = {.node = step.node, .revert_decode = UINT32_MAX};
    if (!check_type(c, "a step", step, MOONPLAN_OBJECT)) return;
    mpl_shape_open(&c->faults, &step_shape, step, MOONPLAN_CALL_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(step);
    for (;;) {
        int which = mpl_shape_next(&c->faults, &step_shape, &walk, MOONPLAN_CALL_UNKNOWN_MEMBER);
        if (which < 0) break;
        switch (which) {
        case 0:
            check_number(c, walk.value, n);
            break;
        case 1:
            check_kind(c, &call, walk.value);
            break;
        case 2:
            check_transaction(c, &call, walk.value);
            break;
        default:
            check_revert_decode(c, walk.value);
            call.revert_decode = walk.value.node;
            break;
        }
    }
    if (c->faults.count == 0) c->plan->steps[c->plan->count++] = call;
}

static void check_steps(check *c, moonplan_value steps) {
    if (!check_type(c, "ordered_steps", steps, MOONPLAN_ARRAY)) return;
    size_t count = moonplan_value_count(steps);
    if (count == 0) {
        FAULT(c, MOONPLAN_CALL_NO_STEPS, steps, "a plan has at least one step");
        return;
    }
    uint64_t most = c->options->limits.steps;
    if (count > MPL_STEPS_MOST && most > MPL_STEPS_MOST) {
        FAULT(c, MOONPLAN_LIMIT, steps, "the plan has %u steps; ERC-8410 allows no more than %u",
              (uint64_t)count, (uint64_t)MPL_STEPS_MOST);
        return;
    }
    if (count > most) {
        FAULT(c, MOONPLAN_LIMIT, steps,
              "the plan has %u steps, more than the limit steps allows: %u", (uint64_t)count, most);
        return;
    }
    c->plan->steps = mpl_allocate(&c->plan->alloc, count * sizeof *c->plan->steps);
    if (!c->plan->steps) {
        c->faults.no_memory = true;
        return;
    }
    c->plan->step_capacity = count;
    size_t n = 0;
    moonplan_walk walk = moonplan_value_walk(steps);
    while (!mpl_faults_enough(&c->faults) && moonplan_walk_next(&walk))
        check_step(c, walk.value, ++n);
}

/* -- The rest of the plan ---------------------------------------------------*/

static void warn(check *c, moonplan_code code, moonplan_value value, const char *format,
                 const moonplan_text *text) {
    if (!c->plan->warnings) c->plan->warnings = mpl_error_list_new(&c->plan->alloc);
    moonplan_error *slot = c->plan->warnings ? mpl_error_list_add(c->plan->warnings) : NULL;
    if (slot)
        mpl_error_at(slot, code, value, format, text);
    else
        c->faults.no_memory = true;
}

static void check_capability(check *c, moonplan_value list, moonplan_value value) {
    moonplan_text name = check_string(c, "a capability", value);
    if (!name.bytes) return;
    if (!mpl_rule_capability_name(name)) {
        FAULT(c, MOONPLAN_CALL_CAPABILITY_NAME, value,
              "%q is no name for a capability: 1 to 64 printable ASCII characters, none of them a "
              "space",
              &name);
        return;
    }
    if (c->options->enforce_capabilities && !mpl_rule_implemented(c->options, name))
        FAULT(c, MOONPLAN_CALL_CAPABILITY_UNKNOWN, value,
              c->options->implements_count
                  ? "the plan requires %q, which is not implemented here"
                  : "the plan requires %q, and nothing is implemented here",
              &name);
    moonplan_walk walk = moonplan_value_walk(list);
    while (moonplan_walk_next(&walk) && walk.value.node != value.node) {
        if (!mpl_text_equal(moonplan_value_string(walk.value), name)) continue;
        warn(c, MOONPLAN_CALL_CAPABILITY_REPEATED, value, "%q is required twice", &name);
        break;
    }
}

static void check_capabilities(check *c, moonplan_value list) {
    if (!check_type(c, "required_capabilities", list, MOONPLAN_ARRAY)) return;
    size_t count = moonplan_value_count(list);
    if (count > c->options->limits.capabilities) {
        FAULT(c, MOONPLAN_LIMIT, list,
              "the plan requires %u capabilities, more than the limit capabilities allows: %u",
              (uint64_t)count, c->options->limits.capabilities);
        return;
    }
    moonplan_walk walk = moonplan_value_walk(list);
    while (!mpl_faults_enough(&c->faults) && moonplan_walk_next(&walk))
        check_capability(c, list, walk.value);
}

static void check_directive(check *c, const char *failure, moonplan_value directive,
                            bool may_retry) {
    if (!check_type(c, failure, directive, MOONPLAN_OBJECT)) return;
    mpl_shape_open(&c->faults, &directive_shape, directive, MOONPLAN_CALL_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(directive);
    for (;;) {
        int which =
            mpl_shape_next(&c->faults, &directive_shape, &walk, MOONPLAN_CALL_UNKNOWN_MEMBER);
        if (which < 0) return;
        moonplan_text text = check_string(c, which ? "instruction" : "action", walk.value);
        if (!text.bytes) continue;
        if (which == 0) {
            if (!mpl_rule_action(text, true))
                FAULT(c, MOONPLAN_CALL_ACTION, walk.value,
                      "%q is no action; there are: retry_same_plan, reprepare_plan, user_review",
                      &text);
            else if (!mpl_rule_action(text, may_retry))
                FAULT(c, MOONPLAN_CALL_RETRY_FORBIDDEN, walk.value,
                      "retry_same_plan is allowed under rpc_error only, not under %s", failure);
            continue;
        }
        if (!mpl_rule_instruction(text))
            FAULT(c, MOONPLAN_CALL_INSTRUCTION_LENGTH, walk.value,
                  "instruction has %u characters; 1 to %u are allowed",
                  (uint64_t)mpl_utf8_count(text), (uint64_t)MPL_INSTRUCTION_MOST);
    }
}

static void check_policy(check *c, moonplan_value policy) {
    if (!check_type(c, "simulation_failure_policy", policy, MOONPLAN_OBJECT)) return;
    mpl_shape_open(&c->faults, &policy_shape, policy, MOONPLAN_CALL_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(policy);
    for (;;) {
        int which = mpl_shape_next(&c->faults, &policy_shape, &walk, MOONPLAN_CALL_UNKNOWN_MEMBER);
        if (which < 0) return;
        check_directive(c, policy_shape.members[which].name, walk.value, which == 0);
    }
}

static void check_extensions(check *c, moonplan_value extensions) {
    if (!check_type(c, "extensions", extensions, MOONPLAN_OBJECT)) return;
    if (moonplan_value_source(extensions).length > c->options->limits.extensions_bytes)
        FAULT(c, MOONPLAN_LIMIT, extensions,
              "extensions is longer than the limit extensions_bytes allows: %u bytes",
              c->options->limits.extensions_bytes);
}

static void check_caip2(check *c, moonplan_value value) {
    moonplan_text text = check_string(c, "caip2_chain_id", value);
    if (!text.bytes || !c->chain_id.bytes) return;
    if (!mpl_rule_caip2(text, c->chain_id))
        FAULT(c, MOONPLAN_CALL_CAIP2, value, "%q but the plan is for chain %q: eip155:%t", &text,
              &c->chain_id, &c->chain_id);
}

static void check_plan(check *c, moonplan_value root) {
    moonplan_call_plan *plan = c->plan;
    if (!check_type(c, "a plan", root, MOONPLAN_OBJECT)) return;
    mpl_shape_open(&c->faults, &plan_shape, root, MOONPLAN_CALL_MISSING_MEMBER);
    /* What the other members are compared with, wherever it stands in the document. */
    moonplan_text chain_id = moonplan_value_string(mpl_member(root, "chain_id"));
    moonplan_text sender = moonplan_value_string(mpl_member(root, "sender"));
    if (mpl_rule_quantity(chain_id)) c->chain_id = chain_id;
    if (mpl_rule_address(sender)) c->sender = sender;
    moonplan_walk walk = moonplan_value_walk(root);
    for (;;) {
        int which = mpl_shape_next(&c->faults, &plan_shape, &walk, MOONPLAN_CALL_UNKNOWN_MEMBER);
        if (which < 0) return;
        moonplan_text text;
        switch (which) {
        case 0:
            text = check_string(c, "schema_version", walk.value);
            if (text.bytes && !mpl_text_is(text, "1"))
                FAULT(c, MOONPLAN_CALL_SCHEMA_VERSION, walk.value,
                      "schema_version is %q; only \"1\" is known here", &text);
            break;
        case 1:
            text = check_quantity(c, "chain_id", walk.value);
            if (!text.bytes) break;
            plan->chain_id = span_of(walk.value);
            if (mpl_text_is(text, "0"))
                warn(c, MOONPLAN_CALL_CHAIN_ZERO, walk.value,
                     "chain %q is a quantity, but no chain of EIP-155", &text);
            break;
        case 2:
            check_caip2(c, walk.value);
            if (moonplan_value_type(walk.value) == MOONPLAN_STRING)
                plan->caip2_chain_id = span_of(walk.value);
            break;
        case 3:
            if (check_address(c, "sender", walk.value).bytes) plan->sender = span_of(walk.value);
            break;
        case 4:
            check_steps(c, walk.value);
            break;
        case 5:
            plan->capabilities = walk.value.node;
            check_capabilities(c, walk.value);
            break;
        case 6:
            plan->failure_policy = walk.value.node;
            check_policy(c, walk.value);
            break;
        default:
            plan->extensions = walk.value.node;
            check_extensions(c, walk.value);
            break;
        }
    }
}

/* -- The object -------------------------------------------------------------*/

moonplan_call_plan *mpl_call_plan_read(moonplan_document *document, const moonplan_options *options,
                                       moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_call_plan *plan = mpl_allocate(&alloc, sizeof *plan);
    if (!plan) {
        moonplan_document_free(document);
        mpl_error_memory(err);
        return NULL;
    }
    *plan = (moonplan_call_plan){.alloc = alloc,
                                 .document = document,
                                 .capabilities = UINT32_MAX,
                                 .failure_policy = UINT32_MAX,
                                 .extensions = UINT32_MAX};
    check c = {.plan = plan, .document = document, .options = options};
    mpl_faults_open(&c.faults, options);
    check_plan(&c, moonplan_document_root(document));
    if (!mpl_faults_close(&c.faults, options, err)) {
        moonplan_call_plan_free(plan);
        return NULL;
    }
    return plan;
}

moonplan_call_plan *mpl_call_plan_collect(moonplan_document *document, const char *text,
                                          size_t length, const moonplan_options *options,
                                          moonplan_error *err) {
    moonplan_options own = *options;
    /* Lowering digits in place takes a text of our own. */
    if (own.hex_case == MOONPLAN_HEX_NORMALIZE) own.borrow = false;
    document = mpl_document_read(document, text, length, &own, err);
    return document ? mpl_call_plan_read(document, &own, err) : NULL;
}

moonplan_call_plan *moonplan_call_plan_parse(const char *text, size_t length,
                                             const moonplan_options *options, moonplan_error *err) {
    moonplan_options defaults;
    if (!options) {
        moonplan_options_init(&defaults);
        options = &defaults;
    }
    moonplan_document *left;
    mpl_text_soon(text, length);
    moonplan_call_plan *plan = mpl_call_scan(&left, text, length, options);
    if (!plan) return mpl_call_plan_collect(left, text, length, options, err);
    if (options->errors) *options->errors = NULL;
    return plan;
}

void moonplan_call_plan_free(moonplan_call_plan *plan) {
    if (!plan) return;
    mpl_alloc alloc = plan->alloc;
    moonplan_document_free(plan->document);
    moonplan_error_list_free(plan->warnings);
    mpl_release(&alloc, plan->steps, plan->step_capacity * sizeof *plan->steps);
    mpl_release(&alloc, plan, sizeof *plan);
}

const moonplan_document *moonplan_call_plan_document(const moonplan_call_plan *plan) {
    return plan->document;
}

size_t moonplan_call_plan_memory(const moonplan_call_plan *plan, size_t *peak) {
    size_t document_peak, document = moonplan_document_memory(plan->document, &document_peak);
    size_t used = document + plan->alloc.used + mpl_error_list_memory(plan->warnings);
    /* The plan's own part is allocated once the document is complete. */
    if (peak) *peak = used > document_peak ? used : document_peak;
    return used;
}

moonplan_text moonplan_call_plan_chain_id(const moonplan_call_plan *plan) {
    return mpl_call_text(plan, plan->chain_id);
}

moonplan_text moonplan_call_plan_caip2_chain_id(const moonplan_call_plan *plan) {
    return mpl_call_text(plan, plan->caip2_chain_id);
}

moonplan_text moonplan_call_plan_sender(const moonplan_call_plan *plan) {
    return mpl_call_text(plan, plan->sender);
}

moonplan_value moonplan_call_plan_capabilities(const moonplan_call_plan *plan) {
    return mpl_value(plan->document, plan->capabilities);
}

moonplan_value moonplan_call_plan_failure_policy(const moonplan_call_plan *plan) {
    return mpl_value(plan->document, plan->failure_policy);
}

moonplan_value moonplan_call_plan_extensions(const moonplan_call_plan *plan) {
    return mpl_value(plan->document, plan->extensions);
}

size_t moonplan_call_plan_count(const moonplan_call_plan *plan) {
    return plan->count;
}

bool moonplan_call_plan_step(const moonplan_call_plan *plan, moonplan_call *out, size_t n) {
    if (n >= plan->count) return false;
    const mpl_call *call = &plan->steps[n];
    *out = (moonplan_call){.kind = mpl_call_text(plan, call->kind),
                           .to = mpl_call_text(plan, call->to),
                           .data = mpl_call_text(plan, call->data),
                           .value = mpl_call_text(plan, call->value),
                           .gas = mpl_call_text(plan, call->gas),
                           .revert_decode = mpl_value(plan->document, call->revert_decode),
                           .offset = plan->document->nodes[call->node].start};
    return true;
}

size_t moonplan_call_plan_warning_count(const moonplan_call_plan *plan) {
    return moonplan_error_list_count(plan->warnings);
}

const moonplan_error *moonplan_call_plan_warning(const moonplan_call_plan *plan, size_t n) {
    return plan->warnings ? moonplan_error_list_at(plan->warnings, n) : NULL;
}
