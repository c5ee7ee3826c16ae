# What an installation needs beside programs: who may open zoned devices, and their scheduler.
function(zenfs_add_packaging)
  set(rules ${PROJECT_SOURCE_DIR}/packaging/udev/60-zenfs.rules)
  install(FILES ${rules} DESTINATION lib/udev/rules.d)
  if(ZENFS_TESTS)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    add_test(NAME udev_rules COMMAND ${Python3_EXECUTABLE} -B
      ${PROJECT_SOURCE_DIR}/tests/packaging/udev_rules_test.py ${rules})
  endif()
endfunction()
