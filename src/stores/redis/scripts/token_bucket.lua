-- Token bucket: the arithmetic of src/algorithms/token_bucket.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 't', then little-endian: whole units owed (5 bytes), the rest of the debt in 1/ticks
--          of a unit (7), time of the last change in microseconds (7).
-- ARGV     of a charge: … cost, burst, rate_units, rate_ticks
--
-- All products stay below 2^53, where Lua's numbers are exact; redis_supports() refuses rules that could exceed that.
local function token_bucket(state, mode, now, cost, burst, units, ticks)
  local whole, rest, last, tag = 0, 0, 0
  if state and #state == 20 and state:byte() == 116 then
    tag, whole, rest, last = struct.unpack('<BI5I7I7', state)
  end
  local debt = math.min(whole, burst) * ticks + math.min(rest, ticks)
  local time, owed, capacity, verdict, remaining, retry, reset =
    burst_answer(mode, now, cost, burst, units, ticks, debt, last)
  if mode ~= 't' then
    owed = burst_change(mode, cost, ticks, owed, capacity)
  elseif verdict ~= 1 or cost == 0 then
    return verdict, remaining, retry, reset, 0
  end
  if not owed then
    return
  end
  local after = struct.pack('<BI5I7I7', 116, math.floor(owed / ticks), owed % ticks, time)
  local idle = time + math.ceil(owed / units)
  if mode == 't' then
    return verdict, remaining, retry, reset, 0, after, idle
  end
  return after, idle
end
