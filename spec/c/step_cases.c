/* Runs step-plan cases through the C interface: reads a case, or an array of them, as JSON on
 * standard input, and writes one line each:
 *
 *   {"id":...,"admitted":true,"job":{...}}           as moonplan_job_document_new has it
 *   {"id":...,"admitted":false,"errors":[{"code":...,"message":...,"at":...}, ...]}
 *
 * A case has plan_text, capabilities of a behaviour each, and perhaps an authorizer; what the kinds
 * of behaviour and authorizer are is said in the case file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/moonplan.h"

static moonplan_value member(moonplan_value object, const char *name) {
    return moonplan_value_member(object, name, strlen(name));
}

static moonplan_text text_member(moonplan_value object, const char *name) {
    return moonplan_value_string(member(object, name));
}

static bool is(moonplan_text text, const char *literal) {
    return text.bytes && text.length == strlen(literal) &&
           memcmp(text.bytes, literal, text.length) == 0;
}

static void fail(const char *what, const moonplan_error *err) {
    fprintf(stderr, "step_cases: %s%s%s\n", what, err ? ": " : "", err ? err->message : "");
    exit(EXIT_FAILURE);
}

static void put(moonplan_text text) {
    fwrite(text.bytes, 1, text.length, stdout);
}

static void put_string(const char *bytes, size_t length) {
    putchar('"');
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '"' || byte == '\\')
            printf("\\%c", byte);
        else if (byte < 0x20)
            printf("\\u%04x", byte);
        else
            putchar(byte);
    }
    putchar('"');
}

/* -- Capabilities and authorizers: `data` is where the case describes them ---*/

static void run(void *data, moonplan_want *want) {
    moonplan_value behaviour = *(moonplan_value *)data;
    moonplan_text kind = moonplan_value_string(behaviour);
    if (!kind.bytes) kind = text_member(behaviour, "kind");
    if (is(kind, "echo")) {
        moonplan_want_complete(want, want->input);
    } else if (is(kind, "const") || is(kind, "sync_value")) {
        moonplan_want_complete(want, member(behaviour, "value"));
    } else if (is(kind, "throw") || is(kind, "throw_type_error")) {
        moonplan_want_fail(want, text_member(behaviour, "message"));
    } else if (is(kind, "throw_value")) {
        moonplan_want_fail(want, (moonplan_text){NULL, 0});
    } else if (is(kind, "mutate_input")) {
        /* The members of `set`, then those of the input that it does not have. */
        char text[1024] = "{";
        size_t length = 1;
        moonplan_value set = member(behaviour, "set"), sources[] = {set, want->input};
        for (size_t i = 0; i < 2; i++) {
            moonplan_walk walk = moonplan_value_walk(sources[i]);
            while (moonplan_walk_next(&walk)) {
                if (i == 1 && moonplan_value_type(moonplan_value_member(
                                  set, walk.name.bytes, walk.name.length)) != MOONPLAN_NONE)
                    continue;
                moonplan_text value = moonplan_value_source(walk.value);
                int added = snprintf(text + length, sizeof text - length, "%s\"%.*s\":%.*s",
                                     length > 1 ? "," : "", (int)walk.name.length, walk.name.bytes,
                                     (int)value.length, value.bytes);
                if (added < 0 || (size_t)added >= sizeof text - length - 1)
                    fail("mutate_input is too large", NULL);
                length += (size_t)added;
            }
        }
        text[length++] = '}';
        moonplan_want_complete_json(want, text, length);
    } else {
        fail("unknown behaviour", NULL);
    }
}

static void decide_as(moonplan_value authorizer, moonplan_want *want) {
    moonplan_text word = moonplan_value_string(authorizer);
    moonplan_value by_step = member(authorizer, "by_step"), sync = member(authorizer, "sync"),
                   returns = member(authorizer, "returns"),
                   reason = member(authorizer, "deny_reason");
    if (is(word, "allow")) {
        moonplan_want_allow(want);
    } else if (is(word, "deny")) {
        moonplan_want_deny(want, NULL, 0);
    } else if (is(word, "throw")) {
        moonplan_want_fail(want, MOONPLAN_TEXT("authorizer unavailable"));
    } else if (moonplan_value_type(sync) != MOONPLAN_NONE) {
        decide_as(sync, want);
    } else if (moonplan_value_type(returns) != MOONPLAN_NONE) {
        moonplan_want_decide(want, returns);
    } else if (moonplan_value_type(reason) != MOONPLAN_NONE) {
        moonplan_text source = moonplan_value_source(reason);
        char text[256];
        snprintf(text, sizeof text, "{\"decision\":\"deny\",\"reason\":%.*s}", (int)source.length,
                 source.bytes);
        moonplan_error err;
        moonplan_document *decision = moonplan_document_parse(text, strlen(text), NULL, &err);
        if (!decision) fail("deny_reason", &err);
        moonplan_want_decide(want, moonplan_document_root(decision));
        moonplan_document_free(decision);
    } else if (moonplan_value_type(by_step) != MOONPLAN_NONE) {
        moonplan_value own =
            moonplan_value_member(by_step, want->step_id.bytes, want->step_id.length);
        decide_as(moonplan_value_type(own) == MOONPLAN_NONE ? member(authorizer, "otherwise") : own,
                  want);
    } else {
        fail("unknown authorizer", NULL);
    }
}

static void decide(void *data, moonplan_want *want) {
    decide_as(*(moonplan_value *)data, want);
}

/* -- One case ----------------------------------------------------------------*/

static void run_case(moonplan_value given) {
    moonplan_engine_options options;
    moonplan_error err;
    moonplan_engine_options_init(&options);
    moonplan_value authorizer = member(given, "authorizer"), behaviours[16];
    if (moonplan_value_type(authorizer) != MOONPLAN_NONE &&
        !is(moonplan_value_string(authorizer), "default"))
        options.authorizer = (moonplan_authorizer){.decide = decide, .data = &authorizer};
    moonplan_engine *engine = moonplan_engine_new(&options, &err);
    if (!engine) fail("engine", &err);
    moonplan_walk walk = moonplan_value_walk(member(given, "capabilities"));
    for (size_t n = 0; moonplan_walk_next(&walk); n++) {
        if (n == sizeof behaviours / sizeof *behaviours) fail("too many capabilities", NULL);
        behaviours[n] = member(walk.value, "behaviour");
        moonplan_capability capability = {
            .name = text_member(walk.value, "name"),
            .version = text_member(walk.value, "version"),
            .risk = text_member(walk.value, "risk"),
            .input = moonplan_value_source(member(walk.value, "inputSchema")),
            .run = run,
            .data = &behaviours[n]};
        if (!moonplan_engine_register(engine, &capability, 1, &err)) fail("register", &err);
    }
    moonplan_text plan = text_member(given, "plan_text");
    moonplan_error_list *errors = NULL;
    moonplan_run_options run_options = {.errors = &errors};
    moonplan_job *job = moonplan_engine_run(engine, plan.bytes, plan.length, &run_options, &err);
    printf("{\"id\":");
    put(moonplan_value_source(member(given, "id")));
    printf(",\"admitted\":%s,", job ? "true" : "false");
    if (job) {
        moonplan_document *whole = moonplan_job_document_new(job, &err);
        if (!whole) fail("job", &err);
        printf("\"job\":");
        put(moonplan_value_source(moonplan_document_root(whole)));
        moonplan_document_free(whole);
    } else {
        printf("\"errors\":[");
        for (size_t i = 0; i < moonplan_error_list_count(errors); i++) {
            const moonplan_error *one = moonplan_error_list_at(errors, i);
            printf("%s{\"code\":\"%s\",\"message\":", i ? "," : "", moonplan_code_name(one->code));
            put_string(one->message, strlen(one->message));
            printf(",\"at\":");
            put_string(one->at, one->at_length);
            putchar('}');
        }
        putchar(']');
    }
    printf("}\n");
    moonplan_error_list_free(errors);
    moonplan_job_free(job);
    moonplan_engine_free(engine);
}

int main(void) {
    size_t length = 0, room = 1 << 16, got;
    char *text = malloc(room);
    while (text && (got = fread(text + length, 1, room - length, stdin)) > 0) {
        length += got;
        if (length < room) continue;
        char *moved = realloc(text, room *= 2);
        if (!moved) free(text);
        text = moved;
    }
    if (!text) fail("out of memory", NULL);
    moonplan_error err;
    moonplan_document *document = moonplan_document_parse(text, length, NULL, &err);
    free(text);
    if (!document) fail("standard input", &err);
    moonplan_value root = moonplan_document_root(document);
    if (moonplan_value_type(root) == MOONPLAN_ARRAY) {
        moonplan_walk walk = moonplan_value_walk(root);
        while (moonplan_walk_next(&walk)) run_case(walk.value);
    } else {
        run_case(root);
    }
    moonplan_document_free(document);
    return EXIT_SUCCESS;
}
