-- Sliding counter: the arithmetic of src/algorithms/sliding_counter.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'C', units of the window of the last change (5 bytes), units of the
--          window before it (5), time of the last change in microseconds (7).
-- ARGV     of a charge: … cost, limit, window in microseconds, 0
local function sliding_counter(state, mode, now, cost, limit, window, buckets, extra)
  local current, previous, last, idle_now, _ = 0, 0, 0
  if state and state:byte() == 67 and #state == 25 then
    _, current, previous, last, idle_now = struct.unpack('<BI5I5I7I7', state)
    if idle_now <= now then
      current, previous, last, idle_now = 0, 0, 0, nil
    end
  elseif state then
    other(state, 67)
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
  if more > 0 then
    weighted = weighted + 1
  end
  local room = limit - current - weighted

  local verdict, retry, beyond = 1, 0
  if mode == 'm' then
    return time
  elseif mode == 'c' then
    if extra >= start then
      return current
    end
    return extra >= start - window and previous or 0
  elseif mode == 't' then
    if cost > limit then
      verdict = 2
    elseif cost <= room then
      current, room = current + cost, room - cost
    elseif cost > 0 then
      verdict = 0
      local free = limit - current - cost
      if free >= 0 then
        retry = finish - (multiply_divide(free, window, previous)) - now
      else
        retry = finish + window - (multiply_divide(limit - cost, window, current)) - now
      end
    end
  elseif mode == 'd' then
    current = current + math.min(math.max(room, 0), cost)
  elseif mode == 'b' then
    beyond = math.max(0, math.min(room + extra, 1000000000000 - current, cost))
    if beyond == 0 then
      return nil, nil, 0
    end
    current = current + beyond
  elseif mode == 'g' then
    -- In the window that it was counted in.
    if extra >= start then
      current = math.max(0, current - cost)
    else
      previous = math.max(0, previous - cost)
    end
  elseif mode ~= 'i' and (cost == 0 or (current == 0 and previous == 0) or (mode == 'u' and extra < start)) then
    return
  elseif mode ~= 'i' then
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
  if mode == 'i' then
    return idle
  elseif mode ~= 't' then
    return struct.pack('<BI5I5I7I7', 67, current, previous, time, idle), idle, beyond
  end
  local reset = 0
  if current > 0 or previous > 0 then
    reset = idle - now
  end
  if verdict ~= 1 or cost == 0 then
    if idle_now then
      retry, reset = math.min(retry, idle_now - now), math.min(reset, idle_now - now)
    end
    return verdict, math.max(0, room), retry, reset, 0
  end
  local after = struct.pack('<BI5I5I7I7', 67, current, previous, time, idle)
  return verdict, math.max(0, room), retry, reset, 0, after, idle, time
end
