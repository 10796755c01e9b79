# SPDX-License-Identifier: BSD-2-Clause
# What `cmake --install` installs besides libdat, its headers and the provider, and the packages that
# `cpack -G DEB` and `cpack -G RPM` make of it all. packaging/build-deb and packaging/build-rpm do
# everything that they need.
install(FILES man/dat.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT runtime)
install(FILES man/libdaplref.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT provider)
install(FILES man/libdat.3 man/dat_ia_openv.3 man/dat_evd_create.3
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)

# Made by packaging/prepare: which commit this is, the pinned Python packages for each Python, the man
# pages and completions of the command, and the changelog.
set(UDAPL_CTS_MADE "" CACHE PATH "What packaging/prepare made beforehand")
set(UDAPL_CTS_ZSH vendor-completions CACHE STRING "The folder of zsh's completions below share/zsh")

# Licence and changelog of a package stand where Debian's programs look for them.
function(documented component package)
        set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package})
        install(FILES LICENSE RENAME copyright DESTINATION ${folder} COMPONENT ${component})
        if(UDAPL_CTS_MADE)
                install(FILES ${UDAPL_CTS_MADE}/changelog.gz DESTINATION ${folder} COMPONENT ${component})
        endif()
endfunction()
documented(runtime libdat1)
documented(development libdat-dev)
documented(provider libdaplref1)

if(UDAPL_CTS_SUITE)
        documented(suite udapl-cts)
        include(packaging/suite.cmake)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME udapl-cts)
set(CPACK_PACKAGE_VENDOR udapl-cts)
set(CPACK_PACKAGE_CONTACT "the udapl-cts project")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the udapl-cts project <udapl-cts@localhost>")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_COMPONENTS_ALL runtime provider development)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libdat1)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "DAT 1.2 registry, by which programs find uDAPL providers")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdat-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libdat1 (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "DAT 1.2 headers, and what linking with libdat needs")

set(CPACK_DEBIAN_PROVIDER_PACKAGE_NAME libdaplref1)
set(CPACK_DEBIAN_PROVIDER_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PROVIDER_PACKAGE_DEPENDS "libdat1 (= ${PROJECT_VERSION}), ibverbs-providers")
set(CPACK_COMPONENT_PROVIDER_DESCRIPTION "uDAPL reference provider on libibverbs and librdmacm")
set(CPACK_DEBIAN_PROVIDER_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)

if(UDAPL_CTS_SUITE)
        list(APPEND CPACK_COMPONENTS_ALL suite)
        set(CPACK_DEBIAN_SUITE_PACKAGE_NAME udapl-cts)
        set(CPACK_DEBIAN_SUITE_PACKAGE_SECTION net)
        set(CPACK_DEBIAN_SUITE_PACKAGE_DEPENDS "python3 (>= 3.11), ibverbs-providers")
        set(CPACK_DEBIAN_SUITE_PACKAGE_RECOMMENDS
                "qemu-system-x86, cpio, xz-utils, gcc, libc6-dev, openssh-client, gdb")
        set(CPACK_COMPONENT_SUITE_DESCRIPTION "conformance suite for uDAPL (DAT) providers of RDMA")
endif()

# What needs libdat2 is in packages of its own, which a distribution without it cannot install.
if(UDAPL_CTS_DAT_2)
        documented(provider2 libdaplref2-1)
        list(APPEND CPACK_COMPONENTS_ALL provider2)
        set(CPACK_DEBIAN_PROVIDER2_PACKAGE_NAME libdaplref2-1)
        set(CPACK_DEBIAN_PROVIDER2_PACKAGE_SECTION libs)
        set(CPACK_DEBIAN_PROVIDER2_PACKAGE_DEPENDS ibverbs-providers)
        set(CPACK_COMPONENT_PROVIDER2_DESCRIPTION "uDAPL reference provider for DAT 2.0")
        set(CPACK_DEBIAN_PROVIDER2_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
endif()
if(UDAPL_CTS_DAT_2 AND UDAPL_CTS_SUITE)
        documented(suite2 udapl-cts-dat2)
        list(APPEND CPACK_COMPONENTS_ALL suite2)
        set(CPACK_DEBIAN_SUITE2_PACKAGE_NAME udapl-cts-dat2)
        set(CPACK_DEBIAN_SUITE2_PACKAGE_SECTION net)
        set(CPACK_DEBIAN_SUITE2_PACKAGE_DEPENDS "udapl-cts (= ${PROJECT_VERSION})")
        set(CPACK_COMPONENT_SUITE2_DESCRIPTION "conformance suite for uDAPL providers of DAT 2.0")
endif()
include(packaging/rpm.cmake)
include(CPack)
