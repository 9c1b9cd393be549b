-- Bucketed window: the arithmetic of src/algorithms/bucketed_window.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'B', width of a sub-bucket in microseconds (7 bytes), number of
--          sub-buckets (2), time of the last change (7), then each sub-bucket's units (5), that of index i = time / width
--          at i % number.
-- ARGV     of a charge: … cost, limit, window in microseconds, buckets

-- The counters as the present rules divide the window. Those of another division count in the newest sub-bucket.
local function load_counters(state, now, width, number)
  local counts, last, idle_now = {}, 0
  local old_number = state and #state >= 24 and state:byte() == 66 and struct.unpack('<I2', state, 9)
  if old_number and #state == 24 + 5 * old_number then
    idle_now = struct.unpack('<I7', state, #state - 6)
  elseif state then
    other(state, 66)
  end
  if idle_now and idle_now <= now then
    idle_now = nil
  elseif idle_now then
    local _, old_width, _, time = struct.unpack('<BI7I2I7', state)
    last = time
    counts = { struct.unpack('<' .. string.rep('I5', old_number), state, 18) }
    if old_width == width and old_number == number then
      return counts, last, idle_now
    end
    local sum = 0
    for i = 1, old_number do
      sum = sum + counts[i]
    end
    counts = {}
    counts[math.floor(last / width) % number + 1] = math.min(sum, 1000000000000)
  end
  for i = 1, number do
    counts[i] = counts[i] or 0
  end
  return counts, last, idle_now
end

local function bucketed_window(state, mode, now, cost, limit, window, number, extra)
  local width = window / number
  local counts, last, idle_now = load_counters(state, now, width, number)
  local time = math.max(now, last)
  local newest, current = math.floor(last / width), math.floor(time / width)
  -- Sub-buckets that have begun since the last change are empty.
  for i = math.max(newest + 1, current - number + 1), current do
    counts[i % number + 1] = 0
  end
  local oldest, used, used_at = current - number + 1, 0
  for i = math.max(0, oldest), current do
    local count = counts[i % number + 1]
    if count > 0 then
      used, used_at = used + count, i
    end
  end

  local verdict, remaining, retry, reset, beyond = 1, 0, 0, 0
  if mode == 'm' then
    return time
  elseif mode == 'c' then
    local index = math.floor(extra / width)
    return index >= oldest and index <= newest and counts[index % number + 1] or 0
  elseif mode == 't' then
    if cost > limit then
      verdict = 2
    elseif cost > 0 and used + cost <= limit then
      used, used_at = used + cost, current
      counts[current % number + 1] = counts[current % number + 1] + cost
    elseif cost > 0 then
      verdict = 0
      local index, left = oldest, used
      while index < newest do
        left = left - (index < 0 and 0 or counts[index % number + 1])
        if left + cost <= limit then
          break
        end
        index = index + 1
      end
      retry = (index + number) * width - now
    end
    remaining = math.max(0, limit - used)
    if used > 0 then
      reset = (used_at + number) * width - now
    end
    if verdict ~= 1 or cost == 0 then
      if idle_now then
        retry, reset = math.min(retry, idle_now - now), math.min(reset, idle_now - now)
      end
      return verdict, remaining, retry, reset, 0
    end
  elseif mode == 'd' then
    local taken = math.min(math.max(limit - used, 0), cost)
    counts[current % number + 1] = counts[current % number + 1] + taken
    if taken > 0 then
      used_at = current
    end
  elseif mode == 'b' then
    beyond = math.max(0, math.min(math.min(limit + extra, 1000000000000) - used, cost))
    if beyond == 0 then
      return nil, nil, 0
    end
    counts[current % number + 1] = counts[current % number + 1] + beyond
    used_at = current
  elseif mode ~= 'i' and (cost == 0 or used == 0) then
    return
  elseif mode ~= 'i' then
    local from, to = newest, math.max(0, oldest)
    if mode ~= 'r' then
      -- Exactly where it was charged, or nowhere.
      from = math.floor(extra / width)
      to = math.max(from, to)
    end
    for i = from, to, -1 do
      local given = math.min(cost, counts[i % number + 1])
      counts[i % number + 1] = counts[i % number + 1] - given
      cost = cost - given
    end
    used_at = nil
    for i = math.max(0, oldest), current do
      if counts[i % number + 1] > 0 then
        used_at = i
      end
    end
  end

  local idle = time
  if used_at then
    idle = (used_at + number) * width
  end
  if mode == 'i' then
    return idle
  end
  local after = struct.pack('<BI7I2I7' .. string.rep('I5', number), 66, width, number, time, unpack(counts))
    .. struct.pack('<I7', idle)
  if mode == 't' then
    return verdict, remaining, retry, reset, 0, after, idle, time
  end
  return after, idle, beyond
end
