@tool
extends RefCounted
## Tells what code loading a file would run, without loading anything: scripts for the editor (@tool)
## run when they are loaded, and again in each resource that has them.
##
## What is loaded already is not loaded again, so nothing of it runs.

## A text between quotes, or a comment. Texts may have several lines.
const TEXTS: String = "(?s)(\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*')|#[^\\n]*"
## What makes an object, or loads a file, out of a text resource without naming it as a dependency.
const INLINE: String = "\\b(?:Object|Resource)\\s*\\(|\\btype\\s*=\\s*\"(?:GDScript|CSharpScript|[^\"]*\\\\)"
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
	guard.call("_look_at_file", path, true)
	return guard.get("untold") if guard.get("runs").is_empty() else guard.get("runs")[0]


## Looks at a script's text, as if it were loaded from a path.
func look_at_script(text: String, path: String, own_class: String = "") -> void:
	var literals: Array[String] = []
	var code: String = _without_texts(text.replace("\u0001", " "), literals)
	if RegEx.create_from_string("\\bpreload\\b").search_all(code).size() != _follow("preload\\s*\\(\\s*\u0001(\\d+)\u0001\\s*\\)", code, literals, path):
		untold = "'%s' preloads what cannot be told in advance" % path
	if RegEx.create_from_string("\\bextends\\s*[^\\s\\w]").search_all(code).size() != _follow("\\bextends\\s*\u0001(\\d+)\u0001", code, literals, path):
		untold = "'%s' extends what cannot be told in advance" % path
	for name: String in _named:
		if name != own_class and code.contains(name):
			_look_at_file(_named[name])


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
		_look_at_file(path.get_base_dir().path_join(named) if named.is_relative_path() else named)
	return count


static func _without_texts(text: String, literals: Array[String]) -> String:
	var code: String = ""
	var last: int = 0
	for found: RegExMatch in _texts.search_all(text):
		code += text.substr(last, found.get_start() - last)
		if found.get_start(1) >= 0:
			code += "\u0001%d\u0001" % literals.size()
			literals.append(found.get_string(1))
		last = found.get_end()
	return code + text.substr(last)


static func _path_of(given: String) -> String:
	if not given.begins_with("uid://"):
		return given.simplify_path()
	var id: int = ResourceUID.text_to_id(given)
	return ResourceUID.get_id_path(id) if ResourceUID.has_id(id) else ""


func _look_at_file(given: String, anew: bool = false) -> void:
	var path: String = _path_of(given)
	if _seen.has(path) or path.is_empty() or ResourceLoader.has_cached(path) and not anew:
		return
	_seen[path] = true
	var kind: String = path.get_extension().to_lower()
	if kind in LIBRARIES:
		runs.append("'%s' is code" % path)
	elif kind == "gd":
		var text: String = FileAccess.get_file_as_string(path)
		if text.contains("@tool"):
			runs.append("the script '%s' runs in the editor (@tool)" % path)
		look_at_script(text, path)
	elif FileAccess.file_exists(path):
		resources.append(path)
		_look_at_resource(path)


func _look_at_resource(path: String) -> void:
	for entry: String in ResourceLoader.get_dependencies(path):
		for part: String in entry.split("::"):
			if not part.begins_with("res://") and not part.begins_with("uid://"):
				continue
			# A resource that has such a script makes an object of it.
			var path_of_it: String = _path_of(part)
			if path_of_it.get_extension().to_lower() == "gd" and FileAccess.get_file_as_string(path_of_it).contains("@tool"):
				runs.append("the script '%s' runs in the editor (@tool)" % path_of_it)
			_look_at_file(part)
	# What is imported was made by the editor.
	if not FileAccess.file_exists(path + ".import") and _has_code_inside(path):
		runs.append("'%s' has a script or an object inside" % path)


static func _has_code_inside(path: String) -> bool:
	var file: FileAccess = FileAccess.open(path, FileAccess.READ)
	var magic: String = file.get_buffer(4).get_string_from_ascii() if file != null else ""
	if magic == "RSRC":
		return _names_scripts(FileAccess.get_file_as_bytes(path))
	if magic == "RSCC":
		return _names_scripts(_unpacked(FileAccess.get_file_as_bytes(path)))
	return magic.begins_with("[") and RegEx.create_from_string(INLINE).search(FileAccess.get_file_as_string(path)) != null


## Whether a binary resource names the class of a script that it holds.
static func _names_scripts(bytes: PackedByteArray) -> bool:
	const PIECE: int = 1 << 20
	for from: int in range(0, bytes.size(), PIECE):
		var piece: String = bytes.slice(from, from + PIECE + 16).hex_encode()
		for type: String in ["GDScript", "CSharpScript"]:
			if piece.contains(type.to_ascii_buffer().hex_encode()):
				return true
	return false


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
