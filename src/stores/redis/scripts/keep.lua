-- What all scripts share: writing a bucket, telling whose it is, and the moment of the call.
--
-- A bucket's value is one string: a letter for its algorithm, the algorithm's own numbers, and in the last 7 bytes the
-- moment in microseconds from which the bucket is idle, that is, as good as new. Numbers are little-endian. The capital
-- letters are the second format; small letters were the first, which said less, and count as empty.
--
-- An idle bucket is empty for every allowance, so that it makes no difference whether its key is still there. And
-- whatever charged it, no one waits longer than until then.

-- Writes a bucket together with its time to live: until it is idle, and a second of grace, so that a clock which lags
-- behind by less cannot find a used-up bucket gone.
local function keep(key, state, idle, now)
  redis.call('SET', key, state, 'PX', math.max(0, math.ceil((idle - now) / 1000)) + 1000)
end

-- For a value that is not a whole bucket of the algorithm with this letter: one of another algorithm is empty for it,
-- anything else is an error.
local function other(state, letter)
  local found = state:byte()
  if found == letter or #state < 13 or not string.find('FBLCTGKSPfblctgk', string.char(found), 1, true) then
    error({ err = 'BADSTATE a key of Weir holds a value that Weir did not write' })
  end
end

-- The moment of this call: as given, or Redis's own time.
local function moment(given)
  if given ~= '' then
    return given + 0
  end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
