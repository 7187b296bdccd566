/* A runner as an attacker would have it, who has got hold of one: not confined, and it says what it
 * likes. The name of the plugin that it is told to load says what it does: `good` does what a
 * runner does; the name of an attack does that when it is called, or, with load_ before it, instead
 * of loading. `noise_N` answers with bytes that are changed at places drawn from N. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/lua/wire.h"

static mpl_alloc heap;
static mpl_buffer out, frame;
static char name[256];

static void put_raw(const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t sent = write(0, at, length);
        if (sent <= 0) _exit(7);
        at += sent;
        length -= (size_t)sent;
    }
}

static void say(void) {
    mpl_wire_end(&out);
    put_raw(out.bytes, out.length);
}

static mpl_codec hear(void) {
    char header[MPL_WIRE_HEADER];
    for (size_t got = 0; got < sizeof header;) {
        ssize_t n = read(0, header + got, sizeof header - got);
        if (n <= 0) _exit(8);
        got += (size_t)n;
    }
    size_t length = mpl_wire_length(header);
    frame.length = 0;
    char *bytes = mpl_buffer_extend(&frame, length + 1);
    for (size_t got = 0; got < length;) {
        ssize_t n = read(0, bytes + got, length - got);
        if (n <= 0) _exit(8);
        got += (size_t)n;
    }
    return (mpl_codec){bytes, bytes, bytes + length};
}

/* -- What a runner says ------------------------------------------------------------*/

static moonplan_document *parse(const char *json) {
    return moonplan_document_parse(json, strlen(json), NULL, NULL);
}

static void begin_loaded(void) {
    mpl_wire_begin(&out, MPL_FRAME_LOADED);
    mpl_codec_put_number(&out, 0); /* it ran */
    mpl_codec_put_number(&out, 0);
    mpl_codec_put_number(&out, 0);
    mpl_wire_put_text(&out, "");
}

static void write_manifest(const char *called) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"kind\":\"capability\",\"api\":1,\"name\":\"%s\",\"version\":\"1.0.0\","
             "\"summary\":\"For a test.\",\"risk\":\"read\"}",
             called);
    moonplan_document *document = parse(json);
    begin_loaded();
    mpl_codec_put_number(&out, 1);
    mpl_codec_put_number(&out, 1);
    mpl_codec_put_number(&out, 1); /* run */
    mpl_codec_put_value(&out, moonplan_document_root(document));
    moonplan_document_free(document);
}

static void begin_returned(unsigned outcome, unsigned code) {
    mpl_wire_begin(&out, MPL_FRAME_RETURNED);
    mpl_codec_put_number(&out, outcome);
    mpl_codec_put_number(&out, 0);
    mpl_codec_put_number(&out, code);
    mpl_codec_put_number(&out, 0);
    mpl_wire_put_text(&out, "");
    mpl_wire_put_text(&out, "");
}

static void write_result(const char *json) {
    moonplan_document *document = parse(json);
    begin_returned(0, 0);
    mpl_wire_put_option(&out, moonplan_document_root(document));
    moonplan_document_free(document);
}

/* -- Attacks -----------------------------------------------------------------------*/

static bool is(const char *attack) {
    return strcmp(name, attack) == 0;
}

static void rest(void) {
    for (;;) pause();
}

static void header(uint32_t length, unsigned type) {
    const unsigned char bytes[] = {(unsigned char)length, (unsigned char)(length >> 8),
                                   (unsigned char)(length >> 16), (unsigned char)(length >> 24),
                                   (unsigned char)type};
    put_raw(bytes, sizeof bytes);
}

static void result_bytes(const char *bytes, size_t length) {
    begin_returned(0, 0);
    mpl_codec_put_number(&out, 1);
    mpl_buffer_add(&out, bytes, length);
    say();
}
#define RESULT(literal) result_bytes(literal, sizeof(literal) - 1)

static void end_or_wait(void) {
    if (is("spin"))
        for (volatile unsigned n = 0;; n++) {
        }
    if (is("sleep")) rest();
    signal(SIGABRT, SIG_DFL);
    signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
    if (is("abort")) abort();
    if (is("segv")) raise(SIGSEGV);
    if (is("exit")) _exit(0);
    if (is("exit_9")) _exit(9);
    if (is("hang_up")) { /* it is not heard any more, and lives on */
        close(0);
        rest();
    }
}

static void flood(void) {
    static const char zeros[65536];
    if (is("flood_zeros"))
        for (;;) put_raw(zeros, sizeof zeros);
    if (is("flood_powers")) {
        for (;;) {
            mpl_wire_begin(&out, MPL_FRAME_POWER);
            mpl_codec_put_number(&out, MPL_LOG);
            mpl_codec_put_number(&out, 3);
            mpl_codec_put_number(&out, MPL_SLOT_INTEGER);
            mpl_codec_put_integer(&out, 1);
            mpl_codec_put_number(&out, MPL_SLOT_BYTES);
            mpl_wire_put_text(&out, "x");
            mpl_codec_put_number(&out, MPL_SLOT_NIL);
            say();
            hear();
        }
    }
    if (is("two_at_once")) {
        write_result("1");
        mpl_wire_end(&out);
        size_t length = out.length;
        for (size_t i = 0; i < length; i++) mpl_buffer_byte(&out, out.bytes[i]);
        put_raw(out.bytes, out.length);
        rest();
    }
    if (is("trickle")) {
        header(1 << 20, MPL_FRAME_RETURNED);
        for (;;) {
            put_raw("", 1);
            usleep(100);
        }
    }
    if (is("large")) { /* as long as a frame may be, and nothing in it */
        header(16 << 20, MPL_FRAME_RETURNED);
        for (int i = 0; i < 256; i++) put_raw(zeros, sizeof zeros);
    }
}

static void cut(void) {
    if (is("half")) {
        header(100, MPL_FRAME_RETURNED);
        put_raw("half", 4);
        rest();
    }
    if (is("half_exit")) {
        header(100, MPL_FRAME_RETURNED);
        put_raw("half", 4);
        _exit(0);
    }
    if (is("half_header")) {
        put_raw("\5\0", 2);
        rest();
    }
    if (is("length_4g")) {
        header(UINT32_MAX, MPL_FRAME_RETURNED);
        rest();
    }
    if (is("length_0")) header(0, MPL_FRAME_RETURNED);
    if (is("type_0")) header(0, 0);
    if (is("type_255")) header(0, 255);
    if (is("wrong_turn")) write_manifest(name);
    if (is("ready_again")) {
        mpl_wire_begin(&out, MPL_FRAME_READY);
        mpl_wire_put_text(&out, MPL_WIRE_VERSION);
    }
    if (is("import")) { /* a plugin of one file has nothing to import from */
        mpl_wire_begin(&out, MPL_FRAME_IMPORT);
        mpl_wire_put_text(&out, "../../etc/passwd");
    }
    if (is("wrong_turn") || is("ready_again") || is("import")) say();
}

static void values(void) {
    if (is("depth")) {
        begin_returned(0, 0);
        mpl_codec_put_number(&out, 1);
        for (int i = 0; i < 1000000; i++) mpl_buffer_add(&out, "\6\1", 2);
        mpl_buffer_byte(&out, 0);
        say();
    }
    if (is("length_2_63")) RESULT("\5\x80\x80\x80\x80\x80\x80\x80\x80\x80\1zzz");
    if (is("count_2_63")) RESULT("\6\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\0\0\0");
    if (is("utf8")) RESULT("\5\2\xff\xfe");
    if (is("surrogate")) RESULT("\5\3\xed\xa0\x80");
    if (is("duplicate")) RESULT("\7\2\1a\0\1a\0");
    if (is("literal"))
        RESULT("\4\5"
               "1 + 1");
    if (is("behind")) RESULT("\0\0");
    if (is("no_value")) RESULT("");
    if (is("tag")) RESULT("\x08");
    if (is("nulls")) { /* more values than may be copied, and each grows when it is read */
        begin_returned(0, 0);
        mpl_codec_put_number(&out, 1);
        mpl_buffer_byte(&out, 6);
        mpl_codec_put_number(&out, 1000000);
        for (int i = 0; i < 1000000; i++) mpl_buffer_byte(&out, 0);
        say();
    }
    if (is("controls")) { /* text that is six times as long as JSON, over result_bytes */
        begin_returned(0, 0);
        mpl_codec_put_number(&out, 1);
        mpl_buffer_byte(&out, 5);
        mpl_codec_put_number(&out, 15 << 20);
        for (int i = 0; i < 15 << 20; i++) mpl_buffer_byte(&out, 1);
        say();
    }
}

static void fields(void) {
    if (is("outcome")) begin_returned(77, 0);
    if (is("code")) begin_returned(0, MOONPLAN_JOB_DENIED);
    if (is("code_none")) begin_returned(0, 65000);
    if (is("value_and_code")) begin_returned(0, MOONPLAN_LIMIT);
    if (is("outcome") || is("code") || is("code_none")) mpl_codec_put_number(&out, 0);
    if (is("value_and_code")) mpl_buffer_add(&out, "\1\0", 2);
    if (is("outcome") || is("code") || is("code_none") || is("value_and_code")) say();
    bool power = true;
    mpl_wire_begin(&out, MPL_FRAME_POWER);
    if (is("operation"))
        mpl_buffer_add(&out, "\x63\0", 2);
    else if (is("slots"))
        mpl_buffer_add(&out, "\1\x63", 2);
    else if (is("slot_type"))
        mpl_buffer_add(&out, "\1\1\x63", 3);
    else if (is("slot_cut"))
        mpl_buffer_add(&out, "\1\1\3\x7f", 4);
    else if (is("slot_values"))
        mpl_buffer_add(&out, "\1\2\4\0\4\0", 6);
    else
        power = false;
    if (power) say();
}

/* What a power answers to one who may use none, as the result. */
static void use_powers(void) {
    if (!is("powers")) return;
    char said[4096] = "[";
    for (unsigned operation = MPL_FS_READ; operation <= MPL_OPERATIONS; operation++) {
        mpl_slots slots = {.count = 0};
        for (int i = 0; i < 2; i++) mpl_slots_bytes(&slots, MOONPLAN_TEXT("/etc/passwd"));
        mpl_wire_begin(&out, MPL_FRAME_POWER);
        mpl_codec_put_number(&out, operation);
        mpl_wire_put_slots(&out, &slots);
        say();
        mpl_codec in = hear();
        uint64_t served = 99;
        mpl_codec_take_number(&in, &served);
        snprintf(said + strlen(said), 32, "%s%d", operation == MPL_FS_READ ? "" : ",", (int)served);
    }
    strcat(said, "]");
    write_result(said);
    say();
}

/* A good answer with a few bytes changed, taken away or put in. */
static void noise(void) {
    if (strncmp(name, "noise_", 6) != 0) return;
    uint64_t seed = strtoull(name + 6, NULL, 10), state = seed * 2654435761u + 1;
    write_result("{\"list\":[1,-2,3.5,\"text\",null,true,{}],\"more\":{\"a\":[[]]}}");
    mpl_wire_end(&out);
    for (uint64_t i = 0; i < 1 + seed % 3; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(state >> 33) % out.length;
        unsigned char byte = (unsigned char)(state >> 17);
        switch (state >> 60 & 3) {
        case 0:
            out.bytes[at] = (char)byte;
            break;
        case 1:
            out.bytes[at] = (char)(unsigned char)((unsigned char)out.bytes[at] ^ 1u << (byte & 7));
            break;
        case 2:
            memmove(out.bytes + at, out.bytes + at + 1, out.length - at - 1);
            out.length--;
            break;
        default:
            mpl_buffer_byte(&out, (char)byte);
            break;
        }
    }
    put_raw(out.bytes, out.length);
    rest();
}

static void attack(void) {
    end_or_wait();
    flood();
    cut();
    values();
    fields();
    use_powers();
    noise();
}

static void take_load(void) {
    mpl_codec in = hear();
    uint64_t count = 0, number;
    moonplan_text text = {"", 0};
    mpl_codec_take_number(&in, &count);
    while (count-- > 0) mpl_codec_take_number(&in, &number);
    mpl_codec_take_bytes(&in, &text);
    snprintf(name, sizeof name, "%.*s", (int)text.length, text.bytes);
}

static void load(void) {
    char called[256];
    strcpy(called, name);
    if (strncmp(name, "load_", 5) == 0) {
        memmove(name, name + 5, strlen(name + 5) + 1);
        attack();
    }
    if (is("count_0")) {
        begin_loaded();
        mpl_buffer_add(&out, "\1\0\7\0", 4);
    } else if (is("count_many")) {
        begin_loaded();
        mpl_buffer_add(&out, "\1\x7f\1\7\0", 5);
    } else if (is("functions")) {
        begin_loaded();
        mpl_buffer_add(&out, "\1\1\xff\xff\x7f\7\0", 7);
    } else if (is("error_text")) { /* a message that would write over the terminal's title */
        begin_loaded();
        mpl_codec_put_number(&out, 0);
        mpl_codec_put_number(&out, MOONPLAN_PLUGIN_MANIFEST);
        mpl_wire_put_text(&out, "");
        mpl_wire_put_text(&out, "\033]0;owned\a");
    } else if (is("error_code")) {
        begin_loaded();
        mpl_codec_put_number(&out, 0);
        mpl_codec_put_number(&out, MOONPLAN_STORE_CORRUPT);
        mpl_wire_put_text(&out, "");
        mpl_wire_put_text(&out, "a message");
    } else {
        write_manifest(called);
    }
    say();
}

int main(int count, char **words) {
    heap = mpl_alloc_of(NULL);
    mpl_buffer_open(&out, &heap);
    mpl_buffer_open(&frame, &heap);
    if (count != 4) return 1;
    (void)words;
    signal(SIGPIPE, SIG_DFL);
    take_load();
    if (is("silent")) rest();
    mpl_wire_begin(&out, MPL_FRAME_READY);
    mpl_wire_put_text(&out, is("version") ? "0.0.0/0" : MPL_WIRE_VERSION);
    if (is("refused") || is("refused_text")) {
        mpl_wire_begin(&out, MPL_FRAME_REFUSED);
        mpl_wire_put_text(&out, is("refused") ? "the kernel has no Landlock" : "\033]0;owned\a");
    }
    say();
    hear(); /* START */
    load();
    for (;;) {
        hear();
        attack();
        if (!is("good")) rest();
        write_result("{\"good\":true}");
        say();
    }
}
