#include "url.h"

#include <string.h>

#include "../core/text.h"
#include "address.h"

/* ERC-8410, Controlled Delivery. */
#define DELIVERY_MOST 2048
#define LABEL_MOST    63

enum {
    DIGIT = 1,
    ALPHA = 2,
    HEX = 4,
    PATH = 8,  /* pchar without escapes, and "/" (RFC 3986, section 3.3) */
    QUERY = 16 /* what a query has beyond that: "?" */
};

static unsigned class_of(char byte) {
    if (byte >= '0' && byte <= '9') return DIGIT | HEX | PATH;
    if ((byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F')) return ALPHA | HEX | PATH;
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')) return ALPHA | PATH;
    if (byte && strchr("-._~!$&'()*+,;=:@/", byte)) return PATH;
    return byte == '?' ? QUERY : 0;
}

static bool is(char byte, unsigned class) {
    return (class_of(byte) & class) != 0;
}

static moonplan_text cut(moonplan_text text, size_t from, size_t to) {
    return (moonplan_text){text.bytes + from, to - from};
}

static bool begins(moonplan_text text, const char *prefix) {
    size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.bytes, prefix, length) == 0;
}

static bool refuse(mpl_url_fault *fault, moonplan_code code, const char *format,
                   moonplan_text culprit) {
    *fault = (mpl_url_fault){code, format, culprit, ""};
    return false;
}

/* The character that begins at `at`, for quoting. */
static moonplan_text character(moonplan_text text, size_t at) {
    size_t length = mpl_utf8(text.bytes + at, text.bytes + text.length, NULL);
    return cut(text, at, at + (length ? length : 1));
}

/* Characters of these classes and whole percent escapes, to the end. */
static bool only(moonplan_text text, unsigned classes, mpl_url_fault *fault) {
    for (size_t at = 0; at < text.length; at++) {
        if (text.bytes[at] == '%') {
            if (text.length - at < 3 || !is(text.bytes[at + 1], HEX) ||
                !is(text.bytes[at + 2], HEX)) {
                size_t end = text.length - at < 3 ? text.length : at + 3;
                return refuse(fault, MOONPLAN_ARTIFACT_URL,
                              "url has %q where a percent sign and two hexadecimal digits belong",
                              cut(text, at, end));
            }
            at += 2;
        } else if (!is(text.bytes[at], classes)) {
            return refuse(fault, MOONPLAN_ARTIFACT_URL,
                          text.bytes[at] == '#' ? "url has a fragment, which no reference may have"
                                                : "url has %q, which stands in no URL unescaped",
                          character(text, at));
        }
    }
    return true;
}

/* -- Hosts -----------------------------------------------------------------*/

/* Letters, digits and hyphens, no hyphen at either end (RFC 1123, section 2.1). */
static bool is_label(moonplan_text label) {
    if (label.length == 0 || label.length > LABEL_MOST) return false;
    for (size_t i = 0; i < label.length; i++)
        if (!is(label.bytes[i], DIGIT | ALPHA) && label.bytes[i] != '-') return false;
    return label.bytes[0] != '-' && label.bytes[label.length - 1] != '-';
}

static size_t last_label(moonplan_text host) {
    size_t at = host.length;
    while (at > 0 && host.bytes[at - 1] != '.') at--;
    return at;
}

/* Would some reader take the host for a number, and so for an IPv4 address? One that ends in digits
 * or in a hexadecimal number does; no top-level domain is either. */
static bool ends_in_number(moonplan_text host) {
    moonplan_text last = cut(host, last_label(host), host.length);
    bool hex = begins(last, "0x") || begins(last, "0X");
    for (size_t i = hex ? 2 : 0; i < last.length; i++)
        if (!is(last.bytes[i], hex ? HEX : DIGIT)) return false;
    return last.length > 0;
}

/* Why these are no labels of a DNS name with two or more of them, or NULL. */
static const char *name_fault(moonplan_text host) {
    size_t from = 0, labels = 0;
    if (host.length > MPL_HOST_MOST) return "a host name has 253 characters at most";
    for (;;) {
        size_t to = from;
        while (to < host.length && host.bytes[to] != '.') to++;
        if (!is_label(cut(host, from, to)))
            return "the labels of %q are not all 1 to 63 letters, digits and inner hyphens";
        labels++;
        if (to == host.length) break;
        from = to + 1;
    }
    return labels < 2 ? "%q is a single label, not a public name" : NULL;
}

/* Names that mean something on this machine or network, or outside the DNS (RFC 6761, 6762, 7686,
 * 8375, and the name that ICANN set aside for private use). */
static bool special_name(moonplan_text host) {
    static const char *const suffixes[] = {"localhost", "local", "internal", "onion", "home.arpa"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t length = strlen(suffixes[i]);
        if (host.length < length ||
            memcmp(host.bytes + host.length - length, suffixes[i], length) != 0)
            continue;
        if (host.length == length || host.bytes[host.length - length - 1] == '.') return true;
    }
    return false;
}

static bool read_literal(mpl_url *url, moonplan_text host, mpl_url_fault *fault) {
    const char *special = mpl_address_special(&url->literal);
    if (special) {
        refuse(fault, MOONPLAN_ARTIFACT_ADDRESS, "%q is %s, not a public unicast one", host);
        fault->what = special;
        return false;
    }
    url->host_length = mpl_address_write(url->host, &url->literal);
    return true;
}

static bool read_host(mpl_url *url, moonplan_text host, mpl_url_fault *fault) {
    if (host.length && host.bytes[0] == '[') {
        moonplan_text inner = cut(host, 1, host.length - 1);
        if (memchr(inner.bytes, '%', inner.length))
            return refuse(fault, MOONPLAN_ARTIFACT_HOST,
                          "%q has a zone, which means something on one machine only", host);
        if (!mpl_address_read_ipv6(&url->literal, inner))
            return refuse(fault, MOONPLAN_ARTIFACT_HOST, "%q is no IPv6 address", host);
        return read_literal(url, host, fault);
    }
    if (mpl_address_read_ipv4(&url->literal, host)) return read_literal(url, host, fault);
    /* One name is vetted, asked for, connected to and shown: without the root dot. */
    if (host.length > 1 && host.bytes[host.length - 1] == '.') host.length--;
    if (host.length == 0) return refuse(fault, MOONPLAN_ARTIFACT_HOST, "url has no host", host);
    if (ends_in_number(host))
        return refuse(fault, MOONPLAN_ARTIFACT_HOST,
                      "%q could be read as a number; an IPv4 address is four decimal numbers, "
                      "without leading zeros",
                      host);
    if (host.length <= MPL_HOST_MOST) {
        for (size_t i = 0; i < host.length; i++) {
            char byte = host.bytes[i];
            url->host[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
        }
        url->host_length = host.length;
        if (special_name((moonplan_text){url->host, host.length}))
            return refuse(fault, MOONPLAN_ARTIFACT_HOST,
                          "%q is a special-use name, not one of the public DNS", host);
    }
    const char *wrong = name_fault(host);
    return wrong ? refuse(fault, MOONPLAN_ARTIFACT_HOST, wrong, host) : true;
}

/* -- The three forms ---------------------------------------------------------*/

static bool read_https(mpl_url *url, moonplan_text text, mpl_url_fault *fault) {
    size_t at = 0;
    while (at < text.length && text.bytes[at] != '/' && text.bytes[at] != '?' &&
           text.bytes[at] != '#')
        at++;
    moonplan_text authority = cut(text, 0, at), host = authority;
    url->rest = cut(text, at, text.length);
    if (memchr(authority.bytes, '@', authority.length))
        return refuse(fault, MOONPLAN_ARTIFACT_URL,
                      "url has user information before the @ of %q, which no reference may have",
                      authority);
    /* A colon inside brackets belongs to the address. */
    size_t from = 0;
    if (authority.length && authority.bytes[0] == '[') {
        const char *bracket = memchr(authority.bytes, ']', authority.length);
        if (!bracket)
            return refuse(fault, MOONPLAN_ARTIFACT_HOST, "%q has no closing bracket", authority);
        from = (size_t)(bracket + 1 - authority.bytes);
    }
    const char *colon = from < authority.length
                            ? memchr(authority.bytes + from, ':', authority.length - from)
                            : NULL;
    if (colon) {
        host.length = (size_t)(colon - authority.bytes);
        moonplan_text port = cut(authority, host.length + 1, authority.length);
        if (port.length != 0 && !mpl_text_is(port, "443"))
            return refuse(fault, MOONPLAN_ARTIFACT_URL,
                          "url has the port %q; a reference keeps to the default, 443", port);
    }
    if (from && host.length != from)
        return refuse(fault, MOONPLAN_ARTIFACT_HOST, "%q is no host", host);
    return read_host(url, host, fault) && only(url->rest, PATH | QUERY, fault);
}

static bool read_file(mpl_url *url, moonplan_text text, mpl_url_fault *fault) {
    size_t at = 0;
    while (at < text.length && text.bytes[at] != '/') at++;
    moonplan_text host = cut(text, 0, at);
    url->rest = cut(text, at, text.length);
    if (host.length && !mpl_text_is(host, "localhost"))
        return refuse(fault, MOONPLAN_ARTIFACT_URL,
                      "url has %q where a file URL has nothing or localhost", host);
    if (url->rest.length == 0)
        return refuse(fault, MOONPLAN_ARTIFACT_URL, "url names no file", host);
    const char *query = memchr(url->rest.bytes, '?', url->rest.length);
    if (query)
        return refuse(fault, MOONPLAN_ARTIFACT_URL, "url has the query %q, which no file has",
                      cut(url->rest, (size_t)(query - url->rest.bytes), url->rest.length));
    return only(url->rest, PATH, fault);
}

/* What RFC 3986 leaves out and JSON is full of is taken as it is here, in ASCII; white space other
 * than the space is not, because URL readers drop it. */
static bool read_data(mpl_url *url, moonplan_text text, mpl_url_fault *fault) {
    const char *comma = memchr(text.bytes, ',', text.length);
    if (!comma)
        return refuse(fault, MOONPLAN_ARTIFACT_URL, "url has no comma, so it carries no bytes",
                      text);
    moonplan_text type = cut(text, 0, (size_t)(comma - text.bytes));
    url->rest = cut(text, type.length + 1, text.length);
    url->base64 = mpl_text_is(type, "application/json;base64");
    /* What is not base64 is found by decoding it. */
    if (url->base64) return true;
    if (!mpl_text_is(type, "application/json"))
        return refuse(fault, MOONPLAN_ARTIFACT_URL,
                      "url carries %q; a reference carries application/json, or that and ;base64",
                      type);
    for (size_t i = 0; i < url->rest.length; i++) {
        char byte = url->rest.bytes[i];
        if (byte == '%') {
            moonplan_text escape = {url->rest.bytes + i, url->rest.length - i < 3 ? 1 : 3};
            if (!only(escape, 0, fault)) return false;
            i += 2;
        } else if (byte == '#') {
            return refuse(fault, MOONPLAN_ARTIFACT_URL,
                          "url has a fragment, which no reference may have", url->rest);
        } else if (byte < 0x20 || byte > 0x7e) {
            return refuse(fault, MOONPLAN_ARTIFACT_URL,
                          "url has %q, which stands in no URL unescaped", character(url->rest, i));
        }
    }
    return true;
}

bool mpl_url_read(mpl_url *url, moonplan_text text, mpl_url_fault *fault) {
    static const struct {
        const char *prefix;
        moonplan_transport transport;
        bool (*read)(mpl_url *url, moonplan_text text, mpl_url_fault *fault);
    } forms[] = {{"https://", MOONPLAN_TRANSPORT_HTTPS, read_https},
                 {"data:", MOONPLAN_TRANSPORT_DATA, read_data},
                 {"file://", MOONPLAN_TRANSPORT_FILE, read_file}};
    memset(url, 0, sizeof *url);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!begins(text, forms[i].prefix)) continue;
        url->transport = forms[i].transport;
        return forms[i].read(url, cut(text, strlen(forms[i].prefix), text.length), fault);
    }
    return refuse(fault, MOONPLAN_ARTIFACT_URL,
                  "url is %q; a reference begins with https://, data:application/json or file://, "
                  "in lower case",
                  text);
}

/* -- Delivery ----------------------------------------------------------------*/

static const char delivery_scheme[] = "https://";

moonplan_text mpl_url_delivery_host(moonplan_text text) {
    size_t from = sizeof delivery_scheme - 1, to = from;
    while (to < text.length && text.bytes[to] != '/') to++;
    return cut(text, from, to);
}

const char *mpl_url_delivery_fault(moonplan_text text) {
    if (text.length > DELIVERY_MOST) return "url has more than 2048 characters";
    if (!begins(text, delivery_scheme)) return "url does not begin with https://";
    moonplan_text host = mpl_url_delivery_host(text);
    size_t at = sizeof delivery_scheme - 1 + host.length;
    for (size_t i = 0; i < host.length; i++)
        if (host.bytes[i] >= 'A' && host.bytes[i] <= 'Z') return "the host is not in lower case";
    if (name_fault(host) || ends_in_number(host))
        return "the host is no DNS name of two labels or more, 253 characters at most";
    if (at == text.length) return "url has no path; the shortest is /";
    /* "/" alone, or segments that are not empty. */
    for (size_t i = at + 1; i < text.length; i++) {
        if (text.bytes[i] == '/') {
            if (text.bytes[i - 1] == '/' || i + 1 == text.length)
                return "the path has an empty segment";
        } else if (!is(text.bytes[i], DIGIT | ALPHA) && text.bytes[i] != '_' &&
                   text.bytes[i] != '-') {
            return "the path is not segments of letters, digits, _ and - alone";
        }
    }
    return NULL;
}

size_t mpl_url_decode(char *out, moonplan_text text) {
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.bytes[i];
        if (byte == '%') {
            unsigned value = 0;
            for (size_t digit = 1; digit <= 2; digit++) {
                char hex = text.bytes[i + digit];
                value = value << 4 | (unsigned)(hex <= '9' ? hex - '0' : (hex | 32) - 'a' + 10);
            }
            byte = (char)value;
            i += 2;
        }
        out[length++] = byte;
    }
    return length;
}
