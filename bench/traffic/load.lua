-- wrk's side of the load: every request is a body of its own (see prompts.py). Arguments: prompts file, path, key.
local data, number, path, headers

function init(args)
  data = dofile(args[1])
  path = args[2]
  number = 0
  headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. args[3] }
  -- Rounds must not repeat each other's addresses.
  offset = tonumber(args[4])
end

function request()
  number = number + 1
  local template = data.variants[number % #data.variants + 1]
  local out = { template[1] }
  local serial = offset + number
  for place = 1, #template - 1, 2 do
    local kind = template[place + 1]
    local known = data.specimens[kind]
    local value = known[(serial + 7 * place) % #known + 1]
    if kind == "mail" then
      value = string.format("c%09x.%d%s", serial, place, value)
    end
    out[#out + 1] = value
    out[#out + 1] = template[place + 2]
  end
  return wrk.format("POST", path, headers, table.concat(out))
end

function done(summary, latency, _)
  io.write(string.format(
    '\nRESULT {"requests": %d, "duration_us": %d, "bad_status": %d, "broken": %d, "p50_us": %d, "p99_us": %d}\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
