#include "json_read.h"

#include <string.h>

#include "text.h"

typedef mpl_reader reader;

/* -- Refusing --------------------------------------------------------------*/

static mpl_pointer where(const reader *r, bool inside) {
    mpl_pointer pointer;
    mpl_pointer_open(&pointer, r->document, r->open,
                     inside && !r->naming ? r->document->node_count : MPL_NO_CHILD);
    return pointer;
}

#define REFUSE(r, code, place, inside, ...)                                                        \
    do {                                                                                           \
        mpl_pointer pointer_ = where(r, inside);                                                   \
        mpl_error_set((r)->err, code, (size_t)((place) - (r)->text), &pointer_, __VA_ARGS__);      \
    } while (0)

static bool no_memory(const reader *r) {
    mpl_error_memory(r->err);
    return false;
}

/* What stands at `at`, as far as it belongs together: a word, or one character. */
static moonplan_text word_at(const reader *r) {
    const char *stop = r->at;
    while (stop < r->end && stop - r->at < 40 &&
           ((*stop >= 'a' && *stop <= 'z') || (*stop >= 'A' && *stop <= 'Z') ||
            (*stop >= '0' && *stop <= '9') || *stop == '_' || *stop == '+' || *stop == '-' ||
            *stop == '.'))
        stop++;
    if (stop == r->at) stop += mpl_utf8(r->at, r->end, NULL);
    return (moonplan_text){r->at, (size_t)(stop - r->at)};
}

/* Something else stands where `wanted` belongs. */
static bool refuse_here(const reader *r, bool inside, const char *wanted) {
    if (r->at == r->end) {
        REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, inside, "the document ends where %s belongs",
               wanted);
    } else if (mpl_utf8(r->at, r->end, NULL) == 0) {
        unsigned byte = (unsigned char)*r->at;
        bool utf16 = r->at == r->text && r->end - r->at > 1 && byte >= 0xfe;
        REFUSE(r, MOONPLAN_JSON_UTF8, r->at, inside, "the byte %x is not UTF-8%s", byte,
               utf16 ? "; the file looks like UTF-16: save it as UTF-8" : "");
    } else if (*r->at == 0 || ((unsigned char)*r->at < 0x20)) {
        REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, inside, "the byte %x stands where %s belongs",
               (unsigned)(unsigned char)*r->at, wanted);
    } else {
        moonplan_text word = word_at(r);
        REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, inside, "%q stands where %s belongs", &word, wanted);
    }
    return false;
}

/* -- Scalars ---------------------------------------------------------------*/

static inline void skip_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

static int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/* The number of a \uXXXX escape at `at`, or -1. */
static int32_t unit_at(const char *at, const char *end) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char simple_escape(char byte) {
    switch (byte) {
    case '"':
    case '\\':
    case '/':
        return byte;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

/* Check the escape at r->at, and step over it; the bytes it stands for, 0 if it is refused. */
static size_t check_escape(reader *r) {
    if (r->end - r->at >= 2 && simple_escape(r->at[1])) {
        r->at += 2;
        return 1;
    }
    int32_t unit = unit_at(r->at, r->end);
    if (unit < 0) {
        if (r->end - r->at < 2 || (r->at[1] == 'u' && r->end - r->at < 6 &&
                                   !memchr(r->at, '"', (size_t)(r->end - r->at)))) {
            REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, true, "the document ends inside an escape");
            return 0;
        }
        size_t step = mpl_utf8(r->at + 1, r->end, NULL);
        moonplan_text letter = {r->at + 1, step ? step : 1};
        if (r->at[1] == 'u')
            REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, true, "\\u takes four hexadecimal digits");
        else
            REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, true,
                   "a backslash before %q begins no escape of JSON", &letter);
        return 0;
    }
    if (unit >= 0xd800 && unit <= 0xdfff) {
        int32_t low = unit < 0xdc00 ? unit_at(r->at + 6, r->end) : -1;
        if (low < 0xdc00 || low > 0xdfff) {
            moonplan_text text = {r->at, 6};
            REFUSE(r, MOONPLAN_JSON_SURROGATE, r->at, true,
                   "%t is one half of a surrogate pair, and the other half is missing", &text);
            return 0;
        }
        r->at += 12;
        return 4;
    }
    r->at += 6;
    return unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
}

/* Write the content between the quotes, whose escapes are known to be good, to `out`. */
static void unescape(char *out, const char *at, const char *end) {
    while (at < end) {
        if (*at != '\\') {
            const char *next = memchr(at, '\\', (size_t)(end - at));
            size_t length = (size_t)((next ? next : end) - at);
            memcpy(out, at, length);
            out += length;
            at += length;
            continue;
        }
        char simple = simple_escape(at[1]);
        if (simple) {
            *out++ = simple;
            at += 2;
            continue;
        }
        uint32_t point = (uint32_t)unit_at(at, end);
        at += 6;
        if (point >= 0xd800 && point <= 0xdfff) {
            point = 0x10000 + ((point - 0xd800) << 10) + ((uint32_t)unit_at(at, end) - 0xdc00);
            at += 6;
        }
        out += mpl_utf8_encode(out, point);
    }
}

/* A string from its first byte that is not plain, at r->at. */
static bool read_odd_string(reader *r, const char *begin) {
    size_t shortened = 0;
    while (r->at == r->end || *r->at != '"') {
        if (r->at == r->end) {
            REFUSE(r, MOONPLAN_JSON_SYNTAX, begin, true,
                   "the string that begins here has no closing quote");
            return false;
        }
        if (*r->at == '\\') {
            const char *escape = r->at;
            size_t bytes = check_escape(r);
            if (bytes == 0) return false;
            shortened += (size_t)(r->at - escape) - bytes;
        } else {
            size_t step = mpl_utf8(r->at, r->end, NULL);
            unsigned byte = (unsigned char)*r->at;
            if (step == 0) {
                REFUSE(r, MOONPLAN_JSON_UTF8, r->at, true, "the byte %x is not UTF-8 here", byte);
                return false;
            }
            if (byte < 0x20) {
                REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, true,
                       "the control character %x stands in a string; it must be escaped", byte);
                return false;
            }
            r->at += step;
        }
        r->at = mpl_plain_end(r->at, r->end, r->plain);
    }
    const char *end = r->at++;
    mpl_node *node = mpl_node_add(r->document, MOONPLAN_STRING, (size_t)(begin - r->text),
                                  (size_t)(r->at - begin));
    if (!node) return no_memory(r);
    if (shortened) {
        size_t length = (size_t)(end - begin - 1) - shortened;
        char *content = mpl_decoded_add(r->document, length);
        if (!content) return no_memory(r);
        unescape(content, begin + 1, end);
    }
    return true;
}

static inline bool read_string(reader *r) {
    const char *begin = r->at;
    r->at = mpl_plain_end(begin + 1, r->end, r->plain);
    if (r->at == r->end || *r->at != '"') return read_odd_string(r, begin);
    r->at++;
    return mpl_node_add(r->document, MOONPLAN_STRING, (size_t)(begin - r->text),
                        (size_t)(r->at - begin)) ||
           no_memory(r);
}

bool mpl_read_string(mpl_reader *r) {
    return read_string(r);
}

static inline bool digit_at(const reader *r) {
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool read_number(reader *r) {
    const char *begin = r->at;
    bool negative = *r->at == '-';
    r->at += negative;
    const char *digits = r->at;
    if (!digit_at(r)) {
        const char *seen = r->at;
        r->at = begin;
        moonplan_text word = word_at(r);
        REFUSE(r, MOONPLAN_JSON_SYNTAX, begin, true, "%q is no JSON number", &word);
        r->at = seen;
        return false;
    }
    if (*r->at == '0' && r->end - r->at > 1 && r->at[1] >= '0' && r->at[1] <= '9') {
        REFUSE(r, MOONPLAN_JSON_SYNTAX, begin, true, "a number may not begin with a spare 0");
        return false;
    }
    while (digit_at(r)) r->at++;
    size_t count = (size_t)(r->at - digits);
    bool integer = true;
    if (r->at < r->end && *r->at == '.') {
        integer = false;
        r->at++;
        if (!digit_at(r)) return refuse_here(r, true, "a digit of the fraction");
        while (digit_at(r)) r->at++;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        integer = false;
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
        if (!digit_at(r)) return refuse_here(r, true, "a digit of the exponent");
        while (digit_at(r)) r->at++;
    }
    if (integer && count == 19)
        integer = memcmp(digits, negative ? "9223372036854775808" : "9223372036854775807", 19) <= 0;
    else if (integer && count > 19)
        integer = false;
    if (negative && count == 1 && *digits == '0') integer = false; /* -0 has a sign to keep */
    return mpl_node_add(r->document, integer ? MOONPLAN_INTEGER : MOONPLAN_NUMBER,
                        (size_t)(begin - r->text), (size_t)(r->at - begin)) ||
           no_memory(r);
}

static bool read_literal(reader *r) {
    static const struct {
        const char *word;
        size_t length;
        moonplan_type type;
    } words[] = {
        {"null", 4, MOONPLAN_NULL}, {"false", 5, MOONPLAN_FALSE}, {"true", 4, MOONPLAN_TRUE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if ((size_t)(r->end - r->at) < words[i].length ||
            memcmp(r->at, words[i].word, words[i].length) != 0)
            continue;
        if (!mpl_node_add(r->document, words[i].type, (size_t)(r->at - r->text), words[i].length))
            return no_memory(r);
        r->at += words[i].length;
        return true;
    }
    return refuse_here(r, true, "a value");
}

/* -- Containers ------------------------------------------------------------*/

static inline bool open_container(reader *r, moonplan_type type) {
    if (r->depth >= r->depth_most) {
        REFUSE(r, MOONPLAN_JSON_DEPTH, r->at, true,
               "arrays and objects are nested deeper than the limit depth allows: %u",
               r->depth_most);
        return false;
    }
    size_t node = r->document->node_count;
    if (!mpl_container_open(r->document, type, (size_t)(r->at - r->text), r->open))
        return no_memory(r);
    r->open = node;
    r->depth++;
    r->at++;
    return true;
}

static bool close_compared(reader *r, size_t node, size_t outer) {
    size_t duplicate;
    if (mpl_container_close(r->document, node, (size_t)(r->at - r->text), &duplicate)) return true;
    if (!duplicate) return no_memory(r);
    mpl_pointer pointer;
    mpl_pointer_open(&pointer, r->document, outer, outer == MPL_NO_CHILD ? outer : node);
    moonplan_text name = mpl_content(r->document, duplicate);
    mpl_pointer_name(&pointer, name);
    mpl_error_set(r->err, MOONPLAN_JSON_DUPLICATE_NAME, r->document->nodes[duplicate].start,
                  &pointer, "the name %q stands in this object twice", &name);
    return false;
}

static inline bool close_container(reader *r) {
    size_t node = r->open, outer = mpl_container_outer(r->document, node);
    const mpl_node *container = &r->document->nodes[node];
    r->at++;
    bool distinct = container->type == MOONPLAN_ARRAY ||
                    (r->depth < MPL_SEEN_DEPTH && !(r->doubt >> r->depth & 1));
    if (container->extra <= MPL_TABLE_OVER && distinct)
        mpl_container_close_small(r->document, node, (size_t)(r->at - r->text));
    else if (!close_compared(r, node, outer))
        return false;
    r->open = outer;
    r->depth--;
    return true;
}

static inline bool read_name(reader *r) {
    skip_space(r);
    if (r->at < r->end && *r->at == '}') {
        REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, false, "no member follows the comma");
        return false;
    }
    if (r->at == r->end || *r->at != '"') return refuse_here(r, false, "a member's name in quotes");
    const char *begin = r->at;
    size_t node = r->document->node_count;
    r->naming = true;
    if (!read_string(r)) return false;
    r->naming = false;
    r->document->nodes[r->open].extra++;
    if (r->document->nodes[node].extra)
        r->doubt |= r->depth < MPL_SEEN_DEPTH ? (uint64_t)1 << r->depth : 0;
    else
        mpl_remember_name(r, begin, (size_t)(r->at - begin));
    skip_space(r);
    if (r->at == r->end || *r->at != ':') return refuse_here(r, true, "a colon");
    r->at++;
    return true;
}

/* -- Everything ------------------------------------------------------------*/

bool mpl_read_value(mpl_reader *r) {
    const size_t outside = r->open;
    bool ended = false;
    for (;;) {
        ended = r->run(r, outside, ended);
        bool element = mpl_in_array(r);
        if (!ended) { /* a value begins here */
            skip_space(r);
            if (element) r->document->nodes[r->open].extra++;
            if (r->at == r->end) return refuse_here(r, true, "a value");
            if (element && *r->at == ']') {
                REFUSE(r, MOONPLAN_JSON_SYNTAX, r->at, false, "no value follows the comma");
                return false;
            }
            if (++r->values > r->values_most) {
                REFUSE(r, MOONPLAN_LIMIT, r->at, true,
                       "the document has more values than the limit values allows: %u",
                       r->values_most);
                return false;
            }
            bool fine;
            ended = true;
            switch (*r->at) {
            case '"':
                fine = read_string(r);
                break;
            case '{':
                if (!open_container(r, MOONPLAN_OBJECT)) return false;
                mpl_forget_names(r);
                skip_space(r);
                ended = r->at < r->end && *r->at == '}';
                fine = ended ? close_container(r) : read_name(r);
                break;
            case '[':
                if (!open_container(r, MOONPLAN_ARRAY)) return false;
                skip_space(r);
                ended = r->at < r->end && *r->at == ']';
                fine = !ended || close_container(r);
                break;
            case '-':
            case '0':
            case '1':
            case '2':
            case '3':
            case '4':
            case '5':
            case '6':
            case '7':
            case '8':
            case '9':
                fine = read_number(r);
                break;
            default:
                fine = read_literal(r);
                break;
            }
            if (!fine) return false;
        } else { /* a value has ended here */
            if (r->open == outside) return true;
            skip_space(r);
            if (r->at < r->end && *r->at == ',') {
                r->at++;
                ended = false;
                if (!element && !read_name(r)) return false;
            } else if (r->at == r->end || *r->at != (element ? ']' : '}')) {
                return refuse_here(r, false,
                                   element ? "a comma or the array's closing bracket"
                                           : "a comma or the object's closing brace");
            } else if (!close_container(r)) {
                return false;
            }
        }
    }
}

static bool read_document(reader *r) {
    if (!mpl_read_value(r)) return false;
    skip_space(r);
    return r->at == r->end || refuse_here(r, false, "the end of the document");
}

void mpl_reader_open(mpl_reader *r, moonplan_document *document, const char *text, size_t length,
                     const moonplan_options *options, moonplan_error *err) {
    mpl_document_clear(document);
    document->text = text;
    document->text_length = length;
    r->document = document;
    r->text = r->at = text;
    r->end = text + length;
    r->open = MPL_NO_CHILD;
    r->naming = false;
    r->depth = r->values = 0;
    r->depth_most = options->limits.depth;
    r->values_most = options->limits.values;
    r->err = err;
    r->plain = mpl_run_kind_at(0)->plain;
    r->run = mpl_json_run_of(mpl_run_kind_at(0));
    r->doubt = 0; /* `seen` is cleared as objects are opened */
}

bool mpl_document_settle(moonplan_document *document, const moonplan_options *options) {
    mpl_document_trim(document);
    if (options->borrow) return true;
    document->copy = mpl_allocate(&document->alloc, document->text_length);
    if (!document->copy) return false;
    document->copy_size = document->text_length;
    memcpy(document->copy, document->text, document->text_length);
    document->text = document->copy;
    return true;
}

static bool parse(moonplan_document **document, const char *text, size_t length,
                  const moonplan_options *options, moonplan_error *err) {
    if (!mpl_options_sound(options, err)) return false;
    if (length > options->limits.document_bytes) {
        mpl_error_set(err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "the document is %u bytes long, more than the limit document_bytes allows: "
                      "%u",
                      (uint64_t)length, options->limits.document_bytes);
        return false;
    }
    mpl_alloc alloc = mpl_alloc_of(options);
    if (!*document) *document = mpl_document_new(&alloc);
    if (!*document) {
        mpl_error_memory(err);
        return false;
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        mpl_error_set(err, MOONPLAN_JSON_BYTE_ORDER_MARK, 0, NULL,
                      "a byte order mark stands before the document; remove its three bytes");
        return false;
    }
    reader r;
    mpl_reader_open(&r, *document, text, length, options, err);
    /* Room for what a document of that length often has; where there is not so much memory, it may
     * need less. */
    (void)mpl_node_room(*document, 16 + (length < 65536 ? length : 65536) / 16);
    if (!read_document(&r)) return false;
    return mpl_document_settle(*document, options) || no_memory(&r);
}

moonplan_document *mpl_document_read(moonplan_document *document, const char *text, size_t length,
                                     const moonplan_options *options, moonplan_error *err) {
    moonplan_options defaults;
    moonplan_error own;
    if (!options) {
        moonplan_options_init(&defaults);
        options = &defaults;
    }
    bool fine = parse(&document, text, length, options, err ? err : &own);
    if (options->errors) *options->errors = NULL;
    if (fine) return document;
    moonplan_document_free(document);
    if (options->errors) {
        mpl_alloc alloc = mpl_alloc_of(options);
        *options->errors = mpl_error_list_new(&alloc);
        moonplan_error *first = *options->errors ? mpl_error_list_add(*options->errors) : NULL;
        if (first) {
            *first = err ? *err : own;
        } else {
            moonplan_error_list_free(*options->errors);
            *options->errors = NULL;
            mpl_error_memory(err);
        }
    }
    return NULL;
}

moonplan_document *moonplan_document_parse(const char *text, size_t length,
                                           const moonplan_options *options, moonplan_error *err) {
    return mpl_document_read(NULL, text, length, options, err);
}
