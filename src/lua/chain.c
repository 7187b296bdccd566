/* A row is counted by its tokens, without a parser: too many rather than too few. What is no Lua is
 * none either way, so that only texts which compile have to be read as Lua reads them (the Lua 5.4
 * manual, section 3.1). */
#include "chain.h"

#include <stdint.h>
#include <string.h>

/* Brackets that are open at once; a chunk that compiles has 200 at most (LUAI_MAXCCALLS). */
#define DEPTH_MOST 256

typedef struct reading {
    const char *at, *end;
    size_t line;
    bool after_value; /* what stood last may end an expression */
    size_t depth;
    uint32_t rows[DEPTH_MOST]; /* of what is being read in each bracket */
} reading;

static bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* "[[" or "[==[" at `at`: its level, or -1. */
static long level_of(const reading *r, const char *at) {
    const char *from = at + 1;
    while (from < r->end && *from == '=') from++;
    return from < r->end && *from == '[' ? (long)(from - at) - 1 : -1;
}

static void skip_long(reading *r, long level) {
    r->at += level + 2;
    for (; r->at < r->end; r->at++) {
        if (*r->at == '\n') r->line++;
        if (*r->at != ']') continue;
        long same = 0;
        while (r->at + 1 + same < r->end && r->at[1 + same] == '=') same++;
        if (same == level && r->at + 1 + same < r->end && r->at[1 + same] == ']') {
            r->at += level + 2;
            return;
        }
    }
}

static void skip_comment(reading *r) {
    r->at += 2;
    long level = r->at < r->end && *r->at == '[' ? level_of(r, r->at) : -1;
    if (level >= 0)
        skip_long(r, level);
    else
        while (r->at < r->end && *r->at != '\n' && *r->at != '\r') r->at++;
}

static void skip_quoted(reading *r) {
    char quote = *r->at++;
    while (r->at < r->end && *r->at != quote) {
        if (*r->at == '\\' && r->at + 1 < r->end) r->at++;
        if (*r->at == '\n') r->line++;
        r->at++;
    }
    if (r->at < r->end) r->at++;
}

static void skip_number(reading *r) {
    bool hex = r->end - r->at > 1 && r->at[0] == '0' && (r->at[1] | 32) == 'x';
    while (r->at < r->end && (is_digit(*r->at) || is_letter(*r->at) || *r->at == '.')) {
        bool exponent = (*r->at | 32) == (hex ? 'p' : 'e');
        r->at++;
        if (exponent && r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
    }
}

static bool is_keyword(const char *name, size_t length) {
    static const char *const words[] = {"and",   "break", "do",       "else", "elseif", "end",
                                        "false", "for",   "function", "goto", "if",     "in",
                                        "local", "nil",   "not",      "or",   "repeat", "return",
                                        "then",  "true",  "until",    "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], name, length) == 0) return true;
    return false;
}

/* An operator, a keyword, a comma: what stands before it has no part in what follows. */
static void begin_row(reading *r) {
    r->rows[r->depth] = 0;
    r->after_value = false;
}

static void take_name(reading *r) {
    const char *name = r->at;
    while (r->at < r->end && (is_letter(*r->at) || is_digit(*r->at))) r->at++;
    if (is_keyword(name, (size_t)(r->at - name))) {
        begin_row(r);
        return;
    }
    if (r->after_value) r->rows[r->depth] = 0; /* the next statement */
    r->after_value = true;
}

/* What is in the bracket is taken by what stands around it, or looked for beside it. */
static void close_bracket(reading *r, uint32_t more) {
    uint32_t inner = r->rows[r->depth];
    if (r->depth > 0) r->depth--;
    if (r->rows[r->depth] < inner) r->rows[r->depth] = inner;
    r->rows[r->depth] += more;
    r->after_value = true;
}

static void take_other(reading *r) {
    char byte = *r->at, next = r->end - r->at > 1 ? r->at[1] : 0;
    long level;
    if (byte == '[' && (level = level_of(r, r->at)) >= 0) {
        skip_long(r, level);
        r->after_value = true;
        return;
    }
    if (byte == '"' || byte == '\'') {
        skip_quoted(r);
        r->after_value = true;
        return;
    }
    if (is_digit(byte) || (byte == '.' && is_digit(next))) {
        skip_number(r);
        begin_row(r);
        r->after_value = true;
        return;
    }
    r->at++;
    switch (byte) {
    case '.':
        r->after_value = false;
        if (next != '.')
            r->rows[r->depth]++;
        else
            begin_row(r);
        while (r->at < r->end && *r->at == '.') r->at++;
        return;
    case ':': /* a method; its result is nobody's field, but it may be none */
        if (next == ':') begin_row(r);
        r->after_value = false;
        return;
    case '(':
    case '[':
    case '{':
        if (r->depth + 1 < DEPTH_MOST) r->rows[++r->depth] = 0;
        r->after_value = false;
        return;
    case ')':
        close_bracket(r, 0);
        return;
    case ']':
        close_bracket(r, 1);
        return;
    case '}':
        r->rows[r->depth] = 0;
        close_bracket(r, 0);
        return;
    default:
        begin_row(r);
        return;
    }
}

bool mpl_chain_check(const char *text, size_t length, size_t *line) {
    reading r; /* its rows are filled as far as `depth` says */
    if (length <= 2 * MPL_CHAIN_MOST) return true;
    r.at = text;
    r.end = text + length;
    r.line = 1;
    r.depth = 0;
    begin_row(&r);
    while (r.at < r.end) {
        char byte = *r.at;
        if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
            r.line += byte == '\n';
            r.at++;
        } else if (byte == '-' && r.end - r.at > 1 && r.at[1] == '-') {
            skip_comment(&r);
        } else if (is_letter(byte)) {
            take_name(&r);
        } else {
            take_other(&r);
        }
        *line = r.line;
        if (r.rows[r.depth] > MPL_CHAIN_MOST) return false;
    }
    return true;
}
