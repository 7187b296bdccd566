#include "text.h"

#include <string.h>

#include "text_run.h"

int mpl_text_order(moonplan_text a, moonplan_text b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter ? memcmp(a.bytes, b.bytes, shorter) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

size_t mpl_utf8(const char *at, const char *end, uint32_t *point) {
    const unsigned char *byte = (const unsigned char *)at;
    size_t room = (size_t)(end - at);
    if (room == 0) return 0;
    uint32_t first = byte[0], value;
    size_t length;
    /* The allowed range of the second byte is what keeps out overlong forms, surrogates and
     * code points over U+10FFFF (RFC 3629, section 4). */
    unsigned low = 0x80, high = 0xbf;
    if (first < 0x80) {
        if (point) *point = first;
        return 1;
    } else if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
        value = first & 0x1f;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        value = first & 0x0f;
        if (first == 0xe0) low = 0xa0;
        if (first == 0xed) high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        value = first & 0x07;
        if (first == 0xf0) low = 0x90;
        if (first == 0xf4) high = 0x8f;
    } else {
        return 0;
    }
    if (room < length) return 0;
    for (size_t i = 1; i < length; i++) {
        if (byte[i] < low || byte[i] > high) return 0;
        value = value << 6 | (byte[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    if (point) *point = value;
    return length;
}

size_t mpl_utf8_encode(char out[4], uint32_t point) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

size_t mpl_utf8_count(moonplan_text text) {
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) count += ((unsigned char)text.bytes[i] & 0xc0) != 0x80;
    return count;
}

bool mpl_decimal(moonplan_text text) {
    if (text.length == 0) return false;
    if (text.bytes[0] == '0') return text.length == 1;
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
    return true;
}

bool mpl_decimal_fits_256(moonplan_text text) {
    /* 2^256 - 1; of two canonical decimals the longer is the larger. */
    static const char largest[] =
        "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    if (text.length != sizeof largest - 1) return text.length < sizeof largest - 1;
    return memcmp(text.bytes, largest, sizeof largest - 1) <= 0;
}

size_t mpl_number_write(char *out, uint64_t number) {
    char digits[20];
    size_t count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    for (size_t i = 0; i < count; i++) out[i] = digits[count - 1 - i];
    return count;
}

size_t mpl_integer_write(char *out, int64_t integer) {
    if (integer >= 0) return mpl_number_write(out, (uint64_t)integer);
    out[0] = '-';
    return 1 + mpl_number_write(out + 1, (uint64_t) - (integer + 1) + 1);
}

mpl_hex mpl_hex_scan(moonplan_text text) {
    if (text.length < 2 || text.length % 2 != 0 || text.bytes[0] != '0' || text.bytes[1] != 'x')
        return MPL_HEX_NO;
    const char *end = text.bytes + text.length;
    const char *odd = mpl_run_kind_at(0)->hex(text.bytes + 2, end);
    if (odd == end) return MPL_HEX_LOWER;
    /* 1: a lower-case digit, 3: an upper-case one. */
    static const unsigned char digit[256] = {
        ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1,
        ['8'] = 1, ['9'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1,
        ['A'] = 3, ['B'] = 3, ['C'] = 3, ['D'] = 3, ['E'] = 3, ['F'] = 3};
    unsigned every = 1, any = 0;
    for (; odd < end; odd++) {
        unsigned class = digit[(unsigned char)*odd];
        every &= class;
        any |= class;
    }
    return !every ? MPL_HEX_NO : any & 2 ? MPL_HEX_MIXED : MPL_HEX_LOWER;
}

void mpl_hex_lower(char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] >= 'A' && bytes[i] <= 'F') bytes[i] = (char)(bytes[i] + ('a' - 'A'));
}

void mpl_hex_encode(char *out, const uint8_t *bytes, size_t length) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

static unsigned nibble(char digit) {
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)((digit | 0x20) - 'a') + 10;
}

void mpl_hex_decode(uint8_t *out, const char *digits, size_t length) {
    for (size_t i = 0; i < length; i++)
        out[i] = (uint8_t)(nibble(digits[2 * i]) << 4 | nibble(digits[2 * i + 1]));
}

bool mpl_is_hidden(uint32_t point) {
    /* Unicode general categories Cc, Cf, Zl, Zp and Zs but for the space itself, default-ignorable
     * code points, letters and symbols that are blank, private use and noncharacters, as ranges. */
    static const uint32_t ranges[][2] = {
        {0x0000, 0x001f},   {0x007f, 0x00a0},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
        {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},
        {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x1680, 0x1680},
        {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},
        {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
        {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd},
        {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x16fe4, 0x16fe4}, {0x1bca0, 0x1bca3},
        {0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0x2fffe, 0x2ffff},
        {0x3fffe, 0xdffff}, {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (point <= ranges[i][1]) return point >= ranges[i][0];
    return true;
}

static size_t write_hex(char *out, uint32_t value, int least) {
    static const char digits[] = "0123456789abcdef";
    int count = 1;
    while (count < 8 && value >> (4 * count)) count++;
    if (count < least) count = least;
    for (int i = 0; i < count; i++) out[i] = digits[value >> (4 * (count - 1 - i)) & 15];
    return (size_t)count;
}

size_t mpl_quote(char *out, size_t room, moonplan_text text) {
    const char *at = text.length ? text.bytes : "", *end = at + text.length;
    size_t length = 0;
    out[length++] = '"';
    while (at < end) {
        char piece[16];
        size_t written;
        uint32_t point = 0;
        size_t step = mpl_utf8(at, end, &point);
        if (step == 0) {
            memcpy(piece, "\\x", 2);
            written = 2 + write_hex(piece + 2, (unsigned char)*at, 2);
            step = 1;
        } else if (point == '"' || point == '\\') {
            piece[0] = '\\';
            piece[1] = (char)point;
            written = 2;
        } else if (mpl_is_hidden(point)) {
            memcpy(piece, "\\u{", 3);
            written = 3 + write_hex(piece + 3, point, 1);
            piece[written++] = '}';
        } else {
            memcpy(piece, at, step);
            written = step;
        }
        /* Four bytes are kept for the mark of a cut and the closing quote. */
        if (length + written + 4 > room) {
            memcpy(out + length, "\xe2\x80\xa6", 3);
            length += 3;
            break;
        }
        memcpy(out + length, piece, written);
        length += written;
        at += step;
    }
    out[length++] = '"';
    return length;
}
