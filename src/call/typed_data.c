#include "typed_data.h"

#include <string.h>

#include "../core/keccak.h"
#include "../core/text.h"
#include "../core/value.h"
#include "address.h"
#include "read.h"
#include "url.h"

/* ERC-8410, Controlled Delivery. */
#define ID_MOST 128

static const char request_kind[] = "typed_data_signature_request";

/* -- Members -----------------------------------------------------------------*/

moonplan_text mpl_typed_data_string(mpl_faults *faults, const char *what, moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type != MOONPLAN_STRING)
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_TYPE, value, "%s must be a string, not %s", what,
                  mpl_type_text(type));
    return moonplan_value_string(value);
}

moonplan_text mpl_typed_data_id(mpl_faults *faults, moonplan_code code, const char *what,
                                moonplan_value value) {
    moonplan_text none = {NULL, 0}, text = mpl_typed_data_string(faults, what, value);
    if (!text.bytes) return none;
    bool fits = text.length >= 1 && text.length <= ID_MOST;
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.bytes[i];
        fits = fits && ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9') || byte == '_' || byte == '-');
    }
    if (fits) return text;
    MPL_FAULT(faults, code, value, "%s is %q; it is 1 to 128 letters, digits, _ and -", what,
              &text);
    return none;
}

void mpl_typed_data_version(mpl_faults *faults, moonplan_value value) {
    moonplan_text text = mpl_typed_data_string(faults, "schema_version", value);
    if (text.bytes && !mpl_text_is(text, "1"))
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_SCHEMA_VERSION, value,
                  "schema_version is %q; only \"1\" is known here", &text);
}

void mpl_typed_data_kind(mpl_faults *faults, const char *kind, moonplan_value value) {
    moonplan_text text = mpl_typed_data_string(faults, "kind", value);
    if (text.bytes && !mpl_text_is(text, kind))
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_KIND, value, "kind is %q, not %s", &text, kind);
}

static void check_signer(moonplan_typed_data *request, mpl_faults *faults, moonplan_value value) {
    moonplan_text text = mpl_typed_data_string(faults, "signer", value);
    if (!text.bytes) return;
    if (mpl_hex_scan(text) == MPL_HEX_NO || text.length != sizeof request->signer) {
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_ADDRESS, value,
                  "signer is %q; an address is 0x and 40 hexadecimal digits", &text);
        return;
    }
    memcpy(request->signer, text.bytes, sizeof request->signer);
    mpl_hex_lower(request->signer, sizeof request->signer);
}

/* A canonical decimal below 2^64. */
static bool read_seconds(uint64_t *out, moonplan_text text) {
    uint64_t seconds = 0;
    if (!mpl_decimal(text)) return false;
    for (size_t i = 0; i < text.length; i++) {
        unsigned digit = (unsigned)(text.bytes[i] - '0');
        if (seconds > (UINT64_MAX - digit) / 10) return false;
        seconds = seconds * 10 + digit;
    }
    *out = seconds;
    return true;
}

static void check_valid_until(moonplan_typed_data *request, mpl_faults *faults,
                              moonplan_value value) {
    moonplan_text text = mpl_typed_data_string(faults, "valid_until", value);
    if (!text.bytes) return;
    request->valid_until = text;
    if (!read_seconds(&request->valid_until_seconds, text))
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_VALID_UNTIL, value,
                  "valid_until is %q; it is seconds in canonical decimal digits, below 2^64",
                  &text);
}

static void check_delivery(moonplan_typed_data *request, mpl_faults *faults,
                           moonplan_value delivery) {
    static const mpl_shape shape = {"delivery", {{"url", true}, {"request_id", true}}};
    moonplan_type type = moonplan_value_type(delivery);
    if (type != MOONPLAN_OBJECT) {
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_TYPE, delivery, "delivery must be an object, not %s",
                  mpl_type_text(type));
        return;
    }
    mpl_shape_open(faults, &shape, delivery, MOONPLAN_TYPED_DATA_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(delivery);
    for (;;) {
        int which = mpl_shape_next(faults, &shape, &walk, MOONPLAN_TYPED_DATA_UNKNOWN_MEMBER);
        if (which < 0) return;
        if (which == 1) {
            request->request_id =
                mpl_typed_data_id(faults, MOONPLAN_TYPED_DATA_REQUEST_ID, "request_id", walk.value);
            continue;
        }
        moonplan_text url = mpl_typed_data_string(faults, "url", walk.value);
        const char *fault = url.bytes ? mpl_url_delivery_fault(url) : NULL;
        if (fault)
            MPL_FAULT(faults, MOONPLAN_TYPED_DATA_DELIVERY_URL, walk.value, "%q: %s", &url, fault);
        request->delivery_url = url;
    }
}

static void check_request(moonplan_typed_data *request, mpl_faults *faults,
                          const moonplan_limits *limits) {
    static const mpl_shape shape = {"the request",
                                    {{"schema_version", true},
                                     {"kind", true},
                                     {"signer", true},
                                     {"typed_data", true},
                                     {"valid_until", false},
                                     {"delivery", false}}};
    moonplan_value root = moonplan_document_root(request->document);
    moonplan_type type = moonplan_value_type(root);
    if (type != MOONPLAN_OBJECT) {
        MPL_FAULT(faults, MOONPLAN_TYPED_DATA_TYPE, root, "a request must be an object, not %s",
                  mpl_type_text(type));
        return;
    }
    mpl_shape_open(faults, &shape, root, MOONPLAN_TYPED_DATA_MISSING_MEMBER);
    moonplan_walk walk = moonplan_value_walk(root);
    for (;;) {
        int which = mpl_shape_next(faults, &shape, &walk, MOONPLAN_TYPED_DATA_UNKNOWN_MEMBER);
        switch (which) {
        case 0:
            mpl_typed_data_version(faults, walk.value);
            break;
        case 1:
            mpl_typed_data_kind(faults, request_kind, walk.value);
            break;
        case 2:
            check_signer(request, faults, walk.value);
            break;
        case 3:
            mpl_typed_data_judge(faults, &request->types, limits, walk.value);
            break;
        case 4:
            check_valid_until(request, faults, walk.value);
            break;
        case 5:
            check_delivery(request, faults, walk.value);
            break;
        default:
            return;
        }
    }
}

/* -- Digests -----------------------------------------------------------------*/

static bool put(moonplan_sink sink, void *data, const char *text) {
    return sink(data, text, strlen(text));
}

static bool put_text(moonplan_sink sink, void *data, moonplan_text text) {
    return put(sink, data, "\"") && sink(data, text.bytes, text.length) && put(sink, data, "\"");
}

/* ERC-8410, Request Digest: these members in this order, no white space, null for what is absent. A
 * valid request has nothing here that would need an escape. */
bool moonplan_typed_data_canonical(const moonplan_typed_data *request, moonplan_sink sink,
                                   void *data) {
    char digest[66] = "0x";
    mpl_hex_encode(digest + 2, request->digests.signing_digest, 32);
    bool fine = put(sink, data,
                    "{\"kind\":\"typed_data_signature_request\",\"schema_version\":\"1\","
                    "\"signer\":") &&
                put_text(sink, data, moonplan_typed_data_signer(request)) &&
                put(sink, data, ",\"signing_digest\":") &&
                put_text(sink, data, (moonplan_text){digest, sizeof digest}) &&
                put(sink, data, ",\"valid_until\":");
    fine = fine && (request->valid_until.bytes ? put_text(sink, data, request->valid_until)
                                               : put(sink, data, "null"));
    fine = fine && put(sink, data, ",\"delivery\":");
    if (!request->delivery_url.bytes) return fine && put(sink, data, "null}");
    return fine && put(sink, data, "{\"url\":") && put_text(sink, data, request->delivery_url) &&
           put(sink, data, ",\"request_id\":") && put_text(sink, data, request->request_id) &&
           put(sink, data, "}}");
}

static bool absorb(void *data, const char *bytes, size_t length) {
    mpl_keccak_add(data, bytes, length);
    return true;
}

/* False when memory is short. */
static bool hash(moonplan_typed_data *request) {
    moonplan_typed_data_digests *out = &request->digests;
    mpl_keccak keccak;
    if (!mpl_eip712_hash_struct(&request->types, request->domain_type, request->domain, NULL,
                                out->domain_separator) ||
        !mpl_eip712_hash_struct(&request->types, request->primary, request->message, NULL,
                                out->message_hash))
        return false;
    mpl_keccak_open(&keccak);
    mpl_keccak_add(&keccak, "\x19\x01", 2);
    mpl_keccak_add(&keccak, out->domain_separator, 32);
    mpl_keccak_add(&keccak, out->message_hash, 32);
    mpl_keccak_finish(&keccak, out->signing_digest);
    mpl_keccak_open(&keccak);
    moonplan_typed_data_canonical(request, absorb, &keccak);
    mpl_keccak_finish(&keccak, out->request_digest);
    return true;
}

/* -- The object --------------------------------------------------------------*/

moonplan_typed_data *mpl_typed_data_read(moonplan_document *document,
                                         const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_typed_data *request = mpl_allocate(&alloc, sizeof *request);
    if (!request) {
        moonplan_document_free(document);
        mpl_error_memory(err);
        return NULL;
    }
    memset(request, 0, sizeof *request);
    request->alloc = alloc;
    request->document = document;
    request->typed_data = mpl_member(moonplan_document_root(document), "typed_data");
    request->domain = mpl_member(request->typed_data, "domain");
    request->message = mpl_member(request->typed_data, "message");
    mpl_faults faults;
    mpl_faults_open(&faults, options);
    if (mpl_eip712_open(&request->types, mpl_member(request->typed_data, "types"), &options->limits,
                        &request->alloc))
        check_request(request, &faults, &options->limits);
    else
        faults.no_memory = true;
    if (faults.count == 0 && !faults.no_memory) {
        moonplan_text domain = {"EIP712Domain", 12};
        request->domain_type = mpl_eip712_find(&request->types, domain);
        request->primary =
            mpl_eip712_find(&request->types, moonplan_typed_data_primary_type(request));
        faults.no_memory = !hash(request);
    }
    if (!mpl_faults_close(&faults, options, err)) {
        moonplan_typed_data_free(request);
        return NULL;
    }
    return request;
}

moonplan_typed_data *moonplan_typed_data_parse(const char *text, size_t length,
                                               const moonplan_options *options,
                                               moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    moonplan_document *document =
        mpl_read_within(text, length, "request_bytes", own.limits.request_bytes, &own, err);
    return document ? mpl_typed_data_read(document, &own, err) : NULL;
}

void moonplan_typed_data_free(moonplan_typed_data *request) {
    if (!request) return;
    mpl_eip712_close(&request->types);
    moonplan_document_free(request->document);
    mpl_alloc alloc = request->alloc;
    mpl_release(&alloc, request, sizeof *request);
}

const moonplan_document *moonplan_typed_data_document(const moonplan_typed_data *request) {
    return request->document;
}

size_t moonplan_typed_data_memory(const moonplan_typed_data *request, size_t *peak) {
    size_t document_peak, document = moonplan_document_memory(request->document, &document_peak);
    /* The request's own part is allocated once the document is complete. */
    size_t own_peak = document + request->alloc.peak;
    if (peak) *peak = own_peak > document_peak ? own_peak : document_peak;
    return document + request->alloc.used;
}

moonplan_text moonplan_typed_data_signer(const moonplan_typed_data *request) {
    return (moonplan_text){request->signer, sizeof request->signer};
}

moonplan_text moonplan_typed_data_primary_type(const moonplan_typed_data *request) {
    return moonplan_value_string(mpl_member(request->typed_data, "primaryType"));
}

moonplan_value moonplan_typed_data_types(const moonplan_typed_data *request) {
    return mpl_member(request->typed_data, "types");
}

moonplan_value moonplan_typed_data_domain(const moonplan_typed_data *request) {
    return request->domain;
}

moonplan_value moonplan_typed_data_message(const moonplan_typed_data *request) {
    return request->message;
}

bool moonplan_typed_data_valid_until(const moonplan_typed_data *request, uint64_t *out) {
    if (!request->valid_until.bytes) return false;
    *out = request->valid_until_seconds;
    return true;
}

bool moonplan_typed_data_delivery(const moonplan_typed_data *request, moonplan_text *url,
                                  moonplan_text *request_id) {
    if (!request->delivery_url.bytes) return false;
    *url = request->delivery_url;
    *request_id = request->request_id;
    return true;
}

void moonplan_typed_data_digest(const moonplan_typed_data *request,
                                moonplan_typed_data_digests *out) {
    *out = request->digests;
}

/* -- Circumstances -------------------------------------------------------------*/

static bool same_address(moonplan_text a, moonplan_text lowered) {
    char text[42];
    if (a.length != sizeof text) return false;
    memcpy(text, a.bytes, sizeof text);
    mpl_hex_lower(text, sizeof text);
    return mpl_text_equal((moonplan_text){text, sizeof text}, lowered);
}

bool mpl_typed_data_same_origin(moonplan_text origin, moonplan_text delivery) {
    mpl_url url;
    mpl_url_fault fault;
    if (!mpl_url_read(&url, origin, &fault) || url.transport != MOONPLAN_TRANSPORT_HTTPS)
        return false;
    return mpl_text_equal((moonplan_text){url.host, url.host_length},
                          mpl_url_delivery_host(delivery));
}

bool moonplan_typed_data_check(const moonplan_typed_data *request,
                               const moonplan_typed_data_situation *situation,
                               const moonplan_options *options, moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    mpl_faults faults;
    mpl_faults_open(&faults, &own);
    /* In document order, whatever it is. */
    moonplan_text signer = moonplan_typed_data_signer(request);
    moonplan_walk walk = moonplan_value_walk(moonplan_document_root(request->document));
    while (moonplan_walk_next(&walk)) {
        if (mpl_text_is(walk.name, "signer") && situation->account.bytes &&
            !same_address(situation->account, signer))
            MPL_FAULT(&faults, MOONPLAN_TYPED_DATA_SIGNER_MISMATCH, walk.value,
                      "the request asks %t to sign, and the account is %q", &signer,
                      &situation->account);
        if (mpl_text_is(walk.name, "valid_until") && situation->has_now &&
            situation->now >= request->valid_until_seconds)
            MPL_FAULT(&faults, MOONPLAN_TYPED_DATA_EXPIRED, walk.value,
                      "the request was valid until %u, and it is %u", request->valid_until_seconds,
                      situation->now);
        if (!mpl_text_is(walk.name, "delivery")) continue;
        if (situation->no_delivery)
            MPL_FAULT(&faults, MOONPLAN_TYPED_DATA_DELIVERY_UNSUPPORTED, walk.value,
                      "the signature may go to the delivery's url alone, which cannot be "
                      "enforced here");
        if (situation->origin.bytes &&
            !mpl_typed_data_same_origin(situation->origin, request->delivery_url))
            MPL_FAULT(&faults, MOONPLAN_TYPED_DATA_DELIVERY_ORIGIN, mpl_member(walk.value, "url"),
                      situation->origin.length
                          ? "%q is not the https origin that the request came from, which is %q"
                          : "%q is no origin that the request came from: nothing proves where it "
                            "came from",
                      &request->delivery_url, &situation->origin);
    }
    return mpl_faults_close(&faults, &own, err);
}
