-- Writes a bucket together with its time to live: until it is as good as new, and a second of grace, so that a clock
-- which lags behind by less cannot find a used-up bucket gone.
local function keep(key, state, idle, now)
  redis.call('SET', key, state, 'PX', math.max(0, math.ceil((idle - now) / 1000)) + 1000)
end

-- The moment of this call: as given, or Redis's own time.
local function moment(given)
  if given ~= '' then
    return given + 0
  end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
