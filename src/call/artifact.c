#include "artifact.h"

#include <sodium.h>
#include <string.h>

#include "../core/text.h"
#include "../core/value.h"
#include "read.h"

static const char *transport_name(moonplan_transport transport) {
    return transport == MOONPLAN_TRANSPORT_DATA    ? "data"
           : transport == MOONPLAN_TRANSPORT_HTTPS ? "https"
                                                   : "file";
}

static moonplan_kind kind_of(moonplan_text type) {
    if (mpl_text_is(type, "execution_plan")) return MOONPLAN_KIND_CALL_PLAN;
    if (mpl_text_is(type, "typed_data_signature_request")) return MOONPLAN_KIND_TYPED_DATA_REQUEST;
    return MOONPLAN_KIND_NONE;
}

const char *mpl_artifact_type(moonplan_kind kind) {
    return kind == MOONPLAN_KIND_CALL_PLAN ? "execution_plan" : "typed_data_signature_request";
}

uint64_t mpl_artifact_most(moonplan_kind kind, const moonplan_limits *limits, const char **name) {
    bool request = kind == MOONPLAN_KIND_TYPED_DATA_REQUEST;
    *name = request ? "request_bytes" : "document_bytes";
    return request ? limits->request_bytes : limits->document_bytes;
}

/* -- Admission ---------------------------------------------------------------*/

typedef struct check {
    moonplan_artifact *artifact;
    const moonplan_options *options;
    moonplan_kind expect;
    mpl_faults faults;
} check;

#define FAULT(c, code, value, ...) MPL_FAULT(&(c)->faults, code, value, __VA_ARGS__)

static moonplan_text check_string(check *c, moonplan_code code, const char *what,
                                  moonplan_value value) {
    moonplan_type type = moonplan_value_type(value);
    if (type != MOONPLAN_STRING)
        FAULT(c, code, value, "%s must be a string, not %s", what, mpl_type_text(type));
    return moonplan_value_string(value);
}

static void check_kind(check *c, moonplan_value value) {
    moonplan_text kind = check_string(c, MOONPLAN_ARTIFACT_ENVELOPE, "kind", value);
    if (kind.bytes && !mpl_text_is(kind, "artifact_reference"))
        FAULT(c, MOONPLAN_ARTIFACT_ENVELOPE, value, "kind is %q, not artifact_reference", &kind);
}

static void check_artifact_type(check *c, moonplan_value value) {
    moonplan_text type = check_string(c, MOONPLAN_ARTIFACT_TYPE, "artifact_type", value);
    if (!type.bytes) return;
    moonplan_kind kind = kind_of(type);
    if (kind == MOONPLAN_KIND_NONE)
        FAULT(c, MOONPLAN_ARTIFACT_TYPE, value,
              "%q is no type of artifact; there are: execution_plan, typed_data_signature_request",
              &type);
    else if (c->expect != MOONPLAN_KIND_NONE && kind != c->expect)
        FAULT(c, MOONPLAN_ARTIFACT_TYPE, value, "%q is referred to where only %s is of use", &type,
              mpl_artifact_type(c->expect));
}

static void check_transport(check *c, moonplan_value value) {
    static const moonplan_transport all[] = {MOONPLAN_TRANSPORT_DATA, MOONPLAN_TRANSPORT_HTTPS,
                                             MOONPLAN_TRANSPORT_FILE};
    char allowed[32] = "";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!(c->options->transports & all[i])) continue;
        if (*allowed) strcat(allowed, ", ");
        strcat(allowed, transport_name(all[i]));
    }
    FAULT(c, MOONPLAN_ARTIFACT_TRANSPORT, value,
          "the transport %s is not allowed here; allowed are: %s",
          transport_name(c->artifact->url.transport), *allowed ? allowed : "none");
}

static void check_url(check *c, moonplan_value value) {
    moonplan_artifact *artifact = c->artifact;
    moonplan_text text = check_string(c, MOONPLAN_ARTIFACT_ENVELOPE, "url", value);
    mpl_url_fault fault;
    if (!text.bytes) return;
    bool sound = mpl_url_read(&artifact->url, text, &fault);
    if (artifact->url.transport && !(c->options->transports & artifact->url.transport)) {
        check_transport(c, value);
    } else if (!sound) {
        FAULT(c, fault.code, value, fault.format, &fault.culprit, fault.what);
    } else if (artifact->url.transport == MOONPLAN_TRANSPORT_DATA) {
        /* Bounded before anything is decoded. The formula is that of ERC-8410: base64 fits it,
         * percent-encoding of as many bytes may not. */
        uint64_t encoded = artifact->most / 3 * 4 + 4;
        if (artifact->url.rest.length > encoded)
            FAULT(c, MOONPLAN_LIMIT, value,
                  "url carries more than %u characters, too many for the limit %s: %u bytes",
                  encoded, artifact->limit, artifact->most);
    }
}

static void check_integrity(check *c, moonplan_value integrity) {
    static const mpl_shape shape = {"integrity", {{"algorithm", true}, {"value", true}}};
    moonplan_code code = MOONPLAN_ARTIFACT_INTEGRITY;
    moonplan_type type = moonplan_value_type(integrity);
    if (type != MOONPLAN_OBJECT) {
        FAULT(c, code, integrity, "integrity must be an object, not %s", mpl_type_text(type));
        return;
    }
    mpl_shape_open(&c->faults, &shape, integrity, code);
    moonplan_walk walk = moonplan_value_walk(integrity);
    for (;;) {
        int which = mpl_shape_next(&c->faults, &shape, &walk, code);
        if (which < 0) return;
        moonplan_text text = check_string(c, code, shape.members[which].name, walk.value);
        if (!text.bytes) continue;
        if (which == 0) {
            if (!mpl_text_is(text, "keccak256"))
                FAULT(c, code, walk.value, "algorithm is %q; there is only keccak256", &text);
        } else if (text.length != 66 || mpl_hex_scan(text) == MPL_HEX_NO) {
            FAULT(c, code, walk.value, "value is %q; a digest is 0x and 64 hexadecimal digits",
                  &text);
        } else {
            c->artifact->has_digest = true;
            c->artifact->digest_value = walk.value;
            sodium_hex2bin(c->artifact->digest, 32, text.bytes + 2, 64, NULL, NULL, NULL);
        }
    }
}

static void check_bytes(check *c, moonplan_value value) {
    moonplan_artifact *artifact = c->artifact;
    moonplan_type type = moonplan_value_type(value);
    moonplan_text source = moonplan_value_source(value);
    int64_t number = -1;
    bool integer = moonplan_value_integer(value, &number);
    if (type != MOONPLAN_INTEGER && type != MOONPLAN_NUMBER) {
        FAULT(c, MOONPLAN_ARTIFACT_BYTES, value, "bytes must be a number, not %s",
              mpl_type_text(type));
    } else if (integer ? number < 0 : !mpl_decimal(source)) {
        FAULT(c, MOONPLAN_ARTIFACT_BYTES, value,
              "bytes is written %q here; it is a plain integer, 0 or more", &source);
    } else if (!integer || (uint64_t)number > artifact->most) {
        FAULT(c, MOONPLAN_LIMIT, value, "bytes promises %q, more than the limit %s allows: %u",
              &source, artifact->limit, artifact->most);
    } else {
        artifact->has_bytes = true;
        artifact->bytes = (uint64_t)number;
        artifact->bytes_value = value;
    }
}

static void check_missing(check *c, moonplan_value root, const char *name, moonplan_code code) {
    if (moonplan_value_type(mpl_member(root, name)) == MOONPLAN_NONE)
        mpl_fault_missing(&c->faults, code, root, "the reference", name);
}

static void check_envelope(check *c) {
    moonplan_artifact *artifact = c->artifact;
    moonplan_value root = moonplan_document_root(artifact->document);
    moonplan_type type = moonplan_value_type(root);
    if (type != MOONPLAN_OBJECT) {
        FAULT(c, MOONPLAN_ARTIFACT_ENVELOPE, root, "a reference must be an object, not %s",
              mpl_type_text(type));
        return;
    }
    /* What others are judged by, wherever it stands in the document. */
    mpl_url_fault fault;
    artifact->url_value = mpl_member(root, "url");
    artifact->kind = kind_of(moonplan_value_string(mpl_member(root, "artifact_type")));
    artifact->most = mpl_artifact_most(artifact->kind, &c->options->limits, &artifact->limit);
    moonplan_text url = moonplan_value_string(artifact->url_value);
    if (url.bytes) mpl_url_read(&artifact->url, url, &fault);
    check_missing(c, root, "kind", MOONPLAN_ARTIFACT_ENVELOPE);
    check_missing(c, root, "artifact_type", MOONPLAN_ARTIFACT_ENVELOPE);
    check_missing(c, root, "url", MOONPLAN_ARTIFACT_ENVELOPE);
    if (artifact->url.transport == MOONPLAN_TRANSPORT_HTTPS ||
        artifact->url.transport == MOONPLAN_TRANSPORT_FILE) {
        check_missing(c, root, "integrity", MOONPLAN_ARTIFACT_INTEGRITY);
        check_missing(c, root, "bytes", MOONPLAN_ARTIFACT_BYTES);
    }
    /* Members of other names are ignored, as ERC-8410 has it. */
    moonplan_walk walk = moonplan_value_walk(root);
    while (!mpl_faults_enough(&c->faults) && moonplan_walk_next(&walk)) {
        if (mpl_text_is(walk.name, "kind"))
            check_kind(c, walk.value);
        else if (mpl_text_is(walk.name, "artifact_type"))
            check_artifact_type(c, walk.value);
        else if (mpl_text_is(walk.name, "url"))
            check_url(c, walk.value);
        else if (mpl_text_is(walk.name, "integrity"))
            check_integrity(c, walk.value);
        else if (mpl_text_is(walk.name, "bytes"))
            check_bytes(c, walk.value);
        else if (mpl_text_is(walk.name, "instruction"))
            check_string(c, MOONPLAN_ARTIFACT_ENVELOPE, "instruction", walk.value);
    }
}

/* Decode a path; false if it cannot name a file below a folder: a NUL, a slash that is none, a dot
 * segment, an empty segment. */
static bool decode_path(moonplan_artifact *artifact, moonplan_text path) {
    char *out = artifact->name;
    for (size_t from = 0; from < path.length;) {
        size_t to = ++from; /* behind the slash */
        while (to < path.length && path.bytes[to] != '/') to++;
        char *segment = out + 1;
        *out++ = '/';
        out += mpl_url_decode(out, (moonplan_text){path.bytes + from, to - from});
        size_t length = (size_t)(out - segment);
        bool dots = (length == 1 && segment[0] == '.') ||
                    (length == 2 && segment[0] == '.' && segment[1] == '.');
        if (length == 0 || dots || memchr(segment, 0, length) || memchr(segment, '/', length))
            return false;
        from = to;
    }
    artifact->name_length = (size_t)(out - artifact->name);
    return true;
}

/* The target or path, in a text of its own with a NUL behind it. False when memory is short. */
static bool name(moonplan_artifact *artifact) {
    moonplan_text rest = artifact->url.rest;
    if (artifact->url.transport == MOONPLAN_TRANSPORT_DATA) return true;
    artifact->name = mpl_allocate(&artifact->alloc, rest.length + 2);
    if (!artifact->name) return false;
    artifact->name_size = rest.length + 2;
    if (artifact->url.transport == MOONPLAN_TRANSPORT_FILE) {
        artifact->has_name = decode_path(artifact, rest);
    } else {
        size_t slash = rest.length == 0 || rest.bytes[0] != '/';
        artifact->name[0] = '/';
        if (rest.length) memcpy(artifact->name + slash, rest.bytes, rest.length);
        artifact->name_length = slash + rest.length;
        artifact->has_name = true;
    }
    artifact->name[artifact->name_length] = 0;
    return true;
}

moonplan_artifact *moonplan_artifact_parse(const char *text, size_t length, moonplan_kind expect,
                                           const moonplan_options *options, moonplan_error *err) {
    moonplan_options own = mpl_options_of(options);
    moonplan_document *document =
        mpl_read_within(text, length, "envelope_bytes", own.limits.envelope_bytes, &own, err);
    if (!document) return NULL;
    mpl_alloc alloc = mpl_alloc_of(&own);
    moonplan_artifact *artifact = mpl_allocate(&alloc, sizeof *artifact);
    if (!artifact) {
        moonplan_document_free(document);
        mpl_error_memory(err);
        return NULL;
    }
    memset(artifact, 0, sizeof *artifact);
    artifact->alloc = alloc;
    artifact->document = document;
    artifact->bytes_value = artifact->digest_value = mpl_value(document, UINT32_MAX);
    mpl_buffer_open(&artifact->body, &artifact->alloc);
    mpl_keccak_open(&artifact->keccak);
    check c = {.artifact = artifact, .options = &own, .expect = expect};
    mpl_faults_open(&c.faults, &own);
    check_envelope(&c);
    if (c.faults.count == 0 && !name(artifact)) c.faults.no_memory = true;
    if (!mpl_faults_close(&c.faults, &own, err)) {
        moonplan_artifact_free(artifact);
        return NULL;
    }
    return artifact;
}

void moonplan_artifact_free(moonplan_artifact *artifact) {
    if (!artifact) return;
    moonplan_document_free(artifact->document);
    mpl_buffer_close(&artifact->body);
    mpl_alloc alloc = artifact->alloc;
    mpl_release(&alloc, artifact->addresses, artifact->address_count * sizeof *artifact->addresses);
    mpl_release(&alloc, artifact->name, artifact->name_size);
    mpl_release(&alloc, artifact, sizeof *artifact);
}

const moonplan_document *moonplan_artifact_document(const moonplan_artifact *artifact) {
    return artifact->document;
}

size_t moonplan_artifact_memory(const moonplan_artifact *artifact, size_t *peak) {
    size_t document_peak, document = moonplan_document_memory(artifact->document, &document_peak);
    size_t own_peak = document + artifact->alloc.peak;
    if (peak) *peak = own_peak > document_peak ? own_peak : document_peak;
    return document + artifact->alloc.used;
}

moonplan_kind moonplan_artifact_kind(const moonplan_artifact *artifact) {
    return artifact->kind;
}

moonplan_transport moonplan_artifact_transport(const moonplan_artifact *artifact) {
    return artifact->url.transport;
}

static moonplan_text name_for(const moonplan_artifact *artifact, moonplan_transport transport) {
    if (artifact->url.transport != transport || !artifact->has_name)
        return (moonplan_text){NULL, 0};
    return (moonplan_text){artifact->name, artifact->name_length};
}

moonplan_text moonplan_artifact_host(const moonplan_artifact *artifact) {
    if (artifact->url.transport != MOONPLAN_TRANSPORT_HTTPS) return (moonplan_text){NULL, 0};
    return (moonplan_text){artifact->url.host, artifact->url.host_length};
}

moonplan_text moonplan_artifact_target(const moonplan_artifact *artifact) {
    return name_for(artifact, MOONPLAN_TRANSPORT_HTTPS);
}

moonplan_text moonplan_artifact_path(const moonplan_artifact *artifact) {
    return name_for(artifact, MOONPLAN_TRANSPORT_FILE);
}

uint64_t moonplan_artifact_size(const moonplan_artifact *artifact) {
    return artifact->has_bytes ? artifact->bytes : artifact->most;
}
