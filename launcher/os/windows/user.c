/* Our user, and what only it may touch. */
#include "win.h"

#include <sddl.h>
#include <stdio.h>
#include <string.h>

int win_user_of(HANDLE process, struct win_user *user) {
    union {
        TOKEN_USER user;
        BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } answer;
    HANDLE token;
    DWORD length;
    int rc = 0;
    if (!OpenProcessToken(process, TOKEN_QUERY, &token))
        return win_error();
    if (!GetTokenInformation(token, TokenUser, &answer, sizeof answer, &length) ||
        !CopySid(sizeof *user, &user->sid, answer.user.User.Sid))
        rc = win_error();
    CloseHandle(token);
    return rc;
}

const struct win_user *win_user_self(void) {
    static struct win_user self; /* what it holds never changes once it is there */
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    static bool known;
    BOOL pending;
    if (!InitOnceBeginInitialize(&once, 0, &pending, NULL))
        return NULL;
    if (pending) {
        known = win_user_of(GetCurrentProcess(), &self) == 0;
        InitOnceComplete(&once, 0, NULL);
    }
    return known ? &self : NULL;
}

bool win_is_self(PSID sid) {
    const struct win_user *self = win_user_self();
    union {
        const struct win_user *constant;
        struct win_user *plain;
    } user = {.constant = self}; /* EqualSid takes what it does not change */
    return self && EqualSid(sid, &user.plain->sid);
}

static uint32_t last_part(const struct win_user *user) {
    struct win_user copy = *user;
    return copy.sid.SubAuthority[copy.sid.SubAuthorityCount - 1];
}

uint32_t os_user_self(void) {
    const struct win_user *self = win_user_self();
    return self ? last_part(self) : UINT32_MAX - 1;
}

/* The last part alone may be the same in two domains, or on two machines. */
uint32_t win_user_number(struct win_user *user) {
    uint32_t number = last_part(user);
    return win_is_self(&user->sid) || number != os_user_self() ? number : UINT32_MAX;
}

int os_process_user(const struct os_identity *identity, uint32_t *user) {
    struct os_identity asked = *identity;
    struct win_user found;
    HANDLE process;
    int rc = win_process_open(&asked, PROCESS_QUERY_LIMITED_INFORMATION, &process);
    if (rc < 0)
        return rc;
    rc = win_user_of(process, &found);
    CloseHandle(process);
    if (rc == 0)
        *user = win_user_number(&found);
    return rc;
}

int win_user_text(char out[WIN_SID_TEXT]) {
    const struct win_user *self = win_user_self();
    struct win_user copy;
    char *text;
    if (!self)
        return UV_EACCES;
    copy = *self;
    if (!ConvertSidToStringSidA(&copy.sid, &text)) /* letters and digits only */
        return win_error();
    snprintf(out, WIN_SID_TEXT, "%s", text);
    LocalFree(text);
    return 0;
}

int win_descriptor(enum win_privacy kind, PSECURITY_DESCRIPTOR *descriptor) {
    char user[WIN_SID_TEXT], text[2 * WIN_SID_TEXT + 64];
    int rc = win_user_text(user);
    *descriptor = NULL;
    if (rc < 0)
        return rc;
    switch (kind) {
    case WIN_PRIVATE_DIRECTORY:
        snprintf(text, sizeof text, "O:%sD:P(A;OICI;FA;;;%s)(A;OICI;FA;;;SY)", user, user);
        break;
    case WIN_PRIVATE_FILE:
        snprintf(text, sizeof text, "O:%sD:P(A;;FA;;;%s)(A;;FA;;;SY)", user, user);
        break;
    case WIN_PRIVATE_PIPE:
        snprintf(text, sizeof text, "O:%sD:P(A;;GA;;;%s)(A;;GA;;;SY)", user, user);
        break;
    }
    return ConvertStringSecurityDescriptorToSecurityDescriptorA(text, SDDL_REVISION_1, descriptor,
                                                                NULL)
               ? 0
               : win_error();
}
