/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CASES_REGISTRY_RECORDER_IMAGE_H
#define CASES_REGISTRY_RECORDER_IMAGE_H

extern const char recorder_image[];
extern const char recorder_image_end[];

#endif
