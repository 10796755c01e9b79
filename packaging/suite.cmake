# SPDX-License-Identifier: BSD-2-Clause
# The suite in a folder of its own, laid out as a clone but for what was built: bin/ and lib/ stand in it.
set(home lib/udapl-cts)

function(installed component program)
        set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
        install(TARGETS ${program} RUNTIME DESTINATION ${home}/bin COMPONENT ${component})
        install(TARGETS ${ARGN} LIBRARY DESTINATION ${home}/lib COMPONENT ${component})
endfunction()
installed(suite udapl-cases dat daplref daplfault datfault)
set_target_properties(udapl-puppet PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
install(TARGETS udapl-puppet RUNTIME DESTINATION ${home}/bin COMPONENT suite)
installed(suite udapl-trace-read dattrace)
if(UDAPL_CTS_DAT_2)
        installed(suite2 udapl-trace-read-2.0 dattrace2)
        installed(suite2 udapl-cases-2.0 daplref2)
endif()

foreach(folder oracle results reports runners cases faults)
        install(DIRECTORY ${folder} DESTINATION ${home} COMPONENT suite
                FILES_MATCHING
                PATTERN "*.py" PATTERN "*.toml" PATTERN "*.txt" PATTERN "*.html" PATTERN "*.css" PATTERN "*.js"
                PATTERN "runners/fabric/guest/*"
                PATTERN "__pycache__" EXCLUDE)
endforeach()
install(DIRECTORY docs DESTINATION ${home} COMPONENT suite
        FILES_MATCHING PATTERN "*.json" PATTERN "*.md" PATTERN "decisions" EXCLUDE
        PATTERN "findings" EXCLUDE)
install(FILES include/facts/dat-1.2.json include/facts/dat-2.0.json
        DESTINATION ${home}/include/facts COMPONENT suite)
install(FILES README.md LICENSE DESTINATION ${home} COMPONENT suite)
install(PROGRAMS packaging/udapl-cts TYPE BIN COMPONENT suite)

if(UDAPL_CTS_MADE)
        install(FILES ${UDAPL_CTS_MADE}/COMMIT DESTINATION ${home} COMPONENT suite)
        install(DIRECTORY ${UDAPL_CTS_MADE}/python DESTINATION ${home} COMPONENT suite)
        install(DIRECTORY ${UDAPL_CTS_MADE}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT suite)
        install(FILES ${UDAPL_CTS_MADE}/completion.bash
                DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME udapl-cts
                COMPONENT suite)
        install(FILES ${UDAPL_CTS_MADE}/completion.zsh
                DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${UDAPL_CTS_ZSH} RENAME _udapl-cts
                COMPONENT suite)
endif()
