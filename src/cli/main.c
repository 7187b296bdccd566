/* moonplan: the verbs, and the Lua 5.4 interpreter with `moonplan` in it.
 *
 *   moonplan VERB ...          a first word that is a verb is the verb
 *   moonplan FILE ...          any other is a script (so ./digest runs a script of that name)
 *   moonplan lua ...           the interpreter, whatever follows
 *   moonplan -e CODE, -i, ...  the interpreter's options
 *   moonplan                   a prompt, or a script from standard input */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* A standard descriptor that is closed would be handed to the next file that we open, and results
 * would go into that file. It is taken by one that the expected use fails on. */
static void occupy(int descriptor, int mode) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) return;
    int file = open("/dev/null", mode);
    if (file == descriptor || file < 0) return;
    (void)dup2(file, descriptor);
    (void)close(file);
}

/* Does a word that is no verb look as if a file was meant? */
static bool is_path(const char *word) {
    const char *dot = strrchr(word, '.');
    return strchr(word, '/') != NULL || (dot != NULL && strcmp(dot, ".lua") == 0) ||
           access(word, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int main(int argc, char **argv) {
    occupy(STDIN_FILENO, O_WRONLY);
    occupy(STDOUT_FILENO, O_RDONLY);
    occupy(STDERR_FILENO, O_RDONLY);
    /* A file that may not grow (RLIMIT_FSIZE) is an error where it is written, and no reason to end
     * in the middle of it. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* Who starts us may ignore it, and then the kernel forgets what a plugin's process ended of. */
    (void)signal(SIGCHLD, SIG_DFL);
    if (argc < 2) return mpl_interpreter(argc, argv, argc);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) argv[1] = "help";
    if (strcmp(argv[1], "--version") == 0) argv[1] = "version";
    if (strcmp(argv[1], "lua") == 0) return mpl_interpreter(argc, argv, 2);
    if (mpl_is_verb(argv[1])) return mpl_verb(argc - 1, argv + 1);
    if (argv[1][0] != '-' && !is_path(argv[1])) return mpl_unknown_word(argv[1]);
    return mpl_interpreter(argc, argv, 1);
}
