@tool
extends RefCounted
## What the families of tools share: the plugin they work for, the log, the running game, the edited
## scene, paths and undo.

const ClassDocs := preload("class_docs.gd")
const GameLink := preload("game_link.gd")
const LogBuffer := preload("log_buffer.gd")
const Places := preload("places.gd")
const VariantJson := preload("variant_json.gd")
const Words := preload("words.gd")

## How long a tool may work before it lets the editor draw a frame.
const SLICE_USEC: int = 8000
## How long a tool waits for a scan of the files before it says that the editor is busy.
const SCAN_MSEC: int = 3000

var plugin: EditorPlugin
var messages: LogBuffer
var game: GameLink
var docs: ClassDocs = ClassDocs.new()
## The number of the call that a tool has been given just now: to be asked before anything is awaited. 0: nobody's.
var call_id: int = 0

## The actions that tools made, newest last, as in undo_states().
var _made: Array[Array] = []
## Instance ids of parts of the editor that were looked for.
var _controls: Dictionary[String, int] = {}
var _slice_start: int = 0


func _init(editor_plugin: EditorPlugin) -> void:
	plugin = editor_plugin
	messages = LogBuffer.new()
	OS.add_logger(messages)
	game = GameLink.new()
	plugin.add_debugger_plugin(game)


func close() -> void:
	game.close()
	plugin.remove_debugger_plugin(game)
	OS.remove_logger(messages)
	docs.clear()
	plugin = null


static func failure(message: String) -> Dictionary:
	return {"error": message}


## A picture as the content of an answer.
static func picture(what: String, png: PackedByteArray, size: Vector2i, shown: Vector2i) -> Array:
	return [{"type": "image", "data": Marshalls.raw_to_base64(png), "mimeType": "image/png"},
			{"type": "text", "text": "%s, %d×%d%s" % [what, size.x, size.y, "" if size == shown else ", shown at %d×%d" % [shown.x, shown.y]]}]


## The editor's main loop, which outlives the plugin that a waiting call belongs to.
static func tree() -> SceneTree:
	return Engine.get_main_loop()


# ---- time --------------------------------------------------------------------------------------


## Waits for the next frame if this slice has worked long enough. Call begin_work() first.
func breathe() -> void:
	if Time.get_ticks_usec() - _slice_start > SLICE_USEC:
		await tree().process_frame
		_slice_start = Time.get_ticks_usec()


func begin_work() -> void:
	_slice_start = Time.get_ticks_usec()


func next_frame() -> void:
	await tree().process_frame


## Gives a scan of the project's files that is under way a moment to end.
func wait_for_scan() -> void:
	var end: int = Time.get_ticks_msec() + SCAN_MSEC
	var was_scanning: bool = false
	while Time.get_ticks_msec() < end:
		var is_scanning: bool = EditorInterface.get_resource_filesystem().is_scanning()
		if not is_scanning and not was_scanning:
			return
		was_scanning = is_scanning # in the frame after that, the editor has taken over what was found
		await tree().process_frame


## Tells the editor of a file that was written; also in a folder that it does not know yet.
static func announce(path: String) -> void:
	var files: EditorFileSystem = EditorInterface.get_resource_filesystem()
	if files.get_filesystem_path(path.get_base_dir()) != null:
		files.update_file(path)
		return
	files.scan()
	if not files.is_scanning(): # one is over and not taken over yet
		tree().process_frame.connect(_scan_for.bind(path), CONNECT_ONE_SHOT)


static func _scan_for(path: String) -> void:
	var files: EditorFileSystem = EditorInterface.get_resource_filesystem()
	if files.get_filesystem_path(path.get_base_dir()) == null:
		files.scan()


## Why nothing can be changed just now, or "".
func busy_reason() -> String:
	var files: EditorFileSystem = EditorInterface.get_resource_filesystem()
	if files.is_scanning():
		return "it scans and imports the project's files (%d %%)" % int(100.0 * files.get_scanning_progress())
	var dialog: Window = _modal_dialog()
	if dialog != null:
		return "the dialog '%s' waits for the user" % (dialog.title if not dialog.title.is_empty() else dialog.get_class())
	return ""


func _modal_dialog() -> Window:
	var main: Window = EditorInterface.get_base_control().get_window()
	var windows: Array[Window] = main.get_embedded_subwindows()
	for id: int in DisplayServer.get_window_list():
		if is_instance_id_valid(DisplayServer.window_get_attached_instance_id(id)):
			windows.append(instance_from_id(DisplayServer.window_get_attached_instance_id(id)) as Window)
	for window: Window in windows:
		if window != null and window != main and window.visible and window.exclusive:
			return window
	return null


## A part of the editor's window by its class, which no other way leads to; null if there is none.
func find_control(type: String) -> Node:
	if not is_instance_id_valid(_controls.get(type, 0)):
		var found: Array[Node] = EditorInterface.get_base_control().find_children("*", type, true, false)
		_controls[type] = found[0].get_instance_id() if not found.is_empty() else 0
	return instance_from_id(_controls[type]) as Node if is_instance_id_valid(_controls[type]) else null


# ---- the edited scene --------------------------------------------------------------------------


func scene() -> Node:
	return EditorInterface.get_edited_scene_root()


func codec(longest: int = 0) -> VariantJson:
	return VariantJson.new(scene(), longest)


## A node of the edited scene by its path from the root ("." is the root), or null with
## [param problem]["error"] set.
func find_node(path: String, problem: Dictionary) -> Node:
	var root: Node = scene()
	if root == null:
		problem["error"] = "No scene is being edited. Open one with scene_open, or make one with scene_new."
		return null
	var name: String = path.trim_prefix("/root/").trim_prefix("./")
	if name in ["", ".", str(root.name)] and not (name == str(root.name) and root.has_node(NodePath(name))):
		return root
	var node: Node = root.get_node_or_null(NodePath(name)) if not name.begins_with("/") else null
	if node == null and name.begins_with(str(root.name) + "/"):
		node = root.get_node_or_null(NodePath(name.substr(str(root.name).length() + 1)))
	if node == null or node != root and not root.is_ancestor_of(node):
		problem["error"] = "There is no node '%s' in the edited scene '%s'.%s" % [path, root.name, _similar_nodes(path, root)]
		return null
	return node


func _similar_nodes(path: String, root: Node) -> String:
	var paths: Array[String] = []
	var open: Array[Node] = [root]
	while not open.is_empty() and paths.size() < 2000:
		var node: Node = open.pop_front()
		paths.append(str(root.get_path_to(node)))
		open.append_array(node.get_children())
	var same_name: Array[String] = paths.filter(func(other: String) -> bool: return other.get_file() == path.get_file())
	return Words.suggest(path, paths) if same_name.is_empty() else " Did you mean %s?" % Words.enumerate(same_name, 3)


func path_of(node: Node) -> String:
	return str(scene().get_path_to(node)) if scene() != null else str(node.name)


## Why a node's children or place cannot be changed in this scene, or "".
func locked_reason(node: Node) -> String:
	var root: Node = scene()
	if node == root or node.owner == root or node.owner != null and root.is_editable_instance(node.owner):
		return ""
	return "'%s' belongs to an instance of '%s'; change it there, or turn on 'Editable Children' of the instance." % [
			path_of(node), node.owner.scene_file_path if node.owner != null else "another scene"]


## The titles of the tabs of scenes with unsaved changes; the engine tells it nowhere else.
func unsaved_scenes() -> Array[String]:
	var found: Array[String] = []
	var tabs: Node = find_control("EditorSceneTabs")
	for bar: TabBar in tabs.find_children("*", "TabBar", true, false) if tabs != null else []:
		for index: int in bar.tab_count:
			if bar.get_tab_title(index).ends_with("(*)"):
				found.append(bar.get_tab_title(index).trim_suffix("(*)"))
	return found


## Whether a scene is open and not as in its file. Of scenes with one name, tabs show folders, too.
func is_unsaved(path: String) -> bool:
	if not path in EditorInterface.get_open_scenes():
		return false
	var place: String = path.trim_prefix("res:/")
	return unsaved_scenes().any(func(title: String) -> bool:
		return place.ends_with("/" + title) or place.get_basename().ends_with("/" + title))


# ---- undo --------------------------------------------------------------------------------------


## Begins one action that the user can undo; finish with commit().
func begin(name: String, target: Object) -> EditorUndoRedoManager:
	var undo: EditorUndoRedoManager = plugin.get_undo_redo()
	undo.create_action(name, UndoRedo.MERGE_DISABLE, target)
	return undo


func commit(target: Object, execute: bool = true) -> void:
	var undo: EditorUndoRedoManager = plugin.get_undo_redo()
	undo.commit_action(execute)
	remember(undo.get_object_history_id(target))


## Notes that the newest action of a history was made by a tool.
func remember(id: int) -> void:
	var actions: UndoRedo = plugin.get_undo_redo().get_history_undo_redo(id)
	_made.append([id, actions.get_version(), actions.get_current_action_name()])
	if _made.size() > 1000:
		_made = _made.slice(500)


func is_made_by_tool(state: Array) -> bool:
	return state in _made


## Whether an action is still one that can be undone.
func is_in_history(state: Array) -> bool:
	var actions: UndoRedo = plugin.get_undo_redo().get_history_undo_redo(state[0])
	var index: int = actions.get_current_action() - (actions.get_version() - int(state[1]))
	return index >= 0 and index <= actions.get_current_action() and actions.get_action_name(index) == state[2]


## The state of each history that undo and redo look at: [id, version, name of the newest action].
func undo_states() -> Dictionary[int, Array]:
	var undo: EditorUndoRedoManager = plugin.get_undo_redo()
	var states: Dictionary[int, Array] = {}
	var ids: Array[int] = [EditorUndoRedoManager.GLOBAL_HISTORY]
	if scene() != null:
		ids.append(undo.get_object_history_id(scene()))
	for id: int in ids:
		var actions: UndoRedo = undo.get_history_undo_redo(id)
		states[id] = [id, actions.get_version(), actions.get_current_action_name() if actions.has_undo() else ""]
	return states


## Chooses an entry of the editor's menu by its shortcut, as the user would; false if there is none.
## Undoing a history directly would leave the editor's list of actions behind.
func press_shortcut(action: StringName) -> bool:
	var bar: Node = find_control("EditorTitleBar")
	for menu: PopupMenu in bar.find_children("*", "PopupMenu", true, false) if bar != null else []:
		for index: int in menu.item_count:
			var shortcut: Shortcut = menu.get_item_shortcut(index)
			for event: InputEvent in InputMap.action_get_events(action) if shortcut != null else []:
				if shortcut.events.any(func(own: InputEvent) -> bool: return own != null and own.is_match(event)):
					menu.id_pressed.emit(menu.get_item_id(index))
					return true
	return false


# ---- files -------------------------------------------------------------------------------------


## The plain form of a path that is to be read, or "" with [param problem]["error"] set.
func project_path(path: String, problem: Dictionary) -> String:
	return Places.readable(path, problem)


## The same for a path that is to be written.
func writable_path(path: String, problem: Dictionary) -> String:
	return Places.writable(path, problem)


## A sentence for a path that does not exist, with the names that do.
static func missing_file(path: String) -> String:
	var folder: String = path.get_base_dir()
	if not DirAccess.dir_exists_absolute(folder):
		return "There is no folder '%s'." % folder
	var names: PackedStringArray = DirAccess.get_files_at(folder)
	return "There is no file '%s'.%s" % [path, Words.suggest(path.get_file(), Array(names))]


func make_folder(path: String) -> String:
	var error: Error = DirAccess.make_dir_recursive_absolute(path)
	return "" if error == OK else "Cannot make the folder '%s': %s." % [path, error_string(error)]
