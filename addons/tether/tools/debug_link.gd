@tool
extends RefCounted
## The debugger's side of a running game: breakpoints, the stack and the variables of a game that is held,
## going on from there, and what its functions take.
##
## All of it are the engine's own messages, which the debugger's panel uses as well.

const GameLink := preload("game_link.gd")
const VariantJson := preload("variant_json.gd")

const WAIT_MSEC: int = 5000
## How long the panel's own question for variables may be under way.
const SETTLE_MSEC: int = 1000
## How long the error of an expression that gave nothing may take.
const ERROR_MSEC: int = 500
## Where its text stands in what the game tells of an error: behind the time, file, function, line, and what failed.
const ERROR_TEXT: int = 8
const LONGEST_LIST: int = 50
## Functions that the engine tells of.
const FUNCTIONS_MOST: int = 512
const FUNCTIONS_TOLD: int = 20
## What the engine tells of each function in a profile.
const FUNCTION_PARTS: int = 5
const SKIPPED_FRAMES: int = 2
const KINDS: Array[String] = ["locals", "members", "globals"]

var _link: GameLink
## Breakpoints that tools have set, "path:line".
var _breakpoints: Dictionary[String, bool] = {}
## The variables that came last: how many were announced, and those that have come.
var _announced: int = -1
var _variables: Array[Array] = []
var _evaluated: Array = []
var _error: String = ""
var _signatures: Dictionary[int, String] = {}
## What functions took, by the number of their signature: calls, seconds of their own, and with all they call.
var _profile: Dictionary[int, Array] = {}
var _profiled: int = 0
var _is_profiled: bool = false
## How many listen to a debugger, by its instance id.
var _hearing: Dictionary[int, int] = {}
## What is asked, and measured, one after another: answers name no question.
var _is_asking: bool = false
var _is_profiling: bool = false
## Games whose profiler was started.
var _measured: Dictionary[int, bool] = {}


func _init(link: GameLink) -> void:
	_link = link
	link.game_started.connect(_on_game_started)
	link.closing.connect(_on_closing)


func _on_game_started(session_id: int) -> void:
	for place: String in _breakpoints:
		_send_breakpoint(session_id, place, true)


func _on_closing() -> void:
	for place: String in breakpoints():
		set_breakpoint(place, false)
	for session_id: int in _measured.keys():
		_stop_profile(session_id)


func _send_breakpoint(session_id: int, place: String, is_set: bool) -> void:
	# Not by the session's own method, which leaves something behind in the debugger's panel for each that is removed.
	var parts: PackedStringArray = place.rsplit(":", true, 1)
	_link.get_session(session_id).send_message("breakpoint", [parts[0], parts[1].to_int(), is_set])


## Sets or removes one in all games, those to come included.
func set_breakpoint(place: String, is_set: bool) -> void:
	if is_set:
		_breakpoints[place] = true
	else:
		_breakpoints.erase(place)
	for number: int in _link.games():
		_send_breakpoint(number - 1, place, is_set)


func breakpoints() -> Array[String]:
	return _breakpoints.keys()


## Lets a held game go on, by "continue", "step", "next" or "out", or holds one that runs, by "break"; then
## waits for it to be held.
func move(session_id: int, how: String, limit_msec: int) -> void:
	var before: int = _link.holds(session_id)
	if how == "break":
		_link.get_session(session_id).send_message(how, [])
	else:
		_link.let_go(session_id, how)
		await _wait(session_id, WAIT_MSEC, func() -> bool: return not _link.is_leaving(session_id))
	await _wait(session_id, limit_msec, func() -> bool: return _link.holds(session_id) != before)


## Locals, members and globals of a frame as JSON.
func variables(session_id: int, frame: int) -> Dictionary:
	return await _in_turn(_variables_of.bind(session_id, frame))


## What an expression is in a frame, {"value": …}, or {"error": text}.
func evaluate(session_id: int, frame: int, expression: String) -> Dictionary:
	return await _in_turn(_value_of.bind(session_id, frame, expression))


func _in_turn(question: Callable) -> Dictionary:
	while _is_asking:
		await _link.frame()
	_is_asking = true
	var answer: Variant = await question.call()
	_is_asking = false
	return answer if answer is Dictionary else {}


func _variables_of(session_id: int, frame: int) -> Dictionary:
	var debugger: Node = _hear(session_id)
	await _settle(session_id)
	_announced = -1
	_link.get_session(session_id).send_message("get_stack_frame_vars", [frame])
	await _wait(session_id, WAIT_MSEC, _have_all)
	_hear_no_more(debugger)
	var codec: VariantJson = VariantJson.new(null, LONGEST_LIST)
	var result: Dictionary = {}
	for variable: Array in _variables:
		var kind: String = KINDS[clampi(int(variable[1]), 0, KINDS.size() - 1)]
		result.get_or_add(kind, {})[str(variable[0])] = codec.encode(variable[-1])
	return result


## The panel asks for the variables of the innermost frame by itself as soon as a game is held.
func _settle(session_id: int) -> void:
	_announced = -1
	_variables.clear()
	if not _link.is_settled(session_id):
		await _wait(session_id, SETTLE_MSEC, _have_all)
		_link.settle(session_id)


func _have_all() -> bool:
	return _announced >= 0 and _variables.size() >= _announced


func _value_of(session_id: int, frame: int, expression: String) -> Dictionary:
	var debugger: Node = _hear(session_id)
	_evaluated = []
	_error = ""
	_link.get_session(session_id).send_message("evaluate", [expression, frame])
	await _wait(session_id, WAIT_MSEC, func() -> bool: return not _evaluated.is_empty())
	# What is wrong with it comes as an error of the game, a little later.
	if _evaluated.is_empty() or _evaluated[-1] == null:
		await _wait(session_id, ERROR_MSEC, func() -> bool: return not _error.is_empty())
	_hear_no_more(debugger)
	if _evaluated.is_empty() or not _error.is_empty():
		return {"error": "It could not be computed. %s" % _error}
	return {"value": VariantJson.new(null, LONGEST_LIST).encode(_evaluated[-1])}


func _hear(session_id: int) -> Node:
	var debugger: Node = _link.debugger_of(session_id)
	var id: int = debugger.get_instance_id()
	_hearing[id] = _hearing.get(id, 0) + 1
	if _hearing[id] == 1:
		debugger.connect(&"debug_data", _on_data)
	return debugger


## The debugger may have gone meanwhile.
func _hear_no_more(debugger: Variant) -> void:
	if is_instance_valid(debugger):
		var id: int = (debugger as Node).get_instance_id()
		_hearing[id] -= 1
		if _hearing[id] == 0:
			(debugger as Node).disconnect(&"debug_data", _on_data)


func _on_data(message: String, data: Array) -> void:
	match message:
		"stack_frame_vars":
			_announced = data[0]
			_variables.clear()
		"stack_frame_var":
			_variables.append(data)
		"evaluation_return":
			_evaluated = data
		"error":
			_error = str(data[ERROR_TEXT] if data[ERROR_TEXT] else data[ERROR_TEXT - 1]) if data.size() > ERROR_TEXT else "?"
		"servers:function_signature":
			if data[1] == 0: # it counts anew: what has come so far is the rest of an earlier profile of a slow game
				_begin_profile()
			_signatures[data[1]] = data[0]
		"servers:profile_frame":
			_profiled += 1
			# The game may hear of the profile within a function, which then counts from its very beginning.
			if _profiled > SKIPPED_FRAMES:
				_add_frame(data)
		"servers:profile_total":
			_is_profiled = true


func _wait(session_id: int, limit_msec: int, is_done: Callable) -> void:
	var end: int = Time.get_ticks_msec() + limit_msec
	while not is_done.call() and _link.is_alive(session_id) and Time.get_ticks_msec() < end:
		await _link.frame()


# ---- profiling ---------------------------------------------------------------------------------


## The functions of scripts that took longest in some seconds, dearest first.
func profile(session_id: int, seconds: float) -> Array[Dictionary]:
	while _is_profiling:
		await _link.frame()
	_is_profiling = true
	await _measure(session_id, seconds)
	_is_profiling = false
	return _functions()


func _measure(session_id: int, seconds: float) -> void:
	var debugger: Node = _hear(session_id)
	_begin_profile()
	_measured[session_id] = true
	_link.get_session(session_id).toggle_profiler("servers", true, [FUNCTIONS_MOST, false])
	await _wait(session_id, int(1000.0 * seconds), func() -> bool: return false)
	_stop_profile(session_id)
	await _wait(session_id, WAIT_MSEC, func() -> bool: return _is_profiled)
	_hear_no_more(debugger)


func _begin_profile() -> void:
	_signatures.clear()
	_profile.clear()
	_profiled = 0
	_is_profiled = false


func _stop_profile(session_id: int) -> void:
	if _measured.erase(session_id) and _link.is_alive(session_id):
		_link.get_session(session_id).toggle_profiler("servers", false)


## Behind six numbers and the servers' own functions stand those of the scripts: the number of a signature,
## calls, and the seconds of itself, of all it calls, and of the engine in it.
func _add_frame(data: Array) -> void:
	if data.size() < 8:
		return
	var at: int = 7
	for server: int in int(data[6]):
		at += 2 + int(data[at + 1])
	for index: int in range(at + 1, at + 1 + int(data[at]), FUNCTION_PARTS):
		var sums: Array = _profile.get_or_add(int(data[index]), [0, 0.0, 0.0])
		for part: int in sums.size():
			sums[part] += data[index + 1 + part]


func _functions() -> Array[Dictionary]:
	var found: Array[Dictionary] = []
	for signature: int in _profile:
		var name: String = _signatures.get(signature, "")
		if _profile[signature][0] > 0 and not name.is_empty() and not name.begins_with(GameLink.OWN_FOLDER):
			found.append({"function": name, "calls": _profile[signature][0],
					"self_ms": snappedf(1000.0 * _profile[signature][1], 0.001), "total_ms": snappedf(1000.0 * _profile[signature][2], 0.001)})
	found.sort_custom(func(a: Dictionary, b: Dictionary) -> bool: return a["self_ms"] > b["self_ms"])
	return found.slice(0, FUNCTIONS_TOLD)
