@tool
extends Logger
## Keeps the last messages and errors of the editor's process, from any thread.
##
## Nothing in here may print: that would call it again.

const CAPACITY: int = 2000
const SEVERITIES: Array[String] = ["info", "warning", "error"]

var _mutex: Mutex = Mutex.new()
## The newest entries, oldest first; twice the capacity at most before the older half is dropped.
var _entries: Array[Dictionary] = []
var _next: int = 1


func _log_message(message: String, error: bool) -> void:
	_add({"severity": "error" if error else "info", "text": message.strip_edges(false, true)})


func _log_error(function: String, file: String, line: int, code: String, rationale: String,
		_editor_notify: bool, error_type: int, backtraces: Array[ScriptBacktrace]) -> void:
	var entry: Dictionary = {"severity": "warning" if error_type == ERROR_TYPE_WARNING else "error",
			"text": code if rationale.is_empty() else rationale,
			"file": file, "line": line, "function": function}
	# What a script says by push_error is the script's, not the engine's.
	if function in ["push_error", "push_warning"] and not backtraces.is_empty() and backtraces[0].get_frame_count() > 0:
		entry.merge({"file": backtraces[0].get_frame_file(0), "line": backtraces[0].get_frame_line(0),
				"function": backtraces[0].get_frame_function(0)}, true)
	_add(entry)


func _add(entry: Dictionary) -> void:
	entry["time"] = Time.get_ticks_msec()
	_mutex.lock()
	entry["id"] = _next
	_next += 1
	_entries.append(entry)
	if _entries.size() >= 2 * CAPACITY:
		_entries = _entries.slice(CAPACITY)
	_mutex.unlock()


## The id that the next entry will have; give it to since() later.
func mark() -> int:
	_mutex.lock()
	var id: int = _next
	_mutex.unlock()
	return id


## Copies of the entries from an id on.
func since(id: int) -> Array[Dictionary]:
	var found: Array[Dictionary] = []
	_mutex.lock()
	for entry: Dictionary in _entries:
		if entry["id"] >= id:
			found.append(entry.duplicate())
	_mutex.unlock()
	return found


## The texts of the errors from an id on, with their places.
func errors_since(id: int) -> Array[String]:
	var found: Array[String] = []
	for entry: Dictionary in since(id):
		if entry["severity"] == "error":
			found.append("%s (%s:%d)" % [entry["text"], entry.get("file", ""), entry.get("line", 0)]
					if entry.has("file") else entry["text"])
	return found


func clear() -> void:
	_mutex.lock()
	_entries.clear()
	_mutex.unlock()
