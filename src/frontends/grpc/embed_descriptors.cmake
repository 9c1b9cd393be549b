# cmake -DINPUT=set.bin -DOUTPUT=out.cc -P embed_descriptors.cmake: a descriptor set as C++.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(..)" "\\\\x\\1" escaped "${hex}")
string(LENGTH "${escaped}" length)
set(lines "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${escaped}" ${at} 96 piece)
  string(APPEND lines "    \"${piece}\"\n")
  math(EXPR at "${at} + 96")
endwhile()
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
file(WRITE ${OUTPUT} "#include \"frontends/grpc/reflection_service.h\"

namespace weir::grpc {
namespace {
constexpr char kDescriptors[] =
${lines};
}  // namespace
std::string_view embedded_descriptors() { return {kDescriptors, ${bytes}}; }
}  // namespace weir::grpc
")
