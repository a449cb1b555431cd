/* SPDX-License-Identifier: GPL-3.0-only */
/* errands_helper.h - the helper's side of errands.h. */
#ifndef IOT_ERRANDS_HELPER_H
#define IOT_ERRANDS_HELPER_H

#include "outputs.h"

#define ERRANDS_KEPT (MAX_OUTPUTS + 2)

/* Registers the answers of the helper, for these open outputs. `kept` gets the descriptors that the
 * helper needs. */
void errands_serve(const struct outputs *, int kept[ERRANDS_KEPT]);

#endif
