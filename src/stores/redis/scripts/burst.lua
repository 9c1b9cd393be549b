-- What token-bucket and gcra answer: debt is what is missing from a full bucket, in 1/ticks of a unit; each microsecond
-- repays `units` of it. `last` is the time of the bucket's last change, `debt` what was owed then.
-- Returns the bucket's time, the debt now and the capacity, and for mode 't' verdict, remaining, retry, reset.
local function burst_answer(mode, now, cost, burst, units, ticks, debt, last)
  local capacity = burst * ticks
  local time = math.max(now, last)
  debt = math.max(0, math.min(debt, capacity) - (time - last) * units)
  if mode ~= 't' then
    return time, debt, capacity
  end
  local verdict, retry, owed = 1, 0, debt
  if cost > burst then
    verdict = 2
  elseif debt + cost * ticks <= capacity then
    owed = debt + cost * ticks
  elseif cost > 0 then
    verdict = 0
    retry = time - now + math.ceil((debt + cost * ticks - capacity) / units)
  end
  local reset = 0
  if owed > 0 then
    reset = time - now + math.ceil(owed / units)
  end
  return time, owed, capacity, verdict, math.floor((capacity - owed) / ticks), retry, reset
end

-- The debt after mode 'd' (a denied attempt that counts), 'r' (refund) or 'u' (undo); nil if nothing changes.
local function burst_change(mode, cost, ticks, debt, capacity)
  if mode == 'd' then
    return math.max(debt, math.min(debt + cost * ticks, capacity))
  elseif cost > 0 and debt > 0 then
    return math.max(0, debt - cost * ticks)
  end
end
