#include "http_url.h"

#include <string.h>

#include "../call/address.h"
#include "../core/error.h"
#include "../core/text.h"
#include "http.h"

static bool begins(moonplan_text text, const char *prefix) {
    size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.bytes, prefix, length) == 0;
}

static bool refuse(moonplan_error *err, moonplan_code code, const char *format,
                   moonplan_text culprit) {
    mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, format, &culprit);
    return false;
}

/* A decimal number from 1 to 65535 without leading zeros. */
static bool read_port(uint16_t *out, moonplan_text text) {
    uint32_t port = 0;
    if (text.length == 0 || text.length > 5 || text.bytes[0] == '0') return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
        port = port * 10 + (uint32_t)(text.bytes[i] - '0');
    }
    *out = (uint16_t)port;
    return port <= 65535;
}

/* The colon before the port; NULL without. */
static const char *find_colon(moonplan_text authority) {
    const char *end = authority.bytes + authority.length;
    const char *from = authority.bytes;
    const char *bracket = begins(authority, "[") ? memchr(from, ']', authority.length) : NULL;
    if (bracket) from = bracket;
    return from < end ? memchr(from, ':', (size_t)(end - from)) : NULL;
}

/* The host where it is a loopback one; false if it is any other. */
static bool read_loopback(mpl_http_url *url, moonplan_text host) {
    moonplan_address address;
    moonplan_text inner = host;
    if (mpl_text_is(host, "localhost")) {
        memcpy(url->host, "localhost", 9);
        url->host_length = 9;
        return true;
    }
    if (host.length > 2 && host.bytes[0] == '[' && host.bytes[host.length - 1] == ']')
        inner = (moonplan_text){host.bytes + 1, host.length - 2};
    bool literal = inner.length < host.length ? mpl_address_read_ipv6(&address, inner)
                                              : mpl_address_read_ipv4(&address, host);
    if (!literal || !mpl_address_is_loopback(&address)) return false;
    url->host_length = mpl_address_write(url->host, &address);
    return true;
}

/* The host and what follows it, with the eyes of a reader of references: that one knows no port. */
static bool read_strictly(mpl_http_url *url, moonplan_text host, moonplan_code code,
                          moonplan_error *err) {
    static const char scheme[] = "https://", stand_in[] = "loopback.example";
    char text[sizeof scheme + MPL_HOST_MOST + 8];
    mpl_url read;
    mpl_url_fault fault;
    if (host.length > MPL_HOST_MOST + 1)
        return refuse(err, code, "a host name has 253 characters at most", host);
    if (url->loopback) host = (moonplan_text){stand_in, sizeof stand_in - 1};
    size_t length = sizeof scheme - 1;
    memcpy(text, scheme, length);
    memcpy(text + length, host.bytes, host.length);
    if (!mpl_url_read(&read, (moonplan_text){text, length + host.length}, &fault)) {
        if (fault.code == MOONPLAN_ARTIFACT_ADDRESS) code = MOONPLAN_HTTP_ADDRESS;
        mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, fault.format, &fault.culprit,
                      fault.what);
        return false;
    }
    if (url->loopback) return true;
    memcpy(url->host, read.host, read.host_length);
    url->host_length = read.host_length;
    return true;
}

/* What stands in a path or query (RFC 3986, sections 3.3 and 3.4). */
static bool check_rest(moonplan_text rest, moonplan_code code, moonplan_error *err) {
    static const char hex[] = "0123456789ABCDEFabcdef";
    for (size_t i = 0; i < rest.length; i++) {
        char byte = rest.bytes[i];
        bool fine = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                    (byte >= '0' && byte <= '9') || (byte && strchr("-._~!$&'()*+,;=:@/?", byte));
        if (byte == '%')
            fine = rest.length - i > 2 && rest.bytes[i + 1] && strchr(hex, rest.bytes[i + 1]) &&
                   rest.bytes[i + 2] && strchr(hex, rest.bytes[i + 2]);
        if (fine) continue;
        if (byte == '#')
            return refuse(err, code, "the URL has a fragment, which is never sent", rest);
        moonplan_text from = {rest.bytes + i, 1};
        size_t length = mpl_utf8(from.bytes, rest.bytes + rest.length, NULL);
        if (length) from.length = length;
        return refuse(err, code, "the URL has %q, which stands in no URL unescaped", from);
    }
    return true;
}

bool mpl_http_url_read(mpl_http_url *url, moonplan_text text, moonplan_code code,
                       moonplan_error *err) {
    memset(url, 0, sizeof *url);
    url->scheme = begins(text, "https://")  ? MPL_HTTP_SECURE
                  : begins(text, "http://") ? MPL_HTTP_PLAIN
                                            : 0;
    if (!url->scheme)
        return refuse(err, code, "the URL does not begin with https:// or http://, in lower case",
                      text);
    size_t from = url->scheme == MPL_HTTP_SECURE ? 8 : 7, to = from;
    url->port = url->scheme == MPL_HTTP_SECURE ? 443 : 80;
    while (to < text.length && !strchr("/?#", text.bytes[to])) to++;
    moonplan_text authority = {text.bytes + from, to - from}, host = authority;
    url->rest = (moonplan_text){text.bytes + to, text.length - to};
    if (memchr(authority.bytes, '@', authority.length)) /* not shown: it may be a password */
        return refuse(err, code, "the URL has user information before an @, which is never sent",
                      authority);
    const char *colon = find_colon(authority);
    if (colon) {
        host.length = (size_t)(colon - authority.bytes);
        moonplan_text port = {colon + 1, authority.length - host.length - 1};
        if (!read_port(&url->port, port))
            return refuse(err, code, "%q is no port: 1 to 65535, without leading zeros", port);
    }
    url->loopback = read_loopback(url, host);
    if (url->scheme == MPL_HTTP_PLAIN && !url->loopback)
        return refuse(err, code,
                      "http goes to a loopback address or localhost alone; %q needs https", host);
    return read_strictly(url, host, code, err) && check_rest(url->rest, code, err);
}
