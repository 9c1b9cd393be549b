-- Sliding log: the arithmetic of src/algorithms/sliding_log.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'L', time of the last change in microseconds (7 bytes), sum of all
--          units (5); then entries in order of time: time (7), units (3). Units taken in one microsecond share an entry.
--          Only entries at the ends are ever read, so a long log costs little more than its copying.
-- ARGV     of a charge: … cost, limit, window in microseconds, 0
local function sliding_log(state, mode, now, cost, limit, window, buckets, extra)
  local last, sum, idle_now, _ = 0, 0
  if state and state:byte() == 76 and #state >= 20 and #state % 10 == 0 then
    idle_now = struct.unpack('<I7', state, #state - 6)
  elseif state then
    other(state, 76)
  end
  if idle_now and idle_now > now then
    _, last, sum = struct.unpack('<BI7I5', state)
  else
    state, idle_now = '                    '
  end
  -- Entries live at first, first + 10, … before stop, where the moment of being idle begins.
  local first, stop = 14, #state - 6
  local time = math.max(now, last)
  while first < stop do
    local at, units = struct.unpack('<I7I3', state, first)
    if at + window > time then
      break
    end
    sum, first = sum - units, first + 10
  end
  if first == stop then
    sum = 0
  end
  local newest, newest_units
  if first < stop then
    newest, newest_units = struct.unpack('<I7I3', state, stop - 10)
  end

  local verdict, remaining, retry, reset, added, beyond = 1, 0, 0, 0, 0
  if mode == 'm' then
    return time
  elseif mode == 'c' then
    -- The entry of that moment: entries are in order of time.
    local low, high = 0, (stop - first) / 10
    while low < high do
      local half = math.floor((low + high) / 2)
      if struct.unpack('<I7', state, first + 10 * half) < extra then
        low = half + 1
      else
        high = half
      end
    end
    local at, units = 0, 0
    if first + 10 * low < stop then
      at, units = struct.unpack('<I7I3', state, first + 10 * low)
    end
    return at == extra and units or 0
  elseif mode == 't' then
    local used = sum
    local leaves = (newest or time) + window
    if cost > limit then
      verdict = 2
    elseif cost > 0 and used + cost <= limit then
      used, leaves, added = used + cost, time + window, cost
    elseif cost > 0 then
      verdict = 0
      local entry, left = first, sum
      local at, units = struct.unpack('<I7I3', state, entry)
      while entry + 10 < stop do
        left = left - units
        if left + cost <= limit then
          break
        end
        entry = entry + 10
        at, units = struct.unpack('<I7I3', state, entry)
      end
      retry = math.max(0, at + window - now)
    end
    remaining = math.max(0, limit - used)
    if used > 0 then
      reset = math.max(0, leaves - now)
    end
    if added == 0 then
      if idle_now then
        retry, reset = math.min(retry, idle_now - now), math.min(reset, idle_now - now)
      end
      return verdict, remaining, retry, reset, 0
    end
  elseif mode == 'd' then
    -- What is left of the limit, which may be nothing.
    added = math.min(cost, math.max(0, limit - sum))
  elseif mode == 'b' then
    -- The most that one entry can hold is more than this.
    beyond = math.max(0, math.min(math.min(limit + extra, 16000000) - sum, cost))
    if beyond == 0 then
      return nil, nil, 0
    end
    added = beyond
  elseif mode ~= 'i' and (cost == 0 or first == stop) then
    return
  elseif mode ~= 'i' then
    -- Refund from the newest entries; undo exactly where it was charged, or nowhere.
    local tail, entry = '', stop
    while cost > 0 and entry > first do
      local at, units = struct.unpack('<I7I3', state, entry - 10)
      entry = entry - 10
      local given = 0
      if mode == 'r' or at == extra then
        given = math.min(units, cost)
        sum, cost = sum - given, cost - given
      elseif at < extra then
        cost = 0
      end
      if given < units then
        tail = struct.pack('<I7I3', at, units - given) .. tail
      end
    end
    state = state:sub(1, entry - 1) .. tail
    stop = #state + 1
    if first < stop then
      newest = struct.unpack('<I7', state, stop - 10)
    else
      newest = nil
    end
  end

  local ending = ''
  if added > 0 and newest == time then
    ending = struct.pack('<I7I3', time, newest_units + added)
    stop = stop - 10
  elseif added > 0 then
    ending = struct.pack('<I7I3', time, added)
    newest = time
  end
  local idle = time
  if newest then
    idle = math.max(time, newest + window)
  end
  if mode == 'i' then
    return idle
  end
  local after = struct.pack('<BI7I5', 76, time, math.max(0, sum + added)) .. state:sub(first, stop - 1) .. ending
    .. struct.pack('<I7', idle)
  if mode == 't' then
    return verdict, remaining, retry, reset, 0, after, idle, time
  end
  return after, idle, beyond
end
