@tool
extends RefCounted
## Input events in a few words: {"key": "Space", "ctrl": true}, {"mouse": "left"},
## {"joy_button": 0}, {"joy_axis": 1, "value": -1.0}, each with an optional "device".

const MOUSE: Dictionary[String, MouseButton] = {
	"left": MOUSE_BUTTON_LEFT, "right": MOUSE_BUTTON_RIGHT, "middle": MOUSE_BUTTON_MIDDLE,
	"wheel_up": MOUSE_BUTTON_WHEEL_UP, "wheel_down": MOUSE_BUTTON_WHEEL_DOWN,
	"extra1": MOUSE_BUTTON_XBUTTON1, "extra2": MOUSE_BUTTON_XBUTTON2,
}


static func to_words(event: InputEvent) -> Dictionary:
	var words: Dictionary = {}
	if event is InputEventKey:
		var physical: bool = event.keycode == KEY_NONE and event.physical_keycode != KEY_NONE
		words["key"] = OS.get_keycode_string(event.physical_keycode if physical else event.keycode)
		words["physical"] = physical
	elif event is InputEventMouseButton:
		var name: Variant = MOUSE.find_key(event.button_index)
		words["mouse"] = name if name != null else event.button_index
	elif event is InputEventJoypadButton:
		words["joy_button"] = event.button_index
	elif event is InputEventJoypadMotion:
		words["joy_axis"] = event.axis
		words["value"] = event.axis_value
	else:
		words["event"] = event.as_text()
	if event is InputEventWithModifiers:
		for modifier: String in ["ctrl", "shift", "alt", "meta"]:
			if event.get(modifier + "_pressed"):
				words[modifier] = true
	return words


## The event, or null with an error in [param problem].
static func from_words(words: Dictionary, problem: Dictionary) -> InputEvent:
	var event: InputEvent = null
	if words.get("key") is String:
		event = _key(words, problem)
	elif words.has("mouse"):
		event = InputEventMouseButton.new()
		var named: String = str(words["mouse"])
		if not MOUSE.has(named) and not named.is_valid_int():
			problem["error"] = "There is no mouse button '%s'; there are %s." % [named, ", ".join(MOUSE.keys())]
		event.button_index = MOUSE.get(named, named.to_int())
	elif words.has("joy_button"):
		event = InputEventJoypadButton.new()
		event.button_index = int(words["joy_button"])
	elif words.has("joy_axis"):
		event = InputEventJoypadMotion.new()
		event.axis = int(words["joy_axis"])
		event.axis_value = float(words.get("value", 1.0))
	else:
		problem["error"] = "An event has 'key', 'mouse', 'joy_button' or 'joy_axis', not %s." % JSON.stringify(words)
		return null
	event.device = int(words.get("device", -1))
	if event is InputEventWithModifiers:
		for modifier: String in ["ctrl", "shift", "alt", "meta"]:
			event.set(modifier + "_pressed", words.get(modifier, false) == true)
	return null if problem.has("error") else event


static func _key(words: Dictionary, problem: Dictionary) -> InputEventKey:
	var code: Key = OS.find_keycode_from_string(words["key"])
	if code == KEY_NONE:
		problem["error"] = "There is no key '%s'; names are as in the input map: Space, Enter, Left, A, F1, …" % words["key"]
	var event: InputEventKey = InputEventKey.new()
	if words.get("physical", true) == true:
		event.physical_keycode = code
	else:
		event.keycode = code
	return event
