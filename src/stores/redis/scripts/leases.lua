-- Leases: the slots of a concurrency rule, as src/algorithms/lease_bucket.cc keeps them, on one string.
--
-- KEYS[i]  the bucket. Its value: 'S', version of this format (1 byte: 1), units held (3), last fencing token (7), time
--          of the first lease (7), a time before which no live lease lapses (7), the time at which the last that was
--          given would lapse (7), number of entries at which those that are over are dropped (2), whether some live lease
--          lapses exactly at the first of these times (1). Then the entries, 37 bytes each: id (16), expires (7), token
--          (7), units (2; 0: the lease has ended, and its id must not be taken again before `expires`), ttl (5; 0: the id
--          is forgotten with the lease). Then the moment from which it is idle (7).
-- ARGV     of a charge: … units, limit, 0, 0
--
-- A bucket is taken apart once for each call, into a table. Its cost does not depend on how many leases there are,
-- unless one has lapsed, a denial must tell which lapses next, or a client made the id.
local kLeaseHead, kLeaseEntry, kMostEntries = 36, 37, 20000

local function leases_of(state, key, now)
  local bucket = { key = key, held = 0, token = 0, since = 0, next = 0, last = 0, idle = 0, room = 2, exact = 1,
    entries = '' }
  if not state then
    return bucket
  end
  local size = #state - kLeaseHead - 7
  if state:byte() ~= 83 or state:byte(2) ~= 1 or size < 0 or size % kLeaseEntry ~= 0 then
    other(state, 83)
    return bucket
  end
  local idle = struct.unpack('<I7', state, #state - 6)
  if idle <= now then
    return bucket
  end
  local _
  _, _, bucket.held, bucket.token, bucket.since, bucket.next, bucket.last, bucket.room, bucket.exact =
    struct.unpack('<BBI3I7I7I7I7I2B', state)
  bucket.idle, bucket.entries = idle, state:sub(kLeaseHead + 1, -8)
  return bucket
end

local function packed_leases(bucket)
  return struct.pack('<BBI3I7I7I7I7I2B', 83, 1, bucket.held, bucket.token, bucket.since, bucket.next, bucket.last,
    bucket.room, bucket.exact) .. bucket.entries .. struct.pack('<I7', bucket.idle)
end

local function keep_leases(bucket, now)
  keep(bucket.key, packed_leases(bucket), bucket.idle, now)
end

local function lease_at(bucket, at)
  return struct.unpack('<I7I7I2I5', bucket.entries, at + 16)
end

local function set_lease(bucket, at, entry)
  bucket.entries = bucket.entries:sub(1, at - 1) .. entry .. bucket.entries:sub(at + kLeaseEntry)
end

-- Where the id is, or nil.
local function find_lease(bucket, id)
  local at = string.find(bucket.entries, id, 1, true)
  while at and at % kLeaseEntry ~= 1 do
    at = string.find(bucket.entries, id, at + 1, true)
  end
  return at
end

-- Every entry: drops what has lapsed and what need not be remembered, and counts the rest.
local function scan_leases(bucket, now)
  local kept, held, next = {}, 0, 4503599627370496
  for at = 1, #bucket.entries, kLeaseEntry do
    local expires, token, units, ttl = lease_at(bucket, at)
    local entry = bucket.entries:sub(at, at + kLeaseEntry - 1)
    if units > 0 and expires <= now then
      units, expires = 0, expires + ttl
      entry = entry:sub(1, 16) .. struct.pack('<I7I7I2I5', expires, token, units, ttl)
    end
    if units > 0 then
      held, next = held + units, math.min(next, expires)
      kept[#kept + 1] = entry
    elseif ttl > 0 and expires > now then
      kept[#kept + 1] = entry
    end
  end
  bucket.held, bucket.next, bucket.exact, bucket.entries = held, next, 1, table.concat(kept)
end

-- What the header must know of a live lease.
local function note_lease(bucket, expires, ttl)
  if expires < bucket.next then
    bucket.next, bucket.exact = expires, 1
  end
  bucket.last = math.max(bucket.last, expires)
  bucket.idle = math.max(bucket.idle, expires + ttl, bucket.token)
end

-- The lease that lapses next does so no more, and which is next now is not known.
local function doubt_next(bucket, expires)
  if expires == bucket.next then
    bucket.exact = 0
  end
end

-- The entry to forget when there are too many: one that has ended, if there is any, and the first of its kind.
local function forget_lease(bucket)
  local first, first_live, first_expires
  for at = 1, #bucket.entries, kLeaseEntry do
    local expires, _, units = lease_at(bucket, at)
    local live = units > 0
    if not first or (live ~= first_live and not live) or (live == first_live and expires < first_expires) then
      first, first_live, first_expires = at, live, expires
    end
  end
  local _, _, units = lease_at(bucket, first)
  bucket.held = math.max(0, bucket.held - units)
  set_lease(bucket, first, '')
end

local function add_lease(bucket, lease, now)
  local at = lease.ttl > 0 and find_lease(bucket, lease.id)
  if at then
    set_lease(bucket, at, '')
  end
  if #bucket.entries >= bucket.room * kLeaseEntry then
    scan_leases(bucket, now)
    if #bucket.entries >= bucket.room * kLeaseEntry then
      bucket.room = math.min(2 * bucket.room, kMostEntries)
    end
    if #bucket.entries >= kMostEntries * kLeaseEntry then
      forget_lease(bucket)
    end
  end
  bucket.entries = bucket.entries .. lease.id
    .. struct.pack('<I7I7I2I5', lease.expires, lease.token, lease.units, lease.ttl)
  if bucket.since == 0 then
    bucket.since = now
  end
  if bucket.held == 0 then
    bucket.next, bucket.exact = lease.expires, 1
  end
  bucket.held = bucket.held + lease.units
  bucket.token = math.max(bucket.token, lease.token)
  note_lease(bucket, lease.expires, lease.ttl)
end

local function renew_lease(bucket, at, id, token, expires, new_ttl)
  local old_expires, old_token, units, ttl = lease_at(bucket, at)
  doubt_next(bucket, old_expires)
  if ttl > 0 then
    ttl = new_ttl
  end
  token = math.max(token, old_token)
  bucket.token = math.max(bucket.token, token)
  set_lease(bucket, at, id .. struct.pack('<I7I7I2I5', expires, token, units, ttl))
  note_lease(bucket, expires, ttl)
end

-- `forget`: as if it had never been.
local function end_lease(bucket, at, id, now, forget)
  local expires, token, units, ttl = lease_at(bucket, at)
  bucket.held = math.max(0, bucket.held - units)
  doubt_next(bucket, expires)
  if ttl == 0 or forget then
    return set_lease(bucket, at, '')
  end
  set_lease(bucket, at, id .. struct.pack('<I7I7I2I5', now + ttl, token, 0, ttl))
  bucket.idle = math.max(bucket.idle, now + ttl)
end

-- What the bucket answers to a cost, as algorithms do. `takes`: the cost would be taken, and so is not left.
local function judge_leases(bucket, now, cost, limit, takes)
  local verdict, retry, reset, held = 1, 0, 0, bucket.held
  if cost > limit then
    verdict = 2
  elseif cost > 0 and held + cost > limit then
    verdict = 0
    if bucket.exact == 0 and bucket.next - now < 1000000 then
      scan_leases(bucket, now)
      keep_leases(bucket, now)
    end
    retry = math.min(math.max(1, bucket.next - now), 1000000)
  elseif takes then
    held = held + cost
  end
  if bucket.held > 0 then
    reset = math.max(0, bucket.last - now)
  end
  return verdict, math.max(0, limit - held), retry, reset, 0
end
