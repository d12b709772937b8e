@tool
extends RefCounted
## What can be set: the project's settings below [code]tether/server/[/code], and the user's own ones
## in the editor settings below [code]tether/[/code].
##
## A variable of the editor's environment wins over a project setting: [code]TETHER_HTTP_PORT[/code]
## over [code]tether/server/http_port[/code], and so on. A value that makes no sense is reported, and
## the default is taken.

## When the server starts: with the editor, or when somebody asks for it.
enum Autostart { WITH_THE_EDITOR, ON_DEMAND }

const Switches: GDScript = preload("tools/switches.gd")

const PREFIX: String = "tether/server/"
const MAX_PORT: int = 65535
const DAY_MS: int = 86400000

const LINES_KEPT: String = "tether/log/lines_kept"
const WRAP_LINES: String = "tether/log/wrap_lines"
const SHOW_TOASTS: String = "tether/notifications/show_toasts"

## The settings of the project. [code]property[/code] is the property of [code]TetherServer[/code]
## that takes the value, [code]variable[/code] the environment variable that wins over it;
## [code]least[/code] and [code]most[/code] bound a number, [code]words[/code] a text.
static var server_settings: Array[Dictionary] = [
	{"name": "command", "default": PackedStringArray(), "basic": true, "property": "command",
			"variable": "TETHER_COMMAND"},
	{"name": "transport", "default": "http", "words": ["http", "stdio"], "property": "transport",
			"variable": "TETHER_TRANSPORT"},
	{"name": "http_port", "default": 8000, "least": 1, "most": MAX_PORT, "basic": true,
			"property": "http_port", "variable": "TETHER_HTTP_PORT"},
	{"name": "ws_port", "default": 9500, "least": 0, "most": MAX_PORT, "basic": true,
			"property": "ws_port", "variable": "TETHER_WS_PORT"},
	{"name": "ports", "default": "fixed", "words": ["fixed", "auto"], "basic": true,
			"property": "ports", "variable": "TETHER_PORTS"},
	{"name": "autostart", "default": Autostart.WITH_THE_EDITOR, "basic": true,
			"choices": ["With the Editor", "On Demand"], "variable": "TETHER_AUTOSTART"},
	{"name": "keep_on_exit", "default": false, "basic": true, "property": "keep_on_exit",
			"variable": "TETHER_KEEP_ON_EXIT"},
	{"name": "environment", "default": {}, "property": "environment"},
	{"name": "owner_aliases", "default": PackedStringArray(), "property": "owner_aliases",
			"variable": "TETHER_OWNER_ENV"},
	{"name": "ready", "default": "", "suggestions": ["ports", "notify", "none", "http:/"],
			"property": "ready", "variable": "TETHER_READY"},
	{"name": "ready_timeout_ms", "default": 30000, "least": 0, "most": DAY_MS,
			"property": "ready_timeout_ms", "variable": "TETHER_READY_TIMEOUT_MS"},
	{"name": "restart", "default": "on-failure", "words": ["on-failure", "never"],
			"property": "restart_policy", "variable": "TETHER_RESTART"},
	{"name": "grace_ms", "default": 500, "least": 0, "most": DAY_MS, "property": "grace_ms",
			"variable": "TETHER_GRACE_MS"},
	{"name": "stop_grace_ms", "default": 5000, "least": 0, "most": DAY_MS,
			"property": "stop_grace_ms", "variable": "TETHER_STOP_GRACE_MS"},
	{"name": "idle_limit_ms", "default": 0, "least": 0, "most": 30 * DAY_MS,
			"property": "idle_limit_ms", "variable": "TETHER_IDLE_LIMIT_MS"},
	{"name": "linger_ms", "default": 0, "least": 0, "most": 30 * DAY_MS,
			"property": "linger_ms", "variable": "TETHER_LINGER_MS"},
]

## The settings of the user, the same for all projects.
const PERSONAL: Array[Dictionary] = [
	{"name": LINES_KEPT, "default": 2000, "least": 100, "most": 20000},
	{"name": WRAP_LINES, "default": true},
	{"name": SHOW_TOASTS, "default": true},
]


## Adds the settings of the project, with their defaults; values that are there stay.
static func define() -> void:
	for entry: Dictionary in server_settings:
		var path: String = PREFIX + entry["name"]
		if not ProjectSettings.has_setting(path):
			ProjectSettings.set_setting(path, _default_of(entry))
		ProjectSettings.set_initial_value(path, _default_of(entry))
		ProjectSettings.add_property_info(_info(entry, path))
		ProjectSettings.set_as_basic(path, entry.get("basic", false))
	for entry: Dictionary in Switches.settings:
		var path: String = entry["name"]
		if not ProjectSettings.has_setting(path):
			ProjectSettings.set_setting(path, entry["default"])
		ProjectSettings.set_initial_value(path, entry["default"])
		ProjectSettings.add_property_info(_info(entry, path))
		ProjectSettings.set_as_basic(path, true)


## Takes away the settings that nobody has changed; the others are the user's.
static func forget() -> void:
	for entry: Dictionary in server_settings:
		var path: String = PREFIX + entry["name"]
		if ProjectSettings.get_setting(path) == entry["default"]:
			ProjectSettings.clear(path)
	for entry: Dictionary in Switches.settings:
		if ProjectSettings.get_setting(entry["name"] as String) == entry["default"]:
			ProjectSettings.clear(entry["name"] as String)


## Adds the user's own settings.
static func define_personal(settings: EditorSettings) -> void:
	for entry: Dictionary in PERSONAL:
		var path: String = entry["name"]
		if not settings.has_setting(path):
			settings.set_setting(path, entry["default"])
		settings.set_initial_value(path, entry["default"], false)
		settings.add_property_info(_info(entry, path))


## Takes away those of the user's own settings that are at their defaults.
static func forget_personal(settings: EditorSettings) -> void:
	for entry: Dictionary in PERSONAL:
		var path: String = entry["name"]
		if settings.has_setting(path) and settings.get_setting(path) == entry["default"]:
			settings.erase(path)


## A setting of the user's own, or its default where it is not defined.
static func personal(path: String) -> Variant:
	var settings: EditorSettings = EditorInterface.get_editor_settings()
	if settings.has_setting(path):
		return settings.get_setting(path)
	for entry: Dictionary in PERSONAL:
		if entry["name"] == path:
			return entry["default"]
	return null


## Returns what counts now, by name. Whatever makes no sense is described in [param warnings].
static func read(warnings: PackedStringArray) -> Dictionary[String, Variant]:
	var values: Dictionary[String, Variant] = {}
	for entry: Dictionary in server_settings:
		values[entry["name"]] = _value_of(entry, warnings)
	if values["http_port"] == values["ws_port"]:
		warnings.append("%sws_port is the same as http_port, %d; the second port is left out. " % [
				PREFIX, values["ws_port"]] + "Choose another one, or 0 for a server with one port.")
		values["ws_port"] = 0
	return values


## Hands values, as [method read] returns them, over to a [code]TetherServer[/code].
static func apply(values: Dictionary[String, Variant], server: Object) -> void:
	for entry: Dictionary in server_settings:
		if entry.has("property"):
			server.set(entry["property"], values[entry["name"]])


## Whether a variable of the environment stands in for the setting.
static func is_overridden(name: String) -> bool:
	for entry: Dictionary in server_settings:
		if entry["name"] == name:
			return OS.has_environment(entry.get("variable", "-"))
	return false


static func _default_of(entry: Dictionary) -> Variant:
	if entry["name"] == "environment":
		var empty: Dictionary[String, String] = {}
		return empty # a typed one, so that the editor offers texts only; each its own
	return entry["default"]


static func _info(entry: Dictionary, path: String) -> Dictionary:
	var info: Dictionary = {"name": path, "type": typeof(entry["default"]),
			"hint": PROPERTY_HINT_NONE, "hint_string": ""}
	if entry.has("least"):
		info["hint"] = PROPERTY_HINT_RANGE
		info["hint_string"] = "%d,%d,1" % [entry["least"], entry["most"]]
		if path.ends_with("_ms"):
			info["hint_string"] += ",suffix:ms"
	for hint: Array in [["words", PROPERTY_HINT_ENUM], ["choices", PROPERTY_HINT_ENUM],
			["suggestions", PROPERTY_HINT_ENUM_SUGGESTION]]:
		if entry.has(hint[0]):
			info["hint"] = hint[1]
			info["hint_string"] = ",".join(PackedStringArray(entry[hint[0]] as Array))
	if entry["name"] == "environment":
		info["hint"] = PROPERTY_HINT_DICTIONARY_TYPE
		info["hint_string"] = "%d:;%d:" % [TYPE_STRING, TYPE_STRING]
	return info


static func _value_of(entry: Dictionary, warnings: PackedStringArray) -> Variant:
	var variable: String = entry.get("variable", "")
	var where: String = PREFIX + entry["name"]
	var value: Variant = ProjectSettings.get_setting(where, entry["default"])
	if variable != "" and OS.get_environment(variable) != "":
		where = variable
		value = _parse(OS.get_environment(variable), entry)
	if _is_valid(value, entry):
		return value
	var shown: String = OS.get_environment(variable) if where == variable else var_to_str(value)
	warnings.append("%s: '%s' is not valid here; the default, %s, is taken." % [
			where, shown.left(60), _describe(entry)])
	return _default_of(entry)


static func _describe(entry: Dictionary) -> String:
	if entry["name"] == "autostart":
		return "with the editor"
	if entry["default"] is PackedStringArray or str(entry["default"]) == "":
		return "nothing"
	return str(entry["default"])


## The text of a variable as a value of the setting's type; null if it is none.
static func _parse(text: String, entry: Dictionary) -> Variant:
	if entry["name"] == "autostart":
		var words: Dictionary[String, int] = {"on": Autostart.WITH_THE_EDITOR,
				"1": Autostart.WITH_THE_EDITOR, "true": Autostart.WITH_THE_EDITOR,
				"off": Autostart.ON_DEMAND, "0": Autostart.ON_DEMAND, "false": Autostart.ON_DEMAND}
		return words.get(text)
	match typeof(entry["default"]):
		TYPE_INT:
			return text.to_int() if text.is_valid_int() and text.length() < 18 else null
		TYPE_BOOL:
			return text in ["1", "on", "true"] if text in ["1", "on", "true", "0", "off", "false"] else null
		TYPE_PACKED_STRING_ARRAY:
			return _parse_words(text)
	return text


## Words between spaces, or a JSON array of texts for words that have spaces themselves.
static func _parse_words(text: String) -> Variant:
	if not text.begins_with("["):
		return text.split(" ", false)
	var list: Variant = JSON.parse_string(text)
	if not list is Array or (list as Array).any(func(word: Variant) -> bool: return not word is String):
		return null
	return PackedStringArray(list as Array)


static func _is_valid(value: Variant, entry: Dictionary) -> bool:
	if typeof(value) != typeof(entry["default"]):
		return false
	if entry.has("least"):
		return value >= entry["least"] and value <= entry["most"]
	if entry.has("words"):
		return value in entry["words"]
	if entry.has("choices"):
		return value >= 0 and value < (entry["choices"] as Array).size()
	match entry["name"]:
		"ready":
			var text: String = value
			return text in ["", "ports", "notify", "none"] or \
					text.begins_with("http:/") and not " " in text and text.length() < 512
		"environment":
			return (value as Dictionary).keys().all(_is_variable_name) and \
					(value as Dictionary).values().all(func(text: Variant) -> bool: return text is String)
		"owner_aliases":
			return Array(value as PackedStringArray).all(_is_variable_name)
		"command":
			var words: PackedStringArray = value
			return words.is_empty() or words[0] != ""
	return true


static func _is_variable_name(name: Variant) -> bool:
	return name is String and (name as String).is_valid_ascii_identifier()
