-- GCRA: the arithmetic of src/algorithms/gcra.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'g', then little-endian: the moment at which the bucket is full, in whole microseconds
--          (7 bytes) and the rest of it in 1/units of a microsecond (5), time of the last change (7).
-- ARGV     of a charge: … cost, burst, rate_units, rate_ticks
--
-- All products that matter stay below 2^53; redis_supports() refuses rules that could exceed that.
local function gcra(state, mode, now, cost, burst, units, ticks)
  local tat, rest, last, tag = 0, 0, 0
  if state and #state == 20 and state:byte() == 103 then
    tag, tat, rest, last = struct.unpack('<BI7I5I7', state)
  end
  local debt = 0
  if tat >= last then
    debt = (tat - last) * units + math.min(rest, units)
  end
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
  local after = struct.pack('<BI7I5I7', 103, time + math.floor(owed / units), owed % units, time)
  local idle = time + math.ceil(owed / units)
  if mode == 't' then
    return verdict, remaining, retry, reset, 0, after, idle
  end
  return after, idle
end
