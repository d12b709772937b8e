@tool
extends RefCounted
## Who names a file or a folder, and how that reads when it has another name. Texts are looked at as texts, so
## nothing of them is run.

const Context := preload("context.gd")
const LoadGuard := preload("load_guard.gd")
const Places := preload("places.gd")
const TextBytes := preload("text_bytes.gd")

## A path between quotes; autoloads have a "*" ahead of theirs.
const ABSOLUTE: String = "([\"'])(\\*?)((?:res|uid)://(?:(?!\\1)[^\\\\\\n])*)\\1"
## A path that begins at the script's folder, or, with load, at the project's.
const RELATIVE: String = "(\\bpreload\\s*\\(\\s*|\\bload\\s*\\(\\s*|\\bextends\\s+|@icon\\s*\\(\\s*|#\\s*include\\s+)([\"'])((?!\\w+://)(?:(?!\\2)[^\\\\\\n])+)\\2"
const WITH_RELATIVE: Array[String] = ["gd", "gdshader", "gdshaderinc"]
const LARGEST: int = 64 << 20
## Kinds of files that name no others.
const BLIND: Array[String] = ["uid", "png", "jpg", "jpeg", "webp", "ogg", "wav", "mp3", "ttf", "otf", "woff", "woff2", "ctex", "exr", "hdr", "so", "dll",
		"dylib", "exe", "zip", "pck", "ico", "icns", "a", "o", "bin"]

static var _absolute: RegEx = RegEx.create_from_string(ABSOLUTE)
static var _relative: RegEx = RegEx.create_from_string(RELATIVE)

var from: String
var to: String
## The file's identifier, by which it is found wherever it lies; "" if it has none.
var uid: String = ""
## Text files that name it: {"path", "lines" (numbers), "before", "after"}.
var texts: Array[Dictionary] = []
## Other files that do, which are not rewritten, and why.
var others: Array[String] = []
## Project settings that do: [old value, new value].
var settings: Dictionary[String, Array] = {}
## How far lines were counted in the text that is looked through, and which line that is.
var _counted: int = 0
var _line: int = 1


func _init(path: String, new_path: String = "") -> void:
	from = path
	to = new_path if not new_path.is_empty() else path
	uid = uid_of(path)


## The identifier of a file, as it stands beside it, in its import or in its head; "" if it has none there.
static func uid_of(path: String) -> String:
	for beside: String in [".uid", ".import", ""]:
		var file: FileAccess = FileAccess.open(path + beside, FileAccess.READ)
		var head: PackedByteArray = file.get_buffer(1024) if file != null else PackedByteArray()
		var end: int = head.find(0)
		var text: String = (head if end < 0 else head.slice(0, end)).get_string_from_utf8()
		var found: RegExMatch = RegEx.create_from_string("^(uid://\\w+)" if beside == ".uid" else "(?m)^(?:\\[gd_\\w+ [^\\]]*\\b)?uid=\"(uid://\\w+)\"").search(text)
		if found != null:
			return found.get_string(1)
	return ""


## What a path is called afterwards, or "" if it is about something else.
func renamed(path: String) -> String:
	if path == from:
		return to
	return to + path.substr(from.length()) if path.begins_with(from + "/") or path.begins_with(from + ":") else ""


## Looks through the whole project; lets the editor draw in between.
func look(context: Context) -> void:
	_look_at_settings()
	var open: Array[String] = ["res://"]
	context.begin_work()
	while not open.is_empty():
		var folder: String = open.pop_back()
		for name: String in DirAccess.get_files_at(folder):
			_look_at_file(folder.path_join(name))
			await context.breathe()
		for name: String in DirAccess.get_directories_at(folder):
			var inner: String = folder.path_join(name)
			if not name.begins_with(".") and inner != Places.OWN and not FileAccess.file_exists(inner.path_join(".gdignore")) and not Places.readable(inner, {}).is_empty():
				open.append(inner)


func _look_at_file(path: String) -> void:
	if path == "res://project.godot" or path.get_extension().to_lower() in BLIND or Places.is_secret(path) or Places.readable(path, {}).is_empty():
		return
	var file: FileAccess = FileAccess.open(path, FileAccess.READ)
	if file == null or file.get_length() > LARGEST:
		return
	var bytes: PackedByteArray = file.get_buffer(file.get_length())
	if bytes.slice(0, 3).get_string_from_ascii() == "RSR" or bytes.slice(0, 3).get_string_from_ascii() == "RSC":
		if LoadGuard.has_text(bytes, from) and path != from:
			others.append("%s (a binary resource)" % path)
	elif not bytes.has(0):
		_look_at_text(path, TextBytes.read(bytes), TextBytes.is_utf8(bytes))


func _look_at_text(path: String, text: String, can_be_written: bool) -> void:
	if not text.contains(from.get_file()) and (uid.is_empty() or not text.contains(uid)) and renamed(path).is_empty():
		return
	var lines: Array[int] = []
	var after: String = _replaced(text, _absolute, 3, lines, _of_absolute)
	if path.get_extension() in WITH_RELATIVE:
		after = _replaced(after, _relative, 3, lines, _of_relative.bind(path))
		lines.sort()
		for index: int in range(lines.size() - 1, 0, -1):
			if lines[index] == lines[index - 1]:
				lines.remove_at(index)
	if not can_be_written:
		if not lines.is_empty():
			others.append("%s:%d (not UTF-8)" % [path, lines[0]])
	elif not lines.is_empty() or after != text:
		texts.append({"path": path, "lines": lines, "before": text, "after": after})


## The text with another path wherever a pattern finds one that is meant; their lines are noted.
func _replaced(text: String, pattern: RegEx, group: int, lines: Array[int], new_of: Callable) -> String:
	var pieces: PackedStringArray = [] # a long text that grows is moved each time on Windows
	var last: int = 0
	_counted = 0
	_line = 1
	for found: RegExMatch in pattern.search_all(text):
		var new_path: String = new_of.call(found, lines, text)
		if not new_path.is_empty():
			pieces.append(text.substr(last, found.get_start(group) - last) + new_path)
			last = found.get_end(group)
	return "".join(pieces) + text.substr(last)


func _note(found: RegExMatch, lines: Array[int], text: String) -> void:
	if found.get_start() > _counted:
		_line += text.count("\n", _counted, found.get_start())
		_counted = found.get_start()
	if lines.is_empty() or lines[-1] != _line:
		lines.append(_line)


func _of_absolute(found: RegExMatch, lines: Array[int], text: String) -> String:
	var path: String = found.get_string(3)
	if path == uid:
		_note(found, lines, text)
		return ""
	# A folder may be named with a slash at its end.
	var new_path: String = renamed(path)
	if not new_path.is_empty():
		_note(found, lines, text)
	return new_path


## A relative path is told as an absolute one when it does not lead to the same file any more.
func _of_relative(found: RegExMatch, lines: Array[int], text: String, path: String) -> String:
	var given: String = found.get_string(3)
	var is_from_root: bool = found.get_string(1).begins_with("load")
	var meant: String = ("res://" if is_from_root else path.get_base_dir()).path_join(given).simplify_path()
	var new_meant: String = renamed(meant)
	var new_folder: String = (renamed(path) if not renamed(path).is_empty() else path).get_base_dir()
	if not new_meant.is_empty():
		_note(found, lines, text)
	elif is_from_root or not FileAccess.file_exists(meant):
		return ""
	var wanted: String = new_meant if not new_meant.is_empty() else meant
	return "" if not is_from_root and new_folder.path_join(given).simplify_path() == wanted or wanted == meant and is_from_root else wanted


func _look_at_settings() -> void:
	for info: Dictionary in ProjectSettings.get_property_list():
		var name: String = info["name"]
		var value: Variant = ProjectSettings.get_setting(name) if ProjectSettings.has_setting(name) else null
		var seen: Array[bool] = []
		var after: Variant = _renamed_in(value, seen)
		if not seen.is_empty():
			settings[name] = [value, after]


## A copy of a value with other paths in it.
func _renamed_in(value: Variant, seen: Array[bool]) -> Variant:
	match typeof(value):
		TYPE_STRING:
			var text: String = value
			var star: String = "*" if text.begins_with("*") else ""
			if not uid.is_empty() and text.trim_prefix("*") == uid:
				seen.append(true)
				return value
			var new_path: String = renamed(text.trim_prefix("*"))
			if new_path.is_empty():
				return value
			seen.append(true)
			return star + new_path
		TYPE_PACKED_STRING_ARRAY:
			var strings: PackedStringArray = []
			for item: String in value:
				strings.append(_renamed_in(item, seen))
			return strings
		TYPE_ARRAY:
			var items: Array = (value as Array).duplicate()
			for index: int in items.size():
				if items[index] is String or items[index] is Array or items[index] is Dictionary:
					items[index] = _renamed_in(items[index], seen)
			return items
		TYPE_DICTIONARY:
			var pairs: Dictionary = (value as Dictionary).duplicate()
			pairs.clear()
			for key: Variant in value:
				pairs[_renamed_in(key, seen)] = _renamed_in(value[key], seen)
			return pairs
	return value


## Whether anybody names it. What lies in it does not count.
func is_used() -> bool:
	return not _users().is_empty() or not others.is_empty() or not settings.is_empty()


## Text files outside of it that name it. (The settings of its import are its own.)
func _users() -> Array[Dictionary]:
	return texts.filter(func(entry: Dictionary) -> bool: return not entry["lines"].is_empty() and renamed(entry["path"]).is_empty() and entry["path"] != from + ".import")


## Each place that names it, a line each.
func told() -> Array[String]:
	var found: Array[String] = []
	for name: String in settings:
		found.append("project setting %s" % name)
	for entry: Dictionary in _users():
		var lines: PackedStringArray = str(entry["before"]).split("\n")
		for number: int in entry["lines"]:
			found.append("%s:%d: %s" % [entry["path"], number, lines[number - 1].strip_edges().left(200)])
	return found + others
