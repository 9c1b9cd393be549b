-- Different values of a subject: the arithmetic of src/algorithms/distinct_values.cc on one string.
--
-- KEYS[i]  the bucket. Its value: 'D', time of the last change in microseconds (7 bytes), for each value its hash (7) and
--          when it expires (7), and as in every value the moment from which it is idle (7).
-- ARGV     of a charge: 10, flags, cost, limit, window in microseconds, the value's hash * 2 (+ 1: it expires one window
--          after it was last seen; else at the end of the window)
-- Undo and refund never remove a value.
algorithms[10] = function(state, mode, now, cost, limit, window, packed)
  if mode ~= 't' then
    return
  end
  local value, last, body = math.floor(packed / 2), 0, ''
  if state and state:byte() == 68 and #state % 14 == 1 then
    last, body = struct.unpack('<I7', state, 2), state:sub(9, -8)
  elseif state then
    other(state, 68)
  end
  local time = math.max(now, last)
  local expiry = packed % 2 == 1 and time + window or time - time % window + window
  local kept, expiries, known, latest = {}, {}, false, 0
  for at = 1, #body, 14 do
    local each, ends = struct.unpack('<I7I7', body, at)
    if ends > time then
      expiries[#expiries + 1] = ends
      latest = math.max(latest, ends)
      if each == value then
        known, ends = true, math.max(ends, expiry)
      end
      kept[#kept + 1] = struct.pack('<I7I7', each, ends)
    end
  end
  local count, retry = #expiries, 0
  if cost > 0 and limit == 0 then
    return 2, 0, 0, count > 0 and latest - now or 0, 0
  elseif cost > 0 and not known and count >= limit then
    table.sort(expiries)
    retry = expiries[count - limit + 1] - now
    return 0, 0, retry, latest - now, 0
  elseif cost == 0 then
    return 1, math.max(0, limit - count), 0, count > 0 and latest - now or 0, 0
  end
  if not known then
    kept[#kept + 1] = struct.pack('<I7I7', value, expiry)
    count = count + 1
  end
  latest = math.max(latest, expiry)
  local after = struct.pack('<BI7', 68, time) .. table.concat(kept) .. struct.pack('<I7', latest)
  return 1, math.max(0, limit - count), 0, latest - now, 0, after, latest, time
end

-- The bucket with the values that the call adds to it before this one: those of a group may be different.
local function with_values_before(i, after)
  for k = i - 1, 1, -1 do
    if after[k] and KEYS[k] == KEYS[i] then
      return after[k]
    end
  end
  return states[i]
end
