/* The default model is in the source tree of a build, in the data folder of an installation, or
 * near a program that was unpacked together with it. All folders but the data folder are relative
 * to the program, whose path Linux gives in /proc/self/exe; on other systems only the data folder
 * is searched. */
#include "common/model_path.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"

#define DEFAULT_MODEL "enfr-everyday.safetensors"

enum { MOST_PLACES = 5, PATH_SIZE = 4096, SHOWN_SIZE = 60 };

typedef struct places {
    char folders[MOST_PLACES][PATH_SIZE];
    size_t n;
} places;

/* Adds the folder `folder``below`, unless it is in the list or too long to be a path. */
static void add_place(places *p, const char *folder, const char *below)
{
    char *const place = p->folders[p->n];
    const int size = snprintf(place, PATH_SIZE, "%s%s", folder, below);
    bool is_new = size > 0 && size < PATH_SIZE;
    for (size_t i = 0; i < p->n; i++)
        is_new = is_new && strcmp(p->folders[i], place) != 0;
    p->n += is_new;
}

/* Removes the last name of a path. Returns false if it has no slash. */
static bool cut_name(char *path)
{
    char *const slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static void gather_places(places *p)
{
    char folder[PATH_SIZE];
    const ssize_t size = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[size > 0 ? size : 0] = '\0';
    const bool has_folder = cut_name(folder);
    if (has_folder) {
        add_place(p, folder, "");
        add_place(p, folder, "/models");
    }
    const bool has_parent = has_folder && cut_name(folder);
    if (has_parent)
        add_place(p, folder, "/models");
    add_place(p, SBEAM_DATA_DIR, "");
    if (has_parent)
        add_place(p, folder, "/share/sbeam");
}

/* Returns the last part of a long path, from a '/' if possible; a short path is returned whole. */
static const char *shorten(const char *path)
{
    const size_t size = strlen(path);
    const char *const end = size > SHOWN_SIZE ? strchr(path + size - SHOWN_SIZE, '/') : path;
    return end != NULL ? end : path + size - SHOWN_SIZE;
}

static void refuse(const char *command, const places *p)
{
    char list[MOST_PLACES * (SHOWN_SIZE + 10)] = "";
    for (size_t i = 0; i < p->n; i++) {
        const char *const shown = shorten(p->folders[i]);
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s%s",
                 i == 0          ? ""
                 : i + 1 == p->n ? " or "
                                 : ", ",
                 shown == p->folders[i] ? "" : "...", shown);
    }
    cli_usage(command,
              "no model was given (-m FILE, or the environment variable SBEAM_MODEL), and the "
              "default one, " DEFAULT_MODEL ", is not in %s",
              list);
}

/* Returns the path of the default model in the first of the places that has it, or NULL. */
static char *find_default(const places *p)
{
    char *found = NULL;
    for (size_t i = 0; i < p->n && found == NULL; i++) {
        char *const candidate = cli_realloc(NULL, PATH_SIZE + sizeof DEFAULT_MODEL + 1, 1);
        snprintf(candidate, PATH_SIZE + sizeof DEFAULT_MODEL + 1, "%s/" DEFAULT_MODEL,
                 p->folders[i]);
        if (access(candidate, F_OK) == 0)
            found = candidate;
        else
            free(candidate);
    }
    return found;
}

/* Returns the path of the model. If there is none, returns NULL; unless `command` is NULL, prints a
 * usage error first. */
static char *find(const char *command, const char *given)
{
    const char *const path = given != NULL ? given : getenv("SBEAM_MODEL");
    if (path != NULL && *path != '\0')
        return cli_copy_text(path);
    places *const p = cli_realloc(NULL, 1, sizeof *p);
    p->n = 0;
    gather_places(p);
    char *const found = find_default(p);
    if (found == NULL && command != NULL)
        refuse(command, p);
    free(p);
    return found;
}

char *model_path_find(const char *command, const char *given)
{
    if (given == NULL || *given != '\0')
        return find(command, given);
    cli_usage(command, "the name of the model's file is empty");
    return NULL;
}

char *model_path_default(void)
{
    return find(NULL, NULL);
}
