@tool
extends RefCounted
## Which files are scenes that can be used, and what they use.

const Context := preload("context.gd")
const Places := preload("places.gd")
const Words := preload("words.gd")


## The plain path of a scene that can be opened or instantiated, or "" with an error in [param problem].
static func usable(path: String, problem: Dictionary) -> String:
	var plain: String = Places.readable(path, problem)
	if plain.is_empty():
		return ""
	if not FileAccess.file_exists(plain):
		problem["error"] = Context.missing_file(plain)
	elif not ResourceLoader.exists(plain, "PackedScene"):
		problem["error"] = "'%s' is not a scene." % plain
	else:
		var missing: Array[String] = _missing_dependencies(plain)
		if not missing.is_empty():
			problem["error"] = "'%s' needs files that are missing: %s." % [plain, Words.enumerate(missing)]
	return "" if problem.has("error") else plain


## Opening a scene with missing files would make the editor ask the user.
static func _missing_dependencies(path: String) -> Array[String]:
	var missing: Array[String] = []
	for entry: String in ResourceLoader.get_dependencies(path):
		var file: String = entry.get_slice("::", 2) if entry.contains("::") else entry
		var id: int = ResourceUID.text_to_id(entry.get_slice("::", 0)) if entry.begins_with("uid://") else ResourceUID.INVALID_ID
		if not (id != ResourceUID.INVALID_ID and ResourceUID.has_id(id)) and not ResourceLoader.exists(file):
			missing.append(file)
	return missing


## Whether a scene is, or leads to, a file.
static func uses(path: String, wanted: String, seen: Dictionary) -> bool:
	if path == wanted:
		return true
	seen[path] = true
	for entry: String in ResourceLoader.get_dependencies(path):
		var file: String = entry.get_slice("::", 2) if entry.contains("::") else entry
		if not seen.has(file) and ResourceLoader.exists(file) and uses(file, wanted, seen):
			return true
	return false
