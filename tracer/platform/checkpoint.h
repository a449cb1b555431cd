/* SPDX-License-Identifier: GPL-3.0-only */
/* checkpoint.h - has a file system put in place what its journal holds, after it was synced. */
#ifndef IOT_CHECKPOINT_H
#define IOT_CHECKPOINT_H

#include <sys/ioctl.h>
#include "tracer.h"

#define EXT4_CHECKPOINT _IOW('f', 43, u32) /* EXT4_IOC_CHECKPOINT, which libc's headers do not have */

/* Before the helper is made that freezes file systems: what it has frozen is seen by whoever made it. Returns 0 or a negative errno
 * after a message. */
int checkpoint_share(void);

/* Thaws what that helper has left frozen. It must have ended. */
void checkpoint_thaw(void);

/* Of the file system that the descriptor `fd`, opened at `mount`, is on, if it is the one of number `dev` (major << 20 | minor). Needs
 * CAP_SYS_ADMIN where there is a journal. Returns 0, or silently a negative error: -EOPNOTSUPP where it is not known how. */
int checkpoint_mount(int fd, const char *mount, u32 dev);

#endif
