@tool
extends VBoxContainer
## How AI clients are connected: for each a configuration to paste, or to have written.

const TetherControl: GDScript = preload("../control.gd")
const Words: GDScript = preload("status_text.gd")

const GENERATOR: String = "res://addons/tether/clients/clients.gd"

var _control: TetherControl
var _generator: GDScript
var _clients: Array[Dictionary] = []
var _shown_for: String = "" # the address that the snippet holds
var _choice: OptionButton = OptionButton.new()
var _place: Label = Label.new()
var _snippet: TextEdit = TextEdit.new()
var _copy: Button = Button.new()
var _write: Button = Button.new()
var _result: Label = Label.new()


func _init(control: TetherControl) -> void:
	_control = control
	_build()


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_dress()
		NOTIFICATION_VISIBILITY_CHANGED when is_visible_in_tree():
			refresh()


## Shows the address as it is now. Compiling the scripts that know the clients takes long, so that is
## done when somebody looks here for the first time.
func refresh() -> void:
	if not is_visible_in_tree():
		return
	if _generator == null:
		_fill()
	if _shown_for != _control.get_url():
		_show_client()


func _fill() -> void:
	if ResourceLoader.exists(GENERATOR):
		_generator = load(GENERATOR)
		_clients.assign(_generator.call("list") as Array)
	for client: Dictionary in _clients:
		_choice.add_item(client.get("name", client["id"]))
	for index: int in _clients.size(): # the first one that this user has
		if _clients[index].get("detected", false):
			_choice.select(index)
			break


func _build() -> void:
	_choice.tooltip_text = "The program that shall use this editor."
	_choice.item_selected.connect(_on_client_selected)
	_choice.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_copy.text = "Copy"
	_copy.pressed.connect(_on_copy)
	_write.text = "Write to File"
	_write.pressed.connect(_on_write)
	var row: HFlowContainer = HFlowContainer.new() # the buttons go below where it is narrow
	for control: Control in [_choice, _copy, _write]:
		row.add_child(control)
	add_child(row)
	_place.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_place.mouse_filter = Control.MOUSE_FILTER_PASS # for its tooltip
	add_child(_place)
	_snippet.editable = false
	_snippet.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_snippet.custom_minimum_size.y = 60 * EditorInterface.get_editor_scale()
	add_child(_snippet)
	_result.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	add_child(_result)


func _selected() -> Dictionary:
	return _clients[_choice.selected] if _choice.selected >= 0 else {}


func _show_client() -> void:
	var client: Dictionary = _selected()
	_result.visible = false
	_copy.disabled = client.is_empty()
	_choice.visible = not client.is_empty()
	_place.text = "Goes into " + Words.text(_short(client.get("path", "")))
	_place.tooltip_text = Words.text(client.get("path", ""))
	_place.visible = client.get("path", "") != ""
	_write.visible = client.get("can_write", false)
	_shown_for = _control.get_url()
	if client.is_empty():
		_snippet.text = _shown_for
		return
	_write.tooltip_text = "Add this to %s; what is there stays, and a copy is kept." % Words.text(client.get("path", ""))
	_snippet.text = _generator.call("snippet", client["id"], _shown_for, _control.get_launcher_path(),
			_control.get_ws_port())


## A path as a person would say it.
func _short(path: String) -> String:
	var project: String = ProjectSettings.globalize_path("res://")
	var home: String = OS.get_environment("HOME")
	if path.begins_with(project):
		return path.trim_prefix(project) + " of this project"
	return "~" + path.trim_prefix(home) if home and path.begins_with(home + "/") else path


func _dress() -> void:
	_snippet.add_theme_font_override(&"font", get_theme_font(&"source", &"EditorFonts"))
	_snippet.add_theme_font_size_override(&"font_size", get_theme_font_size(&"main_size", &"EditorFonts"))
	_snippet.add_theme_color_override(&"font_readonly_color", get_theme_color(&"font_color", &"Editor"))
	_place.add_theme_color_override(&"font_color", Words.dimmed(get_theme_color(&"font_color", &"Editor")))
	_copy.icon = get_theme_icon(&"ActionCopy", &"EditorIcons")
	_write.icon = get_theme_icon(&"Save", &"EditorIcons")


func _on_client_selected(_index: int) -> void:
	_show_client()


func _on_copy() -> void:
	DisplayServer.clipboard_set(_snippet.text)
	_tell("Copied. " + _selected().get("hint", ""), &"success_color")


func _on_write() -> void:
	var answer: Dictionary = _generator.call("write", _selected()["id"], _control.get_url(),
			_control.get_launcher_path(), _control.get_ws_port())
	var is_done: bool = answer.get("ok", false)
	var said: String = answer.get("message", "")
	if is_done and answer.get("backup", ""):
		said += "\nThe old file: " + answer["backup"]
	_tell(said, &"success_color" if is_done else &"error_color")


func _tell(said: String, color: StringName) -> void:
	_result.text = Words.lines(said).strip_edges()
	_result.visible = true
	_result.add_theme_color_override(&"font_color", get_theme_color(color, &"Editor"))
