#include "error.h"
#include "text.h"
#include "value.h"

static moonplan_value member(moonplan_value object, const char *name, size_t length) {
    return moonplan_value_member(object, name, length);
}

moonplan_kind moonplan_document_kind(const moonplan_document *document, moonplan_error *err) {
    moonplan_value root = moonplan_document_root(document);
    moonplan_type type = moonplan_value_type(root);
    if (type != MOONPLAN_OBJECT) {
        mpl_error_at(err, MOONPLAN_DOCUMENT_KIND, root,
                     "the document is %s; a plan, reference or request is an object",
                     mpl_type_text(type));
        return MOONPLAN_KIND_NONE;
    }
    moonplan_text kind = moonplan_value_string(member(root, "kind", 4));
    if (mpl_text_is(kind, "artifact_reference")) return MOONPLAN_KIND_ARTIFACT_REFERENCE;
    if (mpl_text_is(kind, "typed_data_signature_request")) return MOONPLAN_KIND_TYPED_DATA_REQUEST;
    if (moonplan_value_type(member(root, "ordered_steps", 13)) != MOONPLAN_NONE ||
        moonplan_value_type(member(root, "schema_version", 14)) != MOONPLAN_NONE)
        return MOONPLAN_KIND_CALL_PLAN;
    if (moonplan_value_type(member(root, "steps", 5)) != MOONPLAN_NONE)
        return MOONPLAN_KIND_STEP_PLAN;
    mpl_error_at(err, MOONPLAN_DOCUMENT_KIND, root,
                 "nothing says what this document is: ordered_steps or schema_version would make "
                 "it a call plan, steps a step plan, and kind would name an artifact_reference or "
                 "a typed_data_signature_request");
    return MOONPLAN_KIND_NONE;
}

const char *moonplan_kind_name(moonplan_kind kind) {
    switch (kind) {
    case MOONPLAN_KIND_CALL_PLAN:
        return "call_plan";
    case MOONPLAN_KIND_STEP_PLAN:
        return "step_plan";
    case MOONPLAN_KIND_ARTIFACT_REFERENCE:
        return "artifact_reference";
    case MOONPLAN_KIND_TYPED_DATA_REQUEST:
        return "typed_data_signature_request";
    default:
        return "none";
    }
}
