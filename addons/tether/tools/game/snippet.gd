extends RefCounted
## A piece of GDScript that runs in the game: what it sees beside all that scripts of the game see.

const LogBuffer := preload("../log_buffer.gd")
const NodePaths := preload("node_paths.gd")
const SnippetText := preload("../snippet_text.gd")
const VariantJson := preload("../variant_json.gd")

const HEAD: Array[String] = ["extends \"res://addons/tether/tools/game/snippet.gd\"", "func run() -> Variant:"]
const LONGEST_LIST: int = 500

var tree: SceneTree = Engine.get_main_loop()
var root: Window = tree.root
## The root of the scene that is shown.
var scene: Node:
	get:
		return tree.current_scene


## A node by the path that the tools give it; null if there is none.
func node(path: String) -> Node:
	return NodePaths.find(tree, path, {})


func run() -> Variant:
	return null


## Compiles a piece of code; null with an error in [param problem].
static func make(code: String, messages: LogBuffer, problem: Dictionary) -> RefCounted:
	var script: GDScript = GDScript.new()
	script.source_code = SnippetText.compose(HEAD, code)
	var mark: int = messages.mark()
	if script.reload() != OK:
		script.resource_path = ""
		problem["error"] = "It was not run, because it has errors: %s" % "; ".join(SnippetText.errors(messages, mark, HEAD.size()))
		return null
	return script.new()


## Undoes make(). The cache of scripts would keep each of them otherwise; errors that come later, from what
## the snippet left behind, name no file then.
static func forget(made: RefCounted) -> void:
	(made.get_script() as GDScript).resource_path = ""


static func run_once(scene_tree: SceneTree, code: String) -> Dictionary:
	var messages: LogBuffer = LogBuffer.new()
	OS.add_logger(messages)
	var result: Dictionary = await _run(scene_tree, code, messages)
	OS.remove_logger(messages)
	return result


static func _run(scene_tree: SceneTree, code: String, messages: LogBuffer) -> Dictionary:
	var problem: Dictionary = {}
	var made: RefCounted = make(code, messages, problem)
	if made == null:
		return problem
	var mark: int = messages.mark()
	var value: Variant = await made.call("run")
	forget(made)
	var shown: Node = scene_tree.current_scene if scene_tree.current_scene != null else scene_tree.root
	var result: Dictionary = {"result": VariantJson.new(shown, LONGEST_LIST).encode(value), "type": type_string(typeof(value))}
	return SnippetText.add_said(result, messages, mark, HEAD.size())
