/* A tool of the build: compiles Lua files and writes them as C, for the program to carry.
 *
 *   moonplan-embed OUTPUT.c NAME=FILE...
 *
 * Our own sources keep their line numbers, so that an internal error says where it was; a source
 * whose NAME begins with '-' is stripped of them, which makes it smaller and quicker to load. */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sink {
    FILE *file;
    size_t length;
} sink;

static int write_bytes(lua_State *L, const void *bytes, size_t length, void *data) {
    sink *out = data;
    (void)L;
    for (size_t i = 0; i < length; i++)
        fprintf(out->file, "%u,%s", ((const unsigned char *)bytes)[i],
                out->length++ % 24 == 23 ? "\n" : "");
    return ferror(out->file);
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "moonplan-embed: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
    if (argc < 3) fail("usage", "moonplan-embed OUTPUT.c NAME=FILE...");
    FILE *file = fopen(argv[1], "w");
    if (file == NULL) fail(argv[1], "cannot be written");
    lua_State *L = luaL_newstate();
    if (L == NULL) fail("Lua", "not enough memory");
    fputs("#include \"cli.h\"\n", file);
    for (int i = 2; i < argc; i++) {
        const char *path = strchr(argv[i], '=');
        if (path == NULL) fail(argv[i], "is not NAME=FILE");
        if (luaL_loadfilex(L, path + 1, "t") != LUA_OK) fail(path + 1, lua_tostring(L, -1));
        sink out = {file, 0};
        fprintf(file, "static const unsigned char chunk_%d[] = {\n", i);
        if (lua_dump(L, write_bytes, &out, argv[i][0] == '-') != 0)
            fail(argv[1], "cannot be written");
        fputs("0};\n", file);
        lua_pop(L, 1);
    }
    fputs("const mpl_chunk mpl_chunks[] = {\n", file);
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i][0] == '-' ? argv[i] + 1 : argv[i];
        fprintf(file, "{\"%.*s\", chunk_%d, sizeof chunk_%d - 1},\n",
                (int)(strchr(name, '=') - name), name, i, i);
    }
    fprintf(file, "};\nconst size_t mpl_chunk_count = %d;\n", argc - 2);
    lua_close(L);
    if (fclose(file) != 0) fail(argv[1], "cannot be written");
    return EXIT_SUCCESS;
}
