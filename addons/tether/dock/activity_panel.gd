@tool
extends VBoxContainer
## What AI clients do: who they are, what each call was and did, what the user said to it, and its undo.

const TetherControl: GDScript = preload("../control.gd")
const Words: GDScript = preload("status_text.gd")

const SHOWN: int = 200
const FRESH_MS: int = 600000 # a client that called within this time is named

var _control: TetherControl
var _clients: Label = Label.new()
var _list: Tree = Tree.new()
var _undo: Button = Button.new()
var _told: Label = Label.new()
var _journal: RefCounted


func _init(control: TetherControl) -> void:
	_control = control
	var row: HBoxContainer = HBoxContainer.new()
	_undo.text = "Undo to Here"
	_undo.tooltip_text = "Takes back what this call did, and all that came after it."
	_undo.disabled = true
	_undo.pressed.connect(_on_undo)
	_clients.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	row.add_child(_clients)
	row.add_child(_undo)
	add_child(row)
	for label: Label in [_clients, _told]:
		label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_list.columns = 3
	_list.hide_root = true
	_list.select_mode = Tree.SELECT_ROW
	_list.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_list.item_selected.connect(_on_selected)
	add_child(_list)
	add_child(_told)
	_told.visible = false


func _notification(what: int) -> void:
	if what == NOTIFICATION_VISIBILITY_CHANGED and is_visible_in_tree():
		refresh()


func refresh() -> void:
	if _journal != _control.get_journal():
		if _journal != null and _journal.is_connected(&"changed", refresh):
			_journal.disconnect(&"changed", refresh)
		_journal = _control.get_journal()
		if _journal != null:
			_journal.connect(&"changed", refresh, CONNECT_DEFERRED)
	if not is_visible_in_tree():
		return
	_clients.text = _client_names()
	_fill()


func _client_names() -> String:
	var names: PackedStringArray = []
	var known: Dictionary = _journal.get(&"clients") if _journal != null else {}
	for name: String in known:
		var ago: int = Time.get_ticks_msec() - int(known[name])
		if ago < FRESH_MS:
			names.append("%s (%s)" % [Words.text(name), "just now" if ago < 60000 else "%d min ago" % (ago / 60000.0)])
	return "No AI client has called yet." if names.is_empty() else "Clients: " + ", ".join(names)


## The newest first.
func _fill() -> void:
	_list.clear()
	_undo.disabled = true
	var root: TreeItem = _list.create_item()
	var entries: Array = _journal.get(&"entries") if _journal != null else []
	for index: int in range(entries.size() - 1, maxi(-1, entries.size() - 1 - SHOWN), -1):
		var entry: Dictionary = entries[index]
		var item: TreeItem = _list.create_item(root)
		item.set_text(0, "%s %s" % [entry["at"], Words.text(entry["tool"])])
		item.set_text(1, Words.text(entry["arguments"]))
		item.set_text(2, _result(entry))
		item.set_tooltip_text(0, Words.text(entry["client"]))
		item.set_metadata(0, entry)
		if entry.get("failed", false):
			item.set_custom_color(2, get_theme_color(&"error_color", &"Editor"))


static func _result(entry: Dictionary) -> String:
	var asked: String = entry.get("asked", "")
	var result: String = Words.text(entry.get("result", "…"))
	return result if asked == "" else "%s: %s" % [asked.capitalize(), result]


func _selected() -> Dictionary:
	var item: TreeItem = _list.get_selected()
	return item.get_metadata(0) if item != null else {}


func _on_selected() -> void:
	_undo.disabled = (_selected().get("made", []) as Array).is_empty()


func _on_undo() -> void:
	_told.text = _control.undo_call(_selected())
	_told.visible = _told.text != ""

