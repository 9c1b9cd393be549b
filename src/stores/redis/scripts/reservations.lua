-- Calls about a reservation: what it takes is charged as many.lua does, all or none, and held in its buckets (held.lua) and
-- leases (holds.lua); its record, a key of its own, decides whether it is open. Put together at build as keep + every
-- algorithm + held + leases + several + holds + this + many + reserved.
--
-- KEYS     the buckets, and last the record, if it is in this slot
-- ARGV     as in many.lua, with the algorithm 7 for leases and 8 for the record, two flags more (8 the cost is the
--          reservation's amount, 16 an entry that lapses stays charged), and these actions: t reserve, s reserve as a share
--          of a call that spans slots, p what would be granted, n extend, m extend as such a share, u undo either share,
--          e close by the record, f follow a record that is closed, a write into the record what other slots answered,
--          l list, or, with the record, tell what is known of the reservation. After the six of each bucket its overdraft,
--          for each bucket; then ten: amount (f: what the record says was granted; a: returned), 1 if part of it will do,
--          the state that e and f close it with (weir::ReservationState), actual (a: debt; t, s: 1 + the amount that a known
--          reservation must have been made with, 0: any), 1 if f follows for the first
--          time; and the five of holds.lua (a: uncharged is the token; u: `expires` is what entries of the id have again)
-- Answer   as in many.lua, with the verdict 4 for a bucket that has as many reservations as it may; then ten numbers: the
--          four of holds.lua, state of the reservation, granted, actual, returned, debt, uncharged; for l also five for each
--          entry: index of the bucket from 0, id, units, reserved, expires
local kOpen, kCommitted, kExpired = 0, 1, 3
local kMostUnits, kCrowdedHint = 1000000000000, 1000000
local amount, partial = ARGV[hold_args - 4] + 0, ARGV[hold_args - 3] == '1'
local closing, actual, is_first = ARGV[hold_args - 2] + 0, ARGV[hold_args - 1] + 0, ARGV[hold_args] == '1'
local extends = action == 'n' or action == 'm'
local record_at, record

-- Value of a record: 'R', version of this format (1 byte: 1), state (1), granted (5), expires (7), token (7), ttl (5),
-- actual (5; while it is open, 1 if `granted` is the amount that its id was made with), returned (5), debt (5), uncharged (5), and the moment from which nothing is known of it (7).
local function record_of(state)
  if not state then
    return nil
  elseif #state ~= 54 or state:byte() ~= 82 or state:byte(2) ~= 1 then
    error({ err = 'BADSTATE a key of Weir holds a value that Weir did not write' })
  end
  local known, _ = {}
  _, _, known.state, known.granted, known.expires, known.token, known.ttl, known.actual, known.returned, known.debt,
    known.uncharged, known.idle = struct.unpack('<BBBI5I7I7I5I5I5I5I5I7', state)
  if known.state == kOpen then
    known.as_asked, known.actual = known.actual, 0
  end
  if known.idle <= now then
    return nil
  elseif known.state == kOpen and known.expires <= now then
    known.state = kExpired
  end
  return known
end

local function keep_record(known, idle)
  known.idle = idle
  local actual_or_flag = known.state == kOpen and known.as_asked or known.actual
  keep(KEYS[record_at], struct.pack('<BBBI5I7I7I5I5I5I5I5I7', 82, 1, known.state, known.granted, known.expires,
    known.token, known.ttl, actual_or_flag, known.returned, known.debt, known.uncharged, idle), idle, now)
end

-- Adds the ten numbers to an answer.
local function told(answer, state, known)
  known = known or {}
  for _, number in ipairs({ state, known.token or 0, known.expires or 0, now, known.state or kOpen, known.granted or 0,
    known.actual or 0, known.returned or 0, known.debt or 0, known.uncharged or 0 }) do
    answer[#answer + 1] = number
  end
  return answer
end

local function tell_record(known)
  return told(described(), known.state == kOpen and kLive or kGone, known)
end

for i = 1, #KEYS do
  if ARGV[6 * i - 3] == '8' then
    record_at, record = i, record_of(states[i])
  end
end

algorithms[8] = function(_, mode)
  if mode == 't' then
    return 1, 0, 0, 0, 0
  end
end

-- In a slot without the record, a call that is made again finds what it took before.
local may_be_known = action == 's' and not record_at
local take_lease = algorithms[7]
algorithms[7] = function(bucket, mode, at, cost, limit)
  if may_be_known and mode == 't' and cost > 0 and find_lease(bucket, id) then
    cost = 0
  end
  return take_lease(bucket, mode, at, cost, limit)
end

local function letter_of(i)
  return letters[ARGV[6 * i - 3] + 0]
end
local function has_flag(i, flag)
  return ARGV[6 * i - 2] % (2 * flag) >= flag
end
local function asks(i, held)
  local at = 6 * i - 3
  return asker(held, algorithms[ARGV[at] + 0], now, ARGV[at + 3] + 0, ARGV[at + 4] + 0, ARGV[at + 5] + 0)
end
-- An extension takes only what follows the amount.
local function cost_of(i)
  if has_flag(i, 8) then
    return amount
  end
  return extends and 0 or ARGV[6 * i - 1] + 0
end

-- The bucket as one that can have reservations.
local function opened(i, state)
  local letter = letter_of(i)
  local held = held_of(state, letter, now)
  if held then
    return held
  end
  local plain = state and state:byte() == letter and struct.unpack('<I7', state, #state - 6) > now and state
  return { letter = letter, level = kLevels[letter], count = 0, next = kNever, last = 0, inner = plain, ids = '',
    units = '', kept = '', lowest = '', reserved = '', expires = '' }
end

-- Of what was charged at `time`, if anything was.
local function add_entry(i, state, units, time, expires)
  local held = opened(i, state)
  local ask = asks(i, held)
  if units == 0 then
    time = now
    note_held(held, ask, now)
  end
  held.count = held.count + 1
  held.ids, held.units = held.ids .. id, held.units .. struct.pack('<I5', units)
  held.kept = held.kept .. (has_flag(i, 16) and '\1' or '\0')
  held.lowest = held.lowest .. struct.pack('<I6', ask('c', 0, time, time))
  held.reserved, held.expires = held.reserved .. struct.pack('<I7', time), held.expires .. struct.pack('<I7', expires)
  held.next, held.last = math.min(held.next, expires), math.max(held.last, expires)
  local whole, idle = packed_held(held, ask)
  return whole, idle, time
end

local new_expires = now + ttl
local run_plain = run
run = function(i, mode, cost)
  if cost or mode ~= 't' or not letter_of(i) then
    return run_plain(i, mode, cost or cost_of(i))
  end
  local held = held_of(states[i], letter_of(i), now)
  if held and may_be_known and #places_in(held, id) > 0 then
    return run_plain(i, 't', 0)
  end
  cost = cost_of(i)
  local verdict, remaining, retry, reset, delay, after, _, time = run_plain(i, 't', cost)
  if verdict ~= 1 or (cost == 0 and (extends or not has_flag(i, 8))) then
    return verdict, remaining, retry, reset, delay
  end
  if held and held.count >= kMostHeld then
    local _, left, _, full = run_plain(i, 't', 0)
    return 4, left, kCrowdedHint, full, 0
  end
  local whole, idle
  whole, idle, time = add_entry(i, after or states[i], cost, time, new_expires)
  return verdict, remaining, retry, reset, delay, whole, idle, time
end

-- With `partial`: as much as every bucket that binds has left, at least 1.
local function fit_amount()
  for i = 1, #KEYS do
    if partial and has_flag(i, 8) and ARGV[6 * i - 2] % 2 == 1 then
      local _, left = run_plain(i, 't', 0)
      amount = math.min(amount, math.max(1, left))
    end
  end
end

local settled = { returned = 0, debt = 0, uncharged = 0 }

-- In the window that is open now, up to the overdraft.
local function charge_excess(i, units)
  local held = opened(i, states[i])
  local ask = asks(i, held)
  if held.count > 0 then
    note_held(held, ask, now)
  end
  local after, _, charged = ask('b', units, ARGV[2 + 6 * #KEYS + i] + 0)
  if after then
    held.inner = after
    states[i] = keep_held(KEYS[i], held, ask, now)
  end
  settled.debt = math.max(settled.debt, charged)
  if ARGV[6 * i - 2] % 2 == 1 then
    settled.uncharged = math.max(settled.uncharged, units - charged)
  end
end

-- Ends the entries of the id, of whose units `kept` stay charged: the first that were reserved. Their sum, or nil.
local function end_entries(i, kept, only_last)
  local held = held_of(states[i], letter_of(i), now)
  local places = held and places_in(held, id) or {}
  if #places == 0 then
    return nil
  end
  if only_last then
    places = { places[#places] }
  end
  local sum, ends = 0, {}
  for _, place in ipairs(places) do
    sum = sum + held_number(held, 'units', 5, place)
  end
  local left = math.max(0, sum - kept)
  for at = #places, 1, -1 do
    ends[places[at]] = math.min(left, held_number(held, 'units', 5, places[at]))
    left = left - ends[places[at]]
  end
  local ask = asks(i, held)
  settled.returned = math.max(settled.returned, end_held(held, ends, ask, now))
  states[i] = keep_held(KEYS[i], held, ask, now)
  return sum
end

local function set_expiry(i, expires)
  local held = held_of(states[i], letter_of(i), now)
  local places = held and places_in(held, id) or {}
  if #places == 0 then
    return
  end
  for _, place in ipairs(places) do
    set_held_number(held, 'expires', 7, place, expires)
  end
  held.next, held.last = math.min(held.next, expires), math.max(held.last, expires)
  states[i] = keep_held(KEYS[i], held, asks(i, held), now)
end

-- A bucket that has lost the reservation (it was reset, or a caller with a later clock has found it lapsed) has given back
-- all of it: what the work has cost is charged again. One that follows once more has been charged already.
local function settle_bucket(i, granted, follows_again)
  local committed, by_amount = closing == kCommitted, has_flag(i, 8)
  local kept = committed and (by_amount and actual or kMostUnits) or 0
  local sum = end_entries(i, kept)
  if not committed or not by_amount or (follows_again and not sum) then
    return
  end
  local held = granted
  if not sum and not has_flag(i, 16) then
    held = 0
  elseif sum and not record_at then
    held = sum
  end
  if actual > held then
    charge_excess(i, actual - held)
  end
end

local function settle_all(granted, follows_again)
  for i = 1, #KEYS do
    if letter_of(i) then
      settle_bucket(i, granted, follows_again)
    end
  end
  end_leases()
end

local lost, again = false, {}
if takes then
  if record and record.state == kOpen and actual > 0 and record.as_asked == 1 and record.granted ~= actual - 1 then
    return told(described(), kOther, record)
  elseif record then
    return tell_record(record)
  end
  fit_amount()
elseif action == 'p' then
  fit_amount()
elseif extends then
  if record_at and (not record or record.state ~= kOpen) then
    return tell_record(record or { state = kExpired })
  end
  own_token = math.max(own_token, record and record.token or 0)
  if record then
    own_expires = record.expires
  end
  token = own_token
  if ttl > 0 then
    local gone, known
    gone, lost, again, known = examine_leases()
    if gone then
      record = record or {}
      record.state = kExpired
      return told(described(), kGone, record)
    end
    for _, i in ipairs(leased) do
      token = math.max(token, lost and now or 0, lost and states[i].token + 1 or 0)
    end
    token = math.max(token, known)
  else
    new_expires = own_expires
  end
  takes = true
  fit_amount()
elseif action == 'e' then
  if not record or record.state ~= kOpen then
    return tell_record(record or { state = kExpired })
  end
  own_token = math.max(own_token, record.token)
  settle_all(record.granted, false)
  record.state = closing
  record.actual = closing == kCommitted and actual or 0
  record.returned, record.uncharged = settled.returned, settled.uncharged
  record.debt = settled.debt
  local answer = told(described(), kEnded, record)
  -- A settlement either returns units or charges some; what was returned is remembered.
  record.debt = settled.returned == 0 and settled.debt or 0
  keep_record(record, now + record.ttl)
  return answer
elseif action == 'f' then
  settle_all(amount, not is_first)
  settled.state = closing
  return told(described(), kEnded, settled)
elseif action == 'a' then
  if record and record.state ~= kOpen then
    record.returned = math.max(record.returned, amount)
    record.uncharged = math.max(record.uncharged, own_token)
    record.debt = record.returned == 0 and math.max(record.debt, actual) or 0
    keep_record(record, record.idle)
  end
  return told(described(), kEnded, record)
elseif action == 'u' then
  for i = 1, #KEYS do
    if i == record_at then
      redis.call('DEL', KEYS[i])
    elseif letter_of(i) then
      end_entries(i, 0, true)
      if own_expires > 0 then
        set_expiry(i, own_expires)
      end
    else
      run_plain(i, 'u', 0)
    end
  end
  return told(described(), kEnded)
elseif action == 'l' then
  if record_at then
    return record and tell_record(record) or told(described(), 0)
  end
  local answer, left = told(described(), 0), kMostListed
  for i = 1, #KEYS do
    local held = letter_of(i) and held_of(states[i], letter_of(i), now)
    for place = 1, held and math.min(held.count, left) or 0 do
      left = left - 1
      for _, item in ipairs({ i - 1, held.ids:sub(16 * place - 15, 16 * place), held_number(held, 'units', 5, place),
        held_number(held, 'reserved', 7, place), held_number(held, 'expires', 7, place) }) do
        answer[#answer + 1] = item
      end
    end
  end
  return answer
end
