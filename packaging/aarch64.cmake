# SPDX-License-Identifier: BSD-2-Clause
# A toolchain for aarch64 on another machine: Debian's cross compiler, the libraries of a Debian in
# UDAPL_CTS_SYSROOT (mmdebstrap --variant=extract makes one), and qemu-user for the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES UDAPL_CTS_SYSROOT)
set(CMAKE_SYSROOT ${UDAPL_CTS_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${UDAPL_CTS_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
        ${UDAPL_CTS_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${UDAPL_CTS_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${UDAPL_CTS_SYSROOT})
