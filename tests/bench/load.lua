-- One request, again and again, for wrk: LOAD_BODY is posted with the headers of LOAD_HEADERS, a line each.
-- A "%d" in the body becomes an id that no other request under way has. What came of it is printed as one
-- line of JSON behind "RESULT ".
local DIFFERENT = 4096
local requests, last = {}, 0

function init()
    wrk.method = "POST"
    for name, value in (os.getenv("LOAD_HEADERS") or ""):gmatch("([^:\n]+): *([^\n]*)") do
        wrk.headers[name] = value
    end
    for id = 1, DIFFERENT do
        requests[id] = wrk.format(nil, nil, nil, (os.getenv("LOAD_BODY"):gsub("%%d", id)))
    end
end

function request()
    last = last % DIFFERENT + 1
    return requests[last]
end

function done(summary, latency)
    local errors = summary.errors
    local cut = errors.connect + errors.read + errors.write
    io.write(string.format(
        'RESULT {"requests": %d, "seconds": %.6f, "p50_us": %.1f, "p99_us": %.1f, "max_us": %.1f, '
            .. '"refused": %d, "cut": %d, "late": %d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), latency.max,
        errors.status, cut, errors.timeout))
end
