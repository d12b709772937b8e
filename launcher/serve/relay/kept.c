/* What outlives the server: the last editor's offer, and the secret that sessions are sealed with.
 * Both are in the directory of the instance, which nobody else can write to. Without it they are as
 * new each time. */
#include "editors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"

#define OFFER_FILE  "offer.json"
#define SECRET_FILE "sessions.key"

enum { OFFER_MOST = 4 * 1024 * 1024, SECRET_SIZE = 32 };

static const char left_out[] =
    "tether serve: what the last editor offered, %s/" OFFER_FILE ", is not used: %s\n";

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
static struct offer *read_kept(struct serve *serve) {
    char *text = malloc(OFFER_MOST + 1);
    struct offer *offer = NULL;
    size_t length = 0;
    int rc =
        text ? os_file_read(&serve->dir, OFFER_FILE, text, OFFER_MOST + 1, &length) : UV_ENOMEM;
    if (rc == 0)
        offer = read_offer(text, length, "what the last editor offered");
    if (offer && !offer->is_known) {
        offer_drop(offer);
        offer = NULL;
    }
    if (offer)
        serve->kept_mark = offer_mark(text, length);
    else if (rc != UV_ENOENT)
        fprintf(stderr, left_out, serve->dir.path,
                rc < 0 ? uv_strerror(rc) : "it is not what a server writes there");
    free(text);
    return offer;
}

/* Only when it says something new: an editor that comes again brings the same. */
static void write_kept(struct serve *serve) {
    json_t *json = offer_json(serve->kept);
    char *text = json_dumps(json, JSON_COMPACT);
    size_t length = text ? strlen(text) : 0;
    uint64_t mark = offer_mark(text, length);
    struct error err;
    int rc = error_set(&err, UV_ENOMEM, "out of memory");
    if (length > OFFER_MOST)
        rc = error_set(&err, UV_EFBIG, "it is larger than %d MiB", OFFER_MOST / 1024 / 1024);
    else if (text && mark == serve->kept_mark)
        rc = 0;
    else if (text)
        rc = os_file_write(&serve->dir, OFFER_FILE, text, length, &err);
    serve->kept_mark = mark;
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
        write_kept(serve);
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
    struct error err;
    int rc = options_dir(serve->options, &serve->dir, false, &err);
    if (rc < 0) /* a daemon has made it; who starts us by hand need not */
        serve->dir.path[0] = 0;
    if (rc < 0 && rc != UV_ENOENT)
        fprintf(stderr, "tether serve: nothing is kept for later: %s\n", err.message);
    if (serve->options->stdio)
        serve->kept = no_offer();
    else if (serve->dir.path[0])
        serve->kept = read_kept(serve);
    if (!serve->kept)
        serve->kept = read_offer(shipped_offer, shipped_offer_length, "what is shipped");
    must(serve->kept);
    serve->offers = serve->kept->offers;
    memcpy(serve->at_start, serve->kept->marks, sizeof serve->at_start);
}

void kept_finish(struct serve *serve) {
    offer_drop(serve->kept);
    if (serve->dir.path[0])
        os_dir_finish(&serve->dir);
}
