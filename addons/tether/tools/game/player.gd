extends RefCounted
## Plays the running game: input, waits and the flow of time, one step after the other, and tells what came
## of it. Seconds are the game's own, which stand still while it is frozen; limits are those of the clock.

const Eyes := preload("eyes.gd")
const InputEvents := preload("../input_events.gd")
const LogBuffer := preload("../log_buffer.gd")
const NodePaths := preload("node_paths.gd")
const Snippet := preload("snippet.gd")
const VariantJson := preload("../variant_json.gd")
const Words := preload("../words.gd")

## The key of a step by which it is known, and what else it may have.
const STEPS: Dictionary[String, Array] = {
	"action": ["for", "down", "strength"],
	"key": ["for", "down", "physical", "ctrl", "shift", "alt", "meta"],
	"mouse": ["for", "down", "at", "to", "double", "ctrl", "shift", "alt", "meta"],
	"joy_button": ["for", "down", "device"],
	"joy_axis": ["for", "down", "value", "device"],
	"touch": ["for", "down", "at", "to"],
	"move": [], "by": [], "text": [],
	"wait": [], "frames": [],
	"until": ["limit"], "signal": ["limit"], "node": ["limit"], "output": ["limit"],
	"freeze": [], "step": [], "speed": [],
}
const TAP_SECONDS: float = 0.1
const LIMIT_SECONDS: float = 10.0
## How long the editor may take to freeze the game or to let it go.
const FREEZE_MSEC: int = 5000
const LONGEST_LIST: int = 100

var _helper: Node
var _tree: SceneTree
var _messages: LogBuffer = LogBuffer.new()
var _mark: int = 0
var _end: int = 0
## Why the sequence stops, once it does.
var _why: String = ""
## What is pressed: the events that release it.
var _pressed: Array[InputEvent] = []
var _mouse: Vector2 = Vector2.ZERO
var _buttons: int = 0
var _finger: Vector2 = Vector2.ZERO
## The conditions of steps, by the number of the step.
var _conditions: Dictionary[int, RefCounted] = {}
## Signals that steps wait for, and how often each has come since the sequence began.
var _signals: Dictionary[String, int] = {}


func _init(helper: Node) -> void:
	_helper = helper
	_tree = helper.get_tree()


func play(arguments: Dictionary) -> Dictionary:
	_end = Time.get_ticks_msec() + 1000 * int(arguments["limit"])
	OS.add_logger(_messages)
	var result: Dictionary = await _play(arguments)
	OS.remove_logger(_messages)
	for made: RefCounted in _conditions.values():
		Snippet.forget(made)
	return result


## Ends it after the current frame, as if a limit were over.
func stop(why: String) -> void:
	_why = why if _why.is_empty() else _why


func _play(arguments: Dictionary) -> Dictionary:
	var steps: Array = arguments.get("steps", [])
	var wanted: Array = arguments.get("values", [])
	var problem: Dictionary = {}
	for index: int in steps.size():
		_check(steps[index], index, problem)
		if problem.has("error"):
			return {"error": "Nothing was played. Step %d: %s" % [index + 1, problem["error"]]}
	for index: int in wanted.size():
		_compile(str(wanted[index]), steps.size() + index, problem)
		if problem.has("error"):
			return {"error": "Nothing was played. Value '%s': %s" % [wanted[index], problem["error"]]}
	_mark = _messages.mark()
	var first_frame: int = Engine.get_process_frames()
	var done: int = 0
	while done < steps.size() and _why.is_empty():
		EngineDebugger.send_message("tether:played", [arguments["question"], done])
		await _take(steps[done], done)
		done += int(_why.is_empty())
	var result: Dictionary = {"played": done, "frames": Engine.get_process_frames() - first_frame}
	if not _why.is_empty():
		result["stopped"] = "Step %d, %s: %s" % [done + 1, JSON.stringify(steps[done]), _why]
	if not wanted.is_empty():
		result["values"] = {}
	for index: int in wanted.size():
		result["values"][str(wanted[index])] = _value(steps.size() + index)
	_add_said(result)
	if _is_frozen():
		result["frozen"] = true
	if arguments["picture"] > 0:
		result["picture"] = await Eyes.new().picture(_tree, arguments["picture"])
	_release()
	return result


# ---- before it begins --------------------------------------------------------------------------


func _check(step: Dictionary, index: int, problem: Dictionary) -> void:
	var verb: String = _verb(step)
	if verb.is_empty():
		problem["error"] = "It must have one of %s, not %s." % [", ".join(STEPS.keys()), JSON.stringify(step)]
		return
	for key: Variant in step:
		if key != verb and not key in STEPS[verb]:
			problem["error"] = "With '%s' there is no '%s'; there is %s." % [verb, key, Words.enumerate(STEPS[verb]) if not STEPS[verb].is_empty() else "nothing else"]
			return
	for key: String in ["for", "wait", "frames", "limit", "step", "speed", "strength", "value"]:
		if step.has(key) and not (step[key] is float or step[key] is int):
			problem["error"] = "'%s' is a number, not %s." % [key, JSON.stringify(step[key])]
			return
	match verb:
		"action":
			if not InputMap.has_action(str(step["action"])):
				problem["error"] = "There is no action '%s' in the game.%s" % [step["action"], Words.suggest(str(step["action"]), InputMap.get_actions())]
		"key", "mouse", "joy_button", "joy_axis":
			InputEvents.from_words(step, problem)
		"until":
			_compile(str(step["until"]), index, problem)
		"signal":
			_listen(str(step["signal"]), problem, false)


func _verb(step: Dictionary) -> String:
	for key: String in STEPS:
		if step.has(key):
			return key
	return ""


func _compile(expression: String, index: int, problem: Dictionary) -> void:
	var made: RefCounted = Snippet.make("return (%s)" % expression, _messages, problem)
	if made != null:
		_conditions[index] = made


## Counts a signal, "Node:name", from now on; a node that is not there yet may be so when it is waited for.
func _listen(name: String, problem: Dictionary, is_needed: bool) -> void:
	if _signals.has(name):
		return
	var node: Node = NodePaths.find(_tree, name.get_slice(":", 0), problem)
	if node == null:
		if not is_needed:
			problem.clear()
		return
	var wanted: String = name.get_slice(":", 1)
	if not name.contains(":") or not node.has_signal(wanted):
		problem["error"] = "'%s' names no signal; 'Node:signal' does.%s" % [name, Words.suggest(wanted,
				node.get_signal_list().map(func(info: Dictionary) -> String: return info["name"]))]
		return
	_signals[name] = 0
	node.connect(wanted, _on_signal.bind(name))


func _on_signal(...arguments: Array) -> void:
	_signals[arguments[-1]] += 1


# ---- the steps ---------------------------------------------------------------------------------


func _take(step: Dictionary, index: int) -> void:
	var verb: String = _verb(step)
	match verb:
		"wait":
			await _wait(step["wait"])
		"frames":
			await _until(_has_frames.bind(Engine.get_process_frames() + int(step["frames"])), INF, "the game is frozen")
		"until", "signal", "node", "output":
			await _wait_for(verb, step, index)
		"freeze":
			await _freeze(step["freeze"] == true)
		"step":
			await _step(int(step["step"]))
		"speed":
			_helper.call("set_speed", float(step["speed"]))
		"text":
			await _type(str(step["text"]))
		"move":
			_move_to(_place(step["move"]))
		"by":
			_motion(_mouse, _vector(step["by"]))
		_:
			await _press(verb, step)


func _is_frozen() -> bool:
	return not _helper.can_process()


## Waits for seconds of the game.
func _wait(seconds: float) -> void:
	var left: float = seconds
	while left > 0.0 and _why.is_empty():
		if _is_frozen():
			_why = "the game is frozen, and no time passes in it; 'step' lets frames pass."
			return
		await _frame()
		left -= _tree.root.get_process_delta_time()


func _frame() -> void:
	await _tree.process_frame
	if Time.get_ticks_msec() > _end:
		_why = "the limit of the whole sequence is over."


func _has_frames(wanted: int) -> bool:
	return Engine.get_process_frames() >= wanted


func _wait_for(verb: String, step: Dictionary, index: int) -> void:
	var problem: Dictionary = {}
	var wanted: String = str(step[verb])
	var condition: Callable = _is_said.bind(wanted)
	match verb:
		"until":
			condition = _is_true.bind(index)
		"node":
			condition = _is_there.bind(wanted)
		"signal":
			_listen(wanted, problem, true)
			condition = _has_come.bind(wanted)
	if problem.has("error"):
		_why = problem["error"]
		return
	await _until(condition, step.get("limit", LIMIT_SECONDS), "that did not come about")


func _until(condition: Callable, limit: float, otherwise: String) -> void:
	var end: float = Time.get_ticks_msec() + 1000.0 * limit
	while _why.is_empty() and not condition.call() and _why.is_empty():
		if Time.get_ticks_msec() > end:
			_why = "%s within %s seconds%s." % [otherwise, String.num(limit), ", and the game is frozen" if _is_frozen() else ""]
			return
		await _frame()


func _is_true(index: int) -> bool:
	var mark: int = _messages.mark()
	var value: Variant = _conditions[index].call("run")
	_why = _mistake(mark) if _why.is_empty() else _why
	return true if value else false


## What went wrong in an expression of ours since a mark.
func _mistake(mark: int) -> String:
	for entry: Dictionary in _messages.since(mark):
		if entry["severity"] == "error" and entry.has("file"):
			return str(entry["text"])
	return ""


func _is_there(path: String) -> bool:
	return NodePaths.find(_tree, path, {}) != null


func _has_come(name: String) -> bool:
	return _signals[name] > 0


func _is_said(text: String) -> bool:
	return _messages.since(_mark).any(func(entry: Dictionary) -> bool: return str(entry["text"]).contains(text))


# ---- time --------------------------------------------------------------------------------------


func _freeze(is_wanted: bool) -> void:
	EngineDebugger.send_message("tether:freeze", [is_wanted])
	var end: int = Time.get_ticks_msec() + FREEZE_MSEC
	while _is_frozen() != is_wanted and _why.is_empty():
		await _frame()
		if Time.get_ticks_msec() > end:
			_why = "the editor did not do it."


func _step(frames: int) -> void:
	if not _is_frozen():
		await _freeze(true)
	for number: int in frames:
		if not _why.is_empty():
			return
		var end: int = Time.get_ticks_msec() + FREEZE_MSEC
		_helper.call("begin_step")
		EngineDebugger.send_message("tether:step", [])
		while (_helper.get("is_stepping") or not _is_frozen()) and _why.is_empty():
			await _frame()
			if Time.get_ticks_msec() > end:
				_why = "the frame did not come."


# ---- input -------------------------------------------------------------------------------------


func _press(verb: String, step: Dictionary) -> void:
	var event: InputEvent = _event(verb, step)
	if not _why.is_empty():
		return
	var is_down: Variant = step.get("down")
	if is_down != false:
		if step.has("at"):
			_go_to(verb, step, _place(step["at"]))
		_put(event)
		_send(event, true, step)
	if is_down == true or not _why.is_empty():
		return
	if is_down == null and _is_frozen():
		_why = "the game is frozen, so nothing can be held for a time: give \"down\": true, 'step', then \"down\": false."
		return
	if is_down == null:
		await _hold(verb, step)
	_put(event)
	_send(event, false, step)


## What is pressed goes on for its time; the mouse or the finger moves to another place meanwhile.
func _hold(verb: String, step: Dictionary) -> void:
	var seconds: float = step.get("for", TAP_SECONDS)
	if not step.has("to"):
		await _wait(seconds)
		return
	var begin: Vector2 = _mouse if verb == "mouse" else _finger
	var target: Vector2 = _place(step["to"])
	var passed: float = 0.0
	while passed < seconds and _why.is_empty() and not _is_frozen():
		await _frame()
		passed += _tree.root.get_process_delta_time()
		_go_to(verb, step, begin.lerp(target, minf(1.0, passed / seconds)))


func _event(verb: String, step: Dictionary) -> InputEvent:
	var event: InputEvent = null
	match verb:
		"action":
			var action: InputEventAction = InputEventAction.new()
			action.action = str(step["action"])
			event = action
		"touch":
			var touch: InputEventScreenTouch = InputEventScreenTouch.new()
			touch.index = int(step["touch"])
			event = touch
		_:
			event = InputEvents.from_words(step, {})
	event.device = int(step.get("device", 0))
	if event is InputEventKey:
		_complete_key(event as InputEventKey)
	return event


## A key that is really pressed has all of its names.
func _complete_key(event: InputEventKey) -> void:
	var code: Key = event.keycode if event.keycode != KEY_NONE else event.physical_keycode
	event.keycode = code
	event.physical_keycode = code
	event.key_label = code
	if event.unicode == 0 and code >= KEY_SPACE and code <= KEY_ASCIITILDE:
		var letter: String = String.chr(code)
		event.unicode = (letter if event.shift_pressed else letter.to_lower()).unicode_at(0)


func _send(event: InputEvent, is_pressed: bool, step: Dictionary) -> void:
	var sent: InputEvent = event.duplicate()
	if sent is InputEventJoypadMotion:
		(sent as InputEventJoypadMotion).axis_value = float(step.get("value", 1.0)) if is_pressed else 0.0
	else:
		sent.set("pressed", is_pressed)
	if sent is InputEventAction:
		(sent as InputEventAction).strength = float(step.get("strength", 1.0)) if is_pressed else 0.0
	if sent is InputEventMouseButton:
		var button: int = (sent as InputEventMouseButton).button_index
		_buttons = _buttons | 1 << (button - 1) if is_pressed else _buttons & ~(1 << (button - 1))
		(sent as InputEventMouseButton).button_mask = _buttons
		(sent as InputEventMouseButton).double_click = is_pressed and step.get("double", false) == true
	_note_pressed(event, is_pressed)
	Input.parse_input_event(sent)
	Input.flush_buffered_events()


func _note_pressed(event: InputEvent, is_pressed: bool) -> void:
	for other: InputEvent in _pressed.duplicate():
		if other.is_match(event) or other is InputEventScreenTouch and event is InputEventScreenTouch:
			_pressed.erase(other)
	if is_pressed:
		_pressed.append(event)


## At the end nothing stays pressed.
func _release() -> void:
	for event: InputEvent in _pressed.duplicate():
		_put(event)
		_send(event, false, {})


func _put(event: InputEvent) -> void:
	if event is InputEventMouse:
		(event as InputEventMouse).position = _mouse
		(event as InputEventMouse).global_position = _mouse
	elif event is InputEventScreenTouch:
		(event as InputEventScreenTouch).position = _finger


## A finger that is not down goes anywhere without an event.
func _go_to(verb: String, step: Dictionary, place: Vector2) -> void:
	if verb == "mouse":
		_move_to(place)
	elif _pressed.any(func(event: InputEvent) -> bool: return event is InputEventScreenTouch):
		_drag(int(step["touch"]), place)
	else:
		_finger = place


func _move_to(place: Vector2) -> void:
	if _why.is_empty():
		_motion(place, place - _mouse)


func _motion(place: Vector2, relative: Vector2) -> void:
	var event: InputEventMouseMotion = InputEventMouseMotion.new()
	_mouse = place
	_put(event)
	event.relative = relative
	event.screen_relative = relative
	event.button_mask = _buttons
	Input.parse_input_event(event)
	Input.flush_buffered_events()


func _drag(index: int, place: Vector2) -> void:
	var event: InputEventScreenDrag = InputEventScreenDrag.new()
	event.index = index
	event.position = place
	event.relative = place - _finger
	_finger = place
	Input.parse_input_event(event)
	Input.flush_buffered_events()


func _type(text: String) -> void:
	for letter: String in text:
		var event: InputEventKey = InputEventKey.new()
		event.unicode = letter.unicode_at(0)
		event.keycode = KEY_ENTER if letter == "\n" else OS.find_keycode_from_string(letter.to_upper())
		event.physical_keycode = event.keycode
		_send(event, true, {})
		_send(event, false, {})
		await _frame()


## A place in the game's window: [x, y], or the middle of a node.
func _place(given: Variant) -> Vector2:
	if not given is String:
		return _vector(given)
	var problem: Dictionary = {}
	var node: Node = NodePaths.find(_tree, given, problem)
	if node is CanvasItem:
		var middle: Vector2 = (node as Control).size / 2.0 if node is Control else Vector2.ZERO
		return _tree.root.get_final_transform() * (node as CanvasItem).get_global_transform_with_canvas() * middle
	if node is Node3D and _tree.root.get_camera_3d() != null:
		return _tree.root.get_final_transform() * _tree.root.get_camera_3d().unproject_position((node as Node3D).global_position)
	_why = problem.get("error", "'%s' has no place on the screen." % given)
	return Vector2.ZERO


func _vector(given: Variant) -> Vector2:
	if given is Array and (given as Array).size() == 2:
		return Vector2(float(given[0]), float(given[1]))
	_why = "a place is [x, y] or a node's path, not %s." % JSON.stringify(given)
	return Vector2.ZERO


# ---- what came of it ---------------------------------------------------------------------------


func _value(index: int) -> Variant:
	var mark: int = _messages.mark()
	var value: Variant = _conditions[index].call("run")
	var mistake: String = _mistake(mark)
	if not mistake.is_empty():
		return {"error": mistake}
	return Eyes.codec(_tree, LONGEST_LIST).encode(value)


func _add_said(result: Dictionary) -> void:
	var printed: PackedStringArray = []
	for entry: Dictionary in _messages.since(_mark):
		if not entry.has("file"):
			printed.append(entry["text"])
	if not printed.is_empty():
		result["printed"] = "\n".join(printed).right(4000)
	var errors: Array[String] = _messages.errors_since(_mark)
	if not errors.is_empty():
		result["errors"] = errors.slice(0, 20)
