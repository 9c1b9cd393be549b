-- The buckets of a call about several: what many.lua and holds.lua begin with.
local action, now = ARGV[1], moment(ARGV[2])
local states = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  -- MGET passes over keys of another type, which must not be taken for empty buckets; GET fails on them.
  states[i] = states[i] or redis.call('GET', KEYS[i])
end
local takes = action == 't' or action == 's'
local width = action == 's' and 8 or 5

-- A bucket that is to be charged only if it exists, and does not: nothing is charged.
local function is_newcomer(i)
  return not states[i] and ARGV[6 * i - 2] + 0 >= 4
end
local newcomers = false
for i = 1, #KEYS do
  newcomers = newcomers or is_newcomer(i)
end
if newcomers and (takes or action == 'p' or action == 'r') then
  local verdicts = {}
  for i = 1, #KEYS do
    verdicts[#verdicts + 1] = is_newcomer(i) and 3 or 1
    for _ = 2, width do
      verdicts[#verdicts + 1] = 0
    end
  end
  -- Of a lease (holds.lua): there is none.
  if #ARGV > 2 + 6 * #KEYS then
    verdicts[#verdicts + 1], verdicts[#verdicts + 2], verdicts[#verdicts + 3], verdicts[#verdicts + 4] = 0, 0, 0, now
  end
  return verdicts
end

local function run(i, mode, cost)
  local at = 6 * i - 3
  return algorithms[ARGV[at] + 0](states[i], mode, now, cost or ARGV[at + 2] + 0, ARGV[at + 3] + 0, ARGV[at + 4] + 0,
    ARGV[at + 5] + 0, mode == 'u' and ARGV[2 + 6 * #KEYS + i] + 0)
end
