-- What follows the charges of a reservation (reservations.lua): its record, and its longer life.
if action == 'p' then
  return told(answer, 0, { granted = amount })
elseif not admitted then
  return told(answer, 0, record)
elseif not extends then
  local made = { state = kOpen, granted = amount, expires = now + ttl, token = token, ttl = ttl, actual = 0, returned = 0,
    debt = 0, uncharged = 0, as_asked = amount == actual - 1 and 1 or 0 }
  if #leased == 0 then
    made.token = own_token
  end
  if record_at then
    keep_record(made, now + 2 * ttl)
  end
  return told(answer, kTaken, made)
end
for i = 1, #KEYS do
  states[i] = after[i] or states[i]
end
if ttl > 0 then
  renew_leases(again)
  for i = 1, #KEYS do
    if letter_of(i) then
      set_expiry(i, new_expires)
    end
  end
end
record = record or { state = kOpen, granted = 0, ttl = ttl, actual = 0, returned = 0, debt = 0, uncharged = 0, as_asked = 0 }
if amount > 0 then
  record.as_asked = 0
end
record.granted, record.expires, record.token = math.min(record.granted + amount, kMostUnits), new_expires, token
if ttl > 0 then
  record.ttl = ttl
end
if record_at then
  keep_record(record, new_expires + record.ttl)
end
return told(answer, kLive, record)
