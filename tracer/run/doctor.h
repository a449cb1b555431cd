/* SPDX-License-Identifier: GPL-3.0-only */
/* doctor.h - tells what a full run would lack on this machine, and the cure for each gap. */
#ifndef IOT_DOCTOR_H
#define IOT_DOCTOR_H

#include "options.h"

/* Prints one screen. Loads every program where the rights allow it. Returns STATUS_OK when a full
 * run would work, else STATUS_FAILED. */
int doctor(const struct options *);

#endif
