-- One charge: the common decision. Put together at build with keep.lua, one algorithm, which is called `algorithm`, its
-- letter, held.lua, and draw.lua instead of DRAW.
--
-- KEYS[1]  the bucket
-- ARGV     action: t take, p peek, r refund, x reset, q draw; now in microseconds, '' for Redis's TIME; flags: 2 a
--          denied attempt counts, 4 only if the bucket exists; cost; three numbers of the allowance (see the algorithm);
--          where a denied attempt counts as a debt, the overdraft; of a draw, what draw.lua says
-- Answer   verdict (0 denied, 1 admitted, 2 the cost can never fit, 3 there is no bucket and nothing was charged),
--          remaining, retry_after, reset_after, delay; times in microseconds. Of a denied attempt that counts as a debt,
--          the last is the units beyond the overdraft; of a draw also what draw.lua says
local key, action = KEYS[1], ARGV[1]
local now = moment(ARGV[2])
local cost, a, b, c = ARGV[4] + 0, ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0
local state = redis.call('GET', key)
if not state and ARGV[3] + 0 >= 4 and action ~= 'x' then
  return action == 'q' and { 3, 0, 0, 0, 0, 0, 0, 0, 0 } or { 3, 0, 0, 0, 0 }
end
if state and state:byte() == 72 then
  HELD_FUNCTIONS
  state = lapsed_held(key, state, algorithm, ALGORITHM_LETTER, now, a, b, c)
  algorithm = with_held(algorithm, ALGORITHM_LETTER)
end

DRAW
if action == 'r' then
  local after, idle = algorithm(state, 'r', now, cost, a, b, c)
  if after then
    keep(key, after, idle, now)
    state = after
  end
  cost = 0
elseif action == 'x' then
  redis.call('DEL', key)
  state, cost = false, 0
end

local verdict, remaining, retry, reset, delay, after, idle = algorithm(state, 't', now, cost, a, b, c)
if after and action == 't' then
  keep(key, after, idle, now)
elseif after then
  local _
  _, remaining, _, reset = algorithm(state, 't', now, 0, a, b, c)
elseif verdict ~= 1 and action == 't' and ARGV[3] % 4 == 2 then
  local charged
  after, idle, charged = algorithm(state, ARGV[8] and 'b' or 'd', now, cost, a, b, c, ARGV[8] and ARGV[8] + 0)
  if after then
    keep(key, after, idle, now)
  end
  verdict, remaining, retry, reset = algorithm(after or state, 't', now, cost, a, b, c)
  delay = ARGV[8] and cost - (after and charged or 0) or 0
end
return { verdict, remaining, retry, reset, delay }
