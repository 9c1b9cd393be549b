-- The buckets of a call about several: what many.lua, leases and reservations begin with. Before it the build puts how
-- many numbers the answer has about a lease or a reservation, `hold_numbers`.
local action, now = ARGV[1], moment(ARGV[2])
local states, any_held = redis.call('MGET', unpack(KEYS)), false
for i = 1, #KEYS do
  -- MGET passes over keys of another type, which must not be taken for empty buckets; GET fails on them.
  states[i] = states[i] or redis.call('GET', KEYS[i])
  any_held = any_held or (states[i] and states[i]:byte() == 72)
end
local takes = action == 't' or action == 's'
local width = (action == 's' or action == 'm') and 8 or 5

-- A bucket that is to be charged only if it exists, and does not: nothing is charged.
local function is_newcomer(i)
  return not states[i] and ARGV[6 * i - 2] % 8 >= 4
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
  for i = 1, hold_numbers do
    verdicts[#verdicts + 1] = i == 4 and now or 0
  end
  return verdicts
end

local function run(i, mode, cost)
  local at = 6 * i - 3
  return algorithms[ARGV[at] + 0](states[i], mode, now, cost or ARGV[at + 2] + 0, ARGV[at + 3] + 0, ARGV[at + 4] + 0,
    ARGV[at + 5] + 0, (mode == 'u' or mode == 'b') and ARGV[2 + 6 * #KEYS + i] + 0)
end

if any_held then
  HELD_FUNCTIONS
  for i = 1, #KEYS do
    local at = 6 * i - 3
    local letter = letters[ARGV[at] + 0]
    if letter then
      states[i] = lapsed_held(KEYS[i], states[i], algorithms[ARGV[at] + 0], letter, now, ARGV[at + 3] + 0,
        ARGV[at + 4] + 0, ARGV[at + 5] + 0)
    end
  end
  for number, letter in pairs(letters) do
    algorithms[number] = with_held(algorithms[number], letter)
  end
end
