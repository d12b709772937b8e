-- One request, again and again, for wrk: LOAD_BODY is posted with the headers of LOAD_HEADERS, a line each.
-- What came of it is printed as one line of JSON behind "RESULT ".
wrk.method = "POST"
wrk.body = os.getenv("LOAD_BODY")
for name, value in (os.getenv("LOAD_HEADERS") or ""):gmatch("([^:\n]+): *([^\n]*)") do
    wrk.headers[name] = value
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        'RESULT {"requests": %d, "seconds": %.6f, "p50_us": %.1f, "p99_us": %.1f, "max_us": %.1f, "errors": %d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), latency.max,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
