-- Fixed window: the arithmetic of src/algorithms/fixed_window.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'f', then little-endian: units taken in the window of the last change (5 bytes), time
--          of the last change in microseconds (7).
-- ARGV     of a charge: … cost, limit, window in microseconds, 0
local function fixed_window(state, mode, now, cost, limit, window, _, charged_at)
  local used, last, tag = 0, 0
  if state and #state == 13 and state:byte() == 102 then
    tag, used, last = struct.unpack('<BI5I7', state)
  end
  local time = math.max(now, last)
  local start = time - time % window
  if last < start then
    used = 0
  end

  local verdict, remaining, retry, reset = 1, 0, 0, 0
  if mode == 't' then
    if cost > limit then
      verdict = 2
    elseif used + cost <= limit then
      used = used + cost
    elseif cost > 0 then
      verdict = 0
      retry = start + window - now
    end
    remaining = math.max(0, limit - used)
    if used > 0 then
      reset = start + window - now
    end
    if verdict ~= 1 or cost == 0 then
      return verdict, remaining, retry, reset, 0
    end
  elseif mode == 'd' then
    used = math.max(used, math.min(used + cost, limit))
  elseif cost == 0 or used == 0 or (mode == 'u' and charged_at < start) then
    return
  else
    used = math.max(0, used - cost)
  end

  local after = struct.pack('<BI5I7', 102, used, time)
  local idle = time
  if used > 0 then
    idle = start + window
  end
  if mode == 't' then
    return verdict, remaining, retry, reset, 0, after, idle, time
  end
  return after, idle
end
