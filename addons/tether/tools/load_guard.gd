@tool
extends RefCounted
## Tells what code loading a file would run, without loading anything: scripts for the editor (@tool)
## run when they are loaded, and again in each resource that has them.
##
## What is loaded already is not loaded again, so nothing of it runs. The engine reads its own text files,
## settings and imports included, in a language that can load any file from anywhere in them; so what is
## not plain in those is not read at all.
## [br]What looks into something answers whether it came to its end: an error ends a function early, and is no
## answer.

## A text between quotes, or a comment. Texts may have several lines.
const TEXTS: String = "(?s)(\"\"\"(?:[^\\\\]|\\\\.)*?\"\"\"|'''(?:[^\\\\]|\\\\.)*?'''|\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*')|#[^\\n]*"
## What makes an object, or loads a file, wherever a value may stand. (A semicolon begins a comment.)
const CALL: String = "\\b(?:Object|Resource)\\s*[;(]"
## A resource inside a resource whose class is a script's, or is not told as a plain name.
const INSIDE: String = "\\btype\\s*=(?!\\s*(?:\"(?!GDScript|CSharpScript)\\w+\"|-?\\d))"
## What a shader may say with "#". Another of these may stand for a part of "include".
const DIRECTIVE: String = "#[ \\t]*(?:(?:define|undef|if|ifdef|ifndef|elif|else|endif|error|pragma|line)\\b|include[ \\t]*\"([^\"\\\\\\n]+)\")"
const LIBRARIES: Array[String] = ["gdextension", "cs", "gdc", "vs", "so", "dll", "dylib"]

static var _texts: RegEx = RegEx.create_from_string(TEXTS)

## What would run, in words.
var runs: Array[String] = []
## Why that cannot be told, or "".
var untold: String = ""
## Files other than scripts that would be loaded.
var resources: Array[String] = []

var _seen: Dictionary[String, bool] = {}
## The files that scripts name without a path: classes and autoloads.
var _named: Dictionary[String, String] = {}


func _init() -> void:
	for entry: Dictionary in ProjectSettings.get_global_class_list():
		_named[entry["class"]] = entry["path"]
	for info: Dictionary in ProjectSettings.get_property_list():
		if str(info["name"]).begins_with("autoload/"):
			_named[str(info["name"]).trim_prefix("autoload/")] = str(ProjectSettings.get_setting(info["name"])).trim_prefix("*")


## Why loading a resource (and looking at it) would run code, or "".
static func reason(path: String) -> String:
	var guard: RefCounted = new()
	guard.call("look_at_file", path, true)
	return guard.get("untold") if guard.get("runs").is_empty() else guard.get("runs")[0]


## Looks at a script's text, as if it were loaded from a path.
func look_at_script(text: String, path: String, own_class: String = "") -> void:
	if not _look_at_script(text, path, own_class):
		untold = "'%s' cannot be looked into" % path


func _look_at_script(text: String, path: String, own_class: String) -> bool:
	var literals: Array[String] = []
	var code: String = _without_texts(text.replace("\u0001", " "), literals)
	if RegEx.create_from_string("\\bpreload\\b").search_all(code).size() != _follow("preload\\s*\\(\\s*\u0001(\\d+)\u0001\\s*\\)", code, literals, path):
		untold = "'%s' preloads what cannot be told in advance" % path
	if RegEx.create_from_string("\\bextends\\s*[^\\s\\w]").search_all(code).size() != _follow("\\bextends\\s*\u0001(\\d+)\u0001", code, literals, path):
		untold = "'%s' extends what cannot be told in advance" % path
	for name: String in _named:
		if name != own_class and code.contains(name):
			look_at_file(_named[name])
	return true


## Follows the paths that a pattern finds; returns how many could be told.
func _follow(pattern: String, code: String, literals: Array[String], path: String) -> int:
	var count: int = 0
	for found: RegExMatch in RegEx.create_from_string(pattern).search_all(code):
		var literal: String = literals[found.get_string(1).to_int()]
		if literal.contains("\\") or literal.contains("\n"):
			continue
		count += 1
		var quotes: int = 3 if literal.length() >= 6 and literal.begins_with(literal[0].repeat(3)) else 1
		var named: String = literal.substr(quotes).left(-quotes)
		look_at_file(path.get_base_dir().path_join(named) if named.is_relative_path() else named)
	return count


static func _without_texts(text: String, literals: Array[String]) -> String:
	var code: PackedStringArray = [] # pieces: a long text that grows is moved each time on Windows
	var last: int = 0
	for found: RegExMatch in _texts.search_all(text):
		code.append(text.substr(last, found.get_start() - last))
		if found.get_start(1) >= 0:
			code.append("\u0001%d\u0001" % literals.size())
			literals.append(found.get_string(1))
		last = found.get_end()
	return "".join(code) + text.substr(last)


static func _path_of(given: String) -> String:
	if not given.begins_with("uid://"):
		return given.simplify_path()
	var id: int = ResourceUID.text_to_id(given)
	return ResourceUID.get_id_path(id) if ResourceUID.has_id(id) else ""


func look_at_file(given: String, anew: bool = false) -> void:
	var path: String = _path_of(given)
	if _seen.has(path) or path.is_empty() or ResourceLoader.has_cached(path) and not anew:
		return
	_seen[path] = true
	if not _look_inside(path):
		untold = "'%s' cannot be looked into" % path


func _look_inside(path: String) -> bool:
	var kind: String = path.get_extension().to_lower()
	if _stands_for_another(path):
		untold = "'%s' stands for another file" % path
	elif kind in LIBRARIES:
		runs.append("'%s' is code" % path)
		resources.append(path)
	elif kind == "gd":
		var text: String = FileAccess.get_file_as_string(path)
		if text.contains("@tool"):
			runs.append("the script '%s' runs in the editor (@tool)" % path)
		return _look_at_script(text, path, "")
	elif FileAccess.file_exists(path + ".import"):
		resources.append(path)
		return _look_at_import(path)
	elif FileAccess.file_exists(path):
		resources.append(path)
		return _look_at_resource(path)
	return true


## Whether the engine would load another file in its place.
static func _stands_for_another(path: String) -> bool:
	var others: Variant = ProjectSettings.get_setting("internationalization/locale/translation_remaps")
	return FileAccess.file_exists(path + ".remap") or others is Dictionary and others.has(path)


## What is imported is loaded from where the import has put it.
func _look_at_import(path: String) -> bool:
	var settings: ConfigFile = settings_of(path + ".import")
	if settings == null:
		untold = "'%s.import' is not plain" % path
		return true
	for key: String in settings.get_section_keys("remap") if settings.has_section("remap") else PackedStringArray():
		if key.begins_with("path"):
			look_at_file(str(settings.get_value("remap", key)))
	return true


func _look_at_resource(path: String) -> bool:
	var file: FileAccess = FileAccess.open(path, FileAccess.READ)
	var magic: PackedByteArray = file.get_buffer(4) if file != null else PackedByteArray()
	var done: bool = false
	if path.get_extension().to_lower() in ["gdshader", "gdshaderinc"]:
		return _look_at_shader(FileAccess.get_file_as_string(path), path)
	if magic == "RSRC".to_ascii_buffer():
		done = _look_at_binary(FileAccess.get_file_as_bytes(path), path)
	elif magic == "RSCC".to_ascii_buffer():
		done = _look_at_binary(_unpacked(FileAccess.get_file_as_bytes(path)), path)
	elif not magic.is_empty() and (magic[0] <= 32 or char(magic[0]) in "[;"): # which may be ahead of the first tag
		done = _look_at_text(FileAccess.get_file_as_bytes(path), path)
	else:
		return true # a picture or a sound, of a kind of its own
	if not done or not runs.is_empty() or not untold.is_empty():
		return done # even to ask for its dependencies would run it
	for entry: String in ResourceLoader.get_dependencies(path):
		for part: String in entry.split("::"):
			if part.get_extension().is_empty() and not part.begins_with("uid://"):
				continue # the class
			# A resource that has such a script makes an object of it.
			var path_of_it: String = _path_of(part)
			if path_of_it.get_extension().to_lower() == "gd" and FileAccess.get_file_as_string(path_of_it).contains("@tool"):
				runs.append("the script '%s' runs in the editor (@tool)" % path_of_it)
			look_at_file(part)
	return true


func _look_at_text(bytes: PackedByteArray, path: String) -> bool:
	var text: String = bytes.get_string_from_utf8()
	var head: String = text.get_slice("]", 0)
	if bytes.has(0) or head.contains("("):
		untold = "'%s' is not plain" % path # the engine reads its head to know what it is
	elif RegEx.create_from_string(CALL + "|" + INSIDE).search(text) != null:
		runs.append("'%s' has a script or an object inside" % path)
	elif RegEx.create_from_string("\\btype\\s*=\\s*\"(?:Visual)?Shader").search(text) != null:
		return _look_at_shader(text, path)
	return true


func _look_at_binary(bytes: PackedByteArray, path: String) -> bool:
	if _names(bytes, ["GDScript", "CSharpScript"]):
		runs.append("'%s' has a script or an object inside" % path)
	elif _names(bytes, ["Shader"], "00") and bytes.has("#".unicode_at(0)):
		untold = "'%s' has a shader inside" % path
	return true


## A shader includes, and so loads, any file.
func _look_at_shader(text: String, path: String) -> bool:
	var found: Array[RegExMatch] = RegEx.create_from_string(DIRECTIVE).search_all(text)
	if text.count("#") != found.size():
		untold = "'%s' has a shader that may include what cannot be told" % path
	for directive: RegExMatch in found:
		var named: String = directive.get_string(1)
		if named.is_empty():
			continue
		var file: String = path.get_base_dir().path_join(named) if named.is_relative_path() else _path_of(named)
		if file.get_extension().to_lower() != "gdshaderinc":
			untold = "'%s' has a shader that includes what is none" % path
		look_at_file(file)
	return true


## A file of settings that is read without running anything; null if there is none, or that cannot be told.
static func settings_of(path: String) -> ConfigFile:
	var bytes: PackedByteArray = FileAccess.get_file_as_bytes(path)
	var settings: ConfigFile = ConfigFile.new()
	if bytes.is_empty() or bytes.has(0) or RegEx.create_from_string(CALL).search(bytes.get_string_from_utf8()) != null:
		return null
	return settings if settings.parse(bytes.get_string_from_utf8()) == OK else null


## Whether a binary resource has one of these names, with some bytes behind it.
static func _names(bytes: PackedByteArray, names: Array[String], behind: String = "") -> bool:
	const PIECE: int = 1 << 20
	const LONGEST: int = 1024
	for from: int in range(0, bytes.size(), PIECE):
		var piece: String = bytes.slice(from, from + PIECE + LONGEST).hex_encode()
		for name: String in names:
			if piece.contains(name.to_utf8_buffer().hex_encode() + behind):
				return true
	return false


## Whether a text stands in a binary resource.
static func has_text(bytes: PackedByteArray, text: String) -> bool:
	var plain: PackedByteArray = _unpacked(bytes) if bytes.slice(0, 4) == "RSCC".to_ascii_buffer() else bytes
	return _names(plain, [text])


## The contents of a compressed resource: blocks, with their sizes ahead.
static func _unpacked(bytes: PackedByteArray) -> PackedByteArray:
	var plain: PackedByteArray = PackedByteArray()
	var block: int = bytes.decode_u32(8)
	var left: int = bytes.decode_u32(12)
	if block == 0 or block > 1 << 24 or 16 + 4 * (left / block + 1) > bytes.size():
		return "GDScript".to_ascii_buffer() # whatever this is, it is not loaded
	var at: int = 16 + 4 * (left / block + 1)
	var index: int = 0
	while left > 0:
		var size: int = bytes.decode_u32(16 + 4 * index)
		plain.append_array(bytes.slice(at, at + size).decompress(mini(block, left), bytes.decode_u32(4)))
		at += size
		left -= block
		index += 1
	return plain
