@tool
extends RefCounted
## AI clients, and their configuration: what to paste, and writing it for the user.
##
## Where a client reads a file of the project, that one is used: the server belongs to the project,
## and other projects do not get to see a server that is not there.

## The name of the entry, in every client.
const ENTRY: String = "godot-tether"

const Jsonc := preload("jsonc.gd")
const Toml := preload("toml.gd")
const Place := preload("place.gd")
const Settings := preload("../settings.gd")

## One line a client. "file" is below the folder that "in" names; "signs" tell that it is installed.
## "key" is the object that holds the servers, "entry" what describes one. A client without "url" in
## its entry starts the server's front as a command.
const CLIENTS: Array[Dictionary] = [
	{
		"id": "claude-code", "name": "Claude Code", "in": "project", "file": ".mcp.json",
		"key": "mcpServers", "entry": {"type": "http", "url": "{url}"},
		"signs": ["home/.claude", "home/.claude.json"],
		"hint": "Start Claude Code in the project's folder; it asks once whether to trust the server.",
	},
	{
		"id": "claude-desktop", "name": "Claude Desktop", "in": "claude", "file": "claude_desktop_config.json",
		"key": "mcpServers", "entry": {"command": "{launcher}", "args": "{arguments}"},
		"signs": ["claude/"],
		"hint": "Quit Claude Desktop wholly and start it again.",
	},
	{
		"id": "cursor", "name": "Cursor", "in": "project", "file": ".cursor/mcp.json",
		"key": "mcpServers", "entry": {"url": "{url}"},
		"signs": ["home/.cursor", "config/Cursor"],
		"hint": "Open the project's folder in Cursor and enable the server in its settings, under MCP.",
	},
	{
		"id": "vscode", "name": "VS Code", "in": "project", "file": ".vscode/mcp.json",
		"key": "servers", "entry": {"type": "http", "url": "{url}"},
		"signs": ["home/.vscode", "config/Code"],
		"hint": "Open the project's folder in VS Code; the server can be started from this file.",
	},
	{
		"id": "codex", "name": "Codex", "in": "project", "file": ".codex/config.toml",
		"key": "mcp_servers", "entry": {"url": "{url}"},
		"signs": ["codex/"],
		"hint": "Start Codex in the project's folder and trust it; /mcp lists its servers.",
	},
	{
		"id": "gemini-cli", "name": "Gemini CLI", "in": "project", "file": ".gemini/settings.json",
		"key": "mcpServers", "entry": {"httpUrl": "{url}"},
		"signs": ["home/.gemini"],
		"hint": "Start Gemini CLI in the project's folder and trust it; /mcp lists its servers.",
	},
	{
		"id": "zed", "name": "Zed", "in": "project", "file": ".zed/settings.json",
		"key": "context_servers", "entry": {"url": "{url}"},
		"signs": ["zed/"],
		"hint": "Open the project's folder in Zed and trust it.",
	},
	{
		"id": "windsurf", "name": "Windsurf (Devin Desktop)", "in": "home", "file": ".codeium/windsurf/mcp_config.json",
		"key": "mcpServers", "entry": {"serverUrl": "{url}"},
		"signs": ["home/.codeium/windsurf"],
		"hint": "Refresh the list of MCP servers in Windsurf.",
	},
	{
		"id": "other-http", "name": "Other (HTTP)",
		"key": "mcpServers", "entry": {"type": "http", "url": "{url}"},
	},
	{
		"id": "other-stdio", "name": "Other (stdio)",
		"key": "mcpServers", "entry": {"command": "{launcher}", "args": "{arguments}"},
	},
]

## The folder that clients know as the project's.
static var project_folder: String = ProjectSettings.globalize_path("res://").simplify_path()


## Every client as {id, name, can_write, path, detected, hint}; path is empty where there is no file.
static func list() -> Array[Dictionary]:
	var found: Array[Dictionary] = []
	for client: Dictionary in CLIENTS:
		found.append({
			"id": client.id,
			"name": client.name,
			"can_write": client.has("file"),
			"path": _path_of(client),
			"detected": _is_detected(client),
			"hint": client.get("hint", ""),
		})
	return found


## What to paste into the client's file. [param url] is where the server answers, [param launcher]
## the path of the program [code]tether[/code]; [param ws_port] 0 means that of the settings.
static func snippet(id: String, url: String, launcher: String, ws_port: int = 0) -> String:
	var client: Dictionary = _find(id)
	if client.is_empty():
		return ""
	var entry: Dictionary = _entry_of(client, url, launcher, ws_port)
	if _is_toml(client):
		return Toml.text_of(_table_of(client), _texts(entry), "\n")
	var jsonc: Jsonc = Jsonc.new(PackedByteArray())
	return jsonc.with_entry(client.key, ENTRY, entry).get_string_from_utf8()


## Writes the entry into the client's file, which keeps all else that it holds. Returns {ok, message,
## path, backup}; if not ok, nothing has changed.
static func write(id: String, url: String, launcher: String, ws_port: int = 0) -> Dictionary:
	var client: Dictionary = _find(id)
	var path: String = _path_of(client)
	if path.is_empty():
		return _outcome(false, "There is no file to write for \"%s\"." % id, "")
	var place: Place = Place.new(path)
	if place.error != "":
		return _refusal(place.error, path)
	var entry: Dictionary = _entry_of(client, url, launcher, ws_port)
	var before: PackedByteArray = place.bytes
	var change: Array = _toml_change(client, before, entry) if _is_toml(client) \
			else _json_change(client, before, entry)
	var after: PackedByteArray = change[0]
	var why: String = change[1]
	if not why.is_empty():
		return _refusal("%s: %s" % [path, why], path)
	if after == before and place.exists:
		return _outcome(true, "%s is already up to date." % path, path)
	if not place.replace(after):
		return _refusal(place.error, path)
	return _outcome(true, "%s now knows the server. %s" % [path, client.hint], path, place.backup)


static func _outcome(ok: bool, message: String, path: String, backup: String = "") -> Dictionary:
	return {"ok": ok, "message": message, "path": path, "backup": backup}


static func _refusal(why: String, path: String) -> Dictionary:
	return _outcome(false, "Nothing was changed: %s. You can add the entry by hand." % why, path)


# ---- the two formats -----------------------------------------------------------------------------

## Returns the new text and, if it is not to be written, why. The new text is read again, and all but
## the entry must be what it was.
static func _json_change(client: Dictionary, before: PackedByteArray, entry: Dictionary) -> Array:
	var old: Jsonc = Jsonc.new(before)
	var key: String = client.key
	if old.error != "":
		return [before, old.error]
	var after: PackedByteArray = old.with_entry(key, ENTRY, entry)
	if old.error != "":
		return [before, old.error]
	if after == before:
		return [before, ""]
	var fresh: Jsonc = Jsonc.new(after)
	var was: Variant = old.data()
	var now: Variant = fresh.data()
	var expected: Dictionary = (was as Dictionary).duplicate(true) if was is Dictionary else {}
	var holder: Dictionary = expected.get_or_add(key, {})
	var kept: Variant = holder.get(ENTRY)
	var mine: Dictionary = (kept as Dictionary).duplicate() if kept is Dictionary else {}
	for name: String in Jsonc.TRANSPORT:
		mine.erase(name)
	mine.merge(entry, true)
	holder[ENTRY] = mine
	if fresh.error != "" or now != expected:
		return [before, "its form is not understood well enough to change it"]
	return [after, ""]


static func _toml_change(client: Dictionary, before: PackedByteArray, entry: Dictionary) -> Array:
	var old: Toml = Toml.new(before)
	var table: PackedStringArray = _table_of(client)
	if old.error != "":
		return [before, old.error]
	var after: PackedByteArray = old.with_entry(table, _texts(entry))
	if old.error != "":
		return [before, old.error]
	var fresh: Toml = Toml.new(after)
	if fresh.error != "" or fresh.others(table) != old.others(table) \
			or fresh.entry(table) != _texts(entry):
		return [before, "its form is not understood well enough to change it"]
	return [after, ""]


static func _is_toml(client: Dictionary) -> bool:
	return str(client.get("file", "")).ends_with(".toml")


static func _table_of(client: Dictionary) -> PackedStringArray:
	return [client.key, ENTRY]


static func _texts(entry: Dictionary) -> Dictionary[String, String]:
	var texts: Dictionary[String, String] = {}
	texts.assign(entry)
	return texts


# ---- what is in an entry -------------------------------------------------------------------------

static func _find(id: String) -> Dictionary:
	for client: Dictionary in CLIENTS:
		if client.id == id:
			return client
	return {}


static func _entry_of(client: Dictionary, url: String, launcher: String, ws_port: int) -> Dictionary:
	var entry: Dictionary = {}
	var pattern: Dictionary = client.entry
	for key: String in pattern:
		match pattern[key]:
			"{url}":
				entry[key] = url
			"{launcher}":
				entry[key] = launcher
			"{arguments}":
				entry[key] = _front_arguments(url, ws_port)
			_:
				entry[key] = pattern[key]
	return entry


## The front finds the instance by its ports; those that it takes anyway are left out.
static func _front_arguments(url: String, ws_port: int) -> Array:
	var arguments: Array = ["mcp"]
	var found: RegExMatch = RegEx.create_from_string("^https?://[^/]*:(\\d+)(/|$)").search(url)
	if ws_port == 0:
		ws_port = Settings.read([])["ws_port"]
	if found != null and found.get_string(1) != "8000":
		arguments.append_array(["--http-port", found.get_string(1)])
	if ws_port != 9500:
		arguments.append_array(["--ws-port", str(ws_port)])
	return arguments


# ---- where files are -----------------------------------------------------------------------------

static func _path_of(client: Dictionary) -> String:
	if not client.has("file"):
		return ""
	var folder: String = _folder(client.in)
	return folder.path_join(client.file) if folder.is_absolute_path() else ""


static func _is_detected(client: Dictionary) -> bool:
	var file: String = _path_of(client)
	if file.is_empty():
		return false
	for mark: String in client.signs:
		var path: String = _folder(mark.get_slice("/", 0)).path_join(mark.substr(mark.find("/") + 1)).trim_suffix("/")
		if path.is_absolute_path() and (DirAccess.dir_exists_absolute(path) or FileAccess.file_exists(path)):
			return true
	return FileAccess.file_exists(file)


static func _folder(name: String) -> String:
	match name:
		"project":
			return project_folder
		"home":
			return OS.get_environment("USERPROFILE" if OS.has_feature("windows") else "HOME")
		"config":
			return OS.get_config_dir()
		"codex":
			var codex: String = OS.get_environment("CODEX_HOME")
			return codex if codex.is_absolute_path() else _folder("home").path_join(".codex")
		"zed":
			return _folder("home").path_join(".config/zed") if OS.has_feature("macos") \
					else OS.get_config_dir().path_join("Zed" if OS.has_feature("windows") else "zed")
		"claude":
			return _claude_folder()
	return ""


## On Windows, Claude Desktop comes as a package, whose files are somewhere else.
static func _claude_folder() -> String:
	var packages: String = OS.get_environment("LOCALAPPDATA").path_join("Packages")
	if OS.has_feature("windows") and DirAccess.dir_exists_absolute(packages):
		for name: String in DirAccess.get_directories_at(packages):
			var folder: String = packages.path_join(name).path_join("LocalCache/Roaming/Claude")
			if name.begins_with("Claude_") and DirAccess.dir_exists_absolute(folder):
				return folder
	return OS.get_config_dir().path_join("Claude")
