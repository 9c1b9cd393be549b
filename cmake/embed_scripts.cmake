# Puts the Lua scripts of src/stores/redis/scripts together and writes them as C++ text:
#   cmake -DSCRIPTS=<folder> -DOUTPUT=<file.cc> -P embed_scripts.cmake
# A script for one charge is keep + its algorithm + one; the script for several is keep + every algorithm + several +
# penalties + distinct + many; the script for calls about leases also has leases and, before many, holds and lease_calls; the one for calls about
# reservations also has held and, around many, holds, reservations and reserved. In one and several, held has the place of
# HELD_FUNCTIONS; in one, draw has that of DRAW.
# Algorithms that count in debts, and sliding_counter, also get arithmetic.lua. gcra is token_bucket.lua under
# another name and letter.

# In the order of weir::Algorithm.
set(algorithms fixed_window bucketed_window sliding_log sliding_counter token_bucket gcra leaky_bucket)

# Reads a file without its comment lines, which a server need not keep.
function(read_lua name out)
  file(READ ${SCRIPTS}/${name}.lua text)
  string(REGEX REPLACE "(^|\n)[ ]*--[^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(files ${algorithms})
list(REMOVE_ITEM files gcra)
foreach(name keep arithmetic debt one draw several penalties distinct many held leases holds lease_calls reservations reserved once ${files})
  read_lua(${name} lua_${name})
endforeach()
set(needs_sliding_counter "${lua_arithmetic}")
set(needs_token_bucket "${lua_arithmetic}${lua_debt}")
set(needs_leaky_bucket "${lua_arithmetic}${lua_debt}")
set(needs_gcra "${needs_token_bucket}")
string(REPLACE "token_bucket" "gcra" lua_gcra "${lua_token_bucket}")
string(REPLACE "84" "71" lua_gcra "${lua_gcra}")

# The letters of buckets, in the same order.
set(letters 70 66 76 67 84 71 75)

set(cases "")
set(all "${lua_keep}${lua_arithmetic}${lua_debt}")
set(table "")
set(letter_table "")
set(number 0)
foreach(name ${algorithms})
  string(APPEND all "${lua_${name}}")
  list(GET letters ${number} letter)
  string(APPEND table "[${number}] = ${name}, ")
  string(APPEND letter_table "[${number}] = ${letter}, ")
  math(EXPR number "${number} + 1")
  string(REPLACE "HELD_FUNCTIONS" "${lua_held}" one "${lua_one}")
  string(REPLACE "DRAW\n" "${lua_draw}" one "${one}")
  string(REPLACE "ALGORITHM_LETTER" "${letter}" one "${one}")
  string(APPEND cases "    R\"lua(${lua_keep}${needs_${name}}${lua_${name}}local algorithm = ${name}\n${one})lua\",\n\n")
endforeach()
set(table "local algorithms = { ${table}}\nlocal letters = { ${letter_table}}\n")
string(REPLACE "HELD_FUNCTIONS" "${lua_held}" several "${lua_several}")
string(REPLACE "HELD_FUNCTIONS" "" several_held "${lua_several}")
set(many "${all}${table}local hold_numbers = 0\n${several}${lua_penalties}${lua_distinct}${lua_many}return answer\n")
set(holds "${all}${lua_leases}${table}local hold_numbers = 4\n${several}${lua_penalties}${lua_distinct}${lua_holds}${lua_lease_calls}${lua_many}")
string(APPEND holds "return with_hold(answer, holds and admitted and kTaken or 0, token, now + ttl)\n")
set(reservations "${all}${lua_leases}${lua_held}${table}local hold_numbers = 10\n${several_held}${lua_penalties}${lua_distinct}${lua_holds}${lua_reservations}")
string(APPEND reservations "${lua_many}${lua_reserved}")
# The same for calls that are charged once.
foreach(body many holds reservations)
  set(numbers_many 0)
  set(numbers_holds 4)
  set(numbers_reservations 10)
  string(REPLACE "HOLD_NUMBERS" "${numbers_${body}}" once "${lua_once}")
  set(once_${body} "local function decide(KEYS, ARGV)\n${${body}}end\n${once}")
endforeach()

file(WRITE ${OUTPUT}.new "// Written by cmake/embed_scripts.cmake from src/stores/redis/scripts.
#include \"stores/redis/scripts.h\"

namespace weir::redis {

const std::array<std::string_view, kScriptCount> kScriptBodies = {
${cases}    R\"lua(${many})lua\",

    R\"lua(${holds})lua\",

    R\"lua(${reservations})lua\",

    R\"lua(${once_many})lua\",

    R\"lua(${once_holds})lua\",

    R\"lua(${once_reservations})lua\",
};

}  // namespace weir::redis
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
