@tool
extends BoxContainer
## What is in the dock: the server's state, what is wrong with it, the facts, the log, and how clients
## connect; in two columns, or in one.

const TetherControl: GDScript = preload("../control.gd")
const FactsPanel: GDScript = preload("facts_panel.gd")
const StatusPanel: GDScript = preload("status_panel.gd")
const TroublePanel: GDScript = preload("trouble_panel.gd")
const LogPanel: GDScript = preload("log_panel.gd")
const LogRing: GDScript = preload("log_ring.gd")
const ClientsPanel: GDScript = preload("clients_panel.gd")

var _left: VBoxContainer = VBoxContainer.new()
var _left_scroll: ScrollContainer = ScrollContainer.new()
var _status: StatusPanel
var _facts: FactsPanel
var _trouble: TroublePanel
var _log: LogPanel
var _clients: ClientsPanel
var _tabs: TabContainer = TabContainer.new()


func _init(control: TetherControl, ring: LogRing) -> void:
	_status = StatusPanel.new(control)
	_facts = FactsPanel.new(control)
	_trouble = TroublePanel.new(control)
	_log = LogPanel.new(ring)
	_clients = ClientsPanel.new(control)
	_build()


func refresh() -> void:
	_status.refresh()
	_trouble.refresh()
	_facts.refresh()
	_clients.refresh()


func get_log_panel() -> LogPanel:
	return _log


## The icon of the state.
func get_icon() -> Texture2D:
	return _status.get_icon()


## Wide: two columns, the left one scrolls by itself. Narrow: one column that scrolls as a whole, with
## the facts on a tab of their own.
func set_wide(is_wide: bool) -> void:
	vertical = not is_wide
	_left_scroll.vertical_scroll_mode = (ScrollContainer.SCROLL_MODE_AUTO if is_wide
			else ScrollContainer.SCROLL_MODE_DISABLED)
	if is_wide == (_facts.get_parent() == _left):
		return
	_facts.reparent(_left if is_wide else _tabs)
	_facts.name = "Details"
	if not is_wide:
		_tabs.move_child(_facts, 0)
		_tabs.current_tab = 0
	_facts.visible = true if is_wide else _tabs.current_tab == 0


func _build() -> void:
	var scale: float = EditorInterface.get_editor_scale()
	for box: BoxContainer in [self, _left]:
		box.add_theme_constant_override(&"separation", roundi(8 * scale))
	for part: Control in [_status, _trouble, _facts]:
		_left.add_child(part)
	for part: Control in [_left, _left_scroll, self, _tabs]:
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
	size_flags_vertical = Control.SIZE_EXPAND_FILL
	add_child(_left_scroll)
	add_child(_tabs)
