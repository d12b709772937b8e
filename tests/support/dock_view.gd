@tool
extends RefCounted
## What a person sees of a dock, and does with it, for tests: texts and buttons of what is visible.


## All texts that are to be seen below a node, in order. A hidden branch is not; the node itself may be.
static func texts(node: Node) -> PackedStringArray:
	var found: PackedStringArray = []
	for child: Node in node.get_children():
		if child is Control and not (child as Control).visible:
			continue
		if child is Label or child is LineEdit or child is TextEdit or child is Button:
			if child.get(&"text"):
				found.append(child.get(&"text"))
		if not child is Window:
			found.append_array(texts(child))
	return found


## The visible button with this text or the beginning of this tooltip.
static func button(node: Node, words: String) -> Button:
	for child: Node in node.find_children("*", "Button", true, false):
		var found: Button = child
		if found.visible and (found.text == words or words and found.tooltip_text.begins_with(words)):
			return found
	return null


## Presses a button as a person would: nothing happens if there is none, or it is disabled.
static func press(node: Node, words: String) -> bool:
	var found: Button = button(node, words)
	if found == null or found.disabled:
		return false
	if found.toggle_mode:
		found.button_pressed = not found.button_pressed
	else:
		found.pressed.emit()
	return true


## Which of start, stop and restart can be pressed.
static func enabled(node: Node) -> PackedStringArray:
	var found: PackedStringArray = []
	for words: String in ["Start", "Stop", "Restart"]:
		var shown: Button = button(node, words + " the server")
		if shown != null and not shown.disabled:
			found.append(words)
	return found


## The part of the dock that shows the log.
static func log_panel(node: Node) -> Control:
	return node.find_children("Log", "", true, false)[0]
