/* What a host brings with it has no say: its locale, and a thread's small stack. */
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "samples.h"

/* -- Locales ----------------------------------------------------------------*/

/* A locale whose decimal point is a comma: one that is installed, or one made for the occasion. */
static bool comma_locale(char *folder) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8",
                                        "de_DE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) return true;
    char command[256];
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1",
             folder);
    if (system(command) != 0) return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void remove_folder(const char *folder) {
    char command[256];
    snprintf(command, sizeof command, "rm -r %s 2>/dev/null", folder);
    if (system(command) != 0) return; /* it was never made */
}

static void commas_do_no_harm(void) {
    static const char text[] = "{\"a\":1,\"b\":2.5,\"c\":[1,2],\"d\":1e-7}";
    char folder[] = "/tmp/moonplan-locale-XXXXXX";
    bool there = comma_locale(folder);
    if (!there) {
        check_skip("no locale with a decimal comma, and localedef cannot make one");
    } else {
        CHECK(strcmp(localeconv()->decimal_point, ",") == 0);
        moonplan_error err;
        moonplan_document *document = moonplan_document_parse(text, strlen(text), NULL, &err);
        if (CHECK(document != NULL)) {
            CHECK_TEXT("2.5", moonplan_value_source(moonplan_document_at(document, "/b", 2)));
            CHECK_TEXT("1", moonplan_value_source(moonplan_document_at(document, "/c/0", 4)));
        }
        moonplan_document_free(document);
        sample plan = plan_swap();
        uint8_t there_digest[32], here[32];
        CHECK(moonplan_digest(there_digest, plan.bytes, plan.length, NULL, &err));
        CHECK(strcmp(localeconv()->decimal_point, ",") == 0); /* the host's locale is its own */
        setlocale(LC_ALL, "C");
        CHECK(moonplan_digest(here, plan.bytes, plan.length, NULL, &err));
        CHECK(memcmp(here, there_digest, sizeof here) == 0);
        sample_free(&plan);
    }
    setlocale(LC_ALL, "C");
    if (!strstr(folder, "XXXXXX")) remove_folder(folder);
}

/* -- Stacks ------------------------------------------------------------------*/

static sample nested(const char *open, const char *middle, const char *close, size_t depth) {
    sample out = {NULL, 0, 0};
    sample_repeat(&out, open, depth);
    sample_add(&out, "%s", middle);
    sample_repeat(&out, close, depth);
    return out;
}

static void *read_deep(void *data) {
    (void)data;
    moonplan_options options;
    moonplan_options_init(&options);
    moonplan_error err;
    sample deep = nested("[", "", "]", 100000);
    CHECK(!moonplan_document_parse(deep.bytes, deep.length, &options, &err));
    CHECK(err.code == MOONPLAN_JSON_DEPTH);
    sample_free(&deep);
    deep = nested("{\"a\":", "0", "}", 100000);
    CHECK(!moonplan_document_parse(deep.bytes, deep.length, &options, &err));
    CHECK(err.code == MOONPLAN_JSON_DEPTH);
    sample_free(&deep);
    /* At the ceiling of the limit everything is read, walked and freed. */
    CHECK(moonplan_options_limit(&options, "depth", 1024, &err));
    deep = nested("[{\"a\":", "0", "}]", 512);
    moonplan_document *document = moonplan_document_parse(deep.bytes, deep.length, &options, &err);
    if (CHECK(document != NULL)) {
        moonplan_value value = moonplan_document_root(document);
        size_t depth = 0;
        moonplan_walk walk = moonplan_value_walk(value);
        while (moonplan_walk_next(&walk)) {
            depth++;
            walk = moonplan_value_walk(walk.value);
        }
        CHECK(depth == 1024);
    }
    moonplan_document_free(document);
    sample_free(&deep);
    sample inner = nested("[{\"a\":", "0", "}]", 510), rest = {NULL, 0, 0};
    sample_add(&rest, ",\"extensions\":{\"a\":%s}", inner.bytes);
    sample plan_text = plan_with(rest.bytes);
    moonplan_call_plan *plan =
        moonplan_call_plan_parse(plan_text.bytes, plan_text.length, &options, &err);
    CHECK(plan != NULL);
    moonplan_call_plan_free(plan);
    sample_free(&inner);
    sample_free(&rest);
    sample_free(&plan_text);
    /* Tuples in tuples, as deep as the limit lets them: they are followed by recursion. */
    inner = nested("{\"type\":\"tuple\",\"components\":[", "", "]}", 508);
    plan_text = plan_many(1, 0);
    plan_text.length -= 3; /* the ends of step, steps and plan */
    sample_add(
        &plan_text,
        ",\"revert_decode\":{\"kind\":\"error_result\",\"abi\":[{\"type\":\"error\",\"name\":"
        "\"E\",\"inputs\":[%s]}]}}]}",
        inner.bytes);
    plan = moonplan_call_plan_parse(plan_text.bytes, plan_text.length, &options, &err);
    if (!CHECK(plan != NULL)) printf("# %s at %s\n", err.message, err.at);
    moonplan_call_plan_free(plan);
    sample_free(&inner);
    sample_free(&plan_text);
    sample faulty = plan_faulty(1000);
    moonplan_error_list *errors;
    options.errors = &errors;
    CHECK(!moonplan_call_plan_parse(faulty.bytes, faulty.length, &options, &err));
    CHECK(moonplan_error_list_count(errors) == 65);
    moonplan_error_list_free(errors);
    sample_free(&faulty);
    return NULL;
}

static void small_stacks_are_enough(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)256 * 1024) == 0);
    CHECK(pthread_create(&thread, &attributes, read_deep, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
}

/* -- Threads ------------------------------------------------------------------*/

static void *read_shared(void *data) {
    const moonplan_call_plan *plan = data;
    uint8_t first[32], digest[32];
    moonplan_call_plan_digest(plan, first);
    for (int i = 0; i < 200; i++) {
        moonplan_call_plan_digest(plan, digest);
        CHECK(memcmp(first, digest, sizeof first) == 0);
        moonplan_call call;
        for (size_t n = 0; moonplan_call_plan_step(plan, &call, n); n++)
            CHECK(call.to.length == 42);
        moonplan_value root = moonplan_document_root(moonplan_call_plan_document(plan));
        CHECK(moonplan_value_type(moonplan_value_member(root, "sender", 6)) == MOONPLAN_STRING);
    }
    return NULL;
}

static void a_finished_plan_is_read_by_many_threads(void) {
    sample swap = plan_swap();
    moonplan_options options;
    moonplan_options_init(&options);
    options.enforce_capabilities = false;
    moonplan_error err;
    moonplan_call_plan *plan = moonplan_call_plan_parse(swap.bytes, swap.length, &options, &err);
    if (CHECK(plan != NULL)) {
        pthread_t threads[4];
        for (size_t i = 0; i < 4; i++)
            CHECK(pthread_create(&threads[i], NULL, read_shared, plan) == 0);
        for (size_t i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
    moonplan_call_plan_free(plan);
    sample_free(&swap);
}

int main(void) {
    RUN(commas_do_no_harm);
    RUN(small_stacks_are_enough);
    RUN(a_finished_plan_is_read_by_many_threads);
    return check_end();
}
