#include "scan.h"

#include <string.h>

#include "../core/json_read.h"
#include "../core/text.h"
#include "abi.h"
#include "rule.h"

/* Where reading is: what changes with every token, in variables of the processor's as long as no
 * other function gets hold of it. Every function here gives false, or a cursor without a place, for
 * anything that it does not know. Bounds are looked at where it matters only: the last byte of the
 * text is the plan's closing brace, at which everything but a closing brace stops. */
typedef struct cursor {
    const char *at;
    mpl_node *next; /* to be written */
} cursor;

static const cursor nowhere = {NULL, NULL};

typedef struct scan {
    mpl_reader r; /* reads what may be anything */
    const moonplan_options *options;
    const char *text, *end;
    mpl_node *nodes;
    const char *chain_id, *sender; /* the plan's own, from quote to quote */
    size_t chain_id_length;
    uint64_t calldata;
    mpl_text_run *hex;
} scan;

/* Nodes that there is room for at the beginning of each part: more than a part takes by itself. */
#define ROOM 32

/* -- To the reader and back ------------------------------------------------*/

/* Let the reader go on inside the object at `open`, `depth` containers deep. */
static void leave(scan *s, cursor c, size_t open, uint64_t depth) {
    s->r.document->node_count = (size_t)(c.next - s->nodes);
    s->r.at = c.at;
    s->r.open = open;
    s->r.depth = depth;
}

static cursor come_back(scan *s) {
    moonplan_document *document = s->r.document;
    if (!mpl_node_room(document, ROOM)) return nowhere;
    s->nodes = document->nodes;
    return (cursor){s->r.at, s->nodes + document->node_count};
}

static cursor room(scan *s, cursor c) {
    moonplan_document *document = s->r.document;
    document->node_count = (size_t)(c.next - s->nodes);
    if (document->node_capacity - document->node_count >= ROOM) return c;
    if (!mpl_node_room(document, ROOM)) return nowhere;
    s->nodes = document->nodes;
    c.next = s->nodes + document->node_count;
    return c;
}

/* -- Pieces ----------------------------------------------------------------*/

static const char *skip_spaces(const char *at) {
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') at++;
    return at;
}

static MPL_INLINE const char *skip(const char *at) {
    return (unsigned char)*at > ' ' ? at : skip_spaces(at);
}

static MPL_INLINE void push(const scan *s, cursor *c, moonplan_type type, const char *begin,
                            size_t length) {
    *c->next++ = (mpl_node){(uint32_t)(begin - s->text), (uint32_t)length, (unsigned)type & 15u, 0};
}

static MPL_INLINE bool literal(const scan *s, cursor *c, const char *bytes, size_t length) {
    if ((size_t)(s->end - c->at) < length || !mpl_same(c->at, bytes, length)) return false;
    c->at += length;
    return true;
}

static MPL_INLINE bool mark(cursor *c, char byte) {
    const char *at = skip(c->at);
    if (*at != byte) return false;
    c->at = at + 1;
    return true;
}

/* A member's name and its colon; `text` is "name": with the quotes. */
static MPL_INLINE bool named(const scan *s, cursor *c, const char *text, size_t length) {
    c->at = skip(c->at);
    const char *begin = c->at;
    if (!literal(s, c, text, length - 1)) return false;
    if (!mark(c, ':')) {
        /* Another name may be asked for here: it must not be looked for behind this one. */
        c->at = begin;
        return false;
    }
    push(s, c, MOONPLAN_STRING, begin, length - 1);
    c->at = skip(c->at);
    return true;
}
#define FIRST(s, c, name) named(s, c, "\"" name "\":", sizeof(name) + 2)

/* The same behind a comma: all of it at once where there is no white space. */
static MPL_INLINE bool next_named(const scan *s, cursor *c, const char *text, size_t length) {
    const char *begin = c->at;
    if (literal(s, c, text, length)) {
        push(s, c, MOONPLAN_STRING, begin + 1, length - 2);
        c->at = skip(c->at);
        return true;
    }
    return mark(c, ',') && named(s, c, text + 1, length - 1);
}
#define NEXT(s, c, name) next_named(s, c, ",\"" name "\":", sizeof(name) + 3)

/* A container inside the open one at `outer`; the outermost is inside itself. */
static MPL_INLINE size_t open_node(const scan *s, cursor *c, moonplan_type type, size_t outer) {
    size_t node = (size_t)(c->next - s->nodes);
    push(s, c, type, c->at++, outer);
    return node;
}

/* An object that begins here, or SIZE_MAX. */
static MPL_INLINE size_t open_object(const scan *s, cursor *c, size_t outer) {
    return *c->at == '{' ? open_node(s, c, MOONPLAN_OBJECT, outer) : SIZE_MAX;
}

/* The end of a container that is not large and whose names are distinct. False at the end of the
 * text as well: what follows an inner container has a byte to be. */
static MPL_INLINE bool close_node(const scan *s, cursor *c, size_t node, char mark_of_it) {
    if (!mark(c, mark_of_it) || c->at == s->end) return false;
    mpl_node *container = &s->nodes[node];
    container->length = (uint32_t)(c->at - s->text) - container->start;
    container->extra = (uint32_t)(c->next - container - 1) & MPL_NODES_MOST;
    return true;
}

static MPL_INLINE bool close_object(const scan *s, cursor *c, size_t node) {
    return close_node(s, c, node, '}');
}

/* What has been read from `begin` is a scalar. Values are counted where their number is known. */
static MPL_INLINE void value(const scan *s, cursor *c, moonplan_type type, const char *begin) {
    push(s, c, type, begin, (size_t)(c->at - begin));
}

/* A string without escapes, whatever is in it. */
static MPL_INLINE bool string(const scan *s, cursor *c, moonplan_text *content) {
    const char *begin = c->at;
    if (*begin != '"') return false;
    const char *end = mpl_plain_end(begin + 1, s->end, s->r.plain);
    if (end == s->end || *end != '"') return false;
    c->at = end + 1;
    value(s, c, MOONPLAN_STRING, begin);
    *content = (moonplan_text){begin + 1, (size_t)(end - begin - 1)};
    return true;
}

/* -- Scalars of a plan -----------------------------------------------------*/

static MPL_INLINE bool the_string(const scan *s, cursor *c, const char *quoted, size_t length) {
    const char *begin = c->at;
    if (!literal(s, c, quoted, length)) return false;
    value(s, c, MOONPLAN_STRING, begin);
    return true;
}

/* A few bytes: a call would take longer. */
static MPL_INLINE bool the_chain(const scan *s, cursor *c) {
    const char *begin = c->at;
    size_t length = s->chain_id_length;
    if ((size_t)(s->end - begin) < length) return false;
    for (size_t i = 0; i < length; i++)
        if (begin[i] != s->chain_id[i]) return false;
    c->at += length;
    value(s, c, MOONPLAN_STRING, begin);
    return true;
}

/* 2^256 has 78 digits. */
static MPL_INLINE bool quantity(const scan *s, cursor *c) {
    const char *begin = c->at, *at = begin + 1;
    if (*begin != '"') return false;
    if (s->end - at >= 16) at += mpl_digits_sixteen(at);
    while ((unsigned char)(*at - '0') < 10) at++;
    moonplan_text digits = {begin + 1, (size_t)(at - begin - 1)};
    if (*at != '"' || digits.length == 0) return false;
    if (digits.length > 1 && *digits.bytes == '0') return false;
    if (digits.length > 77 && !mpl_rule_quantity(digits)) return false;
    c->at = at + 1;
    value(s, c, MOONPLAN_STRING, begin);
    return true;
}

/* A quote, 0x, lower-case digits, a quote. */
static MPL_INLINE bool bytes(const scan *s, cursor *c, size_t *digits) {
    const char *begin = c->at;
    if (s->end - begin < 4 || !mpl_same(begin, "\"0x", 3)) return false;
    const char *end = s->hex(begin + 3, s->end);
    if (end == s->end || *end != '"') return false;
    *digits = (size_t)(end - begin - 3);
    c->at = end + 1;
    value(s, c, MOONPLAN_STRING, begin);
    return true;
}

static MPL_INLINE bool address(const scan *s, cursor *c) {
    const char *begin = c->at;
    if (s->end - begin < 44 || !mpl_same(begin, "\"0x", 3) || begin[43] != '"') return false;
    if (!mpl_hex_forty(begin + 3)) return false;
    c->at += 44;
    value(s, c, MOONPLAN_STRING, begin);
    return true;
}

static MPL_INLINE bool kind(const scan *s, cursor *c) {
    moonplan_text text;
    return string(s, c, &text) && mpl_rule_kind(text);
}

/* -- Steps -----------------------------------------------------------------*/

static MPL_INLINE bool position(const scan *s, cursor *c, size_t n) {
    char digits[20];
    size_t at = sizeof digits;
    const char *begin = c->at;
    do digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    for (; at < sizeof digits; at++)
        if (*c->at++ != digits[at]) return false;
    value(s, c, MOONPLAN_INTEGER, begin);
    return true;
}

static MPL_INLINE bool data(scan *s, cursor *c) {
    size_t digits;
    if (!bytes(s, c, &digits) || digits % 2 != 0) return false;
    s->calldata += digits / 2;
    return s->calldata <= s->options->limits.calldata_bytes;
}

static MPL_INLINE bool transaction(scan *s, cursor *c, size_t step) {
    size_t node = open_object(s, c, step);
    if (node == SIZE_MAX) return false;
    if (!FIRST(s, c, "chain_id") || !the_chain(s, c)) return false;
    if (!NEXT(s, c, "from") || !the_string(s, c, s->sender, 44)) return false;
    if (!NEXT(s, c, "to") || !address(s, c)) return false;
    if (!NEXT(s, c, "data") || !data(s, c)) return false;
    if (!NEXT(s, c, "value") || !quantity(s, c)) return false;
    s->r.values += 6;
    if (*skip(c->at) == ',') {
        if (!NEXT(s, c, "gas") || !quantity(s, c)) return false;
        s->r.values++;
    }
    return close_object(s, c, node);
}

/* Everything that an abi can be: the reader reads it, and the collecting reader's own check looks
 * at it. */
static cursor any_abi(scan *s, cursor c, size_t revert) {
    moonplan_document *document = s->r.document;
    size_t node = (size_t)(c.next - s->nodes);
    leave(s, c, revert, 4);
    if (*c.at != '[' || !mpl_read_value(&s->r) || s->r.at == s->end) return nowhere;
    moonplan_value list = mpl_value(document, node);
    const moonplan_limits *limits = &s->options->limits;
    if (moonplan_value_source(list).length > limits->abi_bytes ||
        moonplan_value_count(list) > limits->abi_entries)
        return nowhere;
    /* There is no pointer to a value in an open container. */
    mpl_faults faults;
    mpl_faults_open_count(&faults);
    mpl_abi_check(&faults, list);
    return faults.count == 0 ? come_back(s) : nowhere;
}

/* Nearly every abi is a few errors with parameters that are no tuples. That takes two thirds less
 * time by itself; anything else is any_abi's to judge. */

static cursor parameter(scan *s, cursor c, size_t list) {
    c = room(s, c);
    if (!c.at) return nowhere;
    c.at = skip(c.at);
    size_t node = open_object(s, &c, list);
    if (node == SIZE_MAX) return nowhere;
    unsigned seen = 0, which;
    do {
        moonplan_text text;
        bool tuple;
        which = FIRST(s, &c, "name")           ? 1
                : FIRST(s, &c, "type")         ? 2
                : FIRST(s, &c, "internalType") ? 4
                                               : 0;
        if (which == 0 || (seen & which) || !string(s, &c, &text)) return nowhere;
        if (which == 2 && (mpl_abi_type_fault(text, &tuple) || tuple)) return nowhere;
        seen |= which;
        s->r.values++;
    } while (mark(&c, ','));
    s->r.values++;
    return (seen & 2) && close_object(s, &c, node) ? c : nowhere;
}

static cursor parameters(scan *s, cursor c, size_t error) {
    if (*c.at != '[') return nowhere;
    size_t node = open_node(s, &c, MOONPLAN_ARRAY, error), count = 0;
    s->r.values++;
    if (*skip(c.at) != ']') {
        do {
            if (++count > MPL_TABLE_OVER) return nowhere;
            c = parameter(s, c, node);
            if (!c.at) return nowhere;
        } while (mark(&c, ','));
    }
    return close_node(s, &c, node, ']') ? c : nowhere;
}

static cursor error(scan *s, cursor c, size_t list) {
    c = room(s, c);
    if (!c.at) return nowhere;
    c.at = skip(c.at);
    size_t node = open_object(s, &c, list);
    if (node == SIZE_MAX) return nowhere;
    unsigned seen = 0, which;
    do {
        moonplan_text name;
        which = FIRST(s, &c, "type")     ? 1
                : FIRST(s, &c, "name")   ? 2
                : FIRST(s, &c, "inputs") ? 4
                                         : 0;
        if (which == 0 || (seen & which)) return nowhere;
        if (which == 4)
            c = parameters(s, c, node);
        else if (which == 1 ? !the_string(s, &c, "\"error\"", 7)
                            : !string(s, &c, &name) || !mpl_abi_identifier(name))
            return nowhere;
        if (!c.at) return nowhere;
        seen |= which;
    } while (mark(&c, ','));
    s->r.values += 3;
    return seen == 7 && close_object(s, &c, node) ? c : nowhere;
}

static cursor usual_abi(scan *s, cursor c, size_t revert) {
    const moonplan_limits *limits = &s->options->limits;
    const char *begin = c.at;
    /* Parameters are eight deep. */
    if (*begin != '[' || limits->depth < 8) return nowhere;
    size_t node = open_node(s, &c, MOONPLAN_ARRAY, revert), count = 0;
    s->r.values++;
    do {
        if (++count > MPL_TABLE_OVER || count > limits->abi_entries) return nowhere;
        c = error(s, c, node);
        if (!c.at) return nowhere;
    } while (mark(&c, ','));
    if (!close_node(s, &c, node, ']') || (size_t)(c.at - begin) > limits->abi_bytes) return nowhere;
    return room(s, c);
}

static cursor abi(scan *s, cursor c, size_t revert) {
    size_t node = (size_t)(c.next - s->nodes);
    uint64_t values = s->r.values;
    cursor behind = usual_abi(s, c, revert);
    if (behind.at) return behind;
    s->r.values = values;
    c.next = s->nodes + node; /* they may have moved */
    return any_abi(s, c, revert);
}

static cursor revert_decode(scan *s, cursor c, size_t step) {
    size_t node = open_object(s, &c, step);
    if (node == SIZE_MAX) return nowhere;
    if (!FIRST(s, &c, "kind") || !the_string(s, &c, "\"error_result\"", 14)) return nowhere;
    if (!NEXT(s, &c, "abi")) return nowhere;
    s->r.values += 2;
    c = abi(s, c, node);
    if (!c.at) return nowhere;
    if (*skip(c.at) == ',') {
        if (!NEXT(s, &c, "required")) return nowhere;
        s->r.values++;
        const char *begin = c.at;
        if (literal(s, &c, "true", 4))
            value(s, &c, MOONPLAN_TRUE, begin);
        else if (literal(s, &c, "false", 5))
            value(s, &c, MOONPLAN_FALSE, begin);
        else
            return nowhere;
    }
    return close_object(s, &c, node) ? c : nowhere;
}

static cursor step(scan *s, cursor c, size_t list, size_t n) {
    c.at = skip(c.at);
    size_t node = open_object(s, &c, list);
    if (node == SIZE_MAX) return nowhere;
    if (!FIRST(s, &c, "step") || !position(s, &c, n)) return nowhere;
    if (!NEXT(s, &c, "kind") || !kind(s, &c)) return nowhere;
    s->r.values += 3;
    if (!NEXT(s, &c, "transaction") || !transaction(s, &c, node)) return nowhere;
    if (*skip(c.at) == ',') {
        if (!NEXT(s, &c, "revert_decode")) return nowhere;
        c = revert_decode(s, c, node);
        if (!c.at) return nowhere;
    }
    return close_object(s, &c, node) ? c : nowhere;
}

/* An array that `count` values were read into. */
static cursor close_array(scan *s, cursor c, size_t node, size_t count) {
    size_t duplicate;
    if (!mark(&c, ']')) return nowhere;
    leave(s, c, 0, 1);
    s->nodes[node].extra = (uint32_t)count & MPL_NODES_MOST;
    if (!mpl_container_close(s->r.document, node, (size_t)(c.at - s->text), &duplicate))
        return nowhere;
    return come_back(s);
}

static cursor steps(scan *s, cursor c) {
    uint64_t most = s->options->limits.steps;
    if (most > MPL_STEPS_MOST) most = MPL_STEPS_MOST;
    if (*c.at != '[') return nowhere;
    size_t node = open_node(s, &c, MOONPLAN_ARRAY, 0), count = 0;
    do {
        if (++count > most) return nowhere;
        c = room(s, c);
        if (c.at) c = step(s, c, node, count);
        if (!c.at) return nowhere;
    } while (mark(&c, ','));
    return close_array(s, c, node, count);
}

/* -- The rest of the plan ---------------------------------------------------*/

static cursor capabilities(scan *s, cursor c) {
    moonplan_text names[32];
    size_t count = 0;
    if (*c.at != '[') return nowhere;
    size_t node = open_node(s, &c, MOONPLAN_ARRAY, 0);
    c.at = skip(c.at);
    if (*c.at != ']') {
        do {
            c = room(s, c);
            if (!c.at || count == sizeof names / sizeof *names) return nowhere;
            moonplan_text *name = &names[count];
            c.at = skip(c.at);
            if (count >= s->options->limits.capabilities || !string(s, &c, name)) return nowhere;
            if (!mpl_rule_capability_name(*name)) return nowhere;
            if (s->options->enforce_capabilities && !mpl_rule_implemented(s->options, *name))
                return nowhere;
            /* What is required twice has a warning to get. */
            for (size_t i = 0; i < count; i++)
                if (mpl_text_equal(names[i], *name)) return nowhere;
            count++;
        } while (mark(&c, ','));
    }
    s->r.values += count + 1;
    return close_array(s, c, node, count);
}

static cursor directive(scan *s, cursor c, size_t policy, bool may_retry) {
    moonplan_text action;
    size_t node = open_object(s, &c, policy);
    if (node == SIZE_MAX || !FIRST(s, &c, "action") || !string(s, &c, &action)) return nowhere;
    if (!mpl_rule_action(action, may_retry)) return nowhere;
    if (!NEXT(s, &c, "instruction") || *c.at != '"') return nowhere;
    size_t instruction = (size_t)(c.next - s->nodes);
    s->r.values += 3;
    leave(s, c, node, 3);
    if (!mpl_read_string(&s->r)) return nowhere;
    if (!mpl_rule_instruction(mpl_content(s->r.document, instruction))) return nowhere;
    c = come_back(s);
    return c.at && close_object(s, &c, node) ? c : nowhere;
}

static cursor policy(scan *s, cursor c) {
    size_t node = open_object(s, &c, 0);
    if (node == SIZE_MAX || !FIRST(s, &c, "rpc_error")) return nowhere;
    s->r.values++;
    c = directive(s, c, node, true);
    if (!c.at || !NEXT(s, &c, "execution_reverted")) return nowhere;
    c = directive(s, c, node, false);
    if (!c.at || !NEXT(s, &c, "simulation_setup_error")) return nowhere;
    c = directive(s, c, node, false);
    return c.at && close_object(s, &c, node) ? c : nowhere;
}

static cursor extensions(scan *s, cursor c) {
    size_t node = (size_t)(c.next - s->nodes);
    leave(s, c, 0, 1);
    if (*c.at != '{' || !mpl_read_value(&s->r) || s->r.at == s->end) return nowhere;
    if (s->r.document->nodes[node].length > s->options->limits.extensions_bytes) return nowhere;
    return come_back(s);
}

/* What a plan may have: each once, in any order. */
static cursor optional_members(scan *s, cursor c) {
    unsigned seen = 0;
    while (c.at && mark(&c, ',')) {
        unsigned which;
        if (FIRST(s, &c, "required_capabilities"))
            which = 1;
        else if (FIRST(s, &c, "simulation_failure_policy"))
            which = 2;
        else if (FIRST(s, &c, "extensions"))
            which = 4;
        else
            return nowhere;
        if (seen & which) return nowhere;
        seen |= which;
        c = which == 1 ? capabilities(s, c) : which == 2 ? policy(s, c) : extensions(s, c);
    }
    return c;
}

static bool chain(scan *s, cursor *c) {
    const char *begin = c->at;
    if (!quantity(s, c)) return false;
    s->chain_id = begin;
    s->chain_id_length = (size_t)(c->at - begin);
    /* "0" has a warning to get. */
    return begin[1] != '0';
}

static bool caip2(const scan *s, cursor *c) {
    moonplan_text text, chain_id = {s->chain_id + 1, s->chain_id_length - 2};
    return string(s, c, &text) && mpl_rule_caip2(text, chain_id);
}

static bool plan(scan *s, cursor c) {
    c.at = skip(c.at);
    size_t node = open_object(s, &c, 0);
    if (node == SIZE_MAX) return false;
    if (!FIRST(s, &c, "schema_version") || !the_string(s, &c, "\"1\"", 3)) return false;
    if (!NEXT(s, &c, "chain_id") || !chain(s, &c)) return false;
    if (!NEXT(s, &c, "caip2_chain_id") || !caip2(s, &c)) return false;
    if (!NEXT(s, &c, "sender") || !address(s, &c)) return false;
    s->sender = c.at - 44;
    if (!NEXT(s, &c, "ordered_steps")) return false;
    s->r.values += 6;
    c = steps(s, c);
    if (c.at) c = optional_members(s, c);
    if (!c.at || !mark(&c, '}') || c.at != s->end || s->r.values > s->r.values_most) return false;
    leave(s, c, 0, 1);
    mpl_container_close_small(s->r.document, node, (size_t)(c.at - s->text));
    return true;
}

static bool read_into(moonplan_document *document, const char *text, size_t length,
                      const moonplan_options *options) {
    /* The fixed parts are four deep. */
    if (options->limits.depth < 4) return false;
    size_t used = length;
    while (used > 0 && (text[used - 1] == ' ' || text[used - 1] == '\n' || text[used - 1] == '\r' ||
                        text[used - 1] == '\t'))
        used--;
    if (used == 0 || text[used - 1] != '}') return false;
    scan s;
    mpl_reader_open(&s.r, document, text, used, options, NULL);
    document->text_length = length;
    s.options = options;
    s.text = text;
    s.end = text + used;
    s.calldata = 0;
    s.hex = mpl_run_kind_at(0)->hex;
    /* About what a plan with little calldata has; that of a large one grows. */
    size_t nodes = 48 + length / 32;
    if (!mpl_node_room(document, nodes < 4096 ? nodes : 4096)) return false;
    s.nodes = document->nodes;
    return plan(&s, (cursor){text, s.nodes});
}

/* -- The view --------------------------------------------------------------*/

/* Nodes of a scanned plan that stand where they always do. */
enum { CHAIN_ID = 4, CAIP2 = 6, SENDER = 8, STEPS = 10 };

static mpl_span span(const mpl_node *string) {
    return (mpl_span){string->start + 1, string->length - 2};
}

static mpl_call call_of(const mpl_node *nodes, size_t step) {
    size_t fields = step + 7; /* step, kind and transaction come first */
    mpl_call call = {.kind = span(&nodes[step + 4]),
                     .to = span(&nodes[fields + 5]),
                     .data = span(&nodes[fields + 7]),
                     .value = span(&nodes[fields + 9]),
                     .node = (uint32_t)step,
                     .revert_decode = UINT32_MAX};
    size_t end = mpl_after(nodes, step + 6);
    if (end > fields + 10) call.gas = span(&nodes[fields + 11]);
    if (end < mpl_after(nodes, step)) call.revert_decode = (uint32_t)end + 1;
    return call;
}

/* The plan takes the document over. */
static moonplan_call_plan *view_of(moonplan_document *document, const moonplan_options *options) {
    mpl_alloc alloc = mpl_alloc_of(options);
    size_t count = moonplan_value_count(mpl_value(document, STEPS));
    bool settled = mpl_document_settle(document, options);
    moonplan_call_plan *made = settled ? mpl_allocate(&alloc, sizeof *made) : NULL;
    mpl_call *calls = made ? mpl_allocate(&alloc, count * sizeof *calls) : NULL;
    if (!calls) {
        mpl_release(&alloc, made, sizeof *made);
        moonplan_document_free(document);
        return NULL;
    }
    const mpl_node *nodes = document->nodes;
    *made = (moonplan_call_plan){.document = document,
                                 .chain_id = span(&nodes[CHAIN_ID]),
                                 .caip2_chain_id = span(&nodes[CAIP2]),
                                 .sender = span(&nodes[SENDER]),
                                 .capabilities = UINT32_MAX,
                                 .failure_policy = UINT32_MAX,
                                 .extensions = UINT32_MAX,
                                 .steps = calls,
                                 .count = count,
                                 .step_capacity = count};
    for (size_t i = 0, step = STEPS + 1; i < count; i++, step = mpl_after(nodes, step))
        calls[i] = call_of(nodes, step);
    for (size_t name = mpl_after(nodes, STEPS); name < document->node_count;
         name = mpl_after(nodes, name + 1)) {
        /* The second letters of the three names differ. */
        char letter = document->text[nodes[name].start + 2];
        uint32_t node = (uint32_t)name + 1;
        if (letter == 'e')
            made->capabilities = node;
        else if (letter == 'i')
            made->failure_policy = node;
        else
            made->extensions = node;
    }
    made->alloc = alloc;
    return made;
}

moonplan_call_plan *mpl_call_scan(moonplan_document **left, const char *text, size_t length,
                                  const moonplan_options *options) {
    *left = NULL;
    if (length > options->limits.document_bytes || !mpl_options_sound(options, NULL)) return NULL;
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_document *document = mpl_document_new(&alloc);
    if (document && read_into(document, text, length, options)) return view_of(document, options);
    *left = document;
    return NULL;
}
