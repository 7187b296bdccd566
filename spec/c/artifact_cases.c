/* Artifact references for specs: each envelope is driven to its end, with the answers of the record
 * in place of a network. Words: expect=call_plan|typed_data, transports=N (or-ed),
 * addresses=A,B,... (what the host resolves to), status=N, fail=REASON, file=PATH (where the body
 * is), piece=N (bytes of the body at once), check (admission alone), bytes= (the envelope), body=.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/call/address.h"
#include "cases.h"

static moonplan_text text_of(const char *word) {
    return (moonplan_text){word, word ? strlen(word) : 0};
}

static void resolve(moonplan_artifact *artifact, const char *words) {
    moonplan_address addresses[16];
    size_t count = 0;
    while (words && *words && count < 16) {
        size_t length = strcspn(words, ",");
        moonplan_text text = {words, length};
        if (!mpl_address_read_ipv4(&addresses[count], text) &&
            !mpl_address_read_ipv6(&addresses[count], text))
            abort();
        count++;
        words += length + (words[length] == ',');
    }
    moonplan_artifact_resolved(artifact, addresses, count);
}

static void fetch(const record *in, moonplan_artifact *artifact, moonplan_text body) {
    const char *status = record_word(in, "status"), *fail = record_word(in, "fail"),
               *file = record_word(in, "file"), *piece = record_word(in, "piece");
    moonplan_text path = moonplan_artifact_path(artifact);
    if (fail || (path.bytes && (!file || strcmp(file, path.bytes) != 0))) {
        moonplan_artifact_fail(artifact, fail ? fail : "no such file");
        return;
    }
    if (status && !moonplan_artifact_status(artifact, (unsigned)strtoul(status, NULL, 10))) return;
    size_t most = piece ? strtoul(piece, NULL, 10) : body.length;
    for (size_t at = 0; at < body.length;) {
        size_t length = body.length - at < most ? body.length - at : most;
        if (!moonplan_artifact_add(artifact, body.bytes + at, length)) return;
        at += length;
    }
    moonplan_artifact_end(artifact);
}

/* What was wanted, in order, goes into `wanted`. */
static bool drive(const record *in, moonplan_artifact *artifact, moonplan_text body,
                  mpl_buffer *wanted, moonplan_error *err) {
    for (;;) {
        switch (moonplan_artifact_next(artifact, err)) {
        case MOONPLAN_ARTIFACT_WANTS_ADDRESSES:
            mpl_buffer_add(wanted, "addresses ", 10);
            resolve(artifact, record_word(in, "addresses"));
            break;
        case MOONPLAN_ARTIFACT_WANTS_BODY:
            mpl_buffer_add(wanted, "body ", 5);
            fetch(in, artifact, body);
            break;
        case MOONPLAN_ARTIFACT_REFUSED:
            return false;
        default:
            return true;
        }
    }
}

static bool digest(moonplan_artifact *artifact, const moonplan_options *options, uint8_t out[32],
                   moonplan_error *err) {
    if (moonplan_artifact_kind(artifact) == MOONPLAN_KIND_CALL_PLAN) {
        moonplan_call_plan *plan = moonplan_artifact_call_plan(artifact, options, err);
        if (!plan) return false;
        moonplan_call_plan_digest(plan, out);
        moonplan_call_plan_free(plan);
        return true;
    }
    moonplan_typed_data *request = moonplan_artifact_typed_data(artifact, options, err);
    moonplan_typed_data_digests digests;
    if (!request) return false;
    moonplan_typed_data_digest(request, &digests);
    memcpy(out, digests.request_digest, 32);
    moonplan_typed_data_free(request);
    return true;
}

int main(void) {
    record in;
    char *envelope_bytes = NULL, *body_bytes = NULL;
    while (record_next(&in)) {
        moonplan_text envelope = record_bytes(&in, "bytes", &envelope_bytes);
        moonplan_text body = record_bytes(&in, "body", &body_bytes);
        moonplan_error err = {.code = MOONPLAN_OK};
        moonplan_error_list *list = NULL;
        uint8_t result[32] = {0};
        const char *expect = record_word(&in, "expect");
        mpl_alloc alloc = mpl_alloc_of(NULL);
        mpl_buffer wanted;
        mpl_buffer_open(&wanted, &alloc);
        in.options.errors = &list;
        moonplan_kind kind = !expect                            ? MOONPLAN_KIND_NONE
                             : strcmp(expect, "call_plan") == 0 ? MOONPLAN_KIND_CALL_PLAN
                                                                : MOONPLAN_KIND_TYPED_DATA_REQUEST;
        moonplan_artifact *artifact =
            moonplan_artifact_parse(envelope.bytes, envelope.length, kind, &in.options, &err);
        bool check = record_word(&in, "check") != NULL;
        bool fine = artifact && (check || (drive(&in, artifact, body, &wanted, &err) &&
                                           digest(artifact, &in.options, result, &err)));
        mpl_builder out;
        mpl_build_open(&out, NULL);
        mpl_build_object(&out);
        mpl_build_name(&out, text_of("accept"));
        mpl_build_boolean(&out, fine);
        mpl_build_name(&out, text_of("admitted"));
        mpl_build_boolean(&out, artifact != NULL);
        answer_text(&out, "wanted",
                    (moonplan_text){wanted.bytes ? wanted.bytes : "", wanted.length});
        if (!fine) answer_errors(&out, list, &err);
        if (fine && !check) answer_hex(&out, "digest", result, sizeof result);
        if (artifact) {
            static const char *const kinds[] = {[MOONPLAN_TRANSPORT_DATA] = "inline",
                                                [MOONPLAN_TRANSPORT_HTTPS] = "https",
                                                [MOONPLAN_TRANSPORT_FILE] = "local-file"};
            moonplan_text host = moonplan_artifact_host(artifact),
                          target = moonplan_artifact_target(artifact),
                          path = moonplan_artifact_path(artifact);
            answer_text(&out, "provenance", text_of(kinds[moonplan_artifact_transport(artifact)]));
            if (host.bytes) answer_text(&out, "host", host);
            if (target.bytes) answer_text(&out, "target", target);
            if (path.bytes) answer_text(&out, "path", path);
        }
        mpl_build_end(&out);
        answer_print(&out);
        mpl_buffer_close(&wanted);
        moonplan_artifact_free(artifact);
    }
    free(envelope_bytes);
    free(body_bytes);
    return EXIT_SUCCESS;
}
