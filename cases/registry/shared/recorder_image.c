/* SPDX-License-Identifier: BSD-2-Clause */
/* The recording library as bytes: a case hands it to a process by a name that it chooses. */
#include "cases/registry/shared/recorder_image.h"

__asm__(".pushsection .rodata\n"
        ".global recorder_image\n"
        ".hidden recorder_image\n"
        "recorder_image:\n"
        ".incbin \"" RECORDER_FILE "\"\n"
        ".global recorder_image_end\n"
        ".hidden recorder_image_end\n"
        "recorder_image_end:\n"
        ".popsection\n");
