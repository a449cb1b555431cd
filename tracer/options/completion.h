/* SPDX-License-Identifier: GPL-3.0-only */
/* completion.h - scripts by which shells complete command lines of iot-trace. */
#ifndef IOT_COMPLETION_H
#define IOT_COMPLETION_H

/* Prints the script for bash or zsh to stdout. Returns an exit status. */
int completion(const char *shell);

#endif
