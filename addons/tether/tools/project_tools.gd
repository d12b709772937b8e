@tool
extends RefCounted
## The tools about the project: settings, input map, autoloads, running the game.

const Context := preload("context.gd")
const GuardedSettings := preload("guarded_settings.gd")
const InputEvents := preload("input_events.gd")
const LoadGuard := preload("load_guard.gd")
const SavedFiles := preload("saved_files.gd")
const Schema := preload("schema.gd")
const Types := preload("value_types.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

const RUN_ARGUMENTS: String = "editor/run/main_run_args"
## Letters of the game's output in one answer.
const LONGEST_OUTPUT: int = 50000

var _context: Context


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "project_settings_get", "read": true, "call": _get_settings,
				"description": "Project settings that are not at their defaults; one by name, or all below a prefix.",
				"input": Schema.object(Schema.paged({"name": Schema.text("'display/window/' or the like.", "")}, 60))},
		{"name": "project_settings_set", "call": _set_settings,
				"description": "Changes project settings (window size, physics, main scene, …) and saves them; null is the default. Not those that start programs or run code with the editor.",
				"input": Schema.object({"settings": Schema.map(""),
					"create": Schema.hidden(Schema.flag("Also new settings."))}, ["settings"])},
		{"name": "project_input_map", "call": _input_map,
				"description": "The input map: list the input actions, add an action with a key or button (or replace its events), or remove one.",
				"input": Schema.object({
					"action": Schema.choice("", ["list", "add", "remove"], "list"),
					"name": Schema.text(""),
					"events": Schema.objects("{\"key\": \"Space\", \"ctrl\": true}, {\"mouse\": \"left\"}, {\"joy_button\": 0}, {\"joy_axis\": 0, \"value\": -1}."),
					"deadzone": Schema.number("", 0, 1, 0.2),
					"builtin": Schema.hidden(Schema.flag("Also ui_ actions."))})},
		{"name": "project_autoloads", "call": _autoloads,
				"description": "Lists the autoloads (singletons that are always loaded), adds one, or removes one.",
				"input": Schema.object({
					"action": Schema.choice("", ["list", "add", "remove"], "list"),
					"name": Schema.text(""),
					"path": Schema.text("Script or scene.")})},
		{"name": "project_run", "destructive": true, "open_world": true, "call": _run_game,
				"description": "Runs (starts, plays) the game from the editor.",
				"input": Schema.object({"scene": Schema.text("Or 'current', or a path.", "main")})},
		{"name": "project_stop", "while_busy": true, "call": _stop_game,
				"description": "Stops the running game.", "input": Schema.object()},
		{"name": "project_output", "read": true, "plain": "text", "call": _output,
				"description": "What the running game, or the last one, prints, and its errors: why it crashes or does not work.",
				"input": Schema.object({"from": Schema.integer("First line, else the last ones.", 0, 1 << 30),
					"limit": Schema.integer("", 1, 1000, 100),
					"stacks": Schema.flag("Errors with their stacks.")})},
		{"name": "project_export_presets", "read": true, "call": _export_presets,
				"description": "The export presets of the project.", "input": Schema.object()},
	]


# ---- settings ----------------------------------------------------------------------------------


func _settings_info() -> Dictionary[String, Dictionary]:
	var found: Dictionary[String, Dictionary] = {}
	for info: Dictionary in ProjectSettings.get_property_list():
		if not info["usage"] & (PROPERTY_USAGE_CATEGORY | PROPERTY_USAGE_GROUP) and ProjectSettings.has_setting(info["name"]):
			found[info["name"]] = info
	return found


func _get_settings(arguments: Dictionary) -> Dictionary:
	var wanted: String = arguments["name"]
	var known: Dictionary[String, Dictionary] = _settings_info()
	var codec: VariantJson = _context.codec(100)
	if known.has(wanted):
		var value: Variant = ProjectSettings.get_setting(wanted)
		var result: Dictionary = {"name": wanted, "value": codec.encode(value, known[wanted]["type"]), "type": type_string(known[wanted]["type"])}
		if not str(known[wanted]["hint_string"]).is_empty():
			result["hint"] = known[wanted]["hint_string"]
		return result
	var names: Array[String] = []
	for name: String in known:
		if name.begins_with("input/"):
			continue
		if name.begins_with(wanted) if not wanted.is_empty() else _is_changed(name):
			names.append(name)
	if names.is_empty():
		return Context.failure("There is no setting '%s'.%s" % [wanted, Words.suggest(wanted, known.keys())])
	names.sort()
	var page: Dictionary = Words.page(names, arguments["offset"], arguments["limit"], "settings")
	var values: Dictionary = {}
	for name: String in page["settings"]:
		values[name] = codec.encode(ProjectSettings.get_setting(name), known[name]["type"])
	page["settings"] = values
	return page


func _is_changed(name: String) -> bool:
	if not ProjectSettings.property_can_revert(name):
		return true
	return not Types.is_same_value(ProjectSettings.get_setting(name), ProjectSettings.property_get_revert(name))


func _set_settings(arguments: Dictionary) -> Dictionary:
	var known: Dictionary[String, Dictionary] = _settings_info()
	var values: Dictionary = {}
	var codec: VariantJson = _context.codec()
	for name: String in arguments["settings"]:
		if name.begins_with("input/") or name.begins_with("autoload/") or name.begins_with("autoload_prepend/"):
			return Context.failure("'%s' is changed with %s." % [name, "project_input_map" if name.begins_with("input/") else "project_autoloads"])
		if not GuardedSettings.why_kept(name).is_empty():
			return Context.failure(GuardedSettings.why_kept(name))
		if not known.has(name) and not arguments["create"]:
			return Context.failure("There is no setting '%s'.%s (\"create\": true makes a new one.)" % [name, Words.suggest(name, known.keys())])
		var json: Variant = arguments["settings"][name]
		if json == null:
			values[name] = ProjectSettings.property_get_revert(name) if ProjectSettings.property_can_revert(name) else null
			continue
		values[name] = codec.decode(json, known.get(name, Types.FREE))
		if not codec.error.is_empty():
			return Context.failure("Setting '%s': %s" % [name, codec.error])
		if not GuardedSettings.why_not_set(name, values[name]).is_empty():
			return Context.failure(GuardedSettings.why_not_set(name, values[name]))
	if values.is_empty():
		return Context.failure("'settings' is empty: nothing to set.")
	_change_settings("Set %s" % Words.enumerate(values.keys(), 2), values)
	return {"set": values.keys()}


## One undoable action that changes settings and saves the project file; null removes a setting.
func _change_settings(title: String, values: Dictionary) -> void:
	var undo: EditorUndoRedoManager = _context.begin(title, ProjectSettings)
	for name: String in values:
		undo.add_do_method(ProjectSettings, "set_setting", name, values[name])
		undo.add_undo_method(ProjectSettings, "set_setting", name,
				ProjectSettings.get_setting(name) if ProjectSettings.has_setting(name) else null)
	undo.add_do_method(ProjectSettings, "save")
	undo.add_undo_method(ProjectSettings, "save")
	_context.commit(ProjectSettings)


# ---- input map and autoloads -------------------------------------------------------------------


func _input_map(arguments: Dictionary) -> Dictionary:
	if arguments["action"] == "list":
		return _list_actions(arguments["builtin"], arguments.get("name", ""))
	var name: String = arguments.get("name", "")
	if name.is_empty() or name.validate_filename() != name or name.contains("="):
		return Context.failure("An input action needs a 'name' without special characters, not '%s'." % name)
	var setting: String = "input/" + name
	if arguments["action"] == "remove":
		if not ProjectSettings.has_setting(setting):
			return Context.failure("There is no input action '%s'.%s" % [name, Words.suggest(name, _actions(true))])
		if name.begins_with("ui_"):
			return Context.failure("'%s' is one of the engine's own actions." % name)
		_change_settings("Remove input action %s" % name, {setting: null})
		return {"removed": name}
	var problem: Dictionary = {}
	var events: Array = []
	for words: Dictionary in arguments.get("events", []):
		events.append(InputEvents.from_words(words, problem))
		if problem.has("error"):
			return problem
	_change_settings("Add input action %s" % name, {setting: {"deadzone": float(arguments["deadzone"]), "events": events}})
	return {"added": name, "events": events.map(InputEvents.to_words)}


func _actions(builtin: bool) -> Array[String]:
	var names: Array[String] = []
	for info: Dictionary in ProjectSettings.get_property_list():
		var name: String = info["name"]
		if name.begins_with("input/") and (builtin or not name.begins_with("input/ui_")) and ProjectSettings.get_setting(name) is Dictionary:
			names.append(name.trim_prefix("input/"))
	return names


func _list_actions(builtin: bool, only: String) -> Dictionary:
	var actions: Dictionary = {}
	for name: String in _actions(builtin or not only.is_empty()):
		if only.is_empty() or name == only:
			var setting: Dictionary = ProjectSettings.get_setting("input/" + name)
			actions[name] = {"deadzone": setting.get("deadzone", 0.2), "events": setting.get("events", []).map(InputEvents.to_words)}
	return {"actions": actions}


func _autoloads(arguments: Dictionary) -> Dictionary:
	var name: String = arguments.get("name", "")
	var setting: String = "autoload/" + name
	match arguments["action"]:
		"add":
			return _add_autoload(name, arguments.get("path", ""))
		"remove":
			if not ProjectSettings.has_setting(setting):
				return Context.failure("There is no autoload '%s'.%s" % [name, Words.suggest(name, _autoload_names())])
			_context.plugin.remove_autoload_singleton(name)
			return _after_autoload({"removed": name})
	var found: Dictionary = {}
	for each: String in _autoload_names():
		var value: String = ProjectSettings.get_setting("autoload/" + each)
		var path: String = _context.project_path(value.trim_prefix("*"), {})
		found[each] = {"path": path if not path.is_empty() else value.trim_prefix("*"), "singleton": value.begins_with("*")}
	return {"autoloads": found}


func _autoload_names() -> Array[String]:
	var names: Array[String] = []
	for info: Dictionary in ProjectSettings.get_property_list():
		if str(info["name"]).begins_with("autoload/"):
			names.append(str(info["name"]).trim_prefix("autoload/"))
	return names


## The editor checks all this, too, but with a dialog.
func _add_autoload(name: String, given: String) -> Dictionary:
	var problem: Dictionary = {}
	var path: String = _context.project_path(given, problem)
	if path.is_empty():
		return problem
	if not name.is_valid_ascii_identifier() or ClassDB.class_exists(name) or Engine.has_singleton(name) or Types.tags().has(name):
		return Context.failure("'%s' cannot be the name of an autoload: it must be an identifier that is not a class of the engine." % name)
	for entry: Dictionary in ProjectSettings.get_global_class_list():
		if entry["class"] == name:
			return Context.failure("'%s' is the class_name of %s; an autoload needs another name." % [name, entry["path"]])
	if ProjectSettings.has_setting("autoload/" + name):
		return Context.failure("There is an autoload '%s' already." % name)
	if not ResourceLoader.exists(path, "Script") and not ResourceLoader.exists(path, "PackedScene"):
		return Context.failure(_context.missing_file(path) if not FileAccess.file_exists(path) else "'%s' is neither a script nor a scene." % path)
	var loaded: Resource = load(path)
	if loaded is Script and not ClassDB.is_parent_class(loaded.get_instance_base_type(), "Node"):
		return Context.failure("'%s' does not extend Node, or does not parse." % path)
	_context.plugin.add_autoload_singleton(name, path)
	return _after_autoload({"added": name, "path": path})


func _after_autoload(result: Dictionary) -> Dictionary:
	_context.remember(EditorUndoRedoManager.GLOBAL_HISTORY)
	return result


# ---- the game ----------------------------------------------------------------------------------


func _run_game(arguments: Dictionary) -> Dictionary:
	if EditorInterface.is_playing_scene():
		return Context.failure("A game is running already: %s. Stop it with project_stop." % EditorInterface.get_playing_scene())
	var scene: String = arguments["scene"]
	var root: Node = _context.scene()
	if root != null and root.scene_file_path.is_empty():
		return Context.failure("The edited scene has no file yet, and running saves it; save it first with scene_save.")
	var why_not: String = SavedFiles.why_not(root) if root != null else ""
	if not why_not.is_empty():
		return Context.failure(why_not)
	var path: String = scene
	var problem: Dictionary = {}
	if scene == "main":
		path = ProjectSettings.get_setting("application/run/main_scene", "")
		if path.is_empty():
			return Context.failure("The project has no main scene. Set application/run/main_scene, or run 'current' or a path.")
	elif scene == "current":
		if root == null:
			return Context.failure("No scene is being edited.")
		path = root.scene_file_path
	path = _context.project_path(path, problem)
	if path.is_empty():
		return problem
	if not ResourceLoader.exists(path, "PackedScene"):
		return Context.failure(_context.missing_file(path) if not FileAccess.file_exists(path) else "'%s' is not a scene." % path)
	match scene:
		"main":
			EditorInterface.play_main_scene()
		"current":
			EditorInterface.play_current_scene()
		_:
			EditorInterface.play_custom_scene(path)
	if not EditorInterface.is_playing_scene():
		return Context.failure("The game did not start; editor_log may say why.")
	var result: Dictionary = {"running": path}
	if DisplayServer.get_name() == "headless" and not str(ProjectSettings.get_setting(RUN_ARGUMENTS, "")).contains("--headless"):
		result["note"] = "This editor has no window, but the game opens one. If it cannot, the user puts '--headless' into the setting %s and restarts the editor." % RUN_ARGUMENTS
	return result


func _stop_game(_arguments: Dictionary) -> Dictionary:
	var was: bool = EditorInterface.is_playing_scene()
	EditorInterface.stop_playing_scene()
	return {"stopped": was}


func _output(arguments: Dictionary) -> Dictionary:
	var reason: String = await _context.game.held_by(Context.tree())
	var count: int = _context.game.line_count()
	var first: int = arguments.get("from", maxi(0, count - arguments["limit"]))
	var lines: PackedStringArray = _context.game.lines_from(first, arguments["limit"])
	var shown: PackedStringArray = Words.fitting(lines, LONGEST_OUTPUT, not arguments.has("from"))
	if not arguments.has("from"):
		first += lines.size() - shown.size()
	var result: Dictionary = {"from": first, "text": "\n".join(shown).left(LONGEST_OUTPUT), "lines": count,
			"playing": EditorInterface.is_playing_scene(), "connected": _context.game.has_game()}
	if arguments.has("from") and shown.size() < lines.size():
		result["next"] = first + shown.size()
	var errors: Array[String] = _debugger_errors(arguments["stacks"])
	if not errors.is_empty():
		result["errors"] = errors
	if not reason.is_empty():
		result["held"] = "The debugger holds the game, and nothing goes on in it: %s game_debug tells more and continues it, project_stop ends it." % (
				reason if reason.ends_with(".") else reason + ".")
	return result


## What the list of errors in the debugger shows; the engine gives it nowhere else. What comes again
## in each frame is told once, with how often.
func _debugger_errors(with_stacks: bool) -> Array[String]:
	var times: Dictionary[String, int] = {}
	var firsts: Dictionary[String, String] = {}
	var debuggers: Node = _context.find_control("EditorDebuggerNode")
	var found_debuggers: Array[Node] = debuggers.find_children("*", "ScriptEditorDebugger", true, false) if debuggers != null else ([] as Array[Node])
	for session: int in found_debuggers.size():
		# That of a second game keeps its list when others are run.
		for tree: Tree in found_debuggers[session].find_children("*", "Tree", true, false) if _context.game.is_heard(session) else []:
			# Errors stand in two columns: the time, and the text.
			if tree.columns != 2 or tree.get_root() == null or not tree.hide_root:
				continue
			for item: TreeItem in tree.get_root().get_children():
				if item.has_meta("_is_error") or item.has_meta("_is_warning"):
					var text: String = item.get_text(1).left(500) + _place_of(item, with_stacks)
					times[text] = times.get(text, 0) + 1
					firsts.get_or_add(text, item.get_text(0))
	var found: Array[String] = []
	for text: String in times.keys().slice(-50):
		found.append("%s %s%s" % [firsts[text], text, " (%d times)" % times[text] if times[text] > 1 else ""])
	return found


## Where in the project an error came up: its rows name the lines that led to it.
func _place_of(item: TreeItem, with_stack: bool) -> String:
	var places: PackedStringArray = []
	for row: TreeItem in item.get_children():
		var place: Variant = row.get_metadata(0)
		if place is Array and (place as Array).size() == 2 and str((place as Array)[0]).begins_with("res://"):
			var function: String = row.get_text(1).get_slice("@", 1).strip_edges() if row.get_text(1).contains("@") else ""
			places.append(("%s:%d" % (place as Array)) + (" in " + function if with_stack and not function.is_empty() else ""))
	return "" if places.is_empty() else " (%s)" % (", from ".join(places) if with_stack else places[0])


func _export_presets(_arguments: Dictionary) -> Dictionary:
	var presets: Array[Dictionary] = []
	if not FileAccess.file_exists("res://export_presets.cfg"):
		return {"presets": presets}
	var file: ConfigFile = LoadGuard.settings_of("res://export_presets.cfg")
	if file == null:
		return Context.failure("'res://export_presets.cfg' is not read: it is not plain, and to read it might run code. file_read shows it.")
	for section: String in file.get_sections():
		if section.begins_with("preset.") and not section.ends_with(".options"):
			presets.append({"name": file.get_value(section, "name", ""), "platform": file.get_value(section, "platform", ""),
					"runnable": file.get_value(section, "runnable", false), "export_path": file.get_value(section, "export_path", ""),
					"filter": file.get_value(section, "export_filter", "")})
	return {"presets": presets}
