@tool
extends EditorPlugin
## The editor plugin: holds the one [code]TetherServer[/code] of the editor while it is enabled, starts
## it with the editor, and shows it in a dock.
##
## Nothing is decided here about how the server ends: when the object is dropped, the extension tells
## quit, restart, reload and disabling apart. A plugin that is disabled and enabled again at once, as
## tools for developers do it, so finds the same server.

const ExportGuard: GDScript = preload("export_guard.gd")
const Settings: GDScript = preload("settings.gd")
const TetherControl: GDScript = preload("control.gd")
const Dock: GDScript = preload("dock/dock.gd")

const TOOLS: String = "res://addons/tether/tools/registry.gd"
const QUESTIONS: String = "res://addons/tether/dock/question_panel.gd"

var _control: TetherControl
var _dock: Dock
var _tools: RefCounted
var _questions: Control # null until the user is asked something


func _enter_tree() -> void:
	ExportGuard.call("install") # also where there is no library for the system
	Settings.define()
	Settings.define_personal(EditorInterface.get_editor_settings())
	if not ClassDB.class_exists(&"TetherServer"):
		# Told in one plain sentence; to name the class in the code would be a parse error instead.
		push_error("Tether: the extension is not loaded. Is there a library for this system in ",
				"res://addons/tether/bin? Restart the editor after putting it there. On Windows, one editor at ",
				"a time can load it out of the same project.")
		return
	if _is_for_a_person():
		_set_up(ClassDB.instantiate(&"TetherServer"))


func _exit_tree() -> void:
	if _control == null:
		return
	EditorInterface.get_editor_settings().settings_changed.disconnect(_on_personal_settings_changed)
	_dock.remove_from(self)
	_dock = null
	_take_back_tools()
	_control.release()
	_control.queue_free()
	_control = null


## Who enables the plugin for the first time in a project has a client to connect. That it was so is kept
## where the engine keeps what it knows of a project and a user, outside of what they share.
func _enable_plugin() -> void:
	var personal: EditorSettings = EditorInterface.get_editor_settings()
	if _dock != null and not personal.get_project_metadata("tether", "welcomed", false):
		personal.set_project_metadata("tether", "welcomed", true)
		_dock.welcome.call_deferred(self)


func _disable_plugin() -> void:
	Settings.forget()
	Settings.forget_personal(EditorInterface.get_editor_settings())


## Of several editors, AI clients work in the one that its user went to last.
func _notification(what: int) -> void:
	if what == NOTIFICATION_APPLICATION_FOCUS_IN and _control != null:
		_control.server.call("mark_active")


## An editor without a window has nobody to show a dock to, and no use for a server unless that is asked
## for. (That an import or export starts none, the extension sees to: only it sees all arguments.)
func _is_for_a_person() -> bool:
	return DisplayServer.get_name() != "headless" or OS.get_environment("TETHER_HEADLESS") == "1"


func _set_up(server: RefCounted) -> void:
	_control = TetherControl.new(server)
	_control.needs_user.connect(_on_needs_user)
	_control.launching.connect(_on_launching)
	add_child(_control)
	_dock = Dock.new(_control)
	_dock.add_to(self)
	EditorInterface.get_editor_settings().settings_changed.connect(_on_personal_settings_changed)
	if Settings.read([])["autostart"] == Settings.Autostart.WITH_THE_EDITOR:
		_control.start()


## Only the built-in server has use for our tools.
func _on_launching() -> void:
	if not _control.is_built_in():
		_take_back_tools()
	elif _tools == null and ResourceLoader.exists(TOOLS):
		_tools = (load(TOOLS) as GDScript).new()
		_tools.connect(&"ready", _on_tools_ready)
		_tools.call("attach", self, _control.server)
		_control.tools = _tools


func _on_tools_ready() -> void:
	_control.server.set("settling", false)
	_control.changed.emit() # the dock shows them
	if DisplayServer.get_name() != "headless" and _control.get_approvals() != null:
		var approvals: RefCounted = _control.get_approvals()
		approvals.set(&"has_window", true)
		approvals.connect(&"changed", _on_questions_changed)


## The panel is made when it is needed first, and sees to itself from then on.
func _on_questions_changed() -> void:
	if _questions == null:
		_questions = (load(QUESTIONS) as GDScript).new(_control.get_approvals())
		EditorInterface.get_base_control().add_child(_questions)


func _take_back_tools() -> void:
	if _tools != null:
		_control.server.set("settling", false)
		_tools.call("detach")
		_control.tools = null
	_tools = null
	if _questions != null: # after its last question is over
		_questions.free()
		_questions = null


func _on_needs_user(message: String, severity: EditorToaster.Severity, tooltip: String) -> void:
	if Settings.personal(Settings.SHOW_TOASTS):
		EditorInterface.get_editor_toaster().push_toast(message, severity, tooltip)


func _on_personal_settings_changed() -> void:
	if EditorInterface.get_editor_settings().check_changed_settings_in_group("tether/"):
		_dock.apply_personal_settings()
