@tool
extends RefCounted
## What AI clients can look at and choose beside the tools: resources of the editor, and prompts.
##
## Each is a tool's answer under an address, so that nothing is told in two ways.

const Context := preload("context.gd")
const Switches := preload("switches.gd")

const JSON_TYPE: String = "application/json"
## Letters of a file as a resource.
const LONGEST_TEXT: int = 4 << 20
## URI, name, title, type, tool, its arguments. "{…}" in an argument is the variable of the address.
const RESOURCES: Array[Array] = [
	["godot://scene", "scene", "The edited scene: its nodes", JSON_TYPE, "scene_tree", {"depth": 64, "limit": 500}],
	["godot://settings", "settings", "Project settings that were changed", JSON_TYPE, "project_settings_get", {"limit": 500}],
	["godot://log", "log", "Messages, warnings and errors of the editor", JSON_TYPE, "editor_log", {"limit": 200}],
	["godot://output", "output", "What the game prints, and its errors", "text/plain", "project_output", {"limit": 200}],
	["godot://file/{+path}", "file", "A script or another text file of the project", "text/plain", "file_read", {"path": "res://{path}", "limit": 2000}],
	["godot://docs/{class}", "docs", "A class of the engine, as this version has it", JSON_TYPE, "docs_class", {"name": "{class}", "limit": 500}],
]
## Name, title, description, arguments (name → what it is), text. An argument of the text is in braces.
const PROMPTS: Array[Array] = [
	["fix_errors", "Find and fix what is broken", "Runs the game, reads its errors, and mends their causes.", {},
			"Run the game with project_run, and look at project_output and editor_screenshot (target game). Find the cause of each error in the scripts and scenes, mend it with script_edit or node_set, and run it again until nothing is left. Say in the end what was wrong."],
	["review_script", "Review a script", "Looks for mistakes in a script.", {"path": "The script, 'res://….gd'."},
			"Review {path}: read it with file_read, check it with script_check, and look up what it uses with docs_member where you are not sure. Name mistakes, what is slow, and what is not typed; propose changes, and make none before I agree."],
	["explain_scene", "Explain the open scene", "Tells how the open scene works.", {},
			"Explain how the scene that is open in the editor works: scene_tree for its nodes, node_get for what matters of them, file_read for their scripts, node_signals for their connections. Be short, and begin with what it is for."],
	["build", "Build something in the open scene", "Adds what you describe to the open scene.", {"what": "What is to be built."},
			"Build this in the scene that is open in the editor: {what}. Look at scene_tree first, make the changes with scene_edit so that one undo takes them back, write scripts where they are needed, and look at the result with editor_screenshot."],
	["playtest", "Play the game", "Plays the game and tells what does not work.", {"goal": "What to try."},
			"Run the game and try this: {goal}. Look at its input actions with project_input_map, play with game_play (keys, waits, values and a picture in one call), and look at game_tree, game_get and project_output. Tell what works, what does not, and where in the code that comes from."],
]

var _call_tool: Callable
var _server: Object


## [param call_tool] gets arguments and a name, and may be a coroutine.
func _init(server: Object, call_tool: Callable) -> void:
	_server = server
	_call_tool = call_tool
	for entry: Array in RESOURCES:
		var shown: Dictionary = {"name": entry[1], "title": entry[2], "mimeType": entry[3]}
		if "{" in entry[0]:
			shown["complete"] = _complete.bind(entry[1])
			server.call("register_resource_template", entry[0], shown, _read.bind(entry))
		else:
			server.call("register_resource", entry[0], shown, _read.bind(entry))
	for entry: Array in PROMPTS:
		var arguments: Array = []
		for name: String in entry[3]:
			arguments.append({"name": name, "description": entry[3][name], "required": true})
		server.call("register_prompt", entry[0], {"title": entry[1], "description": entry[2], "arguments": arguments,
				"complete": _complete.bind(entry[0])}, _say.bind(entry))


func close() -> void:
	for entry: Array in RESOURCES:
		_server.call("unregister_resource_template" if "{" in entry[0] else "unregister_resource", entry[0])
	for entry: Array in PROMPTS:
		_server.call("unregister_prompt", entry[0])


func _read(variables: Dictionary, entry: Array) -> Variant:
	var arguments: Dictionary = (entry[5] as Dictionary).duplicate()
	for key: String in arguments:
		if arguments[key] is String:
			var text: String = arguments[key]
			for name: String in variables:
				text = text.replace("{%s}" % name, str(variables[name]).uri_decode())
			arguments[key] = text
	var is_plain: bool = entry[3] == "text/plain"
	var answer: Dictionary = await _call_tool.call(arguments, entry[4])
	if not is_plain or not answer.has("text"):
		return answer
	var text: String = answer["text"]
	while answer.has("next") and text.length() < LONGEST_TEXT: # a file of many lines
		arguments["from"] = answer["next"]
		answer = await _call_tool.call(arguments, entry[4])
		text += "\n" + str(answer.get("text", answer.get("error")))
	return text


func _say(arguments: Dictionary, entry: Array) -> String:
	var text: String = entry[4]
	for name: String in entry[3]:
		text = text.replace("{%s}" % name, str(arguments.get(name, "")))
	return text


## Files and classes that begin with what has been typed.
func _complete(_argument: String, begun: String, what: String) -> Array:
	if what == "docs":
		return Array(ClassDB.get_class_list()).filter(func(name: String) -> bool: return name.begins_with(begun))
	if not what in ["file", "review_script"] or Switches.mode_of("file_list") == Switches.Use.ASK: # not at each key
		return []
	var is_script: bool = what == "review_script"
	var found: Dictionary = await _call_tool.call({"glob": "*.gd" if is_script else "*", "limit": 500}, "file_list")
	return (found.get("files", []) as Array).map(func(path: String) -> String: return path if is_script else path.trim_prefix("res://")) \
			.filter(func(path: String) -> bool: return path.begins_with(begun))
