#include "address.h"

#include <string.h>

typedef struct range {
    uint8_t bytes[16];
    uint8_t bits;
    const char *what;
} range;

/* The first that matches counts, so a range inside another stands before it. */
static const range special4[] = {
    {{0}, 8, "an address of this network"},
    {{10}, 8, "a private address"},
    {{100, 64}, 10, "an address shared by the customers of a provider"},
    {{127}, 8, "a loopback address"},
    {{169, 254}, 16, "a link-local address"},
    {{172, 16}, 12, "a private address"},
    {{192, 0, 0}, 24, "an address of protocol assignments"},
    {{192, 0, 2}, 24, "an address for documentation"},
    {{192, 31, 196}, 24, "an address of a sink for queries"},
    {{192, 52, 193}, 24, "an address for multicast tunnels"},
    {{192, 88, 99}, 24, "an address of 6to4 relays"},
    {{192, 168}, 16, "a private address"},
    {{192, 175, 48}, 24, "an address of a sink for queries"},
    {{198, 18}, 15, "an address for benchmarks"},
    {{198, 51, 100}, 24, "an address for documentation"},
    {{203, 0, 113}, 24, "an address for documentation"},
    {{224}, 4, "a multicast address"},
    {{240}, 4, "a reserved address"}};

static const range special6[] = {
    {{[15] = 1}, 128, "a loopback address"},
    {{0}, 128, "the unspecified address"},
    {{[10] = 0xff, [11] = 0xff}, 96, "an IPv4-mapped address"},
    {{0}, 96, "an IPv4-compatible address"},
    {{0, 0x64, 0xff, 0x9b}, 96, "an address of an IPv4 translator"},
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, "an address of an IPv4 translator"},
    {{1}, 64, "a discard-only address"},
    {{0x20, 0x01}, 32, "an address of a Teredo tunnel"},
    {{0x20, 0x01}, 23, "an address of protocol assignments"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "an address for documentation"},
    {{0x20, 0x02}, 16, "an address of a 6to4 tunnel"},
    {{0x26, 0x20, 0, 0x4f, 0x80}, 48, "an address of a sink for queries"},
    {{0x3f, 0xff}, 20, "an address for documentation"},
    {{0xfc}, 7, "a unique local address"},
    {{0xfe, 0x80}, 10, "a link-local address"},
    {{0xfe, 0xc0}, 10, "a site-local address"},
    {{0xff}, 8, "a multicast address"}};

static bool within(const uint8_t *bytes, const range *r) {
    size_t whole = r->bits / 8;
    unsigned rest = r->bits % 8u;
    if (memcmp(bytes, r->bytes, whole) != 0) return false;
    return rest == 0 || ((bytes[whole] ^ r->bytes[whole]) >> (8 - rest)) == 0;
}

bool mpl_address_is_loopback(const moonplan_address *address) {
    static const range four = {{127}, 8, ""}, six = {{[15] = 1}, 128, ""};
    return address->length == 4    ? within(address->bytes, &four)
           : address->length == 16 ? within(address->bytes, &six)
                                   : false;
}

const char *mpl_address_special(const moonplan_address *address) {
    bool four = address->length == 4;
    if (!four && address->length != 16) return "no internet address";
    const range *ranges = four ? special4 : special6;
    size_t count = four ? sizeof special4 / sizeof *special4 : sizeof special6 / sizeof *special6;
    for (size_t i = 0; i < count; i++)
        if (within(address->bytes, &ranges[i])) return ranges[i].what;
    if (!four && address->bytes[0] >> 5 != 1) return "an address outside global unicast";
    return NULL;
}

bool mpl_address_read_ipv4(moonplan_address *out, moonplan_text text) {
    moonplan_address address = {.length = 4};
    size_t at = 0;
    for (size_t part = 0; part < 4; part++) {
        unsigned number = 0;
        size_t digits = 0;
        if (part && (at == text.length || text.bytes[at++] != '.')) return false;
        for (; at < text.length && text.bytes[at] >= '0' && text.bytes[at] <= '9'; at++) {
            if (++digits > 3 || (digits > 1 && number == 0)) return false;
            number = number * 10 + (unsigned)(text.bytes[at] - '0');
        }
        if (digits == 0 || number > 255) return false;
        address.bytes[part] = (uint8_t)number;
    }
    if (at != text.length) return false;
    *out = address;
    return true;
}

static int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

bool mpl_address_read_ipv6(moonplan_address *out, moonplan_text text) {
    moonplan_address address = {.length = 16};
    /* Bytes read so far, and where "::" stood among them. */
    size_t length = 0, gap = SIZE_MAX, at = 0;
    if (text.length >= 2 && text.bytes[0] == ':' && text.bytes[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < text.length) {
        moonplan_text rest = {text.bytes + at, text.length - at};
        moonplan_address four;
        if (length + 4 <= 16 && mpl_address_read_ipv4(&four, rest)) {
            memcpy(address.bytes + length, four.bytes, 4);
            length += 4;
            break;
        }
        unsigned group = 0;
        size_t digits = 0;
        while (at < text.length && digits < 4 && hex_digit(text.bytes[at]) >= 0) {
            group = group << 4 | (unsigned)hex_digit(text.bytes[at++]);
            digits++;
        }
        if (digits == 0 || length == 16) return false;
        address.bytes[length++] = (uint8_t)(group >> 8);
        address.bytes[length++] = (uint8_t)group;
        if (at == text.length) break;
        if (text.bytes[at++] != ':' || at == text.length) return false;
        if (text.bytes[at] != ':') continue;
        if (gap != SIZE_MAX) return false;
        gap = length;
        at++;
    }
    if (gap == SIZE_MAX) {
        if (length != 16) return false;
    } else {
        /* "::" stands for one group of zeros or more. */
        if (length > 14) return false;
        memmove(address.bytes + 16 - (length - gap), address.bytes + gap, length - gap);
        memset(address.bytes + gap, 0, 16 - length);
    }
    *out = address;
    return true;
}

static size_t write_decimal(char *out, unsigned number) {
    size_t length = 0;
    if (number >= 100) out[length++] = (char)('0' + number / 100);
    if (number >= 10) out[length++] = (char)('0' + number / 10 % 10);
    out[length++] = (char)('0' + number % 10);
    return length;
}

size_t mpl_address_write(char out[MOONPLAN_ADDRESS_TEXT], const moonplan_address *address) {
    static const char digits[] = "0123456789abcdef";
    size_t length = 0;
    if (address->length == 4) {
        for (size_t i = 0; i < 4; i++) {
            if (i) out[length++] = '.';
            length += write_decimal(out + length, address->bytes[i]);
        }
        out[length] = 0;
        return length;
    }
    unsigned groups[8];
    size_t gap = 8, gap_length = 1; /* the first longest run of two zero groups or more */
    for (size_t i = 0; i < 8; i++)
        groups[i] = (unsigned)address->bytes[2 * i] << 8 | address->bytes[2 * i + 1];
    for (size_t i = 0; i < 8; i++) {
        size_t run = 0;
        while (i + run < 8 && groups[i + run] == 0) run++;
        if (run <= gap_length) continue;
        gap = i;
        gap_length = run;
    }
    for (size_t i = 0; i < 8; i++) {
        if (i == gap) {
            out[length++] = ':';
            if (i == 0) out[length++] = ':';
            i += gap_length - 1;
            continue;
        }
        for (int shift = 12; shift >= 0; shift -= 4)
            if (shift == 0 || groups[i] >> shift) out[length++] = digits[groups[i] >> shift & 15];
        if (i < 7) out[length++] = ':';
    }
    out[length] = 0;
    return length;
}
