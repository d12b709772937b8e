extends RefCounted
## What is in the running game: its nodes, their properties, and what it shows.

const NodePaths := preload("node_paths.gd")
const Properties := preload("../properties.gd")
const VariantJson := preload("../variant_json.gd")
const Words := preload("../words.gd")

const LONGEST_LIST: int = 100


func tree(scene_tree: SceneTree, arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var start: Node = NodePaths.find(scene_tree, arguments["path"], problem)
	if start == null:
		return problem
	var type: String = arguments["type"]
	var part: String = arguments["text"]
	var first: int = arguments["offset"]
	var limit: int = arguments["limit"]
	var depth: int = arguments["depth"]
	var lines: Array[String] = []
	var total: int = 0
	# Depth first, in the order of the tree; levels beside the nodes.
	var open: Array[Node] = [start]
	var levels: PackedInt32Array = [0]
	while not open.is_empty():
		var node: Node = open.pop_back()
		var level: int = levels[-1]
		levels.resize(levels.size() - 1)
		if (type.is_empty() or _is_a(node, type)) and (part.is_empty() or node.name.containsn(part)):
			if total >= first and total < first + limit:
				lines.append(_line(scene_tree, node, level == depth))
			total += 1
		if level == depth:
			continue
		var children: Array[Node] = node.get_children()
		children.reverse()
		open.append_array(children)
		for index: int in children.size():
			levels.append(level + 1)
	var result: Dictionary = {"nodes": lines, "total": total}
	if first + limit < total:
		result["next"] = first + limit
	if scene_tree.current_scene != null:
		result["scene"] = scene_tree.current_scene.scene_file_path
	return result


func _is_a(node: Node, type: String) -> bool:
	if node.is_class(type):
		return true
	var script: Script = node.get_script()
	while script != null:
		if script.get_global_name() == type or script.resource_path == type:
			return true
		script = script.get_base_script()
	return false


func _line(scene_tree: SceneTree, node: Node, is_last: bool) -> String:
	var text: String = "%s (%s)" % [NodePaths.path_of(scene_tree, node), node.get_class()]
	var script: Script = node.get_script()
	if script != null:
		text += " script=%s" % (script.resource_path if not script.resource_path.is_empty() else "built-in")
	if not node.scene_file_path.is_empty() and node != scene_tree.current_scene:
		text += " instance=%s" % node.scene_file_path
	return text if not is_last or node.get_child_count() == 0 else text + " +%d children" % node.get_child_count()


func properties(scene_tree: SceneTree, arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = NodePaths.find(scene_tree, arguments["path"], problem)
	if node == null:
		return problem
	var result: Dictionary = {"path": NodePaths.path_of(scene_tree, node), "type": node.get_class()}
	if node.get_script() != null:
		result["script"] = node.get_script().resource_path
	Properties.tell(node, arguments, PROPERTY_USAGE_SCRIPT_VARIABLE | (PROPERTY_USAGE_EDITOR if arguments.get("all", false) else PROPERTY_USAGE_STORAGE),
			Properties.describe.bind(codec(scene_tree, LONGEST_LIST)), result, problem)
	return problem if problem.has("error") else result


func change(scene_tree: SceneTree, arguments: Dictionary) -> Dictionary:
	var problem: Dictionary = {}
	var node: Node = NodePaths.find(scene_tree, arguments["path"], problem)
	if node == null:
		return problem
	var json: VariantJson = codec(scene_tree, 0)
	# Nothing is set unless all can be; then one after the other, so that two parts of one value build
	# on each other.
	for is_real: bool in [false, true]:
		for name: String in arguments["properties"]:
			var found: Dictionary = Properties.resolve(node, name, problem)
			if problem.has("error") or not Properties.decode(found, arguments["properties"][name], json, problem):
				return problem
			if is_real:
				found["object"].set(found["property"], found["value"])
	return properties(scene_tree, {"path": arguments["path"], "properties": arguments["properties"].keys(), "offset": 0, "limit": 1000})


static func codec(scene_tree: SceneTree, longest: int) -> VariantJson:
	return VariantJson.new(scene_tree.current_scene if scene_tree.current_scene != null else scene_tree.root, longest)


## What the game shows now: drawn for this, so that it is never older than what was done before.
func picture(scene_tree: SceneTree, longest: int) -> Dictionary:
	if DisplayServer.get_name() == "headless":
		return {"error": "The game runs without a window (--headless), so there is nothing to see."}
	await scene_tree.process_frame
	RenderingServer.force_draw(false)
	var image: Image = scene_tree.root.get_texture().get_image()
	if image == null or image.is_empty():
		return {"error": "The game's window gave no picture."}
	var size: Vector2i = image.get_size()
	var factor: float = float(longest) / maxi(size.x, size.y)
	if factor < 1.0:
		image.resize(maxi(1, roundi(size.x * factor)), maxi(1, roundi(size.y * factor)), Image.INTERPOLATE_LANCZOS)
	return {"png": image.save_png_to_buffer(), "size": size, "shown": image.get_size()}
