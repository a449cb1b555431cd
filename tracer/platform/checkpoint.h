/* SPDX-License-Identifier: GPL-3.0-only */
/* checkpoint.h - has a file system write the contents of its journal to their final place, after a
 * sync.
 */
#ifndef IOT_CHECKPOINT_H
#define IOT_CHECKPOINT_H

#include <sys/ioctl.h>
#include "tracer.h"

#define EXT4_CHECKPOINT _IOW('f', 43, u32) /* EXT4_IOC_CHECKPOINT, which libc's headers lack */

/* Makes the memory through which the keeper sees what its helper has frozen. Call it before the
 * helper is forked. Returns 0 or a negative errno after a message. */
int checkpoint_share(void);

/* Thaws what that helper has left frozen. The helper must have ended. */
void checkpoint_thaw(void);

/* Checkpoints the file system of the descriptor `fd`, opened at `mount`, if its number is `dev`
 * (major << 20 | minor). Needs CAP_SYS_ADMIN where there is a journal. Returns 0 or a negative
 * errno, silently: -EOPNOTSUPP for a file system without a row. */
int checkpoint_mount(int fd, const char *mount, u32 dev);

#endif
