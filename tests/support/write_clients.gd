extends SceneTree
## Has the addon write clients' configuration, case after case: reads a list of cases from the file
## that CLIENTS_CASES names and writes {list, snippet, first, second, ms} for each to CLIENTS_RESULTS.
## A case is {home, config, project, id, url, launcher, ws_port}.

const Clients := preload("res://addons/tether/clients/clients.gd")


func _initialize() -> void:
	var cases: Array = JSON.parse_string(FileAccess.get_file_as_string(OS.get_environment("CLIENTS_CASES")))
	var results: Array[Dictionary] = []
	for case: Dictionary in cases:
		results.append(_run(case))
	var file: FileAccess = FileAccess.open(OS.get_environment("CLIENTS_RESULTS"), FileAccess.WRITE)
	file.store_string(JSON.stringify(results))
	file.close()
	quit()


## How long this thread has computed so far: what it takes does not depend on what else runs. On Windows,
## nothing: what it takes under Wine is not what it takes there.
func _computed_ms() -> int:
	if OS.has_feature("windows"):
		return 0
	var stat: String = FileAccess.open("/proc/thread-self/stat", FileAccess.READ).get_line()
	var words: PackedStringArray = stat.get_slice(") ", 1).split(" ")
	return (int(words[11]) + int(words[12])) * 10


func _run(case: Dictionary) -> Dictionary:
	for name: String in ["HOME", "USERPROFILE"]:
		OS.set_environment(name, case.home)
	for name: String in ["XDG_CONFIG_HOME", "APPDATA"]:
		OS.set_environment(name, case.config)
	Clients.project_folder = case.project
	var list: Array[Dictionary] = Clients.list()
	var before: int = _computed_ms()
	var first: Dictionary = Clients.write(case.id, case.url, case.launcher, case.ws_port)
	var ms: int = _computed_ms() - before
	var written: String = FileAccess.get_md5(first.path) if FileAccess.file_exists(first.path) else ""
	return {
		"list": list,
		"snippet": Clients.snippet(case.id, case.url, case.launcher, case.ws_port),
		"first": first,
		"ms": ms,
		"written": written,
		"second": Clients.write(case.id, case.url, case.launcher, case.ws_port),
	}
