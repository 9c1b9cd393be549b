-- Several charges of one decision, all or none. Put together at build with keep.lua, every algorithm, which are in
-- `algorithms` by their number in weir::Algorithm (their letters are in `letters`), several.lua and penalties.lua; the
-- build also adds how it answers.
--
-- KEYS     the buckets
-- ARGV     action: t take, p peek, r refund, x reset, s take as a share of a decision that spans slots, u undo such a
--          share, w and y reports of a failure and of a success, which charge nothing (y clears what has a cost); now in
--          microseconds, '' for Redis's TIME; then for each bucket six: algorithm, flags (1 binding, 2 a
--          denied attempt counts, 4 only if the bucket exists, 8 it counts as a debt, 32 a candidate of the bucket at
--          flags / 64), cost, three numbers of the allowance; then, for u, for
--          each bucket the moment at which it was charged; for t and s, if any has the flag 8, the overdraft of each
-- Answer   for each bucket five numbers as in one.lua, with a verdict of 5 if its penalty refuses and of 6 if it asks for a
--          challenge; for s eight, with what remaining and reset_after are without this charge, and the moment at which
--          it was charged by the bucket's own time (of a reservation, 0 where nothing was)
local answer, after, idle, time, admitted = {}, {}, {}, {}, true
local denials, denier, refused = 0, 0, {}

local penalties = {}
for i = 1, #KEYS do
  if ARGV[6 * i - 3] == '9' then
    penalties[i] = open_penalty(i)
  end
end

local function answer_with(i, ...)
  for k = 1, 5 do
    answer[width * (i - 1) + k] = select(k, ...)
  end
end

-- A candidate is also charged in a call that nothing denies but the bucket that it belongs to.
local function is_charged(i)
  local flags = ARGV[6 * i - 2] + 0
  if flags % 64 < 32 then
    return admitted
  end
  local of = math.floor(flags / 64)
  return not refused[of] and (admitted or (denials == 1 and denier == of))
end

for i = 1, #KEYS do
  local cost
  if ARGV[6 * i - 3] == '10' then
    states[i] = with_values_before(i, after)
  end
  if action == 'r' or action == 'u' then
    local state, until_idle = run(i, action)
    if state then
      keep(KEYS[i], state, until_idle, now)
      states[i] = state
    end
    cost = 0
  elseif action == 'x' or (action == 'y' and ARGV[6 * i - 1] + 0 > 0) then
    redis.call('DEL', KEYS[i])
    states[i], cost = false, 0
  end
  local verdict, remaining, retry, reset, delay
  verdict, remaining, retry, reset, delay, after[i], idle[i], time[i] = run(i, 't', cost)
  answer_with(i, verdict, remaining, retry, reset, delay)
  if verdict ~= 1 and ARGV[6 * i - 2] % 2 == 1 then
    admitted, denials, denier = false, denials + 1, i
  end
end

-- A penalty refuses whatever its bucket has left.
local function penalize(p)
  if p.ends <= now then
    return
  end
  local place = width * (p.of - 1)
  if answer[place + 1] == 1 then
    local _, remaining, _, reset = run(p.of, 't', 0)
    answer[place + 2], answer[place + 3], answer[place + 4] = remaining, 0, reset
  end
  local retry = math.max(p.ends - now, answer[place + 3])
  answer[place + 1] = p.step <= p.challenges and 6 or 5
  answer[place + 3], answer[place + 4], answer[place + 5] = retry, math.max(answer[place + 4], retry), 0
  after[p.of], refused[p.of] = nil, true
  if ARGV[6 * p.of - 2] % 2 == 1 then
    admitted, denials = false, denials + 1
  end
end

for i, p in pairs(penalties) do
  if action == 'w' or action == 'y' then
    report_to_penalty(i, p)
  end
  if action ~= 'r' and action ~= 'x' and action ~= 'u' then
    penalize(p)
  end
end

for i = 1, #KEYS do
  local place, charged = width * (i - 1), takes and is_charged(i)
  if after[i] and (width == 8 or not charged) then
    local _, remaining, _, reset = run(i, 't', 0)
    if width == 8 then
      answer[place + 6], answer[place + 7] = remaining, reset
    end
    if not charged then
      answer[place + 2], answer[place + 4] = remaining, reset
    end
  elseif width == 8 then
    answer[place + 6], answer[place + 7] = answer[place + 2], answer[place + 4]
  end
  if width == 8 then
    answer[place + 8] = time[i] or hold_numbers < 10 and now or 0
  end
  if after[i] and charged then
    keep(KEYS[i], after[i], idle[i], now)
  elseif takes and (answer[place + 1] == 0 or answer[place + 1] == 2) and ARGV[6 * i - 2] % 4 >= 2 then
    local as_debt = hold_numbers < 10 and ARGV[6 * i - 2] % 16 >= 8
    local state, until_idle, charged = run(i, as_debt and 'b' or 'd')
    if state then
      keep(KEYS[i], state, until_idle, now)
      states[i] = state
    end
    answer_with(i, run(i, 't'))
    answer[place + 5] = as_debt and ARGV[6 * i - 1] - (state and charged or 0) or 0
  end
end

-- Denials by a bucket that a wait could help are strikes.
for i, p in pairs(penalties) do
  if takes and p.on % 2 == 1 and answer[width * (p.of - 1) + 1] == 0 then
    strike(i, p)
    penalize(p)
  end
end
