-- The buckets of a call about several: what many.lua and holds.lua begin with.
local action, now = ARGV[1], moment(ARGV[2])
local states = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  -- MGET passes over keys of another type, which must not be taken for empty buckets; GET fails on them.
  states[i] = states[i] or redis.call('GET', KEYS[i])
end
local takes = action == 't' or action == 's'
local width = action == 's' and 8 or 5

local function run(i, mode, cost)
  local at = 6 * i - 3
  return algorithms[ARGV[at] + 0](states[i], mode, now, cost or ARGV[at + 2] + 0, ARGV[at + 3] + 0, ARGV[at + 4] + 0,
    ARGV[at + 5] + 0, mode == 'u' and ARGV[2 + 6 * #KEYS + i] + 0)
end
