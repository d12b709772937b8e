@tool
extends RefCounted
## Sets of tools, for clients that take only so many: by name, and by what the tools are about.

## All that are known by name; the last ones are families.
const NAMES: Array[String] = ["all", "core", "read", "editor", "scene", "file", "project", "game", "docs"]
const FAMILIES: Array[String] = ["editor", "scene", "file", "project", "game", "docs"]
## What a session needs that looks, changes and tries.
const CORE: Array[String] = ["editor_state", "editor_screenshot", "editor_undo", "scene_tree", "scene_open", "scene_save", "scene_edit",
		"node_get", "node_set", "file_list", "file_read", "file_search", "script_create", "script_edit", "project_run", "project_stop",
		"project_output", "game_play", "docs_search", "docs_class", "script_run"]
const GAME: Array[String] = ["project_run", "project_stop", "project_output", "editor_screenshot"]


## Name → names of tools; [param tools] are those that are offered.
static func of(tools: Dictionary[String, Dictionary]) -> Dictionary:
	var profiles: Dictionary = {}
	for profile: String in NAMES.slice(1):
		profiles[profile] = tools.keys().filter(
				func(name: String) -> bool: return has(profile, name, tools[name].get("read", false)))
	return profiles


static func has(profile: String, name: String, reads: bool) -> bool:
	match profile:
		"all":
			return true
		"core":
			return name in CORE
		"read":
			return reads
		"game":
			return family_of(name) == "game" or name in GAME
	return family_of(name) == profile


## What a tool is about, by the first word of its name.
static func family_of(tool: String) -> String:
	var word: String = tool.get_slice("_", 0)
	return {"node": "scene", "resource": "file", "script": "file"}.get(word, word)
