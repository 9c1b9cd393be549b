-- The debt of token-bucket, gcra and leaky-bucket: the arithmetic of src/algorithms/debt.h.
--
-- Value: the algorithm's letter, whole units owed (6 bytes), the rest of the debt in 1/ticks of a unit (7), those ticks
-- (7), time of the last change in microseconds (7).

-- Units and rest that are owed now, in 1/ticks of a unit; the bucket's time; the moment from which it is idle.
local function debt_at(state, letter, now, units, ticks)
  if not state then
    return 0, 0, now
  elseif state:byte() ~= letter or #state ~= 35 then
    other(state, letter)
    return 0, 0, now
  end
  local _, owed, rest, old_ticks, last, idle = struct.unpack('<BI6I7I7I7I7', state)
  if idle <= now then
    return 0, 0, now
  end
  local time = math.max(now, last)
  if old_ticks ~= ticks and rest > 0 then
    -- Other numbers count the rest in other ticks; it is rounded up.
    local converted, more = multiply_divide(rest, ticks, old_ticks)
    rest = more > 0 and converted + 1 or converted
    if rest == ticks then
      owed, rest = owed + 1, 0
    end
  end
  local elapsed = time - last
  local repaid, part = elapsed * units, 0
  if repaid < ticks then
    repaid, part = 0, repaid
  elseif repaid / ticks > owed + 2 then
    return 0, 0, time, idle
  else
    repaid, part = multiply_divide(units, elapsed, ticks)
  end
  owed, rest = owed - repaid, rest - part
  if rest < 0 then
    owed, rest = owed - 1, rest + ticks
  end
  if owed < 0 then
    return 0, 0, time, idle
  end
  return owed, rest, time, idle
end

-- How long the rate takes to repay so many units and the rest, rounded up; waits are exact up to 2^52 microseconds.
local function ticks_to_repay(owed, rest, units, ticks)
  local debt = owed * ticks + rest
  if debt < 4503599627370496 then
    return math.ceil(debt / units)
  elseif debt / units >= 4503599627370496 then
    return 4503599627370496
  end
  local whole, part = multiply_divide(owed, ticks, units)
  return math.min(whole + math.ceil((part + rest) / units), 4503599627370496)
end

-- The modes other than 't', as keep.lua says. `most`: the capacity; `overdraft`: of mode 'b'.
local function change_debt(letter, mode, cost, owed, rest, most, units, ticks, time, overdraft)
  local beyond
  if mode == 'c' then
    return owed
  elseif mode == 'm' then
    return time
  elseif mode == 'f' then
    if owed >= cost then
      return
    end
    owed, rest = cost, 0
  elseif mode == 'i' then
    return time + ticks_to_repay(owed, rest, units, ticks)
  elseif mode == 'b' then
    beyond = math.max(0, math.min(most + overdraft - owed - (rest > 0 and 1 or 0), cost))
    if beyond == 0 then
      return nil, nil, 0
    end
    owed = owed + beyond
  elseif mode == 'd' then
    if owed < most then
      owed, rest = most, 0
    end
  elseif cost == 0 or (owed == 0 and rest == 0) then
    return
  elseif owed < cost then
    owed, rest = 0, 0
  else
    owed = owed - cost
  end
  local idle = time + ticks_to_repay(owed, rest, units, ticks)
  return struct.pack('<BI6I7I7I7I7', letter, owed, rest, ticks, time, idle), idle, beyond
end
