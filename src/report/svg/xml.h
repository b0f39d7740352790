/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_SVG_XML_H
#define SD_REPORT_SVG_XML_H
/* xml: escapes untrusted text for an XML document, between tags or in quotes.
 *
 * What no terminal may see (base/text.h) no document shows either, and what XML cannot
 * hold at all is among it.  So nothing a name contains can begin a tag, end a quote or
 * turn the text around. */
#include <stddef.h>

#include "base/out.h"

void sd_xml_text(struct sd_out *out, const char *s, size_t n);
#endif
