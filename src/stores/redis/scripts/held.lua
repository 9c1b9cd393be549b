-- Buckets with open reservations: src/algorithms/bucket_holds.cc on one string. Part of every script, in a block of its own
-- that runs only where some bucket has reservations, so that others pay nothing for it.
--
-- Value: 'H', version of this format (1 byte: 1), the letter of the bucket's algorithm (1), number of entries (2), a time
-- before which none lapses (7), the time at which the last that was made would lapse (7). Then a column for each number of
-- the entries, in the order in which they were reserved: ids (16 bytes each), units (5), whether they are charged when the
-- entry lapses (1), the least that the bucket has counted since (6), reserved (7), expires (7). Then the bucket as its
-- algorithm writes it, or nothing if that never did; in its last 7 bytes, which are there in any case, the moment from
-- which the bucket and its reservations are idle.
local kHeldHead, kHeldEntry, kMostHeld, kNever, kHighestLevel = 19, 42, 1000, 36028797018963968, 4398046511104
local kLevels = { [70] = true, [84] = true, [71] = true, [75] = true }

-- Nil: a bucket without reservations, an idle one, or one of another algorithm.
local function held_of(state, letter, now)
  if not state or state:byte() ~= 72 then
    return nil
  end
  local count = #state >= kHeldHead + 7 and state:byte(2) == 1 and struct.unpack('<I2', state, 4)
  if not count or count == 0 or count > kMostHeld or #state < kHeldHead + kHeldEntry * count + 7 then
    error({ err = 'BADSTATE a key of Weir holds a value that Weir did not write' })
  end
  if state:byte(3) ~= letter or struct.unpack('<I7', state, #state - 6) <= now then
    return nil
  end
  local held = { letter = letter, count = count, level = kLevels[letter] }
  held.next, held.last = struct.unpack('<I7I7', state, 6)
  local at = kHeldHead + 1
  for _, column in ipairs({ { 'ids', 16 }, { 'units', 5 }, { 'kept', 1 }, { 'lowest', 6 }, { 'reserved', 7 },
    { 'expires', 7 } }) do
    held[column[1]], at = state:sub(at, at + column[2] * count - 1), at + column[2] * count
  end
  held.inner = #state - at + 1 > 7 and state:sub(at)
  return held
end

-- One number of one entry.
local function held_number(held, column, size, i)
  return (struct.unpack('<I' .. size, held[column], size * (i - 1) + 1))
end

local function set_held_number(held, column, size, i, value)
  local at = size * (i - 1)
  held[column] = held[column]:sub(1, at) .. struct.pack('<I' .. size, value) .. held[column]:sub(at + size + 1)
end

local function held_numbers(held, column, size)
  return { struct.unpack('<' .. string.rep('I' .. size, held.count), held[column]) }
end

-- Places of the id, in order.
local function places_in(held, id)
  local places, at = {}, string.find(held.ids, id, 1, true)
  while at do
    if at % 16 == 1 then
      places[#places + 1] = (at + 15) / 16
    end
    at = string.find(held.ids, id, at + 1, true)
  end
  return places
end

-- What the bucket's algorithm answers: ask(mode, cost, extra, moment).
local function asker(held, algorithm, now, a, b, c)
  return function(mode, cost, extra, moment)
    return algorithm(held.inner, mode, moment or now, cost, a, b, c, extra)
  end
end

-- Before anything is charged, and after anything else was given back: notes what the bucket counts.
local function note_held(held, ask, now)
  if held.level then
    local level, first = ask('c', 0, now), held.count
    while first > 0 and held_number(held, 'lowest', 6, first) > level do
      first = first - 1
    end
    if first < held.count then
      held.lowest = held.lowest:sub(1, 6 * first) .. string.rep(struct.pack('<I6', level), held.count - first)
    end
    return
  end
  local lowest, reserved = held_numbers(held, 'lowest', 6), held_numbers(held, 'reserved', 7)
  for i = 1, held.count do
    lowest[i] = math.min(lowest[i], ask('c', 0, reserved[i]))
  end
  held.lowest = struct.pack('<' .. string.rep('I6', held.count), unpack(lowest))
end

-- Ends the entries of `ends`, by place, and returns as much of each to the bucket, if it can. Two walks. From the last
-- entry to the first: what each returns, and that the lowest level since an earlier moment is not above what is left of
-- it. From the first to the last: later levels fall by all that was returned before them.
local function end_held(held, ends, ask, now)
  if held.level then
    note_held(held, ask, now)
  end
  local lowest, expires = held_numbers(held, 'lowest', 6), held_numbers(held, 'expires', 7)
  local total, cap = 0, kHighestLevel
  for i = held.count, 1, -1 do
    if held.level then
      lowest[i] = math.min(lowest[i], cap)
    end
    if ends[i] then
      local returned = math.min(ends[i], lowest[i])
      if not held.level and returned > 0 then
        local since = held_number(held, 'reserved', 7, i)
        returned = math.min(returned, ask('c', 0, since))
        if returned > 0 then
          held.inner = ask('g', returned, since) or held.inner
        end
      end
      cap, total = math.min(cap, lowest[i] - returned), total + returned
      lowest[i] = returned
    end
  end
  if held.level and total > 0 then
    held.inner = ask('r', total) or held.inner
  end
  local before, left, low = 0, {}, {}
  held.next = kNever
  for i = 1, held.count do
    if ends[i] then
      before = before + lowest[i]
    else
      left[#left + 1] = i
      low[#low + 1] = held.level and math.max(0, lowest[i] - before) or lowest[i]
      held.next = math.min(held.next, expires[i])
    end
  end
  for _, column in ipairs({ { 'ids', 16 }, { 'units', 5 }, { 'kept', 1 }, { 'reserved', 7 }, { 'expires', 7 } }) do
    local name, size, kept = column[1], column[2], {}
    for at, i in ipairs(left) do
      kept[at] = held[name]:sub(size * (i - 1) + 1, size * i)
    end
    held[name] = table.concat(kept)
  end
  held.count = #left
  held.lowest = #left > 0 and struct.pack('<' .. string.rep('I6', #left), unpack(low)) or ''
  return total
end

-- The value to keep, and from when it is idle. False: there is nothing to keep.
local function packed_held(held, ask)
  local idle = held.inner and ask('i', 0, 0, 0) or 0
  if held.count == 0 then
    return held.inner and held.inner:sub(1, -8) .. struct.pack('<I7', idle), idle
  end
  idle = math.max(idle, held.last)
  return struct.pack('<BBBI2I7I7', 72, 1, held.letter, held.count, held.next, held.last) .. held.ids .. held.units
    .. held.kept .. held.lowest .. held.reserved .. held.expires .. (held.inner and held.inner:sub(1, -8) or '')
    .. struct.pack('<I7', idle), idle
end

local function keep_held(key, held, ask, now)
  local state, idle = packed_held(held, ask)
  if state then
    keep(key, state, idle, now)
  else
    redis.call('DEL', key)
  end
  return state
end

-- The bucket after what has lapsed was returned to it, by whatever call comes next, also by one that only looks.
local function lapsed_held(key, state, algorithm, letter, now, a, b, c)
  local held = held_of(state, letter, now)
  if not held or now < held.next then
    return state
  end
  local ask, ends, expires = asker(held, algorithm, now, a, b, c), {}, held_numbers(held, 'expires', 7)
  for i = 1, held.count do
    if expires[i] <= now then
      ends[i] = held.kept:byte(i) == 1 and 0 or held_number(held, 'units', 5, i)
    end
  end
  end_held(held, ends, ask, now)
  return keep_held(key, held, ask, now)
end

-- The algorithm for a bucket that may have reservations.
local function with_held(algorithm, letter)
  return function(state, mode, now, cost, a, b, c, extra)
    local held = held_of(state, letter, now)
    if not held then
      return algorithm(state and state:byte() ~= 72 and state, mode, now, cost, a, b, c, extra)
    end
    local ask = asker(held, algorithm, now, a, b, c)
    if mode == 't' then
      local verdict, remaining, retry, reset, delay, after, _, time = ask('t', cost)
      if not after then
        return verdict, remaining, retry, reset, delay
      end
      note_held(held, ask, now)
      held.inner = after
      local whole, idle = packed_held(held, ask)
      return verdict, remaining, retry, reset, delay, whole, idle, time
    elseif mode == 'm' then
      return ask('m', 0)
    end
    local charges = mode == 'd' or mode == 'b' or mode == 'f'
    if charges then
      note_held(held, ask, now)
    end
    local after, _, charged = ask(mode, cost, extra)
    if not after then
      return
    end
    held.inner = after
    if not charges then
      note_held(held, ask, now)
    end
    local whole, idle = packed_held(held, ask)
    return whole, idle, charged
  end
end
