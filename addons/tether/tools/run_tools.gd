@tool
extends RefCounted
## The tools that run this project beside the editor: its tests, scripts, and exports.

const Context := preload("context.gd")
const JUnit := preload("junit.gd")
const LoadGuard := preload("load_guard.gd")
const Places := preload("places.gd")
const ProgramRun := preload("program_run.gd")
const Schema := preload("schema.gd")
const Words := preload("words.gd")

const GUT: String = "res://addons/gut/gut_cmdln.gd"
const GDUNIT: String = "res://addons/gdUnit4/bin/GdUnitCmdTool.gd"
## Where the results of tests come; nobody but the editor looks there.
const RESULTS: String = "res://.godot/tether_tests"
const TEST_FOLDERS: Array[String] = ["res://test", "res://tests"]
const INSTALL: String = "This project has no test framework. GUT (res://addons/gut) and gdUnit4 (res://addons/gdUnit4) are in the AssetLib tab of the editor, " \
		+ "for whoever wants one. Without them, 'path' may be a scene, or a script that extends SceneTree: it is run without a window."
const EXPORTS: Dictionary[String, String] = {"pack": "--export-pack", "release": "--export-release", "debug": "--export-debug"}
## What an export may be written as: what the engine makes, and nothing that the project has as a source.
const EXPORTED: Array[String] = ["pck", "zip", "exe", "x86_64", "x86_32", "arm64", "html", "apk", "aab", "app", "dmg", "ipa"]
const TOLD_LINES: int = 40
const LONGEST_RUN: int = 3600

var _context: Context
var _run: ProgramRun
## What to make of the run when it is over.
var _tell: Callable
var _files_made: int = 0


func _init(context: Context) -> void:
	_context = context


func get_tools() -> Array[Dictionary]:
	var wait: Dictionary = Schema.integer("Seconds; it goes on, and is waited for again without arguments.", 0, 300, 45)
	var limit: Dictionary = Schema.hidden(Schema.integer("Seconds for all.", 1, LONGEST_RUN, 300))
	return [
		{"name": "project_test", "destructive": true, "open_world": true, "call": _test,
				"description": "Runs the tests of the project (GUT or gdUnit4) without a window, or a scene or script: result, message and place of each.",
				"input": Schema.object({"path": Schema.text("Folder or script of tests; a scene, or a SceneTree script.", ""),
					"name": Schema.text("Part of a test's name.", ""), "limit": limit, "wait": wait, "cancel": Schema.flag("")})},
		{"name": "project_export", "destructive": true, "open_world": true, "call": _export,
				"description": "Exports (builds) the project with a preset, and tells the log.",
				"input": Schema.object({"preset": Schema.text("", ""), "path": Schema.text("File to make, in the project.", ""),
					"mode": Schema.choice("'pack' needs no export templates.", EXPORTS.keys(), "pack"), "limit": limit, "wait": wait, "cancel": Schema.flag("")})},
	]


# ---- runs --------------------------------------------------------------------------------------


## Starts a run, which is told by [param tell] when it is over.
func _start(arguments: PackedStringArray, limit: int, tell: Callable) -> String:
	var run: ProgramRun = ProgramRun.new()
	if not run.start(arguments, limit):
		return run.trouble
	_run = run
	_tell = tell
	return ""


## Waits for the run, and tells of it if it is over.
func _waited(arguments: Dictionary) -> Dictionary:
	var run: ProgramRun = _run
	if run == null:
		return Context.failure("Nothing of this kind runs.")
	if arguments["cancel"]:
		run.stop("It was cancelled.")
	var context: Context = _context
	var end: int = Time.get_ticks_msec() + 1000 * int(arguments["wait"])
	while not run.is_over() and context.plugin != null and Time.get_ticks_msec() < end:
		await context.next_frame()
	if context.plugin == null:
		run.stop("Tether was disabled meanwhile.")
	if not run.is_over():
		return {"running": true, "seconds": run.seconds(), "output": _last(run)}
	if _run == run:
		_run = null
	return await _tell.call(run)


static func _last(run: ProgramRun) -> String:
	var plain: PackedStringArray = []
	for line: String in run.lines.slice(-TOLD_LINES):
		plain.append(Words.without_colours(line))
	return "\n".join(plain).right(8000)


func _busy(arguments: Dictionary, asked_for: Array[String]) -> bool:
	return arguments["cancel"] or _run != null and asked_for.all(func(name: String) -> bool: return str(arguments[name]).is_empty())


# ---- tests -------------------------------------------------------------------------------------


func _test(arguments: Dictionary) -> Dictionary:
	if _busy(arguments, ["path", "name"]):
		return await _waited(arguments)
	if _run != null:
		return Context.failure("Something runs already; wait for it (no arguments), or give \"cancel\": true.")
	var problem: Dictionary = {}
	var path: String = arguments["path"]
	if not path.is_empty():
		path = _context.project_path(path.trim_suffix("/"), problem)
		if path.is_empty():
			return problem
		if not FileAccess.file_exists(path) and not DirAccess.dir_exists_absolute(path):
			return Context.failure(Context.missing_file(path))
	var command: PackedStringArray = _plain(path)
	var results: String = ""
	var framework: String = ""
	if command.is_empty():
		_files_made += 1
		results = RESULTS.path_join(str(_files_made))
		_forget(results)
		DirAccess.make_dir_recursive_absolute(results)
		framework = "GUT" if FileAccess.file_exists(GUT) else "gdUnit4" if FileAccess.file_exists(GDUNIT) else ""
		command = _command_of(framework, path, arguments["name"], results, problem)
		if problem.has("error"):
			return problem
	var trouble: String = _start(command, arguments["limit"], _tell_test.bind(framework, results, arguments["name"]))
	if not trouble.is_empty():
		return Context.failure(trouble)
	return await _waited(arguments)


## The arguments for what needs no framework, or none.
func _plain(path: String) -> PackedStringArray:
	if path.get_extension() in ["tscn", "scn"]:
		return [path]
	if path.get_extension() == "gd" and RegEx.create_from_string("(?m)^\\s*(?:class_name\\s+\\w+\\s+)?extends\\s+(?:SceneTree|MainLoop)\\b").search(
			FileAccess.get_file_as_string(path)) != null:
		return ["-s", path]
	return []


func _command_of(framework: String, path: String, name: String, results: String, problem: Dictionary) -> PackedStringArray:
	if RegEx.create_from_string("^[\\w .:-]*$").search(name) == null:
		problem["error"] = "'name' is a part of a test's name, not '%s'." % name.left(100)
	var places: Array[String] = [path]
	if path.is_empty():
		places = TEST_FOLDERS.filter(func(folder: String) -> bool: return DirAccess.dir_exists_absolute(folder))
	var is_told: bool = framework == "GUT" and path.is_empty() and FileAccess.file_exists("res://.gutconfig.json")
	if framework.is_empty():
		problem["error"] = INSTALL
	elif places.is_empty() and not is_told:
		problem["error"] = "There is no folder %s; give the 'path' of the tests." % " or ".join(TEST_FOLDERS)
	if problem.has("error"):
		return []
	var command: PackedStringArray = []
	if framework == "GUT":
		command = ["-s", GUT, "-gexit", "-gdisable_colors", "-gjunit_xml_file=" + results.path_join("results.xml")]
		for place: String in places if not is_told else []:
			command.append_array(["-gtest=" + place] if FileAccess.file_exists(place) else ["-gdir=" + place, "-ginclude_subdirs"])
		if not name.is_empty():
			command.append("-gunit_test_name=" + name)
	else:
		command = ["-s", GDUNIT, "-c", "--ignoreHeadlessMode", "-rd", results, "-rc", "1"]
		for place: String in places:
			command.append_array(["-a", place]) # which names no single tests
	return command


func _tell_test(run: ProgramRun, framework: String, results: String, name: String) -> Dictionary:
	var answer: Dictionary = {"exit_code": run.code, "seconds": run.seconds()}
	if framework.is_empty():
		answer["output"] = _last(run)
		return _with_trouble(answer, run)
	var tests: Array[Dictionary] = JUnit.read(FileAccess.get_file_as_string(_results_in(results)))
	tests = tests.filter(func(test: Dictionary) -> bool: return name.is_empty() or str(test["name"]).contains(name))
	answer["framework"] = framework
	for status: String in ["failed", "skipped", "passed"]:
		answer[status] = tests.filter(func(test: Dictionary) -> bool: return test["status"] == status).size()
	answer["tests"] = _sorted(tests)
	_forget(results)
	if tests.is_empty():
		answer["output"] = _last(run)
		if run.trouble.is_empty():
			return Context.failure("No test was run; %s said:\n%s" % [framework, answer["output"]])
	return _with_trouble(answer, run)


static func _with_trouble(answer: Dictionary, run: ProgramRun) -> Dictionary:
	if not run.trouble.is_empty():
		answer["stopped"] = run.trouble
	return answer


## Those that failed first, with all that is known; the others in a line each.
static func _sorted(tests: Array[Dictionary]) -> Array:
	var told: Array = []
	for test: Dictionary in tests:
		if test["status"] != "passed":
			told.append(test)
	told.sort_custom(func(a: Dictionary, b: Dictionary) -> bool: return a["status"] < b["status"])
	for test: Dictionary in tests:
		if test["status"] == "passed":
			told.append("passed %s %s (%s s)" % [test["suite"], test["name"], String.num(test["seconds"])])
	return told


## gdUnit4 makes a folder for each of its reports.
static func _results_in(folder: String) -> String:
	for name: String in DirAccess.get_directories_at(folder):
		if FileAccess.file_exists(folder.path_join(name).path_join("results.xml")):
			return folder.path_join(name).path_join("results.xml")
	return folder.path_join("results.xml")


static func _forget(folder: String) -> void:
	if not DirAccess.dir_exists_absolute(folder):
		return
	for name: String in DirAccess.get_files_at(folder):
		DirAccess.remove_absolute(folder.path_join(name))
	for name: String in DirAccess.get_directories_at(folder):
		_forget(folder.path_join(name))
	DirAccess.remove_absolute(folder)


# ---- exports -----------------------------------------------------------------------------------


func _export(arguments: Dictionary) -> Dictionary:
	if _busy(arguments, ["preset", "path"]):
		return await _waited(arguments)
	if _run != null:
		return Context.failure("Something runs already; wait for it (no arguments), or give \"cancel\": true.")
	var problem: Dictionary = {}
	var presets: Array[String] = _presets(problem)
	var preset: String = arguments["preset"]
	if problem.has("error"):
		return problem
	if not preset in presets:
		return Context.failure("There is no export preset '%s'.%s The project has %s." % [preset, Words.suggest(preset, presets),
				Words.enumerate(presets) if not presets.is_empty() else "none; the user makes one in the editor (Project > Export)"])
	var given: String = arguments["path"]
	var path: String = _context.writable_path(given if not given.is_empty() else "res://build/%s.pck" % preset.validate_filename(), problem)
	if path.is_empty():
		return problem
	if not path.get_extension() in EXPORTED or arguments["mode"] == "pack" and not path.get_extension() in ["pck", "zip"]:
		return Context.failure("'%s' is not what an export makes; its name ends in one of .%s." % [path.get_file(),
				", .".join(["pck", "zip"] if arguments["mode"] == "pack" else EXPORTED)])
	var trouble: String = _context.make_folder(path.get_base_dir())
	if trouble.is_empty():
		trouble = _start([EXPORTS[arguments["mode"]], preset, ProjectSettings.globalize_path(path)], arguments["limit"],
				_tell_export.bind(path, int(Time.get_unix_time_from_system())))
	return Context.failure(trouble) if not trouble.is_empty() else await _waited(arguments)


func _presets(problem: Dictionary) -> Array[String]:
	var names: Array[String] = []
	if not FileAccess.file_exists("res://export_presets.cfg"):
		return names
	var file: ConfigFile = LoadGuard.settings_of("res://export_presets.cfg")
	if file == null:
		problem["error"] = "'res://export_presets.cfg' is not read: it is not plain, and to read it might run code. file_read shows it."
		return names
	for section: String in file.get_sections():
		if section.begins_with("preset.") and not section.ends_with(".options"):
			names.append(str(file.get_value(section, "name", "")))
	return names


func _tell_export(run: ProgramRun, path: String, begun: int) -> Dictionary:
	var log: String = "\n".join(Array(run.lines).map(Words.without_colours))
	if log.containsn("No export template found") or log.containsn("export templates"):
		return Context.failure("The export templates for this engine are missing; the user installs them in the editor (Editor > Manage Export Templates). "
				+ "\"mode\": \"pack\" works without. The log:\n%s" % _last(run))
	if run.code != 0 or not FileAccess.file_exists(path) or int(FileAccess.get_modified_time(path)) < begun - 2:
		return Context.failure("Not exported. %s The log:\n%s" % [run.trouble, _last(run)])
	return {"exported": path, "bytes": FileAccess.open(path, FileAccess.READ).get_length(), "seconds": run.seconds(), "log": _last(run)}
