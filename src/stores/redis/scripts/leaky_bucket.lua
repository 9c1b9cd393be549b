-- Leaky bucket: the arithmetic of src/algorithms/leaky_bucket.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'k', then little-endian: the moment at which the queue is empty, in whole microseconds
--          (7 bytes) and the rest of it in 1/units of a microsecond (5), time of the last change (7).
-- ARGV     of a charge: … cost, queue, rate_units, rate_ticks
--
-- All products that matter stay below 2^53; redis_supports() refuses rules that could exceed that.
local function leaky_bucket(state, mode, now, cost, queue, units, ticks)
  local tat, rest, last, tag = 0, 0, 0
  if state and #state == 20 and state:byte() == 107 then
    tag, tat, rest, last = struct.unpack('<BI7I5I7', state)
  end
  local bound, most = queue * ticks, (2 * queue + 1) * ticks
  local debt = 0
  if tat >= last then
    debt = math.min((tat - last) * units + math.min(rest, units), most)
  end
  local time = math.max(now, last)
  debt = math.max(0, debt - (time - last) * units)

  local verdict, remaining, retry, reset, delay = 1, 0, 0, 0, 0
  if mode == 't' then
    if cost > queue + 1 then
      verdict = 2
    elseif cost > 0 and debt > bound then
      verdict = 0
      retry = time - now + math.ceil((debt - bound) / units)
    elseif cost > 0 then
      delay = math.ceil(debt / units)
      debt = debt + cost * ticks
    end
    if debt <= bound then
      remaining = math.floor((bound - debt) / ticks) + 1
    end
    if debt > 0 then
      reset = time - now + math.ceil(debt / units)
    end
    if verdict ~= 1 or cost == 0 then
      return verdict, remaining, retry, reset, delay
    end
  elseif mode == 'd' then
    debt = math.max(debt, math.min(debt + cost * ticks, bound + ticks))
  elseif cost == 0 or debt == 0 then
    return
  else
    debt = math.max(0, debt - cost * ticks)
  end

  local after = struct.pack('<BI7I5I7', 107, time + math.floor(debt / units), debt % units, time)
  local idle = time + math.ceil(debt / units)
  if mode == 't' then
    return verdict, remaining, retry, reset, delay, after, idle
  end
  return after, idle
end
