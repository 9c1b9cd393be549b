-- A call that is charged once (weir::Once): another script as `decide`, put together at build with how many numbers that
-- answers about a hold, HOLD_NUMBERS. What it answers is kept in the same step as what it charges, so a caller that got no
-- answer can ask again.
--
-- KEYS     as the script inside, and the record, in the same slot
-- ARGV     as the script inside, and how long the record is kept, in milliseconds
-- Answer   as the script inside, and 1 if it was given before, 0 if not
--
-- Value of a record: 'O', version of this format (1 byte: 1), the numbers of the answer (8 bytes each, little-endian). A
-- denial is kept until its wait is over; one that no wait can help, and one of a newcomer, which is to be charged
-- elsewhere, are not.
local record, most_ms = KEYS[#KEYS], ARGV[#ARGV] + 0
local keys, args = {}, {}
for i = 1, #KEYS - 1 do
  keys[i] = KEYS[i]
end
for i = 1, #ARGV - 1 do
  args[i] = ARGV[i]
end

-- What was answered. If other rules apply since then, their buckets are only checked.
local function replayed(value)
  if #value % 8 ~= 2 or value:byte() ~= 79 or value:byte(2) ~= 1 then
    return redis.error_reply('BADSTATE a key of Weir holds a value that Weir did not write')
  end
  local count = (#value - 2) / 8
  local answer = { struct.unpack('<' .. string.rep('i8', count), value, 3) }
  answer[count + 1] = nil  -- where unpacking ended
  if count ~= 5 * #keys + HOLD_NUMBERS then
    local known = answer
    args[1] = 'p'
    answer = decide(keys, args)
    for i = 1, #keys do
      answer[5 * i - 4], answer[5 * i - 2], answer[5 * i] = 1, 0, 0
    end
    for i = 1, HOLD_NUMBERS do
      answer[5 * #keys + i] = known[count - HOLD_NUMBERS + i]
    end
  end
  if HOLD_NUMBERS > 0 then
    local time = redis.call('TIME')
    answer[#answer - HOLD_NUMBERS + 4] = ARGV[2] ~= '' and ARGV[2] + 0 or time[1] * 1000000 + time[2]
  end
  answer[#answer + 1] = 1
  return answer
end

local value = redis.call('GET', record)
if value then
  return replayed(value)
end
local answer = decide(keys, args)
if answer.err then
  return answer
end
local denied, wait = false, 0
for i = 1, #keys do
  local verdict = answer[5 * i - 4]
  if verdict == 3 then
    most_ms = 0
  elseif verdict ~= 1 and args[6 * i - 2] % 2 == 1 and args[1] ~= 'r' and args[1] ~= 'w' and args[1] ~= 'y' then
    denied, wait = true, math.max(wait, answer[5 * i - 2])
  end
end
local kept_ms = denied and math.min(most_ms, math.ceil(wait / 1000)) or most_ms
if kept_ms > 0 then
  redis.call('SET', record, '\79\1' .. struct.pack('<' .. string.rep('i8', #answer), unpack(answer)), 'PX', kept_ms)
end
answer[#answer + 1] = 0
return answer
