/* Typed-data requests, results, receipts and operations for specs: the first word of a record says
 * which. `store` is a request that those after it with the word `stored` are about. Words: now=,
 * account=, origin=, no_delivery, explain, bytes=. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static moonplan_text text_of(const char *word) {
    return (moonplan_text){word, word ? strlen(word) : 0};
}

static bool sink(void *data, const char *bytes, size_t length) {
    mpl_buffer_add(data, bytes, length);
    return true;
}

static void digests(mpl_builder *out, const moonplan_typed_data *request) {
    moonplan_typed_data_digests all;
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer canonical;
    mpl_buffer_open(&canonical, &alloc);
    moonplan_typed_data_digest(request, &all);
    moonplan_typed_data_canonical(request, sink, &canonical);
    answer_hex(out, "request_digest", all.request_digest, 32);
    answer_hex(out, "domain_separator", all.domain_separator, 32);
    answer_hex(out, "message_hash", all.message_hash, 32);
    answer_hex(out, "signing_digest", all.signing_digest, 32);
    answer_text(out, "canonical_form", (moonplan_text){canonical.bytes, canonical.length});
    answer_text(out, "signer", moonplan_typed_data_signer(request));
    mpl_buffer_close(&canonical);
}

static void explain(mpl_builder *out, const moonplan_typed_data *request) {
    moonplan_error err;
    moonplan_document *tree = moonplan_typed_data_explain(request, NULL, &err);
    if (!tree) {
        answer_text(out, "explain_error", text_of(err.message));
        return;
    }
    mpl_build_name(out, text_of("explain"));
    mpl_build_value(out, moonplan_document_root(tree));
    moonplan_document_free(tree);
}

static bool situation_holds(const record *in, const moonplan_typed_data *request,
                            moonplan_error *err) {
    const char *now = record_word(in, "now");
    moonplan_typed_data_situation situation = {.has_now = now != NULL,
                                               .now = now ? strtoull(now, NULL, 10) : 0,
                                               .account = text_of(record_word(in, "account")),
                                               .origin = text_of(record_word(in, "origin")),
                                               .no_delivery =
                                                   record_word(in, "no_delivery") != NULL};
    return moonplan_typed_data_check(request, &situation, &in->options, err);
}

static bool shape_holds(const char *what, moonplan_text text, const moonplan_typed_data *stored,
                        const moonplan_options *options, moonplan_error *err) {
    moonplan_document *document = moonplan_document_parse(text.bytes, text.length, options, err);
    if (!document) return false;
    bool fine;
    if (strcmp(what, "result") == 0)
        fine = moonplan_typed_data_result(document, stored, options, err);
    else if (strcmp(what, "receipt") == 0)
        fine = moonplan_typed_data_receipt(document, stored, options, err);
    else
        fine = moonplan_typed_data_operation(document, stored, options, err);
    moonplan_document_free(document);
    return fine;
}

int main(void) {
    record in;
    char *bytes = NULL;
    moonplan_typed_data *stored = NULL;
    while (record_next(&in)) {
        moonplan_text text = record_bytes(&in, "bytes", &bytes);
        moonplan_error err = {.code = MOONPLAN_OK};
        moonplan_error_list *list = NULL;
        moonplan_typed_data *request = NULL;
        bool about = strcmp(in.line, "request") == 0 || strcmp(in.line, "store") == 0, fine;
        in.options.errors = &list;
        if (about) {
            request = moonplan_typed_data_parse(text.bytes, text.length, &in.options, &err);
            fine = request && situation_holds(&in, request, &err);
        } else {
            fine = shape_holds(in.line, text, record_word(&in, "stored") ? stored : NULL,
                               &in.options, &err);
        }
        mpl_builder out;
        mpl_build_open(&out, NULL);
        out.max_values = UINT64_MAX;
        out.max_depth = 1024;
        mpl_build_object(&out);
        mpl_build_name(&out, text_of("accept"));
        mpl_build_boolean(&out, fine);
        if (!fine) answer_errors(&out, list, &err);
        if (fine && request) digests(&out, request);
        if (fine && request && record_word(&in, "explain")) explain(&out, request);
        mpl_build_end(&out);
        answer_print(&out);
        if (strcmp(in.line, "store") == 0) {
            moonplan_typed_data_free(stored);
            stored = request;
        } else {
            moonplan_typed_data_free(request);
        }
    }
    moonplan_typed_data_free(stored);
    free(bytes);
    return EXIT_SUCCESS;
}
