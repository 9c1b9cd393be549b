-- A draw: units in advance, and units that were admitted before, as src/algorithms/draw.cc and weir/draw_step.h say. Part
-- of one.lua.
--
-- ARGV[8]  want, parts, floor, late, and the moment of what is late
-- Answer   after the numbers of one.lua: units granted, how long they last in microseconds (0: no window bounds them), and
--          the moment of the call by the bucket's own time, and 1 if there was a bucket, else 0
if action == 'q' then
  local want, parts, floor, late, late_at = ARGV[8] + 0, ARGV[9] + 0, ARGV[10] + 0, ARGV[11] + 0, ARGV[12] + 0
  local refills = ALGORITHM_LETTER == 84 or ALGORITHM_LETTER == 71
  local drawn = ALGORITHM_LETTER ~= 76 and ALGORITHM_LETTER ~= 75
  local existed = state and 1 or 0
  local width = c > 0 and b / c or b
  local time, idle, granted, lasts = algorithm(state, 'm', now, 0, a, b, c), nil, 0, 0
  if late > 0 and (refills or (ALGORITHM_LETTER == 70 and late_at >= time - time % width)) then
    local after, until_idle = algorithm(state, 'b', now, late, a, b, c, 1000000000000)
    if after then
      state, idle = after, until_idle
    end
  end
  local exceeds = refills and cost > 0 and cost + floor > a
  local verdict, remaining, retry, reset, delay, after, until_idle =
    algorithm(state, 't', now, exceeds and 0 or cost, a, b, c)
  if exceeds then
    verdict = 2
  elseif after then
    granted = cost
    if refills then
      state = algorithm(state, 'f', now, floor, a, b, c) or state
    elseif drawn then
      lasts = width - time % width
    end
    if drawn then
      local _, left = algorithm(state, 't', now, 0, a, b, c)
      granted = math.min(math.max(want, cost), math.max(cost, math.floor(left / parts)))
      verdict, remaining, retry, reset, delay, after, until_idle = algorithm(state, 't', now, granted, a, b, c)
    end
    state, idle = after, until_idle
  end
  if idle then
    keep(key, state, idle, now)
  end
  return { verdict, remaining, retry, reset, delay, granted, lasts, time, existed }
end
