# gopt_transform(OUTPUT IN.c [BACKEND goto|group|coroutine] [GROUP N] [HINT 0..3] [SUFFIX TEXT] [INCLUDE DIR...]
#                [DEFINE NAME[=VALUE]...] [OPTIONS OPTION...])
#
# Adds a rule that transforms IN.c, and sets the variable OUTPUT to the file that it makes (C; C++ for coroutines), to
# be listed among a target's sources. For gopt and for compiling the output: INCLUDE, further directories of headers;
# DEFINE, macros; OPTIONS, of -U, -m, -std=, -include and -isystem those that the preprocessor must know. What a target
# defines (target_compile_definitions) does not reach gopt: name it in DEFINE. Where a loop depends on a number that was
# forgotten there, the output does not compile.

set(GOPT_ROOT ${CMAKE_CURRENT_LIST_DIR}/../..)  # where the package is, in the sources and installed
file(GLOB GOPT_SOURCES CONFIGURE_DEPENDS ${GOPT_ROOT}/gopt/*.py ${GOPT_ROOT}/gopt/include/*)

if(NOT GOPT_PYTHON)
  foreach(python ${Python3_EXECUTABLE} python3 /usr/bin/python3)
    execute_process(COMMAND ${python} -c "import pycparser" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(GOPT_PYTHON ${python} CACHE FILEPATH "A Python that has pycparser")
      break()
    endif()
  endforeach()
  if(NOT GOPT_PYTHON)
    message(FATAL_ERROR "gopt needs pycparser: install python3-pycparser, or set GOPT_PYTHON to a Python that has it")
  endif()
endif()

function(gopt_transform output input)
  cmake_parse_arguments(arg "" "BACKEND;GROUP;HINT;SUFFIX" "INCLUDE;DEFINE;OPTIONS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gopt_transform: what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  get_filename_component(input ${input} ABSOLUTE)
  get_filename_component(name ${input} NAME_WLE)
  get_filename_component(directory ${input} DIRECTORY)
  set(options "")
  foreach(option BACKEND GROUP HINT SUFFIX)
    if(DEFINED arg_${option})
      string(TOLOWER ${option} flag)
      list(APPEND options --${flag}=${arg_${option}})
    endif()
  endforeach()
  set(extension c)
  if("${arg_BACKEND}" STREQUAL coroutine)
    set(extension cc)
  endif()
  file(RELATIVE_PATH place ${CMAKE_CURRENT_SOURCE_DIR} ${directory})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/gopt/${place})
  set(made ${folder}/${name}${arg_SUFFIX}.${extension})
  set(include ${directory} ${arg_INCLUDE})
  list(TRANSFORM include PREPEND -I OUTPUT_VARIABLE flags)
  list(TRANSFORM arg_DEFINE PREPEND -D OUTPUT_VARIABLE defines)
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${GOPT_ROOT} CC=${CMAKE_C_COMPILER} ${GOPT_PYTHON} -m gopt transform ${input}
            -o ${made} --depfile ${made}.d ${options} ${flags} ${defines} ${arg_OPTIONS}
    DEPENDS ${input} ${GOPT_SOURCES}
    DEPFILE ${made}.d
    VERBATIM)
  set_source_files_properties(${made} PROPERTIES INCLUDE_DIRECTORIES "${include};${GOPT_ROOT}/gopt/include"
                              COMPILE_DEFINITIONS "${arg_DEFINE}" COMPILE_OPTIONS "${arg_OPTIONS}")
  set(${output} ${made} PARENT_SCOPE)
endfunction()
