/* What outlives the server: the last editor's offer, those of the last projects, and the secret
 * that sessions are sealed with. All is in the directory of the instance, which nobody else can
 * write to. Without it they are as new each time. */
#include "editors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "memory.h"
#include "must.h"
#include "serve/mcp/caller.h"

#define OFFER_FILE  "offer.json"
#define SECRET_FILE "sessions.key"

enum { OFFER_MOST = 4 * 1024 * 1024, SECRET_SIZE = 32, PROJECTS = 16, FILE_NAME_MAX = 24 };

static const char left_out[] =
    "tether serve: what the last editor offered, %s/%s, is not used: %s\n";

/* What the editor of a project has offered. Each project has one of a few places, by its path: of
 * two that fall into one, the newer stays. */
struct kept_project {
    struct offer *offer;           /* or NULL */
    uint64_t mark;                 /* of its file */
    bool is_read;                  /* what an earlier server has left there has been looked at, */
    bool was_there;                /* and there was something */
    uint64_t at_start[LIST_COUNT]; /* with these marks */
};

struct kept_projects {
    struct kept_project all[PROJECTS];
    struct offer *shipped;         /* as soon as it is needed; else NULL */
    uint64_t at_start[LIST_COUNT]; /* marks of what was shown to those who name no project */
    char *first_path;              /* of whose project that was, or NULL */
};

/* ---- offers ---- */

static struct offer *read_offer(const char *text, size_t length, const char *whose) {
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    json_t *editor = json_object_get(json, "editor");
    struct offer *offer = json_is_object(json) ? offer_create() : NULL;
    if (offer) {
        offer->hello = json_is_object(editor) ? json_incref(editor) : NULL;
        offer_register(offer, json, whose);
        offer_forget_values(offer); /* as text it is a tenth of that */
    }
    json_decref(json);
    return offer;
}

/* NULL: there is none, or none that can be used. */
static struct offer *read_kept(const struct serve *serve, const char *name, uint64_t *mark) {
    char *text = malloc(OFFER_MOST + 1);
    struct offer *offer = NULL;
    size_t length = 0;
    int rc = text ? os_file_read(&serve->dir, name, text, OFFER_MOST + 1, &length) : UV_ENOMEM;
    if (rc == 0)
        offer = read_offer(text, length, "what the last editor offered");
    if (offer && !offer->is_known) {
        offer_drop(offer);
        offer = NULL;
    }
    if (offer)
        *mark = offer_mark(text, length);
    else if (rc != UV_ENOENT)
        fprintf(stderr, left_out, serve->dir.path, name,
                rc < 0 ? uv_strerror(rc) : "it is not what a server writes there");
    free(text);
    return offer;
}

/* Only when it says something new: an editor that comes again brings the same. */
static void write_kept(const struct serve *serve, const char *name, const struct offer *offer,
                       uint64_t *known) {
    json_t *json = offer_json(offer);
    char *text = json_dumps(json, JSON_COMPACT);
    size_t length = text ? strlen(text) : 0;
    uint64_t mark = offer_mark(text, length);
    struct error err;
    int rc = error_set(&err, UV_ENOMEM, "out of memory");
    if (length > OFFER_MOST)
        rc = error_set(&err, UV_EFBIG, "it is larger than %d MiB", OFFER_MOST / 1024 / 1024);
    else if (text && mark == *known)
        rc = 0;
    else if (text)
        rc = os_file_write(&serve->dir, name, text, length, &err);
    *known = mark;
    if (rc < 0)
        fprintf(stderr, "tether serve: what the editor offers is not kept for later: %s\n",
                err.message);
    free(text);
    json_decref(json);
}

void kept_set(struct serve *serve, struct offer *offer) {
    struct offer *before = serve->kept;
    serve->kept = offer_hold(offer);
    serve->offers |= offer->offers;
    offer_drop(before);
    if (serve->dir.path[0] && !offer->is_foreign)
        write_kept(serve, OFFER_FILE, offer, &serve->kept_mark);
}

/* ---- of each project ---- */

static const char *path_of(const struct offer *offer) {
    return rpc_text(offer->hello, "path");
}

static struct kept_project *place_of(const struct serve *serve, const char *path,
                                     char name[FILE_NAME_MAX]) {
    unsigned place = (unsigned)(caller_path_mark(path) % PROJECTS);
    snprintf(name, FILE_NAME_MAX, "offer-%u.json", place);
    return &serve->projects->all[place];
}

static struct kept_project *read_place(const struct serve *serve, const char *path,
                                       char name[FILE_NAME_MAX]) {
    struct kept_project *project = place_of(serve, path, name);
    if (project->is_read)
        return project;
    project->is_read = true;
    if (serve->dir.path[0])
        project->offer = read_kept(serve, name, &project->mark);
    project->was_there = project->offer != NULL;
    if (project->offer)
        memcpy(project->at_start, project->offer->marks, sizeof project->at_start);
    return project;
}

static bool is_of(const struct offer *offer, const char *path) {
    const char *own = offer ? path_of(offer) : NULL;
    return own && caller_is_same_path(own, path);
}

/* NULL: nothing is known of a project there. */
static const struct offer *known_of(const struct serve *serve, const char *path) {
    char name[FILE_NAME_MAX];
    const struct kept_project *project = read_place(serve, path, name);
    return is_of(project->offer, path) ? project->offer
           : is_of(serve->kept, path)  ? serve->kept
                                       : NULL;
}

static const struct offer *shipped(const struct serve *serve) {
    struct kept_projects *projects = serve->projects;
    if (!projects->shipped)
        projects->shipped = read_offer(shipped_offer, shipped_offer_length, "what is shipped");
    return projects->shipped ? projects->shipped : serve->kept;
}

/* The same where a path leads through links. */
static const struct offer *known_of_real(const struct serve *serve, const char *path) {
    const struct offer *known = known_of(serve, path);
    uv_fs_t look;
    if (known)
        return known;
    if (uv_fs_realpath(NULL, &look, path, NULL) == 0)
        known = known_of(serve, look.ptr);
    uv_fs_req_cleanup(&look);
    return known;
}

const struct offer *kept_shown(const struct serve *serve, const char *path, const char *next) {
    const struct offer *known = NULL;
    if (serve->kept->is_foreign)
        return serve->kept;
    if (path || next)
        known = known_of_real(serve, path ? path : next);
    if (known)
        return known;
    return path && path_of(serve->kept) ? shipped(serve) : serve->kept;
}

const uint64_t *kept_at_start(const struct serve *serve, const char *path) {
    const struct kept_projects *projects = serve->projects;
    const struct kept_project *project;
    char name[FILE_NAME_MAX];
    if (!path || !projects->first_path || caller_is_same_path(projects->first_path, path))
        return projects->at_start;
    project = read_place(serve, path, name);
    return project->was_there ? project->at_start : shipped(serve)->marks;
}

void kept_note(struct serve *serve, struct offer *offer) {
    const char *path = path_of(offer);
    struct kept_project *project;
    char name[FILE_NAME_MAX];
    if (!path || offer->is_foreign)
        return;
    project = read_place(serve, path, name);
    offer_hold(offer);
    offer_drop(project->offer);
    project->offer = offer;
    if (serve->dir.path[0])
        write_kept(serve, name, offer, &project->mark);
}

/* ---- the secret ---- */

bool kept_secret(struct serve *serve, uint8_t secret[SECRET_SIZE]) {
    char text[SECRET_SIZE + 1];
    struct error err;
    size_t length = 0;
    if (!serve->dir.path[0])
        return false;
    if (os_file_read(&serve->dir, SECRET_FILE, text, sizeof text, &length) == 0 &&
        length == SECRET_SIZE) {
        memcpy(secret, text, SECRET_SIZE);
        return true;
    }
    if (os_random(secret, SECRET_SIZE) < 0)
        return false;
    if (os_file_write(&serve->dir, SECRET_FILE, secret, SECRET_SIZE, &err) < 0)
        fprintf(stderr, "tether serve: sessions of clients will not outlive this server: %s\n",
                err.message);
    return true;
}

/* ---- the whole ---- */

/* A stdio server tells what it has before anybody can ask. */
static struct offer *no_offer(void) {
    struct offer *offer = offer_create();
    offer->is_foreign = true;
    offer_register(offer, NULL, "nobody");
    return offer;
}

void kept_open(struct serve *serve) {
    const char *path;
    struct error err;
    int rc = options_dir(serve->options, &serve->dir, false, &err);
    if (rc < 0) /* a daemon has made it; who starts us by hand need not */
        serve->dir.path[0] = 0;
    if (rc < 0 && rc != UV_ENOENT)
        fprintf(stderr, "tether serve: nothing is kept for later: %s\n", err.message);
    if (serve->options->stdio)
        serve->kept = no_offer();
    else if (serve->dir.path[0])
        serve->kept = read_kept(serve, OFFER_FILE, &serve->kept_mark);
    if (!serve->kept)
        serve->kept = read_offer(shipped_offer, shipped_offer_length, "what is shipped");
    must(serve->kept);
    serve->offers = serve->kept->offers;
    serve->projects = memory_zeroed(sizeof *serve->projects);
    memcpy(serve->projects->at_start, serve->kept->marks, sizeof serve->projects->at_start);
    path = path_of(serve->kept);
    serve->projects->first_path = path ? memory_text(path, strlen(path)) : NULL;
}

void kept_finish(struct serve *serve) {
    for (size_t i = 0; i < PROJECTS; i++)
        offer_drop(serve->projects->all[i].offer);
    offer_drop(serve->projects->shipped);
    free(serve->projects->first_path);
    free(serve->projects);
    offer_drop(serve->kept);
    if (serve->dir.path[0])
        os_dir_finish(&serve->dir);
}
