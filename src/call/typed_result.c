/* What travels back: results, receipts, delivery operations (ERC-8410, Signature Results and
 * Controlled Delivery). */
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "typed_data.h"

#define UNKNOWN MOONPLAN_TYPED_DATA_UNKNOWN_MEMBER
#define MISSING MOONPLAN_TYPED_DATA_MISSING_MEMBER

static bool check_object(mpl_faults *faults, const char *what, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type == MOONPLAN_OBJECT) return true;
    MPL_FAULT(faults, MOONPLAN_TYPED_DATA_TYPE, value, "%s must be an object, not %s", what,
              mpl_type_text(type));
    return false;
}

/* Lower case alone: these are written by wallets, and compared as text. `expected` may be NULL. */
static void check_digest(mpl_faults *faults, const char *what, moonplan_value value,
                         const uint8_t *expected) {
    char digest[66] = "0x";
    moonplan_text text = mpl_typed_data_string(faults, what, value), own = {digest, sizeof digest};
    if (!text.bytes) return;
    if (text.length != sizeof digest || mpl_hex_scan(text) != MPL_HEX_LOWER) {
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_DIGEST, value,
                  "%s is %q; it is 0x and 64 lower-case hexadecimal digits", what, &text);
        return;
    }
    if (!expected) return;
    mpl_hex_encode(digest + 2, expected, 32);
    if (!mpl_text_equal(text, own))
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_REQUEST_MISMATCH, value,
                  "%s is %t, and that of the request is %t", what, &text, &own);
}

static void check_request_id(mpl_faults *faults, moonplan_value value,
                             const moonplan_typed_data *request) {
    moonplan_text text =
        mpl_typed_data_id(faults, MOONPLAN_TYPED_DATA_REQUEST_ID, "request_id", value);
    if (!text.bytes || !request) return;
    if (!request->request_id.bytes)
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_REQUEST_MISMATCH, value,
                  "request_id is %q, and the request asks for no delivery", &text);
    else if (!mpl_text_equal(text, request->request_id))
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_REQUEST_MISMATCH, value,
                  "request_id is %q, and that of the request is %q", &text, &request->request_id);
}

static void check_result(mpl_faults *faults, moonplan_value result,
                         const moonplan_typed_data *request) {
    static const mpl_shape shape = {"the result",
                                    {{"kind", true},
                                     {"schema_version", true},
                                     {"request_digest", true},
                                     {"signing_digest", true},
                                     {"signer", true},
                                     {"signature", true}}};
    if (!check_object(faults, "a result", result)) return;
    mpl_shape_open(faults, &shape, result, MISSING);
    moonplan_walk walk = moonplan_value_walk(result);
    for (;;) {
        int which = mpl_shape_next(faults, &shape, &walk, UNKNOWN);
        moonplan_text text, signer;
        switch (which) {
        case 0:
            mpl_typed_data_kind(faults, "typed_data_result", walk.value);
            break;
        case 1:
            mpl_typed_data_version(faults, walk.value);
            break;
        case 2:
            check_digest(faults, "request_digest", walk.value,
                         request ? request->digests.request_digest : NULL);
            break;
        case 3:
            check_digest(faults, "signing_digest", walk.value,
                         request ? request->digests.signing_digest : NULL);
            break;
        case 4:
            text = mpl_typed_data_string(faults, "signer", walk.value);
            if (!text.bytes) break;
            if (text.length != 42 || mpl_hex_scan(text) != MPL_HEX_LOWER) {
                MPL_FAULT(faults, MOONPLAN_TYPED_DATA_ADDRESS, walk.value,
                          "signer is %q; in a result it is 0x and 40 lower-case hexadecimal digits",
                          &text);
                break;
            }
            if (!request) break;
            signer = moonplan_typed_data_signer(request);
            if (!mpl_text_equal(text, signer))
                MPL_FAULT(faults, MOONPLAN_TYPED_DATA_SIGNER_MISMATCH, walk.value,
                          "signer is %t, and that of the request is %t", &text, &signer);
            break;
        case 5:
            text = mpl_typed_data_string(faults, "signature", walk.value);
            /* The message does not repeat it: a signature belongs in no log. */
            if (text.bytes && (text.length == 2 || mpl_hex_scan(text) != MPL_HEX_LOWER))
                MPL_FAULT(faults, MOONPLAN_TYPED_DATA_SIGNATURE, walk.value,
                          "signature is not 0x and lower-case hexadecimal digits of one byte or "
                          "more");
            break;
        default:
            return;
        }
    }
}

static void check_receipt(mpl_faults *faults, moonplan_value receipt,
                          const moonplan_typed_data *request) {
    static const mpl_shape shape = {"the receipt",
                                    {{"kind", true},
                                     {"schema_version", true},
                                     {"request_id", true},
                                     {"request_digest", true},
                                     {"status", true},
                                     {"operation_id", false}}};
    if (!check_object(faults, "a receipt", receipt)) return;
    moonplan_text status = moonplan_value_string(mpl_member(receipt, "status"));
    bool accepted = mpl_text_is(status, "accepted"),
         other = mpl_text_is(status, "rejected") || mpl_text_is(status, "unknown");
    mpl_shape_open(faults, &shape, receipt, MISSING);
    if (accepted && moonplan_value_type(mpl_member(receipt, "operation_id")) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MISSING, receipt, "the receipt of what was accepted",
                          "operation_id");
    moonplan_walk walk = moonplan_value_walk(receipt);
    for (;;) {
        int which = mpl_shape_next(faults, &shape, &walk, UNKNOWN);
        moonplan_text text;
        switch (which) {
        case 0:
            mpl_typed_data_kind(faults, "typed_data_receipt", walk.value);
            break;
        case 1:
            mpl_typed_data_version(faults, walk.value);
            break;
        case 2:
            check_request_id(faults, walk.value, request);
            break;
        case 3:
            check_digest(faults, "request_digest", walk.value,
                         request ? request->digests.request_digest : NULL);
            break;
        case 4:
            text = mpl_typed_data_string(faults, "status", walk.value);
            if (text.bytes && !accepted && !other)
                MPL_FAULT(faults, MOONPLAN_TYPED_DATA_STATUS, walk.value,
                          "%q is no status; there are: accepted, rejected, unknown", &text);
            break;
        case 5:
            if (other)
                MPL_FAULT(faults, MOONPLAN_TYPED_DATA_OPERATION_ID, walk.value,
                          "only what was accepted has an operation_id, and the status is %t",
                          &status);
            else
                mpl_typed_data_id(faults, MOONPLAN_TYPED_DATA_OPERATION_ID, "operation_id",
                                  walk.value);
            break;
        default:
            return;
        }
    }
}

static void check_operation(mpl_faults *faults, moonplan_value operation,
                            const moonplan_typed_data *request) {
    static const mpl_shape submit = {"a submission",
                                     {{"action", true}, {"request_id", true}, {"result", true}}};
    static const mpl_shape query = {
        "a status query", {{"action", true}, {"request_id", true}, {"request_digest", true}}};
    if (!check_object(faults, "a delivery operation", operation)) return;
    moonplan_value value = mpl_member(operation, "action");
    moonplan_text action = moonplan_value_string(value);
    bool submits = mpl_text_is(action, "submit");
    /* Which members there are hangs on the action, so nothing else is looked at without it. */
    if (moonplan_value_type(value) == MOONPLAN_NONE) {
        mpl_fault_missing(faults, MISSING, operation, "the operation", "action");
        return;
    }
    if (!submits && !mpl_text_is(action, "status")) {
        if (mpl_typed_data_string(faults, "action", value).bytes)
            MPL_FAULT(faults, MOONPLAN_TYPED_DATA_ACTION, value,
                      "%q is no action; there are: submit, status", &action);
        return;
    }
    const mpl_shape *shape = submits ? &submit : &query;
    mpl_shape_open(faults, shape, operation, MISSING);
    moonplan_walk walk = moonplan_value_walk(operation);
    for (;;) {
        int which = mpl_shape_next(faults, shape, &walk, UNKNOWN);
        if (which < 0) return;
        if (which == 1)
            check_request_id(faults, walk.value, request);
        else if (which == 2 && submits)
            check_result(faults, walk.value, request);
        else if (which == 2)
            check_digest(faults, "request_digest", walk.value,
                         request ? request->digests.request_digest : NULL);
    }
}

typedef void (*checker)(mpl_faults *faults, moonplan_value value,
                        const moonplan_typed_data *request);

static bool check(checker judge, const moonplan_document *document,
                  const moonplan_typed_data *request, const moonplan_options *options,
                  moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    mpl_faults faults;
    mpl_faults_open(&faults, &own);
    judge(&faults, moonplan_document_root(document), request);
    return mpl_faults_close(&faults, &own, err);
}

bool moonplan_typed_data_result(const moonplan_document *result, const moonplan_typed_data *request,
                                const moonplan_options *options, moonplan_error *err) {
    return check(check_result, result, request, options, err);
}

bool moonplan_typed_data_receipt(const moonplan_document *receipt,
                                 const moonplan_typed_data *request,
                                 const moonplan_options *options, moonplan_error *err) {
    return check(check_receipt, receipt, request, options, err);
}

bool moonplan_typed_data_operation(const moonplan_document *operation,
                                   const moonplan_typed_data *request,
                                   const moonplan_options *options, moonplan_error *err) {
    return check(check_operation, operation, request, options, err);
}
