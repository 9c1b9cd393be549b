-- Calls with a lease, or about buckets of leases: a lease is one more charge of the decision that many.lua makes, all or
-- none. Put together at build as keep + every algorithm + leases + several + this + lease_calls + many, so that calls
-- without leases have a script without them. Reservations have reservations.lua instead of lease_calls.
--
-- KEYS     as in many.lua
-- ARGV     as in many.lua, with the algorithm 7 for leases and three actions more: n renew a lease, e end it, l list the
--          leases. At the end five of the lease: id (16 bytes; '' if the call is about none, and then leases are only
--          checked), ttl in microseconds, 1 if a client made the id (p then tells of its lease), token (its own; for t and s one that the next is to
--          exceed), the last expiry that its holder knows
-- Answer   as in many.lua; then four numbers: what was found or made of the lease (weir::HoldState), its token, its
--          expiry, and the moment of this call; for l also five for each lease: index of the bucket from 0, id, units,
--          token, expiry
local kTaken, kLive, kGone, kEnded, kOther = 1, 2, 3, 4, 5
local kMostListed = 1001
local hold_args = #ARGV - 5
local id, ttl, named = ARGV[hold_args + 1], ARGV[hold_args + 2] + 0, ARGV[hold_args + 3] == '1'
local own_token, own_expires = ARGV[hold_args + 4] + 0, ARGV[hold_args + 5] + 0
local holds = takes and id ~= ''
local leased, token = {}, 0

for i = 1, #KEYS do
  if ARGV[6 * i - 3] == '7' then
    local bucket = leases_of(states[i], KEYS[i], now)
    if bucket.held > 0 and now >= bucket.next then
      scan_leases(bucket, now)
      keep_leases(bucket, now)
    end
    states[i], leased[#leased + 1] = bucket, i
    token = math.max(token, now, bucket.token + 1)
  end
end
token = math.max(token, own_token)

-- One that is taken again is kept after its end, so that older handles of it do not take it once more.
local function lease_of(units, again)
  return { id = id, expires = now + ttl, token = token, units = units, ttl = (named or again) and ttl or 0 }
end

-- A client may use its id again for another lease once the first is forgotten, which is not before the first would have
-- lapsed. A handle of the first must not reach that one. A larger token from an earlier time is of the same lease, which
-- was taken again after the server had lost it.
local function is_own(bucket, at)
  local _, known, units = lease_at(bucket, at)
  return units > 0 and (not named or own_token == 0 or known <= own_token or known < own_expires)
end

algorithms[7] = function(bucket, mode, _, cost, limit)
  bucket = bucket or leases_of(false)
  if mode == 'u' then
    local at = find_lease(bucket, id)
    if at then
      local _, known, units = lease_at(bucket, at)
      if units > 0 and known == own_token then
        end_lease(bucket, at, id, now, true)
        keep_leases(bucket, now)
      end
    end
  end
  if mode ~= 't' then
    return
  end
  local verdict, remaining, retry, reset = judge_leases(bucket, now, cost, limit, holds)
  if not holds or verdict ~= 1 or cost == 0 then
    return verdict, remaining, retry, reset, 0
  end
  local with = {}
  for name, value in pairs(bucket) do
    with[name] = value
  end
  add_lease(with, lease_of(cost), now)
  reset = math.max(reset, ttl)
  return verdict, remaining, retry, reset, 0, packed_leases(with), with.idle, now
end

-- The answer: what is left, with nothing taken.
local function described()
  local answer = {}
  for i = 1, #KEYS do
    local verdict, remaining, retry, reset, delay = run(i, 't', 0)
    local numbers = { verdict, remaining, retry, reset, delay, remaining, reset, now }
    for k = 1, width do
      answer[#answer + 1] = numbers[k]
    end
  end
  return answer
end

local function with_hold(answer, state, given, expires)
  for _, number in ipairs({ state, given, expires, now }) do
    answer[#answer + 1] = number
  end
  return answer
end

-- What is known here of the lease: whether it is gone for good, in a bucket that binds; whether one that the server has
-- lost can be taken again, and in which buckets; its largest token.
local function examine_leases()
  local gone, lost, again, known = false, false, {}, own_token
  for _, i in ipairs(leased) do
    local bucket, at = states[i], find_lease(states[i], id)
    if at and is_own(bucket, at) then
      local _, given = lease_at(bucket, at)
      known = math.max(known, given)
    else
      -- It was released or lapsed, unless all that the bucket knows is younger than the lease.
      local younger = bucket.since == 0 or bucket.since > own_token
      again[i] = not at and younger and now < own_expires
        and judge_leases(bucket, now, ARGV[6 * i - 1] + 0, ARGV[6 * i] + 0, true) == 1
      gone = gone or (ARGV[6 * i - 2] % 2 == 1 and not again[i])
      lost = lost or again[i]
    end
  end
  return gone, lost, again, known
end

local function renew_leases(again)
  for _, i in ipairs(leased) do
    local bucket = states[i]
    local at = find_lease(bucket, id)
    if again[i] then
      add_lease(bucket, lease_of(ARGV[6 * i - 1] + 0, true), now)
      keep_leases(bucket, now)
    elseif at and is_own(bucket, at) then
      renew_lease(bucket, at, id, token, now + ttl, ttl)
      keep_leases(bucket, now)
    end
  end
end

-- True: it was there.
local function end_leases()
  local ended = false
  for _, i in ipairs(leased) do
    local at = find_lease(states[i], id)
    if at and is_own(states[i], at) then
      end_lease(states[i], at, id, now)
      keep_leases(states[i], now)
      ended = true
    end
  end
  return ended
end
