-- What all scripts share: writing a bucket, telling whose it is, and the moment of the call.
--
-- A bucket's value is one string: a letter for its algorithm, the algorithm's own numbers, and in the last 7 bytes the
-- moment in microseconds from which the bucket is idle, that is, full again. Numbers are little-endian. The capital
-- letters are the second format; small letters were the first, which said less, and count as empty.
--
-- An idle bucket is empty for every allowance, so that it makes no difference whether its key is still there. And
-- whatever charged it, no one waits longer than until then.
--
-- An algorithm is a function (state, mode, now, cost, three numbers of the allowance, extra). Modes:
--   t  what the bucket answers to the cost, as one.lua says; then, if it is charged, the state after it, the moment from
--      which that is idle, and the moment of the charge by the bucket's own time
--   d  a denied attempt that counts; r refund; u undo of what was charged at `extra`, nowhere else; g the same of a
--      reservation. All: the state after it and its idle moment, or nothing if it does not change
--   b  charge work that has been done, up to `extra` units beyond the capacity: as d, and what was charged
--   c  units that still count where something charged at `extra` was counted, as weir::algorithms::counted()
--   i  with a `now` of 0: the moment from which the bucket is idle by these numbers
--   m  the moment of the call by the bucket's own time
--   f  of a debt: makes it at least the cost; as d

-- Writes a bucket together with its time to live: until it is idle, and a second of grace, so that a clock which lags
-- behind by less cannot find a used-up bucket gone.
local function keep(key, state, idle, now)
  redis.call('SET', key, state, 'PX', math.max(0, math.ceil((idle - now) / 1000)) + 1000)
end

-- For a value that is not a whole bucket of the algorithm with this letter: one of another algorithm is empty for it,
-- anything else is an error.
local function other(state, letter)
  local found = state:byte()
  if found == letter or #state < 13 or not string.find('FBLCTGKSHPDfblctgk', string.char(found), 1, true) then
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
