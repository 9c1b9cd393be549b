-- floor(x * y / z) and the remainder, exact although x * y may need 98 bits, where Lua's numbers have 53.
-- Precondition: whole numbers; x and y below 2^49, or one below 2^42 and the other below 2^52; z below 2^49; the quotient
-- below 2^49, or below 2^52 if z is below 2^40.
local function multiply_divide(x, y, z)
  local product = x * y
  local quotient = math.floor(product / z)
  if product < 9007199254740992 then
    return quotient, product % z
  end
  -- The quotient is right within one. x*y - quotient*z is small, so it is summed from halves without losing a bit.
  local x1, y1 = math.floor(x / 33554432), math.floor(y / 33554432)
  local q1, z1 = math.floor(quotient / 33554432), math.floor(z / 33554432)
  local x0, y0, q0, z0 = x % 33554432, y % 33554432, quotient % 33554432, z % 33554432
  local rest = ((x1 * y1 - q1 * z1) * 33554432 + (x0 * y1 - q0 * z1) + (x1 * y0 - q1 * z0)) * 33554432
    + (x0 * y0 - q0 * z0)
  if rest < 0 then
    return quotient - 1, rest + z
  elseif rest >= z then
    return quotient + 1, rest - z
  end
  return quotient, rest
end
