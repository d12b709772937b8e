@tool
extends VBoxContainer
## How AI clients are connected: which of them are there and which know this server; for each what
## belongs into its file, written or taken out again at a press.
## [br]All of it is known by the launcher: [code]tether clients[/code] says and does the same.

const TetherControl: GDScript = preload("../control.gd")
const LauncherCall: GDScript = preload("launcher_call.gd")
const Words: GDScript = preload("status_text.gd")

## How a client reaches the server, in the order in which it is offered.
const WAYS: Array[Dictionary] = [
	{"id": "stdio", "name": "As a command (recommended)",
			"why": "Served also when the client starts before the editor, and when the editor comes back; "
			+ "with no ports to change."},
	{"id": "http", "name": "By address (HTTP)",
			"why": "For clients that cannot start commands. It answers while an editor runs, at these ports."},
]

## From this width on, in unscaled pixels, the list stands beside what is shown of a client.
const WIDE: float = 440.0

var _control: TetherControl
var _launcher: LauncherCall = LauncherCall.new()
var _clients: Array[Dictionary] = []
var _shown_for: String = "" # the address for which they have been asked
var _chosen: String = "" # the client that the user has chosen
var _box: BoxContainer = BoxContainer.new()
var _list: Tree = Tree.new()
var _way: OptionButton = OptionButton.new()
var _why: Label = Label.new()
var _place: Label = Label.new()
var _snippet: TextEdit = TextEdit.new()
var _copy: Button = Button.new()
var _add: Button = Button.new()
var _remove: Button = Button.new()
var _result: Label = Label.new()


func _init(control: TetherControl) -> void:
	_control = control
	_build()


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_dress()
		NOTIFICATION_VISIBILITY_CHANGED when is_visible_in_tree():
			_shown_for = "" # files may be others meanwhile
			refresh()
		NOTIFICATION_RESIZED:
			var is_wide: bool = size.x >= WIDE * EditorInterface.get_editor_scale()
			if _box.vertical == is_wide:
				_box.set_deferred(&"vertical", not is_wide) # not while the container sorts its children
		NOTIFICATION_PREDELETE:
			_launcher.finish()


## Shows how it is now; the launcher is asked when somebody looks here, and when the address is another one.
func refresh() -> void:
	if is_visible_in_tree() and _shown_for != _control.get_url():
		_look()


func _look() -> void:
	_shown_for = _control.get_url()
	_ask(["list"], _on_listed)


## The launcher is told what the editor knows better: which project it is, and the ports of a server that runs.
func _ask(words: PackedStringArray, done: Callable) -> void:
	var all: PackedStringArray = PackedStringArray(["clients"]) + words
	all.append_array(["--json", "--project", ProjectSettings.globalize_path("res://")])
	if Words.dictionary(_control.get_status(), "server").get("url"): # else those of the project's settings
		all.append_array(["--http-port", str(_control.get_url().get_slice(":", 2).to_int()),
				"--ws-port", str(_control.get_ws_port())])
	_launcher.ask(_control.get_launcher_path(), all, done)


func _on_listed(answer: Dictionary) -> void:
	var listed: Array = answer.get("clients", [])
	_clients.assign(listed)
	if _clients.is_empty():
		_tell("The tether program of this addon does not answer: %s" % _control.get_launcher_path(), &"error_color")
	_fill()


func _fill() -> void:
	_list.clear()
	var root: TreeItem = _list.create_item()
	for client: Dictionary in _clients:
		var item: TreeItem = _list.create_item(root)
		item.set_text(0, Words.text(client["name"]))
		item.set_text(1, _state_of(client))
		item.set_tooltip_text(0, "Found on this computer." if client["there"] else "Not found on this computer.")
		item.set_tooltip_text(1, Words.text(client["stale"] if client["stale"] else client["problem"]))
		item.set_metadata(0, client["id"])
		if not client["there"]:
			item.set_custom_color(0, Words.dimmed(get_theme_color(&"font_color", &"Editor")))
		if client["stale"] or client["problem"]:
			item.set_custom_color(1, get_theme_color(&"warning_color", &"Editor"))
		elif client["transport"]:
			item.set_custom_color(1, get_theme_color(&"success_color", &"Editor"))
		if client["id"] == _chosen or (_chosen.is_empty() and item.get_index() == 0):
			item.select(0)
	_show_client()


func _state_of(client: Dictionary) -> String:
	if client["problem"]:
		return "file not understood"
	if client["stale"]:
		return "stale"
	if client["transport"]:
		return "connected"
	return "" if client["writable"] else "to be pasted"


func _build() -> void:
	var scale: float = EditorInterface.get_editor_scale()
	var details: VBoxContainer = VBoxContainer.new()
	_list.columns = 2
	_list.hide_root = true
	_list.select_mode = Tree.SELECT_ROW
	_list.set_column_expand_ratio(0, 3)
	_list.set_column_expand_ratio(1, 2)
	_list.item_selected.connect(_on_client_selected)
	_list.custom_minimum_size.y = 70 * scale
	for way: Dictionary in WAYS:
		_way.add_item(way["name"])
	_way.item_selected.connect(_on_way_selected)
	_copy.text = "Copy"
	_copy.pressed.connect(_on_copy)
	_add.text = "Write to File"
	_add.pressed.connect(_on_change.bind("add"))
	_remove.text = "Take Out"
	_remove.pressed.connect(_on_change.bind("remove"))
	var row: HFlowContainer = HFlowContainer.new() # the buttons go below where it is narrow
	for control: Control in [_way, _copy, _add, _remove]:
		row.add_child(control)
	for label: Label in [_why, _place, _result]:
		label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_place.mouse_filter = Control.MOUSE_FILTER_PASS # for its tooltip
	_snippet.editable = false
	_snippet.custom_minimum_size.y = 60 * scale
	for control: Control in [row, _why, _place, _snippet, _result]:
		details.add_child(control)
	for control: Control in [_box, _list, details, _snippet]:
		control.size_flags_vertical = Control.SIZE_EXPAND_FILL
	for control: Control in [_list, details]:
		control.size_flags_horizontal = Control.SIZE_EXPAND_FILL
		_box.add_child(control)
	details.size_flags_stretch_ratio = 1.7
	add_child(_box)
	_show_client()


func _selected() -> Dictionary:
	var item: TreeItem = _list.get_selected()
	for client: Dictionary in _clients:
		if item != null and client["id"] == item.get_metadata(0):
			return client
	return {}


func _show_client() -> void:
	var client: Dictionary = _selected()
	var way: Dictionary = WAYS[maxi(_way.selected, 0)]
	var text: String = Words.lines(client.get(way["id"]))
	var path: String = Words.text(client.get("file"))
	_why.text = way["why"]
	_snippet.text = text if text or client.is_empty() else "%s cannot be connected that way." % client["name"]
	_copy.disabled = text.is_empty()
	_add.disabled = text.is_empty()
	_add.visible = client.get("writable", false)
	_remove.visible = _add.visible and client["transport"] != null
	_add.tooltip_text = "Add this to %s; all else in it stays as it is." % path
	_remove.tooltip_text = "Take it out of %s again." % path
	_place.text = "Goes into " + _short(path) if path else Words.text(client.get("hint"))
	_place.tooltip_text = path
	_place.visible = not client.is_empty()


## A path as a person would say it.
func _short(path: String) -> String:
	var project: String = ProjectSettings.globalize_path("res://").simplify_path()
	var home: String = OS.get_environment("HOME")
	var shown: String = path.replace("\\", "/")
	if shown.begins_with(project + "/"):
		return shown.trim_prefix(project + "/") + " of this project"
	return "~" + shown.trim_prefix(home) if home and shown.begins_with(home + "/") else path


func _dress() -> void:
	var dim: Color = Words.dimmed(get_theme_color(&"font_color", &"Editor"))
	_snippet.add_theme_font_override(&"font", get_theme_font(&"source", &"EditorFonts"))
	_snippet.add_theme_font_size_override(&"font_size", get_theme_font_size(&"main_size", &"EditorFonts"))
	_snippet.add_theme_color_override(&"font_readonly_color", get_theme_color(&"font_color", &"Editor"))
	_place.add_theme_color_override(&"font_color", dim)
	_why.add_theme_color_override(&"font_color", dim)
	_copy.icon = get_theme_icon(&"ActionCopy", &"EditorIcons")
	_add.icon = get_theme_icon(&"Save", &"EditorIcons")
	_remove.icon = get_theme_icon(&"Remove", &"EditorIcons")


func _on_client_selected() -> void:
	var id: String = _selected().get("id", "")
	_result.visible = _result.visible and id == _chosen # selected again, it is still what came of it
	_chosen = id
	_show_client()


func _on_way_selected(_index: int) -> void:
	_result.visible = false
	_show_client()


func _on_copy() -> void:
	DisplayServer.clipboard_set(_snippet.text)
	_tell("Copied. " + Words.text(_selected().get("hint")), &"success_color")


func _on_change(what: String) -> void:
	_chosen = _selected()["id"]
	_ask([what, _chosen, "--" + str(WAYS[maxi(_way.selected, 0)]["id"])], _on_changed)


func _on_changed(answer: Dictionary) -> void:
	var is_done: bool = answer.get("ok", false)
	var said: String = Words.text(answer.get("message", "The tether program of this addon does not answer."))
	_tell(said + "\n" + Words.text(answer.get("hint")), &"success_color" if is_done else &"error_color")
	_look()


func _tell(said: String, color: StringName) -> void:
	_result.text = Words.lines(said).strip_edges()
	_result.visible = true
	_result.add_theme_color_override(&"font_color", get_theme_color(color, &"Editor"))
