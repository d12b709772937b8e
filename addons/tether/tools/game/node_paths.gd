extends RefCounted
## How nodes of a running game are named: from the root of its scene, as in the editor, or from '/root'.

const Words := preload("../words.gd")

const SEARCHED_MOST: int = 2000


static func find(tree: SceneTree, path: String, problem: Dictionary) -> Node:
	var scene: Node = tree.current_scene if tree.current_scene != null else tree.root
	var name: String = path.trim_prefix("./")
	if name in ["", "."]:
		return scene
	var node: Node = scene.get_node_or_null(NodePath(name))
	if node == null and (name + "/").begins_with(str(scene.name) + "/"):
		node = scene if name == str(scene.name) else scene.get_node_or_null(NodePath(name.substr(str(scene.name).length() + 1)))
	if node == null:
		problem["error"] = "There is no node '%s' in the running game.%s" % [path, _similar(tree, path)]
	return node


static func _similar(tree: SceneTree, path: String) -> String:
	var paths: Array[String] = []
	var open: Array[Node] = [tree.root]
	while not open.is_empty() and paths.size() < SEARCHED_MOST:
		var node: Node = open.pop_front()
		paths.append(path_of(tree, node))
		open.append_array(node.get_children())
	var same_name: Array[String] = paths.filter(func(other: String) -> bool: return other.get_file() == path.get_file())
	return Words.suggest(path, paths) if same_name.is_empty() else " Did you mean %s?" % Words.enumerate(same_name, 3)


static func path_of(tree: SceneTree, node: Node) -> String:
	var scene: Node = tree.current_scene
	return str(scene.get_path_to(node)) if scene != null and (node == scene or scene.is_ancestor_of(node)) else str(node.get_path())
