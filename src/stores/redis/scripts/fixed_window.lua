-- Fixed window: the arithmetic of src/algorithms/fixed_window.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'F', units taken in the window of the last change (5 bytes), time
--          of the last change in microseconds (7).
-- ARGV     of a charge: … cost, limit, window in microseconds, 0
local function fixed_window(state, mode, now, cost, limit, window, buckets, extra)
  local used, last, idle_now, _ = 0, 0
  if state and state:byte() == 70 and #state == 20 then
    _, used, last, idle_now = struct.unpack('<BI5I7I7', state)
    if idle_now <= now then
      used, last, idle_now = 0, 0, nil
    end
  elseif state then
    other(state, 70)
  end
  local time = math.max(now, last)
  local start = time - time % window
  if last < start then
    used = 0
  end

  local verdict, remaining, retry, reset, beyond = 1, 0, 0, 0
  if mode == 'm' then
    return time
  elseif mode == 'c' then
    return extra >= start and used or 0
  elseif mode == 't' then
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
      if idle_now then
        retry, reset = math.min(retry, idle_now - now), math.min(reset, idle_now - now)
      end
      return verdict, remaining, retry, reset, 0
    end
  elseif mode == 'd' then
    used = math.max(used, math.min(used + cost, limit))
  elseif mode == 'b' then
    beyond = math.max(0, math.min(math.min(limit + extra, 1000000000000) - used, cost))
    if beyond == 0 then
      return nil, nil, 0
    end
    used = used + beyond
  elseif mode ~= 'i' and (cost == 0 or used == 0 or (mode == 'u' and extra < start)) then
    return
  elseif mode ~= 'i' then
    used = math.max(0, used - cost)
  end

  local idle = time
  if used > 0 then
    idle = start + window
  end
  if mode == 'i' then
    return idle
  end
  local after = struct.pack('<BI5I7I7', 70, used, time, idle)
  if mode == 't' then
    return verdict, remaining, retry, reset, 0, after, idle, time
  end
  return after, idle, beyond
end
