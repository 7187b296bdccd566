#include "sources.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error.h"
#include "../core/text.h"

void mpl_sources_open(mpl_sources *sources, mpl_alloc *alloc) {
    memset(sources, 0, sizeof *sources);
    mpl_buffer_open(&sources->text, alloc);
    mpl_arena_open(&sources->paths, alloc);
}

void mpl_sources_close(mpl_sources *sources) {
    mpl_buffer_close(&sources->text);
    mpl_arena_close(&sources->paths);
    sources->count = 0;
}

static bool has_room(const mpl_sources *sources, moonplan_error *err) {
    if (sources->count < MPL_SOURCES_MOST) return true;
    mpl_error_set(err, MOONPLAN_PLUGIN_LOAD, MOONPLAN_NO_OFFSET, NULL,
                  "a plugin of more than %u files", (uint64_t)MPL_SOURCES_MOST);
    return false;
}

bool mpl_sources_lack(mpl_sources *sources, const char *path, moonplan_error *err) {
    moonplan_error limit;
    if (err->code == MOONPLAN_MEMORY) return false;
    if (!has_room(sources, &limit)) {
        *err = limit;
        return false;
    }
    mpl_source_file *file = &sources->files[sources->count];
    memset(file, 0, sizeof *file);
    file->path.length = strlen(path);
    file->path.bytes = mpl_arena_copy(&sources->paths, path, file->path.length);
    file->why = mpl_arena_copy(&sources->paths, err->message, strlen(err->message));
    if (!file->path.bytes || !file->why) {
        mpl_error_memory(err);
        return false;
    }
    sources->count++;
    return true;
}

bool mpl_sources_add(mpl_sources *sources, const char *path, mpl_source_reader read, void *data,
                     moonplan_error *err) {
    if (!has_room(sources, err)) return false;
    mpl_buffer piece;
    mpl_buffer_open(&piece, sources->text.alloc);
    mpl_source_file *file = &sources->files[sources->count];
    bool fine = read(data, &piece, path, err);
    if (fine) {
        file->path.length = strlen(path);
        file->path.bytes = mpl_arena_copy(&sources->paths, path, file->path.length);
        file->why = NULL;
        file->from = sources->text.length;
        file->length = piece.length;
        mpl_buffer_add(&sources->text, piece.bytes, piece.length);
        crypto_generichash_blake2b(file->digest, sizeof file->digest,
                                   (const unsigned char *)piece.bytes, piece.length, NULL, 0);
        fine = file->path.bytes && !piece.failed && !sources->text.failed;
        if (!fine) mpl_error_memory(err);
        if (fine) sources->count++;
    }
    mpl_buffer_close(&piece);
    return fine;
}

#define LINE_MOST 512

static size_t write_line(char out[LINE_MOST], moonplan_text path, uint64_t size,
                         const uint8_t digest[32]) {
    size_t length = 5;
    memcpy(out, "file ", 5);
    if (path.length > LINE_MOST - 128) abort(); /* paths are bounded by their own rule */
    memcpy(out + length, path.bytes, path.length);
    length += path.length;
    out[length++] = ' ';
    length += mpl_number_write(out + length, size);
    out[length++] = ' ';
    mpl_hex_encode(out + length, digest, 32);
    length += MPL_DIGEST_DIGITS;
    out[length++] = '\n';
    return length;
}

void mpl_source_line(mpl_buffer *out, moonplan_text path, uint64_t size, const uint8_t digest[32]) {
    char line[LINE_MOST];
    mpl_buffer_add(out, line, write_line(line, path, size, digest));
}

static int by_path(const void *a, const void *b) {
    const mpl_source_file *const *x = a, *const *y = b;
    return mpl_text_order((*x)->path, (*y)->path);
}

void mpl_sources_seal(mpl_sources *sources) {
    const mpl_source_file *sorted[MPL_SOURCES_MOST];
    size_t count = 0;
    crypto_generichash_blake2b_state state;
    for (size_t i = 0; i < sources->count; i++)
        if (!sources->files[i].why) sorted[count++] = &sources->files[i];
    if (count == 1) {
        memcpy(sources->digest, sources->files[0].digest, sizeof sources->digest);
        return;
    }
    qsort(sorted, count, sizeof(const mpl_source_file *), by_path);
    crypto_generichash_blake2b_init(&state, NULL, 0, sizeof sources->digest);
    for (size_t i = 0; i < count; i++) {
        char line[LINE_MOST];
        size_t length = write_line(line, sorted[i]->path, sorted[i]->length, sorted[i]->digest);
        crypto_generichash_blake2b_update(&state, (const unsigned char *)line, length);
    }
    crypto_generichash_blake2b_final(&state, sources->digest, sizeof sources->digest);
}

moonplan_text mpl_sources_find(const mpl_sources *sources, moonplan_text path, const char **why) {
    *why = NULL;
    for (size_t i = 0; i < sources->count; i++) {
        const mpl_source_file *file = &sources->files[i];
        if (!mpl_text_equal(file->path, path)) continue;
        *why = file->why;
        if (file->why) break;
        return (moonplan_text){file->length ? sources->text.bytes + file->from : "", file->length};
    }
    return (moonplan_text){NULL, 0};
}
