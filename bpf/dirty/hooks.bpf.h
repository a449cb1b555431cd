/* SPDX-License-Identifier: GPL-3.0-only */
/* hooks.bpf.h - the only header of dirty/ that other folders include. dirty/ computes which bytes
 * are dirtied, in which order, below the granularity of a folio (volume D); the owner of a byte
 * needs none of it. The hooks:
 *
 *   mark        fresh_note_for(), dirtied(), dirty_blocks(): bytes are dirtied
 *   copy        direct_falls(), wrote_of(): a call or request copies into the page cache
 *   drop        invalidate_record(): dirty bytes are dropped before they are written
 *   submit      dirty_at(): bytes are dirty again when their bio is submitted
 *   call end    fresh_beside(), fresh_before(), fresh_report(): a call or request is over
 *
 * Objects whose programs see folios being dirtied define DIRTY_FOLIOS before: that adds global
 * functions, which the verifier checks in every object that has them.
 */
#ifndef IOT_DIRTY_HOOKS_BPF_H
#define IOT_DIRTY_HOOKS_BPF_H

#include "invalidate.bpf.h"
#include "mark.bpf.h"

#endif

#ifdef DIRTY_FOLIOS
#include "folio_range.bpf.h"
#include "time.bpf.h"
#endif
