-- Token bucket: the arithmetic of src/algorithms/token_bucket.cc on one string. GCRA makes the same decisions, so the
-- build makes gcra of this file, with the letter 'G'.
--
-- KEYS[i]  the bucket. Its value: as debt.lua says, with the letter 'T'.
-- ARGV     of a charge: … cost, burst, rate_units, rate_ticks
local function token_bucket(state, mode, now, cost, burst, units, ticks, overdraft)
  local owed, rest, time, idle_now = debt_at(state, 84, now, units, ticks)
  if mode ~= 't' then
    return change_debt(84, mode, cost, owed, rest, burst, units, ticks, time, overdraft)
  end
  local verdict, retry = 1, 0
  local whole = rest > 0 and owed + 1 or owed
  if cost > burst then
    verdict = 2
  elseif whole + cost <= burst then
    owed, whole = owed + cost, whole + cost
  elseif cost > 0 then
    verdict = 0
    retry = time - now + ticks_to_repay(owed + cost - burst, rest, units, ticks)
  end
  local left = ticks_to_repay(owed, rest, units, ticks)
  local reset = left > 0 and time - now + left or 0
  local remaining = math.max(0, burst - whole)
  if verdict ~= 1 or cost == 0 then
    if idle_now then
      retry, reset = math.min(retry, idle_now - now), math.min(reset, idle_now - now)
    end
    return verdict, remaining, retry, reset, 0
  end
  local idle = time + left
  return verdict, remaining, retry, reset, 0, struct.pack('<BI6I7I7I7I7', 84, owed, rest, ticks, time, idle), idle, time
end
