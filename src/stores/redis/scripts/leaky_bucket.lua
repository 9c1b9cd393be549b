-- Leaky bucket: the arithmetic of src/algorithms/leaky_bucket.cc on one string.
--
-- KEYS[i]  the bucket. Its value: as debt.lua says, with the letter 'K'.
-- ARGV     of a charge: … cost, queue, rate_units, rate_ticks
local function leaky_bucket(state, mode, now, cost, queue, units, ticks, overdraft)
  local owed, rest, time, idle_now = debt_at(state, 75, now, units, ticks)
  if mode ~= 't' then
    return change_debt(75, mode, cost, owed, rest, queue + 1, units, ticks, time, overdraft)
  end
  local verdict, retry, delay = 1, 0, 0
  local whole = rest > 0 and owed + 1 or owed
  if cost > queue + 1 then
    verdict = 2
  elseif cost > 0 and whole > queue then
    verdict = 0
    retry = time - now + ticks_to_repay(owed - queue, rest, units, ticks)
  elseif cost > 0 then
    delay = ticks_to_repay(owed, rest, units, ticks)
    owed, whole = owed + cost, whole + cost
  end
  local left = ticks_to_repay(owed, rest, units, ticks)
  local reset = left > 0 and time - now + left or 0
  local remaining = math.max(0, queue + 1 - whole)
  if verdict ~= 1 or cost == 0 then
    if idle_now then
      retry, reset = math.min(retry, idle_now - now), math.min(reset, idle_now - now)
    end
    return verdict, remaining, retry, reset, delay
  end
  local idle = time + left
  return verdict, remaining, retry, reset, delay, struct.pack('<BI6I7I7I7I7', 75, owed, rest, ticks, time, idle), idle,
    time
end
