@tool
extends RefCounted
## The tool that makes many edits of the scene at once.

const Context := preload("context.gd")
const NodeTools := preload("node_tools.gd")
const SceneEdits := preload("scene_edits.gd")
const SceneTools := preload("scene_tools.gd")
const Schema := preload("schema.gd")
const Switches := preload("switches.gd")
const ScriptTools := preload("script_tools.gd")
const Words := preload("words.gd")

var _edits: SceneEdits
## The schemas of the tools that make such edits alone.
var _inputs: Dictionary[String, Dictionary] = {}


func _init(context: Context) -> void:
	_edits = SceneEdits.new(context)
	for script: GDScript in [NodeTools, SceneTools, ScriptTools]:
		for tool: Dictionary in script.new(context).call("get_tools"):
			if _edits.edits.has(tool["name"]):
				_inputs[tool["name"]] = tool["input"]


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "scene_edit", "call": _edit, "does": _tools_of,
				"description": "Many changes of the edited scene in one call: one undo step, all or none.",
				"input": Schema.object({"edits": Schema.objects("Each {\"tool\": \"node_add\", …} with that tool's arguments; also %s." %
					", ".join(_edits.edits.keys().slice(1)))}, ["edits"])},
	]


func _tools_of(arguments: Dictionary) -> Array:
	return arguments["edits"].map(func(edit: Dictionary) -> String: return str(edit.get("tool", "")))


func _edit(arguments: Dictionary) -> Dictionary:
	var wanted: Array[Array] = []
	var notes: PackedStringArray = []
	for edit: Dictionary in arguments["edits"]:
		var tool: String = str(edit.get("tool", ""))
		var own: Dictionary = edit.duplicate()
		own.erase("tool")
		var problem: String = "'tool' is one of %s, not '%s'.%s" % [", ".join(_inputs.keys()), tool, Words.suggest(tool, _inputs.keys())]
		var checked: Dictionary = {}
		if _inputs.has(tool) and not Switches.why_off(tool, false).is_empty():
			problem = Switches.why_off(tool, false)
		elif _inputs.has(tool):
			problem = Schema.check(_inputs[tool], own, checked)
		if not problem.is_empty():
			return Context.failure("Nothing was changed. Edit %d%s: %s" % [wanted.size() + 1, " (%s)" % tool if _inputs.has(tool) else "", problem])
		wanted.append([tool, checked["value"]])
		for note: String in checked.get("notes", []):
			notes.append("Edit %d: %s" % [wanted.size(), note])
	if wanted.is_empty():
		return Context.failure("'edits' is empty: nothing to change.")
	var answer: Dictionary = _edits.together(wanted)
	if not notes.is_empty():
		answer["notes"] = notes
	return answer
