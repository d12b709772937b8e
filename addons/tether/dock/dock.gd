@tool
extends ScrollContainer
## The Tether dock: the server's state, what is wrong with it, the facts, the log, and how clients
## connect. At the bottom of the editor they stand beside each other, at its sides below each other.

const TetherControl: GDScript = preload("../control.gd")
const Settings: GDScript = preload("../settings.gd")
const FactsPanel: GDScript = preload("facts_panel.gd")
const StatusPanel: GDScript = preload("status_panel.gd")
const TroublePanel: GDScript = preload("trouble_panel.gd")
const LogPanel: GDScript = preload("log_panel.gd")
const ClientsPanel: GDScript = preload("clients_panel.gd")

const TITLE: String = "Tether"
## From this width on, in unscaled pixels, log and clients stand beside the state.
const WIDE: float = 620.0
## What the wide form needs for all that matters, in unscaled pixels.
const WIDE_HEIGHT: float = 270.0
var _control: TetherControl
var _frame: Control # the engine's dock around this one, where the engine has that
var _columns: BoxContainer = BoxContainer.new()
var _left: VBoxContainer = VBoxContainer.new()
var _left_scroll: ScrollContainer = ScrollContainer.new()
var _status: StatusPanel
var _facts: FactsPanel
var _trouble: TroublePanel
var _log: LogPanel
var _clients: ClientsPanel
var _tabs: TabContainer = TabContainer.new()
var _is_stale: bool = false


func _init(control: TetherControl) -> void:
	name = TITLE
	auto_translate_mode = Node.AUTO_TRANSLATE_MODE_DISABLED
	horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	_control = control
	_status = StatusPanel.new(control)
	_facts = FactsPanel.new(control)
	_trouble = TroublePanel.new(control)
	_log = LogPanel.new(Settings.personal(Settings.LINES_KEPT))
	_clients = ClientsPanel.new(control)
	_build()


func _enter_tree() -> void:
	_control.changed.connect(refresh)
	_control.logged.connect(_log.add)
	_control.launching.connect(_log.clear)
	_log.fill(_control.get_log(_log.get_capacity()))
	apply_personal_settings()
	refresh()


func _exit_tree() -> void:
	_control.changed.disconnect(refresh)
	_control.logged.disconnect(_log.add)
	_control.launching.disconnect(_log.clear)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_RESIZED:
			_arrange()
		NOTIFICATION_THEME_CHANGED when is_inside_tree():
			_show_on_tab.call_deferred() # once the parts have their new icons
		NOTIFICATION_VISIBILITY_CHANGED when _is_stale and is_visible_in_tree():
			refresh()


## Puts the dock into the editor.
func add_to(plugin: EditorPlugin) -> void:
	if not ClassDB.class_exists(&"EditorDock"): # before 4.6
		plugin.add_control_to_bottom_panel(self, TITLE)
		return
	_frame = ClassDB.instantiate(&"EditorDock")
	_frame.name = TITLE
	_frame.set("title", TITLE)
	_frame.set("layout_key", "tether")
	_frame.set("default_slot", 8) # EditorDock.DOCK_SLOT_BOTTOM
	_frame.set("available_layouts", 7) # EditorDock.DOCK_LAYOUT_ALL
	_frame.set("force_show_icon", true)
	_frame.add_child(self)
	plugin.call(&"add_dock", _frame)


## Takes the dock out of the editor and frees it.
func remove_from(plugin: EditorPlugin) -> void:
	if _frame == null:
		plugin.remove_control_from_bottom_panel(self)
		queue_free()
	else:
		plugin.call(&"remove_dock", _frame)
		_frame.queue_free()


## Takes over what the user has changed in the editor settings.
func apply_personal_settings() -> void:
	_log.set_capacity(Settings.personal(Settings.LINES_KEPT))
	_log.set_wrapping(Settings.personal(Settings.WRAP_LINES))


## Shows the state as it is now; a hidden dock, but for its tab, does so once it is seen again.
func refresh() -> void:
	_is_stale = not is_visible_in_tree()
	_facts.note_uptime()
	_status.refresh()
	_show_on_tab()
	if not _is_stale:
		_trouble.refresh()
		_facts.refresh()
		_clients.refresh()


func _build() -> void:
	var scale: float = EditorInterface.get_editor_scale()
	for box: BoxContainer in [_columns, _left]:
		box.add_theme_constant_override(&"separation", roundi(8 * scale))
	for part: Control in [_status, _trouble, _facts]:
		_left.add_child(part)
	for part: Control in [_left, _left_scroll, _columns, _tabs]:
		part.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_left_scroll.horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	_left_scroll.add_child(_left)
	_log.name = "Log"
	_clients.name = "Connect a Client"
	_tabs.add_child(_log)
	_tabs.add_child(_clients)
	_tabs.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_tabs.size_flags_stretch_ratio = 1.8
	_tabs.custom_minimum_size.y = 160 * scale
	_columns.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_columns.add_child(_left_scroll)
	_columns.add_child(_tabs)
	add_child(_columns)
	_set_wide(true)


func _arrange() -> void:
	var is_wide: bool = size.x >= WIDE * EditorInterface.get_editor_scale()
	if _columns.vertical == is_wide:
		_set_wide.call_deferred(is_wide) # not while the container sorts its children


## Wide: two columns, the left one scrolls by itself. Narrow: one column that scrolls as a whole, with
## the facts on a tab of their own.
func _set_wide(is_wide: bool) -> void:
	_columns.vertical = not is_wide
	custom_minimum_size.y = WIDE_HEIGHT * EditorInterface.get_editor_scale() if is_wide else 0.0
	vertical_scroll_mode = SCROLL_MODE_DISABLED if is_wide else SCROLL_MODE_AUTO
	_left_scroll.vertical_scroll_mode = SCROLL_MODE_AUTO if is_wide else SCROLL_MODE_DISABLED
	if is_wide == (_facts.get_parent() == _left):
		return
	_facts.reparent(_left if is_wide else _tabs)
	_facts.name = "Details"
	if not is_wide:
		_tabs.move_child(_facts, 0)
		_tabs.current_tab = 0
	_facts.visible = true if is_wide else _tabs.current_tab == 0


func _show_on_tab() -> void:
	if _frame != null:
		_frame.set("dock_icon", _status.get_tab_icon())
		_frame.set("title_color", _status.get_tab_color())
