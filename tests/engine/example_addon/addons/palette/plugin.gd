@tool
extends EditorPlugin
## An example: one of each that a plugin can offer to AI clients through Tether's own server.

var _colors: Dictionary[String, String] = {"sky": "#87ceeb", "grass": "#5a9e3a"}
var _tether: TetherServer = TetherServer.new()


func _enter_tree() -> void:
	_tether.register_tool("palette_add", {"description": "Adds a color to the palette.", "inputSchema": {
			"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}, _add)
	_tether.register_tool("palette_check", {"description": "Looks at each color, which takes a while."}, _check)
	_tether.register_resource("palette://all", {"name": "palette", "title": "All colors",
			"mimeType": "application/json"}, _all)
	_tether.register_resource_template("palette://color/{name}", {"name": "color", "title": "One color",
			"mimeType": "text/plain", "complete": _complete}, _one)
	_tether.register_prompt("use_color", {"title": "Use a color", "description": "Paints the scene.", "arguments": [
			{"name": "name", "description": "A color of the palette.", "required": true}], "complete": _complete}, _use)


## Asks the user, and the model if the user has nothing to say.
func _add(arguments: Dictionary) -> Dictionary:
	var call: int = _tether.get_call()["id"] # before anything is awaited
	var said: Dictionary = await _tether.ask_user(call, "Which color is %s?" % arguments["name"], {
			"type": "object", "properties": {"color": {"type": "string", "title": "Color"}}, "required": ["color"]})
	var color: String = said["content"]["color"] if said.get("action") == "accept" else ""
	if color.is_empty():
		var question: Dictionary = {"role": "user", "content": {"type": "text", "text": "A color for %s?" % arguments["name"]}}
		said = await _tether.ask_model(call, {"messages": [question], "maxTokens": 20})
		color = said.get("content", {}).get("text", "")
	if color.is_empty():
		return {"error": "Nobody knows that color."}
	_colors[arguments["name"]] = color
	_tether.resource_changed("palette://all")
	return {arguments["name"]: color}


## Tells how far it is, and what it finds.
func _check(_arguments: Dictionary) -> Dictionary:
	var call: int = _tether.get_call()["id"]
	var done: int = 0
	for color: String in _colors:
		await get_tree().process_frame
		done += 1
		_tether.send_progress(call, done, _colors.size(), color)
		if not _colors[color].is_valid_html_color():
			_tether.send_log(call, "warning", "%s is no color" % _colors[color], "palette")
	return {"checked": done}


func _all(_arguments: Dictionary) -> Dictionary:
	return _colors


func _one(arguments: Dictionary) -> Variant:
	return _colors.get(arguments["name"], {"error": "There is no such color."})


func _use(arguments: Dictionary) -> String:
	return "Paint the open scene in %s." % _colors.get(arguments.get("name"), "a color of your choice")


func _complete(_argument: String, begun: String) -> Array:
	return _colors.keys().filter(func(name: String) -> bool: return name.begins_with(begun))
