-- Penalties: the arithmetic of src/algorithms/penalty.cc on one string. A penalty is a key of its own beside the bucket
-- that it belongs to, instead of an algorithm's bucket.
--
-- KEYS[i]  the penalty. Its value: 'P', when the last one ends in microseconds (7 bytes), when the first strike that
--          counts came (7), strikes (2), step (1), and as in every value the moment from which it is idle (7).
-- ARGV     of a charge: 9, flags, 0, and three numbers:
--          position of its bucket in KEYS + 64 * (after + 1024 * (factor + 128 * (challenges + 64 * on))), where `on` is 1
--          if denials count, 2 if reports do, 3 if both; within in seconds * 2^22 + decay; block * 2^22 + longest
local kRange = 4194304

-- In the place of an algorithm: it answers nothing by itself.
algorithms[9] = function(_, mode)
  if mode == 't' then
    return 1, 0, 0, 0, 0
  end
end

-- The penalty of a key as a table, by the time of this call.
local function open_penalty(i)
  local at = 6 * i - 3
  local packed, times, lengths = ARGV[at + 3] + 0, ARGV[at + 4] + 0, ARGV[at + 5] + 0
  local rest = math.floor(packed / 64)
  local p = { of = packed % 64, after = rest % 1024, ends = 0, first = 0, strikes = 0, step = 0 }
  rest = math.floor(rest / 1024)
  p.factor, rest = rest % 128, math.floor(rest / 128)
  p.challenges, p.on = rest % 64, math.floor(rest / 64)
  p.within, p.decay = math.floor(times / kRange) * 1000000, times % kRange * 1000000
  p.block, p.longest = math.floor(lengths / kRange) * 1000000, lengths % kRange * 1000000
  local state = states[i]
  if state and state:byte() == 80 and #state == 25 then
    local _, idle
    _, p.ends, p.first, p.strikes, p.step, idle = struct.unpack('<BI7I7I2BI7', state)
    if idle <= now then
      p.ends, p.first, p.strikes, p.step = 0, 0, 0, 0
    end
    p.strikes = math.min(p.strikes, p.after)
  elseif state then
    other(state, 80)
  end
  return p
end

-- Takes back steps and strikes that are over.
local function advance_penalty(p)
  local quiet = now - math.max(p.ends, p.first)
  if quiet > 0 then
    p.step = math.max(0, p.step - math.floor(quiet / p.decay))
  end
  if now - p.first >= p.within then
    p.strikes, p.first = 0, 0
  end
end

local function keep_penalty(i, p)
  local idle = p.ends
  if p.strikes > 0 then
    idle = math.max(idle, p.first + p.within)
  end
  if p.step > 0 then
    idle = math.max(idle, math.max(p.ends, p.first) + p.step * p.decay)
  end
  local state = struct.pack('<BI7I7I2BI7', 80, p.ends, p.first, p.strikes, p.step, idle)
  keep(KEYS[i], state, idle, now)
  states[i] = state
end

local function strike(i, p)
  advance_penalty(p)
  if p.strikes == 0 then
    p.first = now
  end
  p.strikes = p.strikes + 1
  if p.strikes >= p.after then
    p.step = math.min(p.step + 1, 60)
    local length, times = p.block, 1
    while times < p.step and length < p.longest do
      length, times = length * p.factor, times + 1
    end
    p.ends = now + math.min(length, p.longest)
    p.strikes, p.first = 0, 0
  end
  keep_penalty(i, p)
end

local function report_to_penalty(i, p)
  if p.on < 2 then
    return
  elseif action == 'w' then
    if p.ends <= now then
      strike(i, p)
    end
  elseif states[i] then
    local challenge = p.ends > now and p.step <= p.challenges
    local refused = p.ends > now and not challenge
    advance_penalty(p)
    p.strikes, p.first = 0, 0
    if not refused then
      p.ends = p.step == 0 and 0 or now
    end
    keep_penalty(i, p)
  end
end
