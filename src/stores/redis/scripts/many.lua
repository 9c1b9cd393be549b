-- Several charges of one decision, all or none. Put together at build with keep.lua, every algorithm, which are in
-- `algorithms` by their number in weir::Algorithm (their letters are in `letters`), and several.lua; the build also adds
-- how it answers.
--
-- KEYS     the buckets
-- ARGV     action: t take, p peek, r refund, x reset, s take as a share of a decision that spans slots, u undo such a
--          share; now in microseconds, '' for Redis's TIME; then for each bucket six: algorithm, flags (1 binding, 2 a
--          denied attempt counts, 4 only if the bucket exists, 8 it counts as a debt), cost, three numbers of the
--          allowance; then, for u, for each bucket the moment at which it was charged; for t and s, if any has the flag 8,
--          the overdraft of each
-- Answer   for each bucket five numbers as in one.lua; for s eight, with what remaining and reset_after are without this
--          charge, and the moment at which it was charged by the bucket's own time (of a reservation, 0 where nothing was)
local answer, after, idle, time, admitted = {}, {}, {}, {}, true

local function answer_with(i, ...)
  for k = 1, 5 do
    answer[width * (i - 1) + k] = select(k, ...)
  end
end

for i = 1, #KEYS do
  local cost
  if action == 'r' or action == 'u' then
    local state, until_idle = run(i, action)
    if state then
      keep(KEYS[i], state, until_idle, now)
      states[i] = state
    end
    cost = 0
  elseif action == 'x' then
    redis.call('DEL', KEYS[i])
    states[i], cost = false, 0
  end
  local verdict, remaining, retry, reset, delay
  verdict, remaining, retry, reset, delay, after[i], idle[i], time[i] = run(i, 't', cost)
  answer_with(i, verdict, remaining, retry, reset, delay)
  if verdict ~= 1 and ARGV[6 * i - 2] % 2 == 1 then
    admitted = false
  end
end

for i = 1, #KEYS do
  local place = width * (i - 1)
  if after[i] and (width == 8 or not takes or not admitted) then
    local _, remaining, _, reset = run(i, 't', 0)
    if width == 8 then
      answer[place + 6], answer[place + 7] = remaining, reset
    end
    if not takes or not admitted then
      answer[place + 2], answer[place + 4] = remaining, reset
    end
  elseif width == 8 then
    answer[place + 6], answer[place + 7] = answer[place + 2], answer[place + 4]
  end
  if width == 8 then
    answer[place + 8] = time[i] or hold_numbers < 10 and now or 0
  end
  if after[i] and takes and admitted then
    keep(KEYS[i], after[i], idle[i], now)
  elseif takes and answer[place + 1] ~= 1 and answer[place + 1] ~= 4 and ARGV[6 * i - 2] % 4 >= 2 then
    local as_debt = hold_numbers < 10 and ARGV[6 * i - 2] % 16 >= 8
    local state, until_idle = run(i, as_debt and 'b' or 'd')
    if state then
      keep(KEYS[i], state, until_idle, now)
      states[i] = state
    end
    answer_with(i, run(i, 't'))
  end
end
