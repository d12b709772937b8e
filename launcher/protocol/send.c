#include "send.h"

#include <errno.h>
#include <stdlib.h>

#include "message.h"

struct outgoing {
    uv_write_t write;
    char *line;
};

static void on_sent(uv_write_t *write, int status) {
    struct outgoing *outgoing = write->data;
    (void)status;
    free(outgoing->line);
    free(outgoing);
}

/* Takes the line. */
static int send_later(uv_stream_t *stream, char *line, size_t sent, size_t length) {
    struct outgoing *outgoing = calloc(1, sizeof *outgoing);
    uv_buf_t buf = uv_buf_init(line + sent, (unsigned)(length - sent));
    int rc;
    if (!outgoing) {
        free(line);
        return -ENOMEM;
    }
    outgoing->write.data = outgoing;
    outgoing->line = line;
    rc = uv_write(&outgoing->write, stream, &buf, 1, on_sent);
    if (rc < 0)
        on_sent(&outgoing->write, rc);
    return rc;
}

int message_send(uv_stream_t *stream, json_t *message) {
    size_t length = 0;
    char *line = message_line(message, &length);
    uv_buf_t buf = uv_buf_init(line, (unsigned)length);
    int sent;
    if (!line)
        return -ENOMEM;
    sent = uv_try_write(stream, &buf, 1);
    if (sent != (int)length)
        return send_later(stream, line, sent > 0 ? (size_t)sent : 0, length);
    free(line);
    return 0;
}
