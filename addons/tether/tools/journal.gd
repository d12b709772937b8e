@tool
extends RefCounted
## What AI clients have done in this session, for the user to see and to take back.

const Context := preload("context.gd")

const MOST: int = 500
const UNDO_MOST: int = 200

## Something was done, or is over.
signal changed

## Oldest first: {tool, client, arguments, at, result, failed, reads, made (what can be undone, as in
## Context.undo_states())}. "result" is missing while the tool is at work, "asked" (what the user said) where
## nobody was asked.
var entries: Array[Dictionary] = []
## Name and version of each client that has called → when it did so last, in milliseconds.
var clients: Dictionary[String, int] = {}


func begin(tool: String, arguments: Variant, client: String, reads: bool) -> Dictionary:
	var entry: Dictionary = {"tool": tool, "client": client, "arguments": _brief(JSON.stringify(arguments)),
			"at": Time.get_time_string_from_system(), "reads": reads, "made": []}
	entries.append(entry)
	if entries.size() > MOST:
		entries.pop_front()
	clients[client] = Time.get_ticks_msec()
	changed.emit()
	return entry


## What the user has to say to it, or has said.
func note(entry: Dictionary, asked: String) -> void:
	entry["asked"] = asked
	changed.emit()


## [param made] is what it has left in the editor's histories, as in Context.undo_states(), or [].
func end(entry: Dictionary, answer: Variant, made: Array) -> void:
	var is_dictionary: bool = answer is Dictionary
	entry["failed"] = is_dictionary and (answer as Dictionary).has("error")
	entry["result"] = _brief(str(answer["error"]) if entry["failed"] else "a picture or texts" if is_dictionary and answer.has("content") else JSON.stringify(answer))
	# Of several calls at a time, the first that is over is the one that has made it.
	if not entries.any(func(other: Dictionary) -> bool: return other["made"] == made):
		entry["made"] = made
	changed.emit()


## Takes back what a tool has done, and all that came after it in the same history. In words why not, or "".
func undo(entry: Dictionary, context: Context) -> String:
	var made: Array = entry["made"]
	if made.is_empty():
		return "There is nothing to take back."
	if context.undo_states().has(made[0]) and not context.is_in_history(made):
		entry["made"] = []
		changed.emit()
		return "It has been taken back already."
	for _i: int in UNDO_MOST:
		var states: Dictionary[int, Array] = context.undo_states()
		if not states.has(made[0]):
			return "The scene is not the edited one any more."
		if states[made[0]][1] < made[1]:
			entry["made"] = []
			changed.emit()
			return ""
		if not context.press_shortcut(&"ui_undo") or context.undo_states() == states:
			break
	return "The editor did not undo it."


static func _brief(text: String) -> String:
	return text.left(200) + ("…" if text.length() > 200 else "")
