/* _GNU_SOURCE comes from the build: SOCK_CLOEXEC. */
#include "http_transfer.h"

#ifdef MOONPLAN_WITH_CURL

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "../call/address.h"
#include "../core/buffer.h"
#include "../core/text.h"

/* What may come for a body, with chunk framing and compression: more than any sender needs, and
 * an end to one that sends framing alone, or data that decode to nothing. */
#define WIRE_MOST(body_most) (2 * (body_most) + 65536)

/* An announced length is that of the encoded body; deflate makes none longer than by this. */
#define ANNOUNCED_MOST(body_most) ((body_most) + (body_most) / 64 + 1024)

typedef struct exchange {
    const mpl_transfer *transfer;
    CURL *handle;
    const char *reason; /* the first that came up */
    bool stopped;       /* by a function of the request */
    bool late;
    bool encoded;     /* this head has named an encoding */
    bool informative; /* this head is of status 1xx, and another one follows */
    bool head_done;
    uint64_t head_bytes, body_bytes, wire_bytes;
    uint64_t window_from, window_bytes; /* where the speed was last looked at */
} exchange;

static bool give_up(exchange *e, const char *reason) {
    if (!e->reason) e->reason = reason;
    return false;
}

/* -- Sockets -----------------------------------------------------------------*/

static bool read_sockaddr(const struct curl_sockaddr *from, moonplan_address *address,
                          uint16_t *port) {
    *address = (moonplan_address){0, {0}};
    if (from->family == AF_INET && from->addrlen >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in four;
        memcpy(&four, &from->addr, sizeof four);
        address->length = 4;
        memcpy(address->bytes, &four.sin_addr, 4);
        *port = ntohs(four.sin_port);
    } else if (from->family == AF_INET6 && from->addrlen >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 six;
        memcpy(&six, &from->addr, sizeof six);
        address->length = 16;
        memcpy(address->bytes, &six.sin6_addr, 16);
        *port = ntohs(six.sin6_port);
    }
    return address->length != 0;
}

/* libcurl is told the addresses that were checked (CURLOPT_RESOLVE). Should it come up with another
 * one, there is no socket for it: not by its own resolver, a number that it reads in its own way, a
 * proxy, or a redirect. */
static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *to) {
    exchange *e = data;
    const mpl_transfer *transfer = e->transfer;
    moonplan_address address;
    uint16_t port = 0;
    bool known = false;
    if (purpose != CURLSOCKTYPE_IPCXN || !read_sockaddr(to, &address, &port))
        return CURL_SOCKET_BAD;
    for (size_t i = 0; i < transfer->addresses->count && !known; i++)
        known = memcmp(&transfer->addresses->list[i], &address, sizeof address) == 0;
    if (!known || port != transfer->port) {
        give_up(e, "the connection would go to an address that was not checked");
        return CURL_SOCKET_BAD;
    }
    if (transfer->make_socket)
        return transfer->make_socket(transfer->make_data, &to->family, to->socktype, to->protocol,
                                     &to->addr, &to->addrlen);
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* -- The head -----------------------------------------------------------------*/

static char lower(char byte) {
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

static bool is_word(moonplan_text text, const char *word) {
    if (text.length != strlen(word)) return false;
    for (size_t i = 0; i < text.length; i++)
        if (lower(text.bytes[i]) != word[i]) return false;
    return true;
}

static moonplan_text trim(moonplan_text text) {
    while (text.length && strchr(" \t\r\n", text.bytes[text.length - 1])) text.length--;
    while (text.length && (text.bytes[0] == ' ' || text.bytes[0] == '\t')) {
        text.bytes++;
        text.length--;
    }
    return text;
}

/* libcurl undoes whatever it can, asked for or not, several layers deep. */
static bool take_header(exchange *e, moonplan_text name, moonplan_text value) {
    if (is_word(name, "content-encoding") && !is_word(value, "identity")) {
        bool known =
            is_word(value, "gzip") || is_word(value, "x-gzip") || is_word(value, "deflate");
        if (!known || e->encoded)
            return give_up(e, "the response is encoded in a way that was not asked for");
        e->encoded = true;
    }
    if (is_word(name, "transfer-encoding") && !is_word(value, "chunked"))
        return give_up(e, "the response is transferred in a way that was not asked for");
    const mpl_http_request *request = e->transfer->request;
    if (!request->header || e->informative) return true;
    if (request->header(request->data, name, value)) return true;
    e->stopped = true;
    return false;
}

static bool take_head_end(exchange *e) {
    const mpl_http_request *request = e->transfer->request;
    long status = 0;
    if (e->informative) return true;
    e->head_done = true;
    e->window_from = mpl_now();
    e->transfer->curl->easy_getinfo(e->handle, CURLINFO_RESPONSE_CODE, &status);
    if (!request->status || request->status(request->data, (unsigned)status)) return true;
    e->stopped = true;
    return false;
}

static bool take_line(exchange *e, moonplan_text line) {
    e->head_bytes += line.length;
    if (e->head_bytes > e->transfer->policy->head_most)
        return give_up(e, "the head of the response is larger than it may be");
    if (e->head_done) return true; /* a trailer: of no use to anybody */
    if (line.length >= 5 && memcmp(line.bytes, "HTTP/", 5) == 0) {
        long status = 0;
        e->transfer->curl->easy_getinfo(e->handle, CURLINFO_RESPONSE_CODE, &status);
        e->informative = status >= 100 && status <= 199 && status != 101;
        e->encoded = false;
        return true;
    }
    moonplan_text text = trim(line);
    if (text.length == 0) return take_head_end(e);
    const char *colon = memchr(text.bytes, ':', text.length);
    if (!colon) return true;
    size_t at = (size_t)(colon - text.bytes);
    return take_header(e, (moonplan_text){text.bytes, at},
                       trim((moonplan_text){colon + 1, text.length - at - 1}));
}

/* libcurl takes any other number than that of the bytes for a refusal; 0 is none where there are
 * no bytes, and it calls for none. */
static size_t on_header(char *bytes, size_t size, size_t count, void *data) {
    size_t length = size * count;
    return take_line(data, (moonplan_text){bytes, length}) ? length : 0;
}

/* -- The body -----------------------------------------------------------------*/

static size_t on_piece(char *bytes, size_t size, size_t count, void *data) {
    exchange *e = data;
    const mpl_http_request *request = e->transfer->request;
    uint64_t length = size * count, left = e->transfer->policy->body_most - e->body_bytes;
    bool over = length > left;
    if (over) length = left + 1;
    e->body_bytes += length;
    if (request->piece && !request->piece(request->data, bytes, (size_t)length))
        e->stopped = true;
    else if (over)
        give_up(e, "the body is larger than it may be");
    return e->stopped || over ? 0 : (size_t)length;
}

/* All that comes behind the head, before chunks and encodings are undone; and whether the request
 * has begun to go out. */
static int on_wire(CURL *handle, curl_infotype type, char *bytes, size_t size, void *data) {
    exchange *e = data;
    (void)handle, (void)bytes;
    if (type == CURLINFO_DATA_IN) e->wire_bytes += size;
    if ((type == CURLINFO_HEADER_OUT || type == CURLINFO_DATA_OUT) && e->transfer->request->sent)
        *e->transfer->request->sent = true;
    return 0;
}

/* Called at every piece, and once a second without one. Not 0: no further. */
static int on_progress(void *data, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    exchange *e = data;
    const mpl_http_policy *policy = e->transfer->policy;
    (void)a, (void)b, (void)c, (void)d;
    if (e->wire_bytes > WIRE_MOST(policy->body_most))
        return !give_up(e, "the response goes on without becoming a body");
    uint64_t now = mpl_now();
    if (now >= e->transfer->request->deadline) {
        e->late = true;
        return !give_up(e, "the response took too long");
    }
    if (!e->head_done || policy->slow_bytes == 0 || now - e->window_from < policy->slow_ms)
        return 0;
    uint64_t came = e->wire_bytes - e->window_bytes;
    if (came < policy->slow_bytes * (now - e->window_from) / 1000)
        return !give_up(e, "the response comes too slowly");
    e->window_from = now;
    e->window_bytes = e->wire_bytes;
    return 0;
}

/* -- The request ----------------------------------------------------------------*/

static void add_text(mpl_buffer *buffer, const char *text) {
    mpl_buffer_add(buffer, text, strlen(text));
}

static void add_number(mpl_buffer *buffer, uint64_t number) {
    char digits[20];
    mpl_buffer_add(buffer, digits, mpl_number_write(digits, number));
}

static void add_address(mpl_buffer *buffer, const moonplan_address *address) {
    char text[MOONPLAN_ADDRESS_TEXT];
    size_t length = mpl_address_write(text, address);
    if (address->length == 16) mpl_buffer_byte(buffer, '[');
    mpl_buffer_add(buffer, text, length);
    if (address->length == 16) mpl_buffer_byte(buffer, ']');
}

/* scheme://host:port/ */
static void write_url(mpl_buffer *out, const mpl_transfer *transfer) {
    moonplan_text host = transfer->request->host;
    bool six = memchr(host.bytes, ':', host.length) != NULL;
    add_text(out, transfer->request->scheme == MPL_HTTP_SECURE ? "https://" : "http://");
    if (six) mpl_buffer_byte(out, '[');
    mpl_buffer_add(out, host.bytes, host.length);
    add_text(out, six ? "]:" : ":");
    add_number(out, transfer->port);
    mpl_buffer_add(out, "/", 2);
}

static bool is_literal(const mpl_http_request *request) {
    moonplan_address address;
    return mpl_address_read_ipv4(&address, request->host) ||
           mpl_address_read_ipv6(&address, request->host);
}

/* host:port:address,address */
static void write_pin(mpl_buffer *out, const mpl_transfer *transfer) {
    const mpl_addresses *addresses = transfer->addresses;
    mpl_buffer_add(out, transfer->request->host.bytes, transfer->request->host.length);
    mpl_buffer_byte(out, ':');
    add_number(out, transfer->port);
    for (size_t i = 0; i < addresses->count; i++) {
        mpl_buffer_byte(out, i ? ',' : ':');
        add_address(out, &addresses->list[i]);
    }
    mpl_buffer_byte(out, 0);
}

/* Everything that a request needs besides the exchange. */
typedef struct parts {
    mpl_buffer url, pin, line;
    struct curl_slist *pins, *headers;
} parts;

static bool add_header(const mpl_curl *curl, parts *p, const char *line) {
    struct curl_slist *grown = curl->slist_append(p->headers, line);
    if (grown) p->headers = grown;
    return grown != NULL;
}

static bool write_parts(const mpl_transfer *transfer, parts *p) {
    const mpl_http_request *request = transfer->request;
    const mpl_curl *curl = transfer->curl;
    write_url(&p->url, transfer);
    write_pin(&p->pin, transfer);
    if (p->url.failed || p->pin.failed) return false;
    /* An address is not looked up, and has no place in that list. */
    if (!is_literal(request)) p->pins = curl->slist_append(NULL, p->pin.bytes);
    if (!is_literal(request) && !p->pins) return false;
    /* What libcurl would add of its own: a header without a value is left out. */
    bool fine = add_header(curl, p, "Expect:") && add_header(curl, p, "User-Agent:");
    bool type = false, accept = false;
    for (size_t i = 0; fine && i < request->header_count; i++) {
        const mpl_http_header *header = &request->headers[i];
        type = type || is_word(header->name, "content-type");
        accept = accept || is_word(header->name, "accept");
        p->line.length = 0;
        mpl_buffer_add(&p->line, header->name.bytes, header->name.length);
        /* With a semicolon libcurl sends a header that is empty. */
        add_text(&p->line, header->value.length ? ": " : ";");
        if (header->value.length)
            mpl_buffer_add(&p->line, header->value.bytes, header->value.length);
        mpl_buffer_byte(&p->line, 0);
        fine = !p->line.failed && add_header(curl, p, p->line.bytes);
    }
    if (fine && !type) fine = add_header(curl, p, "Content-Type:");
    if (fine && !accept) fine = add_header(curl, p, "Accept:");
    return fine;
}

static bool set_options(exchange *e, const parts *p) {
    const mpl_transfer *transfer = e->transfer;
    const mpl_http_request *request = transfer->request;
    const mpl_http_policy *policy = transfer->policy;
    bool fine = true;
#define SET(option, value)                                                                         \
    (fine = fine && transfer->curl->easy_setopt(e->handle, CURLOPT_##option, (value)) == CURLE_OK)
    /* Where to. The target goes out as it is, so nobody reads dots or escapes in it. */
    SET(URL, p->url.bytes);
    SET(REQUEST_TARGET, request->target.bytes);
    SET(PROTOCOLS_STR, request->scheme == MPL_HTTP_SECURE ? "https" : "http");
    SET(RESOLVE, p->pins);
    SET(OPENSOCKETFUNCTION, open_socket);
    SET(OPENSOCKETDATA, e);
    SET(FOLLOWLOCATION, 0L);
    /* Nothing from the environment or from files of the user. */
    SET(PROXY, "");
    SET(NOPROXY, "*");
    SET(NETRC, (long)CURL_NETRC_IGNORED);
    SET(DISALLOW_USERNAME_IN_URL, 1L);
    /* TLS. */
    SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(SSL_VERIFYPEER, 1L);
    SET(SSL_VERIFYHOST, 2L);
    if (transfer->ca_file) {
        SET(CAINFO, transfer->ca_file);
        SET(CAPATH, NULL);
    }
    /* HTTP/1.1: one stream on one connection, and none of what HTTP/2 lets a server start. */
    SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(HTTP09_ALLOWED, 0L);
    SET(FRESH_CONNECT, 1L);
    SET(FORBID_REUSE, 1L);
    SET(ACCEPT_ENCODING, "gzip, deflate");
    SET(HTTPHEADER, p->headers);
    if (request->method == MOONPLAN_HTTP_HEAD) {
        SET(NOBODY, 1L);
    } else {
        bool sends = request->method == MOONPLAN_HTTP_POST ||
                     request->method == MOONPLAN_HTTP_PUT || request->method == MOONPLAN_HTTP_PATCH;
        if (sends) {
            SET(POST, 1L);
            SET(POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
            SET(POSTFIELDS, request->body_length ? request->body : "");
        } else {
            SET(HTTPGET, 1L);
        }
        SET(CUSTOMREQUEST, transfer->method);
        SET(MAXFILESIZE_LARGE, (curl_off_t)ANNOUNCED_MOST(policy->body_most));
    }
    /* How long. */
    uint64_t now = mpl_now(), left = request->deadline > now ? request->deadline - now : 1;
    if (left > 3600000) left = 3600000;
    SET(TIMEOUT_MS, (long)left);
    SET(CONNECTTIMEOUT_MS, (long)(policy->connect_ms < left ? policy->connect_ms : left));
    SET(NOSIGNAL, 1L);
    /* What comes. */
    SET(HEADERFUNCTION, on_header);
    SET(HEADERDATA, e);
    SET(WRITEFUNCTION, on_piece);
    SET(WRITEDATA, e);
    SET(XFERINFOFUNCTION, on_progress);
    SET(XFERINFODATA, e);
    SET(NOPROGRESS, 0L);
    SET(DEBUGFUNCTION, on_wire);
    SET(DEBUGDATA, e);
    SET(VERBOSE, 1L);
#undef SET
    return fine;
}

/* -- The end ------------------------------------------------------------------*/

/* Words of ours for libcurl's codes; its own texts may quote the server. */
static const char *reason_of(CURLcode code, bool connected) {
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        return "no connection came about";
    case CURLE_COULDNT_RESOLVE_HOST:
        return "the connection would go to an address that was not checked";
    case CURLE_OPERATION_TIMEDOUT:
        return connected ? "the response took too long" : "no connection came about in time";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "the server's certificate is not trusted, or not for this host";
    case CURLE_SSL_CACERT_BADFILE:
        return "the file of trusted certificates cannot be read";
    case CURLE_SSL_CONNECT_ERROR:
        return "no TLS connection came about";
    case CURLE_PARTIAL_FILE:
        return "the connection ended before the whole body had come";
    case CURLE_FILESIZE_EXCEEDED:
        return "the server announces a larger body than it may send";
    case CURLE_BAD_CONTENT_ENCODING:
        return "the body is not encoded as the server says";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        return "the server does not answer in HTTP/1";
    case CURLE_GOT_NOTHING:
        return "the server closed the connection without an answer";
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return "the connection broke";
    default:
        return "the response is malformed, or the connection broke";
    }
}

static mpl_http_end judge(const exchange *e, CURLcode code, const char **reason) {
    curl_off_t connected = 0;
    if (e->stopped) return MPL_HTTP_STOPPED;
    if (e->reason) {
        *reason = e->reason;
        return e->late ? MPL_HTTP_LATE : MPL_HTTP_FAILED;
    }
    if (code == CURLE_OK && e->head_done) return MPL_HTTP_DONE;
    e->transfer->curl->easy_getinfo(e->handle, CURLINFO_APPCONNECT_TIME_T, &connected);
    if (e->transfer->request->scheme == MPL_HTTP_PLAIN)
        e->transfer->curl->easy_getinfo(e->handle, CURLINFO_CONNECT_TIME_T, &connected);
    if (code == CURLE_OUT_OF_MEMORY) {
        /* Also what libcurl says of a line in the head that is longer than 100 KB. */
        if (!connected || e->head_done) return MPL_HTTP_MEMORY;
        *reason = "the head of the response has a line that is too long, or memory ran short";
        return MPL_HTTP_FAILED;
    }
    *reason = reason_of(code, connected != 0);
    if (code == CURLE_FILESIZE_EXCEEDED) return MPL_HTTP_LARGE;
    /* Its clock and ours round differently. */
    bool late = mpl_now() + 2 >= e->transfer->request->deadline;
    return code == CURLE_OPERATION_TIMEDOUT && late ? MPL_HTTP_LATE : MPL_HTTP_FAILED;
}

mpl_http_end mpl_transfer_run(const mpl_transfer *transfer, mpl_alloc *alloc, const char **reason) {
    exchange e = {.transfer = transfer, .handle = transfer->curl->easy_init()};
    parts p = {.pins = NULL, .headers = NULL};
    mpl_buffer_open(&p.url, alloc);
    mpl_buffer_open(&p.pin, alloc);
    mpl_buffer_open(&p.line, alloc);
    mpl_http_end end = MPL_HTTP_MEMORY;
    if (e.handle && write_parts(transfer, &p) && set_options(&e, &p))
        end = judge(&e, transfer->curl->easy_perform(e.handle), reason);
    if (e.handle) transfer->curl->easy_cleanup(e.handle);
    transfer->curl->slist_free_all(p.pins);
    transfer->curl->slist_free_all(p.headers);
    mpl_buffer_close(&p.url);
    mpl_buffer_close(&p.pin);
    mpl_buffer_close(&p.line);
    return end;
}

#else
typedef int mpl_transfer_is_off; /* ISO C wants something in every file */
#endif
