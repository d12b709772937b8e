@tool
extends RefCounted
## The one judge of paths: which lie in the project, which tools may read, and which they may write.
##
## A path counts as it is written and as where it leads: links are followed, and what the system takes
## for the same folder, such as other letters or a short name, is that folder.

const Printable := preload("printable.gd")

const LINKS_MOST: int = 16
const OWN: String = "res://addons/tether"
## Folders that tools do not write into: our own, and the project that Gradle runs at an export.
const KEPT_FOLDERS: Array[String] = [OWN, "res://android/build", "res://.godot", "res://.git"]
## Names that other programs, or the editor at its next start, look for and then run or obey.
const OBEYED: Array[String] = ["override.cfg", "export_presets.cfg", "export_credentials.cfg", "extension_list.cfg",
		"package.json", "deno.json", "opencode.json", "mcp.json", "mcp_config.json", "cmakelists.txt", "conanfile.txt",
		"requirements.txt", "pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "cargo.toml", "docker-compose.yml",
		"docker-compose.yaml", "docker-compose.override.yml", "compose.yml", "compose.yaml", "compose.override.yml", "composer.json",
		"lefthook.yml", "mise.toml", "bunfig.toml", "uv.toml", "pom.xml", "build.xml", "taskfile.yml", "taskfile.yaml",
		"azure-pipelines.yml", "bitbucket-pipelines.yml", "agent.md", "agents.md", "claude.md", "claude.local.md", "gemini.md", "desktop.ini"]
## Names that begin with a dot and hold nothing that is not for everybody.
const OPEN_DOTS: Array[String] = [".gitignore", ".gitattributes", ".gdignore", ".editorconfig"]
const SECRET_NAMES: Array[String] = ["export_credentials.cfg", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"]
const SECRET_KINDS: Array[String] = ["env", "pem", "key", "p12", "pfx", "keystore", "jks", "kdbx", "ppk"]


## The plain form of a path in the project, or "" with [param problem]["error"] set.
static func plain(path: String, problem: Dictionary) -> String:
	var inside: String = path
	if path.begins_with("uid://"):
		var id: int = ResourceUID.text_to_id(path)
		inside = ResourceUID.get_id_path(id) if ResourceUID.has_id(id) else ""
	if not inside.begins_with("res://"):
		problem["error"] = "'%s' is not a path in the project; paths begin with 'res://'." % path.left(200)
		return ""
	inside = "res://" + inside.substr(6).simplify_path().trim_prefix("/")
	if inside.substr(6).begins_with("..") or inside.contains("\\"):
		problem["error"] = "'%s' leaves the project." % path.left(200)
		return ""
	for name: String in _names(inside):
		if _is_odd(name):
			problem["error"] = "'%s' has a name that not every system takes for the same file: '%s'." % [path.left(200).c_escape(), name.left(60).c_escape()]
			return ""
	if target(inside).is_empty():
		problem["error"] = "'%s' leaves the project: a link on the way leads elsewhere." % path.left(200)
		return ""
	return inside


## The same for a path whose file is to be read.
static func readable(path: String, problem: Dictionary) -> String:
	var inside: String = plain(path, problem)
	if not inside.is_empty() and (is_secret(inside) or is_secret(target(inside)) or _lies_in(target(inside), ["res://.godot", "res://.git"])):
		problem["error"] = ("'%s' is not for tools: keys, credentials and most names that begin with a dot may hold what is not for everybody. "
				+ "Whoever wants it opens it by hand.") % inside
		return ""
	return inside


## The same for a path that is to be written. Ask this at the moment of writing.
static func writable(path: String, problem: Dictionary) -> String:
	var inside: String = plain(path, problem)
	for place: String in [inside, target(inside)] if not inside.is_empty() else []:
		var why: String = _why_kept(place)
		if not why.is_empty():
			problem["error"] = why
			return ""
	return inside


## Whether a file's name says that it is not for everybody.
static func is_secret(path: String) -> bool:
	for name: String in _names(path):
		if name.begins_with(".") and not name.to_lower() in OPEN_DOTS:
			return true
	return path.get_file().to_lower() in SECRET_NAMES or path.get_extension().to_lower() in SECRET_KINDS


## Where in the project a path leads, its links followed; "" if that is outside.
static func target(path: String) -> String:
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
		var leads: String = directory.read_link(reached)
		if leads.is_relative_path():
			leads = reached.get_base_dir().path_join(leads)
		leads = leads.simplify_path()
		links += 1
		if links > LINKS_MOST or leads != root and not leads.begins_with(root + "/"):
			return ""
		left = leads.trim_prefix(root).split("/", false) + left
		reached = root
	return "res://" + reached.trim_prefix(root).trim_prefix("/")


static func _why_kept(place: String) -> String:
	if place == "res://" or _is_same(place, "res://project.godot"):
		return "Tools do not write 'project.godot' as a file; use project_settings_set."
	for name: String in _names(place):
		if name.begins_with("."):
			return "Tools do not write '%s': programs obey what has a name that begins with a dot. Whoever wants it edits it by hand." % name
	for folder: String in KEPT_FOLDERS:
		if _lies_in(place, [folder]):
			return "Tools do not write into '%s'. Whoever wants it edits it by hand." % folder
	for name: String in OBEYED:
		if place.get_file().to_lower() == name or _is_same(place, place.get_base_dir().path_join(name)):
			return "Tools do not write '%s': other programs, or the editor at its next start, run or obey it. Whoever wants it edits it by hand." % name
	return ""


static func _lies_in(place: String, folders: Array[String]) -> bool:
	var reached: String = "res://"
	for name: String in _names(place):
		reached = reached.path_join(name)
		if folders.any(_is_same.bind(reached)):
			return true
	return false


static func _is_same(place: String, other: String) -> bool:
	if place.to_lower() == other.to_lower():
		return true
	var directory: DirAccess = DirAccess.open("res://")
	for each: String in [place, other]:
		if not directory.file_exists(each) and not directory.dir_exists(each):
			return false
	return directory.has_method(&"is_equivalent") and directory.call(&"is_equivalent", place, other)


static func _names(path: String) -> PackedStringArray:
	return path.trim_prefix("res://").split("/", false)


## Dots and blanks at the end vanish on Windows, where a colon names a part of a file; letters that
## nobody sees vanish on others.
static func _is_odd(name: String) -> bool:
	return name != name.rstrip(". ") or name.contains(":") or Printable.line(name) != name
