/* What a call came to, told to the engine. Apart from call.c, which runners have as well. */
#include <string.h>

#include "../core/text.h"
#include "../engine/engine.h"
#include "call.h"

/* The detail of a plugin that died: why its host says so. */
static moonplan_document *make_cause(mpl_lua_call *call) {
    const char *name = moonplan_code_name(call->cause);
    mpl_builder builder;
    mpl_build_open(&builder, call->options);
    mpl_build_object(&builder);
    mpl_build_name(&builder, MOONPLAN_TEXT("code"));
    mpl_build_string(&builder, (moonplan_text){name, strlen(name)});
    mpl_build_name(&builder, MOONPLAN_TEXT("reason"));
    mpl_build_string(&builder, (moonplan_text){call->reason, strlen(call->reason)});
    mpl_build_end(&builder);
    return mpl_build_finish(&builder, NULL);
}

static moonplan_document *make_detail(mpl_lua_call *call, moonplan_text prefix) {
    mpl_builder builder;
    mpl_buffer *code = &call->scratch;
    code->length = 0;
    mpl_buffer_add(code, prefix.bytes, prefix.length);
    mpl_buffer_byte(code, '.');
    mpl_buffer_add(code, call->code_text.bytes, call->code_text.length);
    moonplan_text text = {code->bytes, code->length};
    if (code->failed) return NULL;
    for (size_t at = 0; at < text.length;) {
        size_t step = mpl_utf8(text.bytes + at, text.bytes + text.length, NULL);
        if (step == 0) return NULL;
        at += step;
    }
    mpl_build_open(&builder, call->options);
    mpl_build_object(&builder);
    mpl_build_name(&builder, MOONPLAN_TEXT("code"));
    mpl_build_string(&builder, text);
    mpl_build_end(&builder);
    return mpl_build_finish(&builder, NULL);
}

void mpl_lua_call_answer(mpl_lua_call *call, moonplan_want *want, moonplan_text prefix) {
    if (call->code == MOONPLAN_OK) {
        moonplan_document *result = call->result;
        call->result = NULL;
        mpl_want_take(want, result);
        return;
    }
    moonplan_document *detail = NULL;
    if (call->cause != MOONPLAN_OK)
        detail = make_cause(call);
    else if (call->code_text.length)
        detail = make_detail(call, prefix);
    moonplan_failure failure = {.code = call->code};
    if (call->text.failed || call->code_text.failed)
        failure = (moonplan_failure){.code = MOONPLAN_JOB_MEMORY,
                                     .message = MOONPLAN_TEXT("out of memory")};
    else if (call->has_text && call->text.length)
        failure.message = (moonplan_text){call->text.bytes, call->text.length};
    else if (call->has_text)
        failure.message = MOONPLAN_TEXT("");
    if (detail) failure.detail = moonplan_document_root(detail);
    moonplan_want_fail_with(want, &failure);
    moonplan_document_free(detail);
}

void mpl_lua_call_outcome(const mpl_lua_call *call, moonplan_want *want) {
    if (call->code == MOONPLAN_OK) {
        moonplan_value outcome = {NULL, 0};
        if (call->result) outcome = moonplan_document_root(call->result);
        if (!moonplan_want_outcome(want, outcome))
            mpl_want_doubt(want,
                           MOONPLAN_TEXT("it returned neither { happened = true, result = ... "
                                         "}, { happened = false } nor nothing"));
    } else {
        mpl_want_doubt(want, call->has_text && call->text.length && !call->text.failed
                                 ? (moonplan_text){call->text.bytes, call->text.length}
                                 : MOONPLAN_TEXT("it failed without a message"));
    }
}
