@tool
extends RefCounted
## A server's status in words. Pure: what is asked goes in, what is shown comes out, harmless to look at
## whatever others call themselves.

const Printable: GDScript = preload("../tools/printable.gd")

## How a state is to be taken at a glance.
enum Tone { QUIET, BUSY, GOOD, WARNING, BAD }

const TONES: Dictionary[String, Tone] = {
	"off": Tone.QUIET,
	"launching": Tone.BUSY,
	"starting": Tone.BUSY,
	"ready": Tone.GOOD,
	"backoff": Tone.WARNING,
	"stopping": Tone.BUSY,
	"stopped": Tone.QUIET,
	"failed": Tone.BAD,
	"blocked": Tone.BAD,
	"lost": Tone.WARNING,
}
const HEADLINES: Dictionary[String, String] = {
	"off": "Off",
	"launching": "Launching…",
	"starting": "Starting…",
	"ready": "Running",
	"backoff": "Restarting…",
	"stopping": "Stopping…",
	"stopped": "Stopped",
	"failed": "Failed",
	"blocked": "Port taken",
	"lost": "Connection lost",
}
const REASONS: Dictionary[String, String] = {
	"off": "The server is not started.",
	"launching": "Looking for a running server, or starting one.",
	"starting": "The server has been started and is not ready yet.",
	"stopping": "The server is being asked to end.",
	"stopped": "The server has been stopped.",
	"failed": "The server could not be kept running.",
	"backoff": "The server ended by itself and is being started again.",
	"lost": "The connection to the server's launcher is gone; it is being found or started again.",
	"blocked": "Another program holds a port that the server needs.",
}


static func tone(state: String) -> Tone:
	return TONES.get(state, Tone.QUIET)


static func headline(state: String, status: Dictionary) -> String:
	var port: int = number(dictionary(status, "holder").get("port"))
	if state == "blocked" and port > 0:
		return "Port %d taken" % port
	return HEADLINES.get(state, Printable.line(state.capitalize()))


## Why the server lives, or why it does not.
static func reason(state: String, status: Dictionary, own_pid: int) -> String:
	match state:
		"ready":
			return _why_it_stays(status, own_pid)
		"backoff":
			var last: String = last_exit(status)
			return "The server %s and is being started again." % last if last else REASONS[state]
		"off":
			var why_not: String = text(status.get("message"))
			return "Not started: " + why_not if why_not else REASONS[state]
		"blocked", "failed":
			return "" if trouble(status) else REASONS[state] # told at length below
	return REASONS.get(state, "")


static func _why_it_stays(status: Dictionary, own_pid: int) -> String:
	var why: String = text(status.get("why"))
	var who: PackedStringArray = users(status, own_pid)
	if text(status.get("ownership")) == "unarmed":
		return "Stays up until it is stopped, also without an editor."
	if not who.is_empty():
		var last: String = who[-1]
		return "Stays up for %s." % (last if who.size() == 1 else ", ".join(who.slice(0, -1)) + " and " + last)
	return "Stays up: " + why if why else ""


## Those for whom the server stays up, in few words: "this editor", "Dungeon", "2 AI clients".
static func users(status: Dictionary, own_pid: int) -> PackedStringArray:
	var here: PackedStringArray = []
	var editors: PackedStringArray = []
	var clients: int = 0
	for session: Dictionary in sessions(status):
		var project: String = text(session.get("project"))
		if session.get("counts") is bool and not session["counts"]:
			continue
		if text(session.get("role")) == "front":
			clients += 1
		elif number(session.get("pid")) == own_pid:
			here = ["this editor"]
		elif text(session.get("role")) == "editor":
			editors.append(project if project else "another editor")
	if clients:
		editors.append("1 AI client" if clients == 1 else "%d AI clients" % clients)
	return here + editors


## A message of the launcher as a sentence of its own.
static func sentence(message: String) -> String:
	return message.left(1).to_upper() + message.substr(1)


## What went wrong, as told by whoever saw it: a sentence, and then perhaps lines of the log.
static func trouble(status: Dictionary) -> String:
	if text(status.get("state")) == "failed" and text(status.get("client_state")) == "failed":
		var said: String = lines(dictionary(status, "server").get("reason"))
		if said:
			return said
	return lines(status.get("message"))


static func last_exit(status: Dictionary) -> String:
	return text(dictionary(dictionary(status, "server"), "last_exit").get("text"))


## Whether there is a server (or was, just now) that the rest of the status is about.
static func is_about_server(state: String) -> bool:
	return state in ["starting", "ready", "backoff", "stopping", "failed", "lost"]


## Who owns the server: "this editor", or a project's name, or a process.
static func owner(status: Dictionary, own_pid: int) -> String:
	var described: Dictionary = dictionary(status, "owner")
	var pid: int = number(described.get("pid"))
	if pid == 0:
		return "nobody" if status.has("ownership") else ""
	var words: String = "process %d" % pid
	if pid == own_pid:
		words = "this editor (%d)" % pid
	for session: Dictionary in sessions(status):
		if number(session.get("pid")) == pid and pid != own_pid and text(session.get("project")):
			words = "%s (%d)" % [text(session["project"]), pid]
	return words + (", dead" if described.get("alive") is bool and not described["alive"] else "")


## One text for each session: "My Game (this editor)", "My Game (4711), away".
static func session_names(status: Dictionary, own_pid: int) -> PackedStringArray:
	var names: PackedStringArray = []
	for session: Dictionary in sessions(status):
		var pid: int = number(session.get("pid"))
		var who: String = text(session.get("project"))
		if not who:
			who = {"editor": "an editor", "front": "AI client", "cli": "command line"}.get(
					text(session.get("role")), "unnamed")
		elif text(session.get("role")) == "front":
			who = "AI client in " + who
		who += " (this editor)" if pid == own_pid else " (%d)" % pid if pid else ""
		var link: String = text(session.get("link"))
		names.append(who if link in ["", "connected"] else who + ", " + link)
	return names


## The other editors that use the server.
static func other_editors(status: Dictionary, own_pid: int) -> PackedStringArray:
	var others: Dictionary = {"sessions": sessions(status).filter(func(session: Dictionary) -> bool:
			return text(session.get("role")) == "editor" and number(session.get("pid")) != own_pid)}
	return session_names(others, own_pid)


static func sessions(status: Dictionary) -> Array:
	var list: Variant = status.get("sessions")
	return (list as Array).filter(func(entry: Variant) -> bool: return entry is Dictionary) \
			if list is Array else []


## What the user should know about versions; mostly nothing.
static func version_note(status: Dictionary, own_version: String) -> String:
	var theirs: String = text(status.get("daemon_version"))
	if not theirs or not own_version or theirs == own_version:
		return ""
	if status.get("newer_daemon_refused") == true:
		return "The running server belongs to Tether %s; this addon is %s and cannot use it. " % [
				theirs, own_version] + "Update the addon."
	if is_older(own_version, theirs):
		return "The running server belongs to Tether %s, which is newer than this addon, %s. " % [
				theirs, own_version] + "It is used as it is."
	var ours: String = "The running server belongs to Tether %s; this addon is %s. " % [theirs, own_version]
	if text(status.get("ownership")) == "unarmed":
		return ours + "It was started by hand, so it stays until somebody stops it."
	return ours + "Other editors use it, so it stays until they are closed."


static func is_older(version: String, other: String) -> bool:
	var ours: PackedStringArray = version.get_slice("-", 0).split(".")
	var theirs: PackedStringArray = other.get_slice("-", 0).split(".")
	for index: int in mini(ours.size(), theirs.size()):
		if ours[index].to_int() != theirs[index].to_int():
			return ours[index].to_int() < theirs[index].to_int()
	return ours.size() < theirs.size()


## What the server was started with, which is not what the settings say if it was found. Empty: the
## built-in one.
static func running_command(server: Dictionary, set_here: PackedStringArray) -> PackedStringArray:
	if server.get("builtin") is bool and server["builtin"]:
		return []
	if server.get("command") is Array:
		return PackedStringArray((server["command"] as Array).map(func(word: Variant) -> String:
				return str(word) if word is String else ""))
	return set_here


## A command by its program's name, without the folder.
static func command(words: PackedStringArray) -> String:
	if words.is_empty():
		return "built in"
	return text(" ".join(PackedStringArray([words[0].get_file()]) + words.slice(1)))


static func restarts(count: int) -> String:
	return "no restarts" if count == 0 else "1 restart" if count == 1 else "%d restarts" % count


## A trouble in a few words, for a toast.
static func brief(state: String, status: Dictionary) -> String:
	var executable: Variant = dictionary(status, "holder").get("executable")
	var program: String = text((executable as String).get_file()) if executable is String else ""
	if state == "blocked" and program:
		return "%s by %s" % [headline(state, status), program]
	var said: String = trouble(status).get_slice("\n", 0).trim_suffix("; its last lines:")
	return said if said else headline(state, status)


static func ports(server: Dictionary) -> String:
	var http_port: int = number(server.get("http_port"))
	var ws_port: int = number(server.get("ws_port"))
	if http_port == 0:
		return ""
	return "%d, %d" % [http_port, ws_port] if ws_port else str(http_port)


## Who holds the port: "process 4711, /usr/bin/python3.11".
static func holder(status: Dictionary) -> String:
	var described: Dictionary = dictionary(status, "holder")
	var pid: int = number(described.get("pid"))
	if pid <= 0:
		return "a process that the system does not let us see"
	var executable: String = text(described.get("executable"))
	return "process %d" % pid + (", " + executable if executable else "")


## The pair of ports to go on with, or nothing.
static func next_ports(status: Dictionary) -> PackedInt32Array:
	var pair: Variant = status.get("next_ports")
	if (pair is Array or pair is PackedInt32Array or pair is PackedInt64Array) and len(pair) == 2:
		return PackedInt32Array([number(pair[0]), number(pair[1])])
	return PackedInt32Array()


static func duration(milliseconds: int) -> String:
	var seconds: int = floori(milliseconds / 1000.0)
	var minutes: int = floori(seconds / 60.0)
	var hours: int = floori(minutes / 60.0)
	if hours >= 48:
		return "%d d %d h" % [floori(hours / 24.0), hours % 24]
	if hours > 0:
		return "%d h %d min" % [hours, minutes % 60]
	if minutes > 0:
		return "%d min %d s" % [minutes, seconds % 60]
	return "%d s" % seconds


## The colour of words that stand back.
static func dimmed(color: Color) -> Color:
	return Color(color, color.a * 0.7)


# What comes from a daemon of another version may be anything: these four never fail.

static func dictionary(from: Dictionary, key: String) -> Dictionary:
	return from[key] if from.get(key) is Dictionary else {}


## One line of it.
static func text(value: Variant) -> String:
	return Printable.line(str(value)) if value is String or value is StringName else ""


static func lines(value: Variant) -> String:
	return Printable.lines(str(value)) if value is String or value is StringName else ""


static func number(value: Variant) -> int:
	return int(value) if value is int or value is float else 0
