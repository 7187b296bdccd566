#include "plan.h"

#include <sodium.h>
#include <string.h>

#include "../core/listing.h"
#include "../core/text.h"
#include "../core/value.h"
#include "reference.h"

#define ABSENT UINT32_MAX

/* The smallest table. No more than half of it is taken, so that the longest walk through it is
 * short, whatever the ids: it needs no key, and a system call is saved that would cost as much as a
 * step's admission. */
#define TABLE_LEAST 16

typedef struct check {
    moonplan_step_plan *plan;
    const mpl_admission *admission;
    const moonplan_options *options;
    mpl_faults faults;
    moonplan_value steps; /* the array */
    size_t fault;         /* the next of the capture's faults */
    uint64_t warned;
    /* Names of capabilities that were not found, so that nobody is asked twice: open addressing,
     * as large as the plan's table; 0: empty, else the first step that has it, from 1. Made when
     * the first is met. */
    uint32_t *unknown;
} check;

#define FAULT(c, code, value, ...) MPL_FAULT(&(c)->faults, code, value, __VA_ARGS__)

/* -- Ids and names -----------------------------------------------------------*/

static size_t hash(const moonplan_step_plan *plan, moonplan_text text) {
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t number;
    crypto_shorthash(out, (const unsigned char *)text.bytes, text.length, plan->hash_key);
    memcpy(&number, out, sizeof number);
    return (size_t)number;
}

moonplan_value mpl_step_value(const moonplan_step_plan *plan, uint32_t node) {
    return mpl_value(plan->document, node);
}

moonplan_text mpl_step_text(const moonplan_step_plan *plan, uint32_t node) {
    return moonplan_value_string(mpl_step_value(plan, node));
}

/* The slot of a text: the one with a step whose member `which` is that text, or the empty one. */
static uint32_t *slot(const moonplan_step_plan *plan, uint32_t *table, moonplan_text text,
                      bool capability) {
    size_t at = hash(plan, text) & (plan->table_size - 1);
    for (; table[at]; at = (at + 1) & (plan->table_size - 1)) {
        const mpl_step *step = &plan->steps[table[at] - 1];
        if (mpl_text_equal(text, mpl_step_text(plan, capability ? step->capability : step->id)))
            break;
    }
    return &table[at];
}

size_t mpl_step_plan_find(const moonplan_step_plan *plan, moonplan_text id) {
    uint32_t found = *slot(plan, plan->table, id, false);
    return found ? found - 1 : SIZE_MAX;
}

static uint32_t *table_new(moonplan_step_plan *plan) {
    uint32_t *table = mpl_allocate(&plan->alloc, plan->table_size * sizeof *table);
    if (table) memset(table, 0, plan->table_size * sizeof *table);
    return table;
}

/* -- Capture -----------------------------------------------------------------*/

/* What the contract reads, and nothing else, is taken over. */
static void capture(mpl_step *step, moonplan_value value) {
    *step = (mpl_step){value.node, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, false};
    moonplan_walk walk = moonplan_value_walk(value);
    if (moonplan_value_type(value) != MOONPLAN_OBJECT) return;
    while (moonplan_walk_next(&walk)) {
        uint32_t node = walk.value.node;
        if (mpl_text_is(walk.name, "id"))
            step->id = node;
        else if (mpl_text_is(walk.name, "capability"))
            step->capability = node;
        else if (mpl_text_is(walk.name, "capabilityVersion"))
            step->version = node;
        else if (mpl_text_is(walk.name, "input"))
            step->input = node;
        else if (mpl_text_is(walk.name, "reason"))
            step->reason = node;
        else if (mpl_text_is(walk.name, "idempotencyKey"))
            step->key = node;
    }
}

static bool capture_steps(check *c) {
    moonplan_step_plan *plan = c->plan;
    size_t count = moonplan_value_count(c->steps);
    plan->step_capacity = count;
    plan->steps = mpl_allocate(&plan->alloc, count * sizeof *plan->steps);
    plan->table_size = TABLE_LEAST;
    while (plan->table_size < 2 * count) plan->table_size *= 2;
    plan->table = table_new(plan);
    if (!plan->steps || !plan->table) return false;
    /* Drawn at random, so that nobody can choose ids that collide; it decides how long a look-up
     * takes, never what it finds. */
    if (plan->table_size > TABLE_LEAST) {
        if (sodium_init() < 0) return false;
        randombytes_buf(plan->hash_key, sizeof plan->hash_key);
    }
    moonplan_walk walk = moonplan_value_walk(c->steps);
    for (; moonplan_walk_next(&walk); plan->count++) {
        mpl_step *step = &plan->steps[plan->count];
        capture(step, walk.value);
        moonplan_text id = mpl_step_text(plan, step->id);
        if (!id.bytes) continue;
        uint32_t *place = slot(plan, plan->table, id, false);
        if (!*place) *place = (uint32_t)plan->count + 1;
    }
    return true;
}

/* -- Warnings ----------------------------------------------------------------*/

static moonplan_error *warning(check *c) {
    if (++c->warned > c->options->limits.errors) return NULL;
    if (!c->plan->warnings) c->plan->warnings = mpl_error_list_new(&c->plan->alloc);
    moonplan_error *slot_ = c->plan->warnings ? mpl_error_list_add(c->plan->warnings) : NULL;
    if (!slot_) c->faults.no_memory = true;
    return slot_;
}

static void close_warnings(check *c) {
    uint64_t most = c->options->limits.errors;
    if (c->warned <= most || c->faults.no_memory) return;
    moonplan_error *rest = mpl_error_list_add(c->plan->warnings);
    if (rest)
        mpl_error_set(rest, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "%u more warnings are not listed; the limit errors is %u", c->warned - most,
                      most);
    else
        c->faults.no_memory = true;
}

/* -- One step ----------------------------------------------------------------*/

static bool captured_faults(check *c, size_t step) {
    bool any = false;
    for (; c->fault < c->admission->fault_count; c->fault++) {
        const mpl_capture_fault *fault = &c->admission->faults[c->fault];
        if (fault->step != step) break;
        moonplan_error *place = mpl_faults_add(&c->faults);
        if (place) *place = fault->error;
        any = true;
    }
    return any;
}

static bool check_string(check *c, const char *what, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type == MOONPLAN_NONE || type == MOONPLAN_STRING) return true;
    FAULT(c, MOONPLAN_PLAN_SHAPE, value, "%s must be a string, not %s", what, mpl_type_text(type));
    return false;
}

static bool check_shape(check *c, const mpl_step *step) {
    const moonplan_step_plan *plan = c->plan;
    moonplan_value value = mpl_step_value(plan, step->node);
    if (moonplan_value_type(value) != MOONPLAN_OBJECT) {
        FAULT(c, MOONPLAN_PLAN_SHAPE, value, "a step must be an object, not %s",
              mpl_type_text(moonplan_value_type(value)));
        return false;
    }
    bool sound = true;
    const struct {
        const char *name;
        uint32_t node;
        bool required;
    } members[] = {{"id", step->id, true},
                   {"capability", step->capability, true},
                   {"capabilityVersion", step->version, false},
                   {"reason", step->reason, false},
                   {"idempotencyKey", step->key, false}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (members[i].node == ABSENT && members[i].required) {
            mpl_fault_missing(&c->faults, MOONPLAN_PLAN_SHAPE, value, "the step", members[i].name);
            sound = false;
        } else if (!check_string(c, members[i].name, mpl_step_value(plan, members[i].node))) {
            sound = false;
        }
    }
    return sound;
}

/* An id as it is, but for what a person could not see in it, which is spelled out as in every
 * message: quotes and backslashes stay themselves. Whole while it and its escapes have room. */
static moonplan_text shown_id(char *out, size_t room, moonplan_text id) {
    static const char cut[] = "\xe2\x80\xa6";
    size_t length = 0;
    for (size_t at = 0; at < id.length;) {
        uint32_t point;
        size_t step = mpl_utf8(id.bytes + at, id.bytes + id.length, &point);
        bool hidden = step == 0 || mpl_is_hidden(point);
        char quoted[16];
        moonplan_text piece = {id.bytes + at, step ? step : 1};
        at += piece.length;
        if (hidden) piece = (moonplan_text){quoted + 1, mpl_quote(quoted, 16, piece) - 2};
        size_t kept = at < id.length ? sizeof cut - 1 : 0;
        if (length + piece.length + kept > room) {
            piece = (moonplan_text){cut, sizeof cut - 1};
            at = id.length;
        }
        memcpy(out + length, piece.bytes, piece.length);
        length += piece.length;
    }
    return (moonplan_text){out, length};
}

static void check_id(check *c, const mpl_step *step, size_t n) {
    moonplan_step_plan *plan = c->plan;
    moonplan_value value = mpl_step_value(plan, step->id);
    moonplan_text id = moonplan_value_string(value);
    if (mpl_step_plan_find(plan, id) < n) {
        /* The contract fixes this text. */
        char room[480];
        moonplan_text shown = shown_id(room, sizeof room, id);
        FAULT(c, MOONPLAN_PLAN_DUPLICATE_STEP_ID, value, "Duplicate step ID: %t", &shown);
    }
    if (id.length > c->options->limits.step_id_bytes)
        FAULT(c, MOONPLAN_LIMIT, value,
              "the step's id has %u bytes, more than the limit step_id_bytes allows: %u",
              (uint64_t)id.length, c->options->limits.step_id_bytes);
    if (mpl_reference_reaches(id)) return;
    moonplan_error *place = warning(c);
    if (place)
        mpl_error_at(place, MOONPLAN_PLAN_STEP_ID_UNREACHABLE, value,
                     id.length ? "no reference can name the step %q: in one, the id ends where "
                                 ".result stands first"
                               : "no reference can name the step %q, whose id is empty",
                     &id);
}

static void unknown_capability(check *c, moonplan_value value, moonplan_text name, size_t n,
                               const moonplan_error *why) {
    moonplan_step_plan *plan = c->plan;
    if (!c->unknown) c->unknown = table_new(plan);
    if (!c->unknown) {
        c->faults.no_memory = true;
        return;
    }
    uint32_t *place = slot(plan, c->unknown, name, true);
    *place = (uint32_t)n + 1;
    moonplan_error *fault = mpl_faults_add(&c->faults);
    if (!fault) return;
    if (why->code != MOONPLAN_OK) {
        bool same = why->code == MOONPLAN_PLAN_UNKNOWN_CAPABILITY;
        mpl_error_at(fault, MOONPLAN_PLAN_UNKNOWN_CAPABILITY, value,
                     "the capability %q cannot be used: %s%s%s", &name,
                     same ? "" : moonplan_code_name(why->code), same ? "" : ": ", why->message);
        return;
    }
    mpl_listing list = {.length = 0};
    const mpl_catalogue *catalogue = &c->admission->catalogue;
    for (size_t i = 0; !list.full; i++) {
        moonplan_text known = catalogue->name(catalogue->data, i);
        if (!known.bytes) break;
        mpl_listing_name(&list, known);
    }
    moonplan_text names = mpl_listing_text(&list);
    /* There may be more in catalogues that are looked into by name only. */
    if (names.length)
        mpl_error_at(fault, MOONPLAN_PLAN_UNKNOWN_CAPABILITY, value,
                     "no capability %q; registered are: %t", &name, &names);
    else
        mpl_error_at(fault, MOONPLAN_PLAN_UNKNOWN_CAPABILITY, value, "no capability %q", &name);
}

static const mpl_capability *find_capability(check *c, const mpl_step *step, size_t n) {
    moonplan_value value = mpl_step_value(c->plan, step->capability);
    moonplan_text name = moonplan_value_string(value);
    uint32_t before = c->unknown ? *slot(c->plan, c->unknown, name, true) : 0;
    if (before) {
        FAULT(c, MOONPLAN_PLAN_UNKNOWN_CAPABILITY, value, "no capability %q, as in step %u already",
              &name, (uint64_t)before - 1);
        return NULL;
    }
    moonplan_error why;
    why.code = MOONPLAN_OK;
    const mpl_catalogue *catalogue = &c->admission->catalogue;
    const mpl_capability *found = catalogue->find(catalogue->data, name, &why);
    /* What is found is the engine's; `why` is only written to. */
    if (found) return found; // cppcheck-suppress returnDanglingLifetime
    if (why.code == MOONPLAN_MEMORY)
        c->faults.no_memory = true;
    else
        unknown_capability(c, value, name, n, &why);
    return NULL;
}

static void check_powers(check *c, const mpl_step *step, const mpl_capability *capability) {
    if (capability->missing_count == 0 || c->admission->powers_later) return;
    mpl_listing list = {.length = 0};
    for (size_t i = 0; i < capability->missing_count; i++)
        mpl_listing_name(&list, capability->missing[i]);
    moonplan_text powers = mpl_listing_text(&list);
    FAULT(c, MOONPLAN_PLAN_POWER_MISSING, mpl_step_value(c->plan, step->capability),
          "%q needs what has not been granted: %t", &capability->name, &powers);
}

static moonplan_error *add_fault(void *data) {
    return mpl_faults_add(data);
}

static void order_fault(check *c, moonplan_value value, moonplan_text id, size_t target, size_t n) {
    const moonplan_step_plan *plan = c->plan;
    if (target == n) {
        FAULT(c, MOONPLAN_PLAN_REFERENCE_ORDER, value,
              "step %q cannot refer to its own result; a reference names a step before it", &id);
    } else if (target != SIZE_MAX) {
        FAULT(c, MOONPLAN_PLAN_REFERENCE_ORDER, value,
              "step %q comes after this one; a reference names a step before it", &id);
    } else if (n == 0) {
        FAULT(c, MOONPLAN_PLAN_REFERENCE_ORDER, value,
              "no step %q before this one, which is the first", &id);
    } else {
        mpl_listing list = {.length = 0};
        for (size_t i = 0; i < n && !list.full; i++) {
            moonplan_text earlier = mpl_step_text(plan, plan->steps[i].id);
            if (earlier.bytes) mpl_listing_name(&list, earlier);
        }
        moonplan_text ids = mpl_listing_text(&list);
        FAULT(c, MOONPLAN_PLAN_REFERENCE_ORDER, value, "no step %q before this one; there are: %t",
              &id, &ids);
    }
}

static void check_references(check *c, mpl_step *step, size_t n) {
    moonplan_step_plan *plan = c->plan;
    moonplan_value found;
    moonplan_text text;
    uint32_t next = 0;
    while (!mpl_faults_enough(&c->faults) &&
           mpl_reference_next(&found, &text, mpl_step_value(plan, step->input), &next)) {
        step->references = true;
        mpl_reference reference;
        if (!mpl_reference_parse(&reference, text)) {
            FAULT(c, MOONPLAN_PLAN_REFERENCE_INVALID, found,
                  "%q is no reference; one reads steps.ID.result or steps.ID.result.PATH", &text);
            continue;
        }
        size_t target = mpl_step_plan_find(plan, reference.id);
        if (target >= n) {
            order_fault(c, found, reference.id, target, n);
            continue;
        }
        if (!mpl_grow(&plan->alloc, (void **)&plan->references, &plan->reference_capacity,
                      plan->reference_count + 1, sizeof *plan->references)) {
            c->faults.no_memory = true;
            return;
        }
        plan->references[plan->reference_count++] =
            (mpl_plan_reference){found.node, (uint32_t)n, (uint32_t)target};
    }
}

static void check_step(check *c, size_t n) {
    moonplan_step_plan *plan = c->plan;
    mpl_step *step = &plan->steps[n];
    if (captured_faults(c, n) || !check_shape(c, step)) return;
    check_id(c, step, n);
    const mpl_capability *capability = find_capability(c, step, n);
    if (!capability) return;
    check_powers(c, step, capability);
    moonplan_value version = mpl_step_value(plan, step->version);
    moonplan_text wanted = moonplan_value_string(version);
    if (wanted.bytes && !mpl_text_equal(wanted, capability->version))
        FAULT(c, MOONPLAN_PLAN_CAPABILITY_VERSION, version,
              "the plan asks for version %q of %q; there is %q", &wanted, &capability->name,
              &capability->version);
    moonplan_value input = mpl_step_value(plan, step->input);
    mpl_schema_check(capability->input, input, mpl_step_value(plan, step->node), MPL_SCHEMA_PLAN,
                     capability->name, (mpl_issues){add_fault, &c->faults});
    if (capability->lua_values) {
        moonplan_value number;
        uint32_t next = 0;
        while (!mpl_faults_enough(&c->faults) && mpl_unfit_next(&number, input, &next)) {
            mpl_listing literal = {.length = 0};
            mpl_listing_literal(&literal, moonplan_value_source(number));
            moonplan_text shown = mpl_listing_text(&literal);
            FAULT(c, MOONPLAN_PLAN_INPUT_NUMBER, number,
                  "no Lua number is %t, and %q is written in Lua", &shown, &capability->name);
        }
    }
    check_references(c, step, n);
}

/* -- The plan ----------------------------------------------------------------*/

static void check_version(check *c, moonplan_value root) {
    const mpl_admission *admission = c->admission;
    moonplan_value version = mpl_member(root, "version");
    moonplan_type type = moonplan_value_type(version);
    moonplan_text text = moonplan_value_string(version);
    if (admission->version_count == 0) {
        if (mpl_text_is(text, "1.0")) return;
        moonplan_error *place = warning(c);
        if (!place) return;
        if (type == MOONPLAN_NONE)
            mpl_error_at(place, MOONPLAN_PLAN_VERSION_UNKNOWN, root,
                         "the plan has no version; it is read as version 1.0");
        else if (type == MOONPLAN_STRING)
            mpl_error_at(place, MOONPLAN_PLAN_VERSION_UNKNOWN, version,
                         "the plan's version is %q; it is read as version 1.0", &text);
        else
            mpl_error_at(place, MOONPLAN_PLAN_VERSION_UNKNOWN, version,
                         "the plan's version is %s instead of the string \"1.0\"; it is read as "
                         "version 1.0",
                         mpl_type_text(type));
        return;
    }
    mpl_listing list = {.length = 0};
    for (size_t i = 0; i < admission->version_count; i++) {
        if (text.bytes && mpl_text_equal(text, admission->versions[i])) return;
        mpl_listing_string(&list, admission->versions[i]);
    }
    moonplan_text taken = mpl_listing_text(&list);
    if (type == MOONPLAN_NONE)
        FAULT(c, MOONPLAN_PLAN_VERSION, root, "the plan has no version; taken here: %t", &taken);
    else if (type == MOONPLAN_STRING)
        FAULT(c, MOONPLAN_PLAN_VERSION, version, "the plan's version is %q; taken here: %t", &text,
              &taken);
    else
        FAULT(c, MOONPLAN_PLAN_VERSION, version,
              "the plan's version is %s instead of a string; taken here: %t", mpl_type_text(type),
              &taken);
}

/* White space and ends of line as ECMAScript's String.prototype.trim has them. */
static bool is_space(uint32_t point) {
    switch (point) {
    case 0x09:
    case 0x0a:
    case 0x0b:
    case 0x0c:
    case 0x0d:
    case 0x20:
    case 0xa0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202f:
    case 0x205f:
    case 0x3000:
    case 0xfeff:
        return true;
    default:
        return point >= 0x2000 && point <= 0x200a;
    }
}

static moonplan_text trim(moonplan_text text) {
    if (text.length == 0) return text;
    const char *at = text.bytes, *end = text.bytes + text.length;
    uint32_t point;
    while (at < end) {
        size_t step = mpl_utf8(at, end, &point);
        if (!is_space(point)) break;
        at += step;
    }
    while (end > at) {
        const char *last = end - 1;
        while (((unsigned char)*last & 0xc0) == 0x80) last--;
        mpl_utf8(last, end, &point);
        if (!is_space(point)) break;
        end = last;
    }
    return (moonplan_text){at, (size_t)(end - at)};
}

static void check_plan(check *c) {
    moonplan_step_plan *plan = c->plan;
    moonplan_value root = moonplan_document_root(plan->document);
    moonplan_type type = moonplan_value_type(root);
    if (type != MOONPLAN_OBJECT) {
        FAULT(c, MOONPLAN_PLAN_SHAPE, root, "a plan must be an object, not %s",
              mpl_type_text(type));
        return;
    }
    check_version(c, root);
    moonplan_value goal = mpl_member(root, "goal"), key = mpl_member(root, "idempotencyKey");
    c->steps = mpl_member(root, "steps");
    if (!captured_faults(c, MPL_CAPTURE_PLAN)) {
        check_string(c, "goal", goal);
        check_string(c, "idempotencyKey", key);
    }
    moonplan_text trimmed = trim(moonplan_value_string(goal));
    plan->goal = trimmed.length ? trimmed : MOONPLAN_TEXT("External execution plan");
    plan->key = key.node;
    type = moonplan_value_type(c->steps);
    size_t count = moonplan_value_count(c->steps);
    uint64_t most = c->options->limits.steps;
    if (type == MOONPLAN_NONE) {
        mpl_fault_missing(&c->faults, MOONPLAN_PLAN_SHAPE, root, "the plan", "steps");
    } else if (type != MOONPLAN_ARRAY) {
        FAULT(c, MOONPLAN_PLAN_SHAPE, c->steps, "steps must be an array, not %s",
              mpl_type_text(type));
    } else if (count == 0) {
        FAULT(c, MOONPLAN_PLAN_EMPTY, c->steps, "a plan has at least one step");
    } else if (count > most) {
        FAULT(c, MOONPLAN_LIMIT, c->steps,
              "the plan has %u steps, more than the limit steps allows: %u", (uint64_t)count, most);
    } else if (!capture_steps(c)) {
        c->faults.no_memory = true;
    } else {
        for (size_t n = 0; n < count && !mpl_faults_enough(&c->faults); n++) check_step(c, n);
    }
}

/* -- The object -------------------------------------------------------------*/

moonplan_step_plan *mpl_step_plan_admit(moonplan_document *document, const mpl_admission *admission,
                                        const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_step_plan *plan = mpl_allocate(&alloc, sizeof *plan);
    if (!plan) {
        if (options->errors) *options->errors = NULL;
        moonplan_document_free(document);
        mpl_error_memory(err);
        return NULL;
    }
    *plan = (moonplan_step_plan){.alloc = alloc, .document = document, .key = ABSENT};
    check c = {.plan = plan, .admission = admission, .options = options};
    mpl_faults_open(&c.faults, options);
    check_plan(&c);
    close_warnings(&c);
    mpl_release(&plan->alloc, c.unknown, plan->table_size * sizeof *c.unknown);
    if (!mpl_faults_close(&c.faults, options, err)) {
        moonplan_step_plan_free(plan);
        return NULL;
    }
    return plan;
}

void moonplan_step_plan_free(moonplan_step_plan *plan) {
    if (!plan) return;
    mpl_alloc alloc = plan->alloc;
    moonplan_document_free(plan->document);
    moonplan_error_list_free(plan->warnings);
    mpl_release(&alloc, plan->steps, plan->step_capacity * sizeof *plan->steps);
    mpl_release(&alloc, plan->table, plan->table_size * sizeof *plan->table);
    mpl_release(&alloc, plan->references, plan->reference_capacity * sizeof *plan->references);
    mpl_release(&alloc, plan, sizeof *plan);
}

const moonplan_document *moonplan_step_plan_document(const moonplan_step_plan *plan) {
    return plan->document;
}

moonplan_text moonplan_step_plan_goal(const moonplan_step_plan *plan) {
    return plan->goal;
}

size_t moonplan_step_plan_count(const moonplan_step_plan *plan) {
    return plan->count;
}

bool moonplan_step_plan_step(const moonplan_step_plan *plan, moonplan_step *out, size_t n) {
    if (n >= plan->count) return false;
    const mpl_step *step = &plan->steps[n];
    moonplan_value none = {plan->document, ABSENT};
    *out = (moonplan_step){.id = mpl_step_text(plan, step->id),
                           .capability = mpl_step_text(plan, step->capability),
                           .version = mpl_step_text(plan, step->version),
                           .reason = mpl_step_text(plan, step->reason),
                           .idempotency_key = mpl_step_text(plan, step->key),
                           .input = mpl_step_value(plan, step->input),
                           .status = MOONPLAN_PENDING,
                           .created = MOONPLAN_NO_TIME,
                           .started = MOONPLAN_NO_TIME,
                           .completed = MOONPLAN_NO_TIME,
                           .result = none,
                           .error = {.detail = none}};
    return true;
}

size_t moonplan_step_plan_reference_count(const moonplan_step_plan *plan) {
    return plan->reference_count;
}

bool moonplan_step_plan_reference(const moonplan_step_plan *plan, moonplan_reference *out,
                                  size_t n) {
    if (n >= plan->reference_count) return false;
    const mpl_plan_reference *kept = &plan->references[n];
    mpl_reference reference = {{NULL, 0}, {NULL, 0}};
    *out = (moonplan_reference){
        .at = mpl_step_value(plan, kept->node), .step = kept->step, .target = kept->target};
    if (mpl_reference_is(out->at, &out->text)) mpl_reference_parse(&reference, out->text);
    out->path = reference.path;
    return true;
}

size_t moonplan_step_plan_warning_count(const moonplan_step_plan *plan) {
    return moonplan_error_list_count(plan->warnings);
}

const moonplan_error *moonplan_step_plan_warning(const moonplan_step_plan *plan, size_t n) {
    return plan->warnings ? moonplan_error_list_at(plan->warnings, n) : NULL;
}
