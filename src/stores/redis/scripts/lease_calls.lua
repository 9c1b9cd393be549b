-- What a call about a lease does beside charging (holds.lua).
if (holds or action == 'p') and named then
  for _, i in ipairs(leased) do
    local at = find_lease(states[i], id)
    if at then
      local expires, known, units = lease_at(states[i], at)
      if units > 0 or expires > now then
        local found = units == ARGV[6 * i - 1] + 0 and kLive or kOther
        return with_hold(described(), units > 0 and found or kGone, known, expires)
      end
    end
  end
elseif action == 'n' then
  local gone, lost, again, known = examine_leases()
  if gone then
    return with_hold(described(), kGone, own_token, own_expires)
  end
  token = lost and math.max(known, token) or known
  renew_leases(again)
  return with_hold(described(), kLive, token, now + ttl)
elseif action == 'e' then
  local state = end_leases() and kEnded or kGone
  return with_hold(described(), state, own_token, own_expires)
elseif action == 'l' then
  local answer, left = with_hold(described(), 0, 0, 0), kMostListed
  for _, i in ipairs(leased) do
    for at = 1, #states[i].entries, kLeaseEntry do
      local expires, known, units = lease_at(states[i], at)
      if units > 0 and left > 0 then
        left = left - 1
        for _, item in ipairs({ i - 1, states[i].entries:sub(at, at + 15), units, known, expires }) do
          answer[#answer + 1] = item
        end
      end
    end
  end
  return answer
end
