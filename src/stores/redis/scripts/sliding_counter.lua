-- Sliding counter: the arithmetic of src/algorithms/sliding_counter.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'c', then little-endian: units of the window of the last change (5 bytes), units of the
--          window before it (5), time of the last change in microseconds (7).
-- ARGV     of a charge: … cost, limit, window in microseconds, 0

-- x * y / z as quotient and sign of the remainder, exact although x * y may need 89 bits: floor(x*y/z), and whether
-- anything is left over. Precondition: x <= z or y <= z; x, and z or the quotient, are below 2^40, the others below 2^49.
local function multiply_divide(x, y, z)
  local product = x * y
  local quotient = math.floor(product / z)
  if product < 9007199254740992 then
    return quotient, product % z ~= 0
  end
  -- The quotient is right within one. x*y - u*v is small, so it is summed from halves without losing a bit; u is the
  -- factor below 2^40.
  local u, v = quotient, z
  if quotient > z then
    u, v = z, quotient
  end
  local x1, y1 = math.floor(x / 1048576), math.floor(y / 33554432)
  local u1, v1 = math.floor(u / 1048576), math.floor(v / 33554432)
  local x0, y0, u0, v0 = x % 1048576, y % 33554432, u % 1048576, v % 33554432
  local rest = ((x1 * y1 - u1 * v1) * 33554432 + (x0 * y1 - u0 * v1) * 32 + (x1 * y0 - u1 * v0)) * 1048576
    + (x0 * y0 - u0 * v0)
  if rest < 0 then
    return quotient - 1, true
  elseif rest >= z then
    return quotient + 1, rest > z
  end
  return quotient, rest > 0
end

local function sliding_counter(state, mode, now, cost, limit, window, _, charged_at)
  local current, previous, last, tag = 0, 0, 0
  if state and #state == 18 and state:byte() == 99 then
    tag, current, previous, last = struct.unpack('<BI5I5I7', state)
  end
  local time = math.max(now, last)
  local start = time - time % window
  if last < start - window then
    current, previous = 0, 0
  elseif last < start then
    current, previous = 0, current
  end
  local finish = start + window
  local weighted, more = multiply_divide(previous, finish - time, window)
  if more then
    weighted = weighted + 1
  end
  local room = limit - current - weighted

  local verdict, retry = 1, 0
  if mode == 't' then
    if cost > limit then
      verdict = 2
    elseif cost <= room then
      current, room = current + cost, room - cost
    elseif cost > 0 then
      verdict = 0
      local free = limit - current - cost
      if free >= 0 then
        retry = finish - multiply_divide(free, window, previous) - now
      else
        retry = finish + window - multiply_divide(limit - cost, window, current) - now
      end
    end
  elseif mode == 'd' then
    current = current + math.min(math.max(room, 0), cost)
  elseif cost == 0 or (current == 0 and previous == 0) or (mode == 'u' and charged_at < start) then
    return
  else
    local given = math.min(cost, current)
    current = current - given
    previous = previous - math.min(cost - given, previous)
  end

  local idle = time
  if current > 0 then
    idle = finish + window
  elseif previous > 0 then
    idle = finish
  end
  if mode ~= 't' then
    return struct.pack('<BI5I5I7', 99, current, previous, time), idle
  end
  local reset = 0
  if current > 0 or previous > 0 then
    reset = idle - now
  end
  if verdict ~= 1 or cost == 0 then
    return verdict, math.max(0, room), retry, reset, 0
  end
  local after = struct.pack('<BI5I5I7', 99, current, previous, time)
  return verdict, math.max(0, room), retry, reset, 0, after, idle, time
end
