@tool
extends RefCounted
## What the user has switched off: everything that writes, families of tools, or single ones; and of which of
## them the user is asked first.
##
## It is in the project's settings, which no tool changes.

const Profiles := preload("profiles.gd")

const READ_ONLY: String = "tether/tools/read_only"
const PROFILE: String = "tether/tools/profile"
const SWITCHED_OFF: String = "tether/tools/switched_off"
const ASK_FIRST: String = "tether/tools/ask_first"
const ASK_LIMIT: String = "tether/tools/ask_limit_ms"

## What a tool, or a family, can be.
enum Use { ON, ASK, OFF }

## All of it, as settings.gd shows it. Many clients wait for 60 s, so they are told a little earlier that nobody
## has answered.
static var settings: Array[Dictionary] = [
	{"name": READ_ONLY, "default": false},
	{"name": PROFILE, "default": "all", "words": Profiles.NAMES},
	{"name": SWITCHED_OFF, "default": PackedStringArray()},
	{"name": ASK_FIRST, "default": PackedStringArray()},
	{"name": ASK_LIMIT, "default": 55000, "least": 1000, "most": 540000},
]


## Why a tool is not to be had, in words; or "".
static func why_off(name: String, reads: bool) -> String:
	var profile: String = str(ProjectSettings.get_setting(PROFILE, "all"))
	if is_named(name, SWITCHED_OFF):
		return "'%s' was switched off by the user (Tether dock, Tools)." % name
	if not reads and ProjectSettings.get_setting(READ_ONLY, false):
		return "'%s' would change something, and the user lets AI clients only read (Tether dock, Tools)." % name
	if not Profiles.has(profile, name, reads): # nor does a word that is no profile let in any
		return "'%s' is not among the tools that the user has chosen, '%s' (Tether dock, Tools)." % [name, profile]
	return ""


static func mode_of(name: String) -> Use:
	return Use.OFF if is_named(name, SWITCHED_OFF) else Use.ASK if is_named(name, ASK_FIRST) else Use.ON


## Whether a list in the settings names a tool, or its family.
static func is_named(name: String, setting: String) -> bool:
	var names: PackedStringArray = ProjectSettings.get_setting(setting, PackedStringArray())
	return name in names or Profiles.family_of(name) in names


static func asks_at_all() -> bool:
	return not (ProjectSettings.get_setting(ASK_FIRST, PackedStringArray()) as PackedStringArray).is_empty()


static func ask_limit_ms() -> int:
	return clampi(int(ProjectSettings.get_setting(ASK_LIMIT, 55000)), 1000, 540000)


## The two lists of names with one tool, or a family, in another mode: [switched off, asked first]. A family that
## was named as a whole is named tool by tool where one of them is to be different.
static func with_mode(name: String, mode: Use, tools: Array) -> Array[PackedStringArray]:
	var lists: Array[PackedStringArray] = [ProjectSettings.get_setting(SWITCHED_OFF, PackedStringArray()),
			ProjectSettings.get_setting(ASK_FIRST, PackedStringArray())]
	var family: String = Profiles.family_of(name)
	var siblings: Array = tools.filter(func(tool: String) -> bool: return Profiles.family_of(tool) == family)
	for index: int in lists.size():
		var names: Array = Array(lists[index])
		if name == family: # all of it
			names = names.filter(func(each: String) -> bool: return Profiles.family_of(each) != family)
		elif family in names:
			names.erase(family)
			names.append_array(siblings.filter(func(tool: String) -> bool: return not tool in names))
		names.erase(name)
		if index == (0 if mode == Use.OFF else 1) and mode != Use.ON:
			names.append(name)
		lists[index] = PackedStringArray(names)
	return lists
