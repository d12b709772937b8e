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


func _run(case: Dictionary) -> Dictionary:
	OS.set_environment("HOME", case.home)
	OS.set_environment("XDG_CONFIG_HOME", case.config)
	Clients.project_folder = case.project
	var list: Array[Dictionary] = Clients.list()
	var before: int = Time.get_ticks_usec()
	var first: Dictionary = Clients.write(case.id, case.url, case.launcher, case.ws_port)
	var ms: float = (Time.get_ticks_usec() - before) / 1000.0
	var written: String = FileAccess.get_md5(first.path) if FileAccess.file_exists(first.path) else ""
	return {
		"list": list,
		"snippet": Clients.snippet(case.id, case.url, case.launcher, case.ws_port),
		"first": first,
		"ms": ms,
		"written": written,
		"second": Clients.write(case.id, case.url, case.launcher, case.ws_port),
	}
