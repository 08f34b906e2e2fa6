/* See llama_library.h.
 *
 * The first of these places that has a llama.cpp decides, so that a process never holds parts of
 * two: the process itself; SBEAM_LLAMA; the folder of the llama.cpp whose headers the build used;
 * SBEAM_LLAMA_PACKAGE, which the Python package sets to the libraries of llama-cpp-python; the
 * system's folders. */
#include "model/llama_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "base/symbol.h"
#include "model/llama_fingerprint.h"

#ifdef SBEAM_LLAMA_PYPI
#define WAY_OUT                                                                                    \
    "run 'pip install llama-cpp-python==" SBEAM_LLAMA_PYPI                                         \
    "' (for Python) or 'scripts/setup --with llama', or name its folder in SBEAM_LLAMA"
#else
#define WAY_OUT "name its folder in the environment variable SBEAM_LLAMA"
#endif
#ifndef SBEAM_LLAMA_FOLDER
#define SBEAM_LLAMA_FOLDER "" /* the build did not record it */
#endif
#ifndef SBEAM_LLAMA_LAYOUT
#define SBEAM_LLAMA_LAYOUT 0 /* the build could not run llama.cpp: unknown */
#endif

enum { PATH_SIZE = sizeof llama_library.folder, REASON_SIZE = 250 };

struct llama_library llama_library;

static const char *const file_names[] = {"libllama.so", "libllama.so.0"};
enum { N_FILE_NAMES = sizeof file_names / sizeof *file_names };

/* --- finding the file --- */

static bool is_file(const char *path)
{
    struct stat entry;
    return stat(path, &entry) == 0 && S_ISREG(entry.st_mode);
}

/* Writes the path of the library in a folder, or in its subfolder lib. Returns whether there is
 * one. `length` is that of the folder's name. */
static bool find_in(const char *folder, size_t length, char path[PATH_SIZE])
{
    static const char *const inner[] = {"", "lib/"};
    for (size_t i = 0; length > 0 && i < 2 * N_FILE_NAMES; i++) {
        const int n = snprintf(path, PATH_SIZE, "%.*s/%s%s", (int)length, folder,
                               inner[i / N_FILE_NAMES], file_names[i % N_FILE_NAMES]);
        if (n < PATH_SIZE && is_file(path))
            return true;
    }
    return false;
}

/* Does the same for a list of folders, separated by colons. */
static bool find_in_list(const char *list, char path[PATH_SIZE])
{
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ":");
        if (find_in(list, length, path))
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* Returns the value of an environment variable, or NULL if it is not set or empty. */
static const char *variable(const char *name)
{
    const char *const value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Writes the path of the library that is to be loaded. Returns whether one was found. */
static bool find_file(char path[PATH_SIZE])
{
    const char *const chosen = variable("SBEAM_LLAMA");
    if (chosen != NULL && is_file(chosen))
        return snprintf(path, PATH_SIZE, "%s%s", strchr(chosen, '/') == NULL ? "./" : "", chosen) <
               PATH_SIZE;
    if (chosen != NULL)
        return find_in(chosen, strlen(chosen), path);
    return find_in(SBEAM_LLAMA_FOLDER, strlen(SBEAM_LLAMA_FOLDER), path) ||
           find_in_list(variable("SBEAM_LLAMA_PACKAGE"), path) ||
           find_in_list(variable("LD_LIBRARY_PATH"), path) ||
           find_in_list("/usr/local:/usr:/usr/lib64:/usr/lib/x86_64-linux-gnu:"
                        "/usr/lib/aarch64-linux-gnu",
                        path);
}

const char *llama_library_describe(void)
{
    char path[PATH_SIZE];
    return find_file(path) ? SBEAM_LLAMA_VERSION " (found)" : SBEAM_LLAMA_VERSION " (not found)";
}

/* --- loading it --- */

/* Loads the libraries of ggml in a folder, in any order: those that need others load in a later
 * round. They stay loaded. */
static void load_neighbours(const char *folder)
{
    enum { ROUNDS = 3 }; /* libggml-base, then libggml-cpu and others, then libggml */
    DIR *const entries = opendir(folder);
    for (int round = 0; entries != NULL && round < ROUNDS; round++, rewinddir(entries))
        for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
            char path[PATH_SIZE];
            if (strncmp(entry->d_name, "libggml", 7) == 0 &&
                snprintf(path, PATH_SIZE, "%s/%s", folder, entry->d_name) < PATH_SIZE)
                dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    if (entries != NULL)
        closedir(entries);
}

/* Opens a library and writes why that failed, or "". *is_full says whether memory was lacking. */
static void *open_file(const char *path, char reason[REASON_SIZE], bool *is_full)
{
    errno = 0;
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *is_full = library == NULL && errno == ENOMEM;
    const char *const words = library == NULL ? dlerror() : NULL;
    snprintf(reason, REASON_SIZE, "%s", words != NULL ? words : "");
    return library;
}

static sb_status refuse_absence(const char *name, sb_error *err)
{
    char place[STATUS_NAME_SIZE];
    const char *const chosen = variable("SBEAM_LLAMA");
    if (chosen != NULL) {
        status_name(place, chosen);
        return status_fail(err, SB_ERR_IO,
                           "%s: GGUF models cannot be opened without llama.cpp " SBEAM_LLAMA_VERSION
                           ", but the environment variable SBEAM_LLAMA names '%s', which has no "
                           "libllama.so; correct or unset it",
                           name, place);
    }
    status_name(place, SBEAM_LLAMA_FOLDER);
    return status_fail(err, SB_ERR_IO,
                       "%s: GGUF models cannot be opened without llama.cpp " SBEAM_LLAMA_VERSION
                       ", which was not found: " WAY_OUT
                       "; libllama.so was looked for in %s%sthe system's folders%s",
                       name, place, place[0] != '\0' ? " and " : "",
                       variable("SBEAM_LLAMA_PACKAGE") != NULL ? " and llama-cpp-python" : "");
}

/* Opens the library that is to be used. The folder is "" if the system found it. `shown` names the
 * library in messages. *is_full says whether memory was lacking. */
static sb_status open_library(const char *name, void **library, char folder[PATH_SIZE],
                              char shown[STATUS_NAME_SIZE], bool *is_full, sb_error *err)
{
    /* If the process has linked a llama.cpp, or has loaded one for all libraries (RTLD_GLOBAL), the
     * functions of any other would call functions of that one. */
    void *const process = dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
    folder[0] = '\0';
    status_name(shown, "the llama.cpp that this process has loaded before");
    if (process != NULL && dlsym(process, "llama_backend_init") != NULL) {
        *library = process;
        return SB_OK;
    }
    char path[PATH_SIZE], reason[REASON_SIZE];
    if (find_file(path)) {
        status_name(shown, path);
        snprintf(folder, PATH_SIZE, "%.*s", (int)(strrchr(path, '/') - path), path);
        *library = open_file(path, reason, is_full);
        if (*library == NULL && !*is_full) {
            /* A library that was installed without a path to ggml beside it needs ggml first. */
            load_neighbours(folder);
            *library = open_file(path, reason, is_full);
        }
        if (*library != NULL)
            return SB_OK;
        if (*is_full)
            return status_no_memory(err);
        return status_fail(err, SB_ERR_IO,
                           "%s: GGUF models need llama.cpp, and %s cannot be "
                           "loaded: %s",
                           name, shown, reason);
    }
    for (size_t i = 0; variable("SBEAM_LLAMA") == NULL && i < N_FILE_NAMES; i++) {
        status_name(shown, file_names[i]);
        *library = open_file(file_names[i], reason, is_full);
        if (*library != NULL)
            return SB_OK;
        if (*is_full)
            return status_no_memory(err);
    }
    return refuse_absence(name, err);
}

/* Returns whether versions of a library are those of the build, which may not know ggml's. */
static bool is_expected(const char *versions)
{
    const size_t length = strlen(SBEAM_LLAMA_VERSION);
    return strncmp(versions, SBEAM_LLAMA_VERSION, length) == 0 &&
           (versions[length] == '\0' || versions[length] == ',');
}

/* Fails if the library is not the one that the build was made for. Calls only functions that have
 * the same types in all releases, until the versions are known to be equal. */
static sb_status check_version(const char *name, void *library, const char *shown, sb_error *err)
{
    if (dlsym(library, "llama_backend_init") == NULL)
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: GGUF models need llama.cpp " SBEAM_LLAMA_VERSION
            ", but %s is another library: it has no function llama_backend_init; " WAY_OUT,
            name, shown);
    const char *const unchecked = variable("SBEAM_LLAMA_UNCHECKED");
    if (unchecked != NULL && strcmp(unchecked, "1") == 0)
        return SB_OK;
    char versions[LLAMA_FINGERPRINT_SIZE];
    llama_fingerprint_versions(library, versions);
    if (!is_expected(versions))
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: %s is llama.cpp %s, but this sbeam was built for llama.cpp " SBEAM_LLAMA_VERSION
            ": " WAY_OUT,
            name, shown, versions);
    if (SBEAM_LLAMA_LAYOUT != 0 && llama_fingerprint_layout(library) != SBEAM_LLAMA_LAYOUT)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: %s is llama.cpp %s, as this sbeam was built for, but from another "
                           "commit, whose structs differ: " WAY_OUT,
                           name, shown, versions);
    return SB_OK;
}

static sb_status find_functions(const char *name, void *library, const char *shown,
                                struct llama_library *found, sb_error *err)
{
    const char *missing = NULL;
#define FIND(field, function)                                                                      \
    if (!symbol_find(library, #function, &found->field, sizeof found->field) && missing == NULL)   \
        missing = #function;
    LLAMA_LIBRARY_FUNCTIONS(FIND)
#undef FIND
    if (missing == NULL)
        return SB_OK;
    return status_fail(err, SB_ERR_FORMAT,
                       "%s: %s lacks the function %s of llama.cpp " SBEAM_LLAMA_VERSION
                       ", which this sbeam was built for: " WAY_OUT,
                       name, shown, missing);
}

static sb_status load(const char *name, sb_error *err)
{
    static struct llama_library found; /* too large for the stack; the caller holds the lock */
    /* If memory is lacking, glibc may keep a library whose initialisers have not run, and return it
     * the next time. So it is not loaded again. */
    static bool is_full;
    void *library;
    char shown[STATUS_NAME_SIZE];
    if (is_full)
        return status_no_memory(err);
    sb_status status = open_library(name, &library, found.folder, shown, &is_full, err);
    if (status != SB_OK)
        return status;
    status = check_version(name, library, shown, err);
    if (status == SB_OK)
        status = find_functions(name, library, shown, &found, err);
    if (status == SB_OK)
        llama_library = found; /* the library stays loaded until the process ends */
    else
        dlclose(library);
    return status;
}

sb_status llama_library_load(const char *name, sb_error *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_loaded;
    pthread_mutex_lock(&lock);
    const sb_status status = is_loaded ? SB_OK : load(name, err);
    is_loaded = status == SB_OK;
    pthread_mutex_unlock(&lock);
    return status;
}
