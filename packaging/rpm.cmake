# SPDX-License-Identifier: BSD-2-Clause
# The RPM packages. What programs and libraries need is found by rpmbuild, as versioned symbols, so one
# package suits every distribution that has them.
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE BSD-2-Clause)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
        /usr/lib64/pkgconfig /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man5
        /usr/share/man/man7 /usr/share/bash-completion /usr/share/bash-completion/completions
        /usr/share/zsh /usr/share/zsh/site-functions)
# The suite has a libdat of its own, which is for no other program; Python's packages are for it only.
# Nothing is stripped: stacks of a crash name the functions of the suite.
set(CPACK_RPM_SPEC_MORE_DEFINE "%global __provides_exclude_from ^/usr/lib/udapl-cts/.*$
%global __requires_exclude_from ^/usr/lib/udapl-cts/python/.*$
%global __requires_exclude ^libdat[.]so[.]1.*$
%global _build_id_links none
%global __os_install_post %{nil}")

set(CPACK_RPM_RUNTIME_PACKAGE_NAME libdat1)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_NAME libdat-devel)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "libdat1 = ${PROJECT_VERSION}")
set(CPACK_RPM_PROVIDER_PACKAGE_NAME libdaplref1)
set(CPACK_RPM_PROVIDER_PACKAGE_REQUIRES "libdat1 = ${PROJECT_VERSION}, libibverbs")
set(CPACK_RPM_SUITE_PACKAGE_NAME udapl-cts)
set(CPACK_RPM_SUITE_PACKAGE_REQUIRES
        "(python(abi) = 3.11 or python(abi) = 3.12 or python(abi) = 3.13), libibverbs")
foreach(component RUNTIME PROVIDER)
        set(CPACK_RPM_${component}_POST_INSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/ldconfig)
        set(CPACK_RPM_${component}_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_CURRENT_LIST_DIR}/ldconfig)
endforeach()
