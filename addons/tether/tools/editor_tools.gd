@tool
extends RefCounted
## The tools about the editor itself: what it shows, its log, undo.

const Context := preload("context.gd")
const Schema := preload("schema.gd")
const Words := preload("words.gd")

var _context: Context


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	return [
		{"name": "editor_state", "read": true, "call": _state,
				"description": "What is going on in the Godot editor: open scenes, selection, running game, unsaved changes, versions. Ask this first.",
				"input": Schema.object()},
		{"name": "node_select", "call": _select,
				"description": "Selects nodes of the edited scene, or none.",
				"input": Schema.object({"paths": Schema.texts("")}, ["paths"])},
		{"name": "editor_screenshot", "read": true, "call": _screenshot,
				"description": "A screenshot of the editor, its 2D or 3D viewport, or the running game: see what it looks like.",
				"input": Schema.object({
					"target": Schema.choice("", ["editor", "2d", "3d", "game"], "editor"),
					"max_size": Schema.integer("Longest side in pixels", 64, 4096, 1024)})},
		{"name": "editor_log", "read": true, "call": _log,
				"description": "Messages, warnings and errors of the editor itself, newest last; for the game see project_output.",
				"input": Schema.object({
					"severity": Schema.choice("", ["info", "warning", "error"], "info"),
					"contains": Schema.text("", ""),
					"after": Schema.hidden(Schema.integer("'last' of an earlier answer.", 0, 1 << 53, 0)),
					"limit": Schema.integer("", 1, 500, 50)})},
		{"name": "editor_undo", "call": _undo,
				"description": "Undoes the last change that a tool made.",
				"input": Schema.object({"any": Schema.hidden(Schema.flag("Also a change of the user's."))})},
		{"name": "editor_redo", "call": _redo,
				"description": "Redoes what was undone last.",
				"input": Schema.object()},
	]


func _state(_arguments: Dictionary) -> Dictionary:
	var root: Node = _context.scene()
	var selected: Array[String] = []
	if root != null:
		for node: Node in EditorInterface.get_selection().get_selected_nodes():
			selected.append(_context.path_of(node))
	var busy: String = _context.busy_reason()
	var edited: Variant = null
	if root != null:
		edited = {"path": root.scene_file_path, "root": str(root.name), "type": root.get_class()}
	var playing: Variant = null
	if EditorInterface.is_playing_scene():
		playing = EditorInterface.get_playing_scene()
	var result: Dictionary = {
		"godot": Engine.get_version_info()["string"],
		"project": ProjectSettings.get_setting("application/config/name", ""),
		"folder": ProjectSettings.globalize_path("res://"),
		"open_scenes": Array(EditorInterface.get_open_scenes()),
		"unsaved_scenes": _context.unsaved_scenes(),
		"edited_scene": edited,
		"selected": selected.slice(0, 50),
		"playing": playing,
		"headless": DisplayServer.get_name() == "headless",
	}
	if not busy.is_empty():
		result["busy"] = busy
	return result


func _select(arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var nodes: Array[Node] = []
	for path: String in arguments["paths"]:
		var node: Node = _context.find_node(path, problem)
		if node == null:
			return problem
		nodes.append(node)
	var selection: EditorSelection = EditorInterface.get_selection()
	selection.clear()
	for node: Node in nodes:
		selection.add_node(node)
	if nodes.size() == 1:
		EditorInterface.edit_node(nodes[0])
	return {"selected": nodes.map(_context.path_of)}


# ---- pictures ----------------------------------------------------------------------------------


func _screenshot(arguments: Dictionary) -> Dictionary:
	var target: String = arguments["target"]
	if target != "game" and DisplayServer.get_name() == "headless":
		return Context.failure("This editor runs without a window (--headless), so there is nothing to see.")
	if target == "game":
		return await _shoot_game(arguments["max_size"])
	var image: Image = await _take(target)
	if image == null or image.is_empty():
		return Context.failure("The picture could not be taken: '%s' gave none." % target)
	var size: Vector2i = image.get_size()
	_shrink(image, arguments["max_size"])
	return {"content": Context.picture(target, image.save_png_to_buffer(), size, image.get_size())}


func _shoot_game(longest: int) -> Dictionary:
	var problem: Dictionary = {}
	var session: int = await _context.game.pick(0, problem)
	var answer: Dictionary = problem if session < 0 else await _context.game.ask(session, "picture", {"max_size": longest})
	if answer.has("error"):
		return answer
	return {"content": Context.picture("game", answer["png"], answer["size"], answer["shown"])}


func _take(target: String) -> Image:
	var viewport: Viewport = EditorInterface.get_base_control().get_viewport()
	if target != "editor":
		EditorInterface.set_main_screen_editor(target.to_upper())
		viewport = EditorInterface.get_editor_viewport_2d() if target == "2d" else EditorInterface.get_editor_viewport_3d(0)
	# Two frames: what changed is laid out in the first and drawn in the second.
	await _context.next_frame()
	await _context.next_frame()
	RenderingServer.force_draw(false)
	return viewport.get_texture().get_image()


func _shrink(image: Image, longest: int) -> void:
	var factor: float = float(longest) / maxi(image.get_width(), image.get_height())
	if image.is_compressed():
		image.decompress()
	if factor < 1.0:
		image.resize(maxi(1, roundi(image.get_width() * factor)), maxi(1, roundi(image.get_height() * factor)), Image.INTERPOLATE_LANCZOS)


# ---- log and undo ------------------------------------------------------------------------------


func _log(arguments: Dictionary) -> Dictionary:
	var severities: Array[String] = Context.LogBuffer.SEVERITIES
	var least: int = severities.find(arguments["severity"])
	var wanted: String = arguments["contains"]
	var found: Array[Dictionary] = []
	for entry: Dictionary in _context.messages.since(int(arguments["after"]) + 1):
		if severities.find(entry["severity"]) >= least and (wanted.is_empty() or str(entry["text"]).containsn(wanted)):
			found.append(entry)
	var shown: Array[Dictionary] = found.slice(maxi(0, found.size() - int(arguments["limit"])))
	var lines: Array[Dictionary] = []
	for entry: Dictionary in shown:
		entry["text"] = Words.without_colours(entry["text"]).left(1000)
		lines.append(entry)
	return {"entries": lines, "matching": found.size(), "last": _context.messages.mark() - 1, "now": Time.get_ticks_msec()}


func _undo(arguments: Dictionary) -> Dictionary:
	var before: Dictionary[int, Array] = _context.undo_states()
	var newest: Array = before.values().filter(func(state: Array) -> bool: return state[2] != "")
	if newest.is_empty():
		return Context.failure("There is nothing to undo.")
	if not arguments["any"] and not newest.any(_context.is_made_by_tool):
		return _not_ours(newest[-1][2])
	if not _context.press_shortcut(&"ui_undo"):
		return Context.failure("The editor's menu has no entry for undo.")
	var undone: Array = _changed(before)
	if undone.is_empty():
		return Context.failure("Nothing was undone; editor_log may say why.")
	if not arguments["any"] and not _context.is_made_by_tool(undone):
		_context.press_shortcut(&"ui_redo")
		return _not_ours(undone[2])
	return {"undone": undone[2]}


func _not_ours(name: String) -> Dictionary:
	return Context.failure("The last change, '%s', was not made by a tool. To undo it all the same, give \"any\": true." % name)


func _redo(_arguments: Dictionary) -> Dictionary:
	var before: Dictionary[int, Array] = _context.undo_states()
	if not _context.press_shortcut(&"ui_redo"):
		return Context.failure("The editor's menu has no entry for redo.")
	var changed: Array = _changed(before)
	return Context.failure("There is nothing to redo.") if changed.is_empty() else {"redone": _context.undo_states()[changed[0]][2]}


## The former state of the history that has moved, or [].
func _changed(before: Dictionary[int, Array]) -> Array:
	var after: Dictionary[int, Array] = _context.undo_states()
	for id: int in before:
		if after.get(id, []) != before[id]:
			return before[id]
	return []
