@tool
extends RefCounted
## Which paths lie in the project. Links count by where they lead.

const LINKS_MOST: int = 16


## The path in its plain form, or "" with [param problem]["error"] set.
static func plain(path: String, problem: Dictionary) -> String:
	var inside: String = path
	if path.begins_with("uid://"):
		var id: int = ResourceUID.text_to_id(path)
		inside = ResourceUID.get_id_path(id) if ResourceUID.has_id(id) else ""
	if not inside.begins_with("res://"):
		problem["error"] = "'%s' is not a path in the project; paths begin with 'res://'." % path.left(200)
		return ""
	inside = "res://" + inside.substr(6).simplify_path().trim_prefix("/")
	if inside.substr(6).begins_with("..") or inside.contains("\\") or inside.contains(":/") and inside.count(":/") > 1:
		problem["error"] = "'%s' leaves the project." % path.left(200)
		return ""
	if leads_out(inside):
		problem["error"] = "'%s' leaves the project: a link on the way leads elsewhere." % path.left(200)
		return ""
	return inside


## Whether a link on the way to a path of the project leads out of it.
static func leads_out(path: String) -> bool:
	var root: String = ProjectSettings.globalize_path("res://").trim_suffix("/")
	var directory: DirAccess = DirAccess.open("res://")
	var links: int = 0
	var left: PackedStringArray = path.trim_prefix("res://").split("/", false)
	var reached: String = root
	while not left.is_empty():
		reached = reached.path_join(left[0])
		left.remove_at(0)
		if not directory.is_link(reached):
			continue
		var target: String = directory.read_link(reached)
		if target.is_relative_path():
			target = reached.get_base_dir().path_join(target)
		target = target.simplify_path()
		links += 1
		if links > LINKS_MOST or target != root and not target.begins_with(root + "/"):
			return true
		left = target.trim_prefix(root).split("/", false) + left
		reached = root
	return false
