/* The codec of values: what is written is read again and is the same, and of bytes that are
 * anything else the reader says so: cut off at every place, every byte changed to every other,
 * lengths that promise more than there is, and every allocation failing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec_read.h"

#define TEXT(literal) ((moonplan_text){literal, sizeof(literal) - 1})

static moonplan_document *parse(const char *json) {
    moonplan_error err;
    moonplan_document *document = moonplan_document_parse(json, strlen(json), NULL, &err);
    if (!document) {
        printf("# %s: %s\n", json, err.message);
        abort();
    }
    return document;
}

/* The encoding of a JSON text, in a buffer that the caller closes. */
static mpl_buffer encode(const char *json, mpl_alloc *alloc) {
    mpl_buffer out;
    moonplan_document *document = parse(json);
    mpl_buffer_open(&out, alloc);
    mpl_codec_put_value(&out, moonplan_document_root(document));
    CHECK(!out.failed);
    moonplan_document_free(document);
    return out;
}

/* -- The encoding ----------------------------------------------------------------*/

/* By hand, from the table in the header. */
static void every_type_has_its_bytes(void) {
    const struct {
        const char *json;
        moonplan_text bytes;
    } rows[] = {
        {"null", TEXT("\0")},
        {"false", TEXT("\1")},
        {"true", TEXT("\2")},
        {"0", TEXT("\3\0")},
        {"-1", TEXT("\3\1")},
        {"1", TEXT("\3\2")},
        {"63", TEXT("\3\x7e")},
        {"64", TEXT("\3\x80\1")},
        {"-64", TEXT("\3\x7f")},
        {"-65", TEXT("\3\x81\1")},
        {"9223372036854775807", TEXT("\3\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1")},
        {"-9223372036854775808", TEXT("\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\1")},
        {"9223372036854775808", TEXT("\4\x13"
                                     "9223372036854775808")},
        {"-0", TEXT("\4\2-0")},
        {"1.50E+2", TEXT("\4\7"
                         "1.50E+2")},
        {"\"\"", TEXT("\5\0")},
        {"\"\\u00e9\\u0000\"", TEXT("\5\3\xc3\xa9\0")},
        {"[]", TEXT("\6\0")},
        {"[[],1]", TEXT("\6\2\6\0\3\2")},
        {"{}", TEXT("\7\0")},
        {"{\"b\":1,\"a\":{\"\":null}}", TEXT("\7\2\1b\3\2\1a\7\1\0\0")},
    };
    mpl_alloc alloc = mpl_alloc_of(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mpl_buffer out = encode(rows[i].json, &alloc);
        if (!check(out.length == rows[i].bytes.length &&
                       memcmp(out.bytes, rows[i].bytes.bytes, out.length) == 0,
                   __FILE__, __LINE__, rows[i].json))
            printf("# %zu bytes\n", out.length);
        mpl_buffer_close(&out);
    }
    CHECK(alloc.used == 0);
}

static void is_read_again(const char *json, const char *expected) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer out = encode(json, &alloc);
    moonplan_error err;
    moonplan_document *read = codec_read(out.bytes, out.length, NULL, &err);
    if (check(read != NULL, __FILE__, __LINE__, json)) {
        CHECK_TEXT(expected, moonplan_value_source(moonplan_document_root(read)));
        mpl_buffer again;
        mpl_buffer_open(&again, &alloc);
        mpl_codec_put_value(&again, moonplan_document_root(read));
        CHECK(again.length == out.length && memcmp(again.bytes, out.bytes, out.length) == 0);
        mpl_buffer_close(&again);
    }
    moonplan_document_free(read);
    mpl_buffer_close(&out);
}

static void what_is_written_is_read_again(void) {
    /* Order and literals stay; white space and escapes are a builder's. */
    is_read_again(
        " { \"z\" : [ 1 , 1.0 , 1e400 , 12345678901234567890 ] , \"a\\u0062\" : \"\\/\" } ",
        "{\"z\":[1,1.0,1e400,12345678901234567890],\"ab\":\"/\"}");
    is_read_again("\"\\ud83d\\ude00\\n\"", "\"\xf0\x9f\x98\x80\\n\"");
    is_read_again("-0.0", "-0.0");
    /* Containers with more members than are looked up in a row. */
    char json[4096] = "{", *end = json + 1;
    for (int i = 0; i < 100; i++)
        end += sprintf(end, "%s\"%d\":[%d,{\"x\":%d}]", i ? "," : "", i, i, i);
    strcpy(end, "}");
    is_read_again(json, json);
}

/* -- Hostile bytes ---------------------------------------------------------------*/

static const char sample[] =
    "{\"id\":\"n\\u00e9\",\"list\":[1,-70000,2.5,null,true,false,\"\",[[]],{}],\"n\":1e9,"
    "\"long\":\"0123456789012345678901234567890123456789\",\"a\":{\"b\":{\"c\":[\"\\u0000\"]}}}";

static void cut_off_anywhere_it_is_refused(void) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer out = encode(sample, &alloc);
    for (size_t length = 0; length < out.length; length++) {
        moonplan_error err;
        /* In a block of its own, so that a sanitizer sees a byte too far. */
        char *bytes = malloc(length + 1);
        memcpy(bytes, out.bytes, length);
        char *exact = realloc(bytes, length ? length : 1);
        moonplan_document *read = codec_read(exact, length, NULL, &err);
        CHECK(!read && err.code == MOONPLAN_JSON_SYNTAX && err.offset <= length);
        moonplan_document_free(read);
        free(exact);
    }
    mpl_buffer_byte(&out, 0);
    moonplan_error err;
    CHECK(!codec_read(out.bytes, out.length, NULL, &err) && err.code == MOONPLAN_JSON_SYNTAX);
    mpl_buffer_close(&out);
}

/* Whatever is accepted is a sound document, and the bytes are the one encoding of it. */
static void changed_anywhere_it_is_refused_or_another_value(void) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer out = encode(sample, &alloc), again;
    size_t accepted = 0, refused = 0;
    for (size_t at = 0; at < out.length; at++) {
        char was = out.bytes[at];
        for (int byte = 0; byte < 256; byte++) {
            moonplan_error err;
            if ((char)(unsigned char)byte == was) continue;
            out.bytes[at] = (char)(unsigned char)byte;
            moonplan_document *read = codec_read(out.bytes, out.length, NULL, &err);
            if (!read) {
                refused++;
                CHECK(err.code == MOONPLAN_JSON_SYNTAX || err.code == MOONPLAN_JSON_UTF8 ||
                      err.code == MOONPLAN_JSON_DUPLICATE_NAME);
                continue;
            }
            accepted++;
            mpl_buffer_open(&again, &alloc);
            mpl_codec_put_value(&again, moonplan_document_root(read));
            CHECK(again.length == out.length && memcmp(again.bytes, out.bytes, out.length) == 0);
            moonplan_text text = moonplan_value_source(moonplan_document_root(read));
            moonplan_document *parsed =
                moonplan_document_parse(text.bytes, text.length, NULL, &err);
            CHECK(parsed != NULL);
            moonplan_document_free(parsed);
            moonplan_document_free(read);
            mpl_buffer_close(&again);
        }
        out.bytes[at] = was;
    }
    CHECK(accepted > 0 && refused > accepted);
    mpl_buffer_close(&out);
}

static void is_refused(moonplan_text bytes, moonplan_code code, const moonplan_options *options) {
    moonplan_error err;
    moonplan_document *read = codec_read(bytes.bytes, bytes.length, options, &err);
    CHECK(!read && err.code == code);
    if (!read && err.code != code) printf("# %s: %s\n", moonplan_code_name(err.code), err.message);
    moonplan_document_free(read);
}

static void what_is_no_encoding_is_refused(void) {
    const moonplan_text rows[] = {
        TEXT(""),                                         /* nothing */
        TEXT("\x08"),                                     /* no tag */
        TEXT("\3\x80"),                                   /* a number without an end */
        TEXT("\3\x80\0"),                                 /* a longer form of 0 */
        TEXT("\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\2"), /* more than 64 bits */
        TEXT("\4\1"
             "1"), /* an integer as a number */
        TEXT("\4\2"
             "01"), /* not a JSON number */
        TEXT("\4\3nan"),
        TEXT("\4\0"),
        TEXT("\4\2"
             "1."),
        TEXT("\4\2"
             "1e"),
        TEXT("\4\4 1.5"),
        TEXT("\5\4abc"),                                  /* shorter than it says */
        TEXT("\5\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),   /* 2^63 - 1 bytes */
        TEXT("\5\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), /* 2^64 - 1 bytes */
        TEXT("\6\3\0\0"),                                 /* fewer values than it says */
        TEXT("\6\xff\xff\xff\xff\x0f"),                   /* 2^32 - 1 values */
        TEXT("\7\1\1"),                                   /* a name that is cut off */
        TEXT("\7\1\1a"),                                  /* a name without a value */
        TEXT("\7\1\0"),                                   /* an empty name without a value */
        TEXT("\0\0"),                                     /* more than one value */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_refused(rows[i], MOONPLAN_JSON_SYNTAX, NULL);
    is_refused(TEXT("\5\2\xc0\x80"), MOONPLAN_JSON_UTF8, NULL);
    is_refused(TEXT("\5\3\xed\xa0\x80"), MOONPLAN_JSON_UTF8, NULL);
    is_refused(TEXT("\7\1\1\xff\0"), MOONPLAN_JSON_UTF8, NULL);
    is_refused(TEXT("\7\2\1a\0\1a\0"), MOONPLAN_JSON_DUPLICATE_NAME, NULL);
    is_refused(TEXT("\6\1\7\2\1a\0\1a\0"), MOONPLAN_JSON_DUPLICATE_NAME, NULL);
}

static void limits_hold(void) {
    moonplan_options options;
    moonplan_options_init(&options);
    options.limits.depth = 3;
    is_refused(TEXT("\6\1\6\1\6\1\6\0"), MOONPLAN_JSON_DEPTH, &options);
    is_refused(TEXT("\6\1\7\1\0\6\1\7\0"), MOONPLAN_JSON_DEPTH, &options);
    options.limits.values = 3;
    is_refused(TEXT("\6\3\0\0\0"), MOONPLAN_LIMIT, &options);
    options.limits.document_bytes = 8;
    is_refused(TEXT("\5\7zzzzzzz"), MOONPLAN_LIMIT, &options);
    moonplan_error err;
    moonplan_document *read = codec_read("\6\2\6\0\5\1z", 7, &options, &err);
    CHECK(read != NULL); /* depth 2, 3 values, 8 bytes: [[],"z"] */
    moonplan_document_free(read);
}

/* A text of controls is six times as long in JSON: it is measured before it is written. */
static void escapes_count_before_they_are_written(void) {
    mpl_alloc alloc = mpl_alloc_of(NULL);
    mpl_buffer out;
    mpl_buffer_open(&out, &alloc);
    mpl_buffer_byte(&out, 5);
    mpl_codec_put_number(&out, 1000000);
    for (int i = 0; i < 1000000; i++) mpl_buffer_byte(&out, i % 2 ? 1 : '\n');
    for (int over = 0; over < 2; over++) {
        counter count;
        moonplan_options options;
        moonplan_error err;
        counter_options(&options, &count);
        options.limits.document_bytes = (uint64_t)(2 + 500000 * (6 + 2) - over);
        moonplan_document *read = codec_read(out.bytes, out.length, &options, &err);
        CHECK((read == NULL) == over);
        if (over) CHECK(err.code == MOONPLAN_LIMIT && count.peak < 65536);
        moonplan_document_free(read);
        CHECK(count.used == 0);
    }
    mpl_buffer_close(&out);
}

/* A million containers, one in another: refused by depth, for the price of those that may be. */
static void deep_nesting_costs_nothing(void) {
    size_t length = 2000000;
    char *bytes = malloc(length);
    counter count;
    moonplan_options options;
    moonplan_error err;
    counter_options(&options, &count);
    for (size_t i = 0; i < length; i += 2) {
        bytes[i] = 6;
        bytes[i + 1] = 1;
    }
    moonplan_document *read = codec_read(bytes, length, &options, &err);
    CHECK(!read && err.code == MOONPLAN_JSON_DEPTH);
    CHECK(count.peak < 16384 && count.used == 0 && !count.wrong);
    moonplan_document_free(read);
    /* A builder without a limit has one here all the same. */
    mpl_builder builder;
    mpl_codec in = {bytes, bytes, bytes + length};
    mpl_build_open(&builder, &options);
    builder.max_depth = builder.max_values = UINT64_MAX;
    CHECK(!mpl_codec_take_value(&in, &builder, &err) && err.code == MOONPLAN_JSON_DEPTH);
    mpl_build_close(&builder);
    CHECK(count.used == 0);
    free(bytes);
}

static void every_allocation_may_fail(void) {
    mpl_alloc plain = mpl_alloc_of(NULL);
    mpl_buffer out = encode(sample, &plain);
    for (int on = 0; on < 2; on++) {
        for (size_t n = 1;; n++) {
            counter count;
            moonplan_options options;
            moonplan_error err;
            counter_options(&options, &count);
            count.fail_at = n;
            count.fail_on = on;
            moonplan_document *read = codec_read(out.bytes, out.length, &options, &err);
            if (!read) CHECK(err.code == MOONPLAN_MEMORY);
            moonplan_document_free(read);
            CHECK(count.used == 0 && !count.wrong);
            if (count.refused == 0) break;
            CHECK(n < 1000);
        }
    }
    moonplan_document *document = parse(sample);
    for (size_t n = 1;; n++) {
        counter count;
        moonplan_options options;
        counter_options(&options, &count);
        mpl_alloc alloc = mpl_alloc_of(&options);
        mpl_buffer written;
        count.fail_at = n;
        mpl_buffer_open(&written, &alloc);
        mpl_codec_put_value(&written, moonplan_document_root(document));
        bool failed = written.failed;
        CHECK(failed == (count.refused > 0));
        CHECK(failed ||
              (written.length == out.length && memcmp(written.bytes, out.bytes, out.length) == 0));
        mpl_buffer_close(&written);
        CHECK(count.used == 0 && !count.wrong);
        if (!failed) break;
    }
    moonplan_document_free(document);
    mpl_buffer_close(&out);
}

int main(void) {
    RUN(every_type_has_its_bytes);
    RUN(what_is_written_is_read_again);
    RUN(cut_off_anywhere_it_is_refused);
    RUN(changed_anywhere_it_is_refused_or_another_value);
    RUN(what_is_no_encoding_is_refused);
    RUN(limits_hold);
    RUN(escapes_count_before_they_are_written);
    RUN(deep_nesting_costs_nothing);
    RUN(every_allocation_may_fail);
    return check_end();
}
