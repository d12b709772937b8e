@tool
extends VBoxContainer
## What AI clients may use: only what reads, a set of tools, and for each tool and family whether it is on, off,
## or the user is asked first. All of it is in the project's settings.

const TetherControl: GDScript = preload("../control.gd")
const Words: GDScript = preload("status_text.gd")
const Switches: GDScript = preload("../tools/switches.gd")
const Profiles: GDScript = preload("../tools/profiles.gd")

const MODES: String = "On,Ask me,Off" # as in Switches.Use
const MIXED: int = 3 # of a family whose tools differ
const SETS: Dictionary[String, String] = {"all": "All tools", "core": "Core tools", "read": "Tools that read", "editor": "Editor",
		"scene": "Scenes and nodes", "file": "Files and scripts", "project": "Project and running it", "game": "Running game", "docs": "Documentation"}

var _control: TetherControl
var _read_only: CheckBox = CheckBox.new()
var _profile: OptionButton = OptionButton.new()
var _list: Tree = Tree.new()
var _told: Label = Label.new()
var _items: Dictionary[String, TreeItem] = {} # tools and families by name


func _init(control: TetherControl) -> void:
	_control = control
	var row: HFlowContainer = HFlowContainer.new()
	_read_only.text = "Only Read"
	_read_only.tooltip_text = "AI clients may look, and change nothing."
	_read_only.toggled.connect(_on_read_only)
	_profile.tooltip_text = "Which tools AI clients are shown: fewer cost them less."
	_profile.accessibility_name = "Tools that are shown"
	for profile: String in Profiles.NAMES:
		_profile.add_item(SETS[profile])
	_profile.item_selected.connect(_on_profile)
	row.add_child(_profile)
	row.add_child(_read_only)
	add_child(row)
	_list.columns = 2
	_list.hide_root = true
	_list.accessibility_name = "Tools, each on, off, or asked about first"
	_list.set_column_expand_ratio(0, 2)
	_list.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_list.item_edited.connect(_on_edited, CONNECT_DEFERRED) # the list may be filled anew
	_list.item_activated.connect(_on_activated)
	add_child(_list)
	_told.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	add_child(_told)


func _notification(what: int) -> void:
	if what == NOTIFICATION_VISIBILITY_CHANGED and is_visible_in_tree():
		refresh()


func refresh() -> void:
	if not is_visible_in_tree():
		return
	var toolbox: RefCounted = _control.get_toolbox()
	var tools: Dictionary = toolbox.call("get_tools") if toolbox != null else {}
	_read_only.set_pressed_no_signal(ProjectSettings.get_setting(Switches.READ_ONLY, false))
	_profile.select(Profiles.NAMES.find(str(ProjectSettings.get_setting(Switches.PROFILE, "all"))))
	if tools.size() != _items.size() - Profiles.FAMILIES.size():
		_fill(tools)
	for name: String in tools:
		_show(name, Switches.mode_of(name), Switches.why_off(name, tools[name].get("read", false)))
	for family: String in Profiles.FAMILIES:
		_show_family(family, tools)
	if tools.is_empty():
		_tell("The tools are shown here once Tether's own server is started.")


func _fill(tools: Dictionary) -> void:
	_list.clear()
	_items.clear()
	_tell("")
	if tools.is_empty():
		return
	var root: TreeItem = _list.create_item()
	for family: String in Profiles.FAMILIES:
		_add(family, root, SETS[family], "All tools of this family.").collapsed = true
	var names: Array = tools.keys()
	names.sort()
	for name: String in names:
		_add(name, _items[Profiles.family_of(name)], name, tools[name]["description"])


func _add(name: String, parent: TreeItem, text: String, tooltip: String) -> TreeItem:
	var item: TreeItem = _list.create_item(parent)
	item.set_text(0, text)
	item.set_tooltip_text(0, tooltip)
	item.set_cell_mode(1, TreeItem.CELL_MODE_RANGE)
	item.set_text(1, MODES)
	item.set_editable(1, true)
	item.set_tooltip_text(1, "On: AI clients use it. Ask me: you are asked before each use. Off: it is not there for them.")
	item.set_metadata(0, name)
	_items[name] = item
	return item


## Dimmed is what clients are not shown, with the reason.
func _show(name: String, mode: int, why_off: String) -> void:
	var item: TreeItem = _items[name]
	item.set_range(1, mode)
	item.set_tooltip_text(1, why_off if why_off != "" else _items[Profiles.FAMILIES[0]].get_tooltip_text(1))
	if why_off == "":
		item.clear_custom_color(0)
	else:
		item.set_custom_color(0, Words.dimmed(get_theme_color(&"font_color", &"Editor")))


func _show_family(family: String, tools: Dictionary) -> void:
	if not _items.has(family):
		return
	var modes: Dictionary[int, bool] = {}
	for name: String in tools:
		if Profiles.family_of(name) == family:
			modes[Switches.mode_of(name)] = true
	var item: TreeItem = _items[family]
	item.set_text(1, MODES + (",Mixed" if modes.size() > 1 else ""))
	item.set_range(1, MIXED if modes.size() > 1 else (modes.keys() + [Switches.Use.ON])[0])


func _on_edited() -> void:
	if _list.get_edited() != null:
		_set_mode(_list.get_edited())


## Keeps what was chosen for a tool or family. "Mixed" is nothing that could be chosen.
func _set_mode(item: TreeItem) -> void:
	if int(item.get_range(1)) == MIXED:
		refresh()
		return
	var tools: Array = _items.keys().filter(func(name: String) -> bool: return not name in Profiles.FAMILIES)
	var lists: Array[PackedStringArray] = Switches.with_mode(item.get_metadata(0), int(item.get_range(1)), tools)
	ProjectSettings.set_setting(Switches.SWITCHED_OFF, lists[0])
	ProjectSettings.set_setting(Switches.ASK_FIRST, lists[1])
	_save()


## By Enter or a double click a family opens and closes. (Right leads to the column of modes, where Enter changes it.)
func _on_activated() -> void:
	var item: TreeItem = _list.get_selected()
	if item != null and item.get_child_count() > 0:
		item.collapsed = not item.collapsed


func _on_read_only(on: bool) -> void:
	ProjectSettings.set_setting(Switches.READ_ONLY, on)
	_save()


func _on_profile(index: int) -> void:
	ProjectSettings.set_setting(Switches.PROFILE, Profiles.NAMES[index])
	_save()


func _save() -> void:
	var error: Error = ProjectSettings.save()
	_tell("" if error == OK else "This could not be saved in the project: " + error_string(error))
	refresh()


func _tell(said: String) -> void:
	_told.text = said
	_told.visible = said != ""
